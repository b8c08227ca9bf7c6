// Reports of a solver's steps.
#pragma once

#include <cstdint>

namespace multimargin {

// One pass; each sample counts as it was just before it moved.
struct PassReport {
  double gap = 0;        // sum of the visited samples' gaps, over the classes visited
  double violation = 0;  // largest projected gradient
  std::int64_t visits = 0;
  bool complete = true;  // false: ended early by stop()
};

}  // namespace multimargin
