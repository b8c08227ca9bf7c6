// What steps of a solver tell Python.
#pragma once

#include <cstdint>

namespace multimargin {

// What a pass saw, each sample just before it moved.
struct PassReport {
  double gap = 0;        // sum of the visited samples' gaps within what was looked at
  double violation = 0;  // largest projected gradient
  std::int64_t visits = 0;
  bool complete = true;  // false: ended early by stop()
};

}  // namespace multimargin
