// Rows of (index, value), sorted by index and without zeros: a model on its way out.
#pragma once

#include <cstdint>
#include <vector>

namespace multimargin {

template <class T>
struct SparseRows {
  std::vector<std::int64_t> begin;
  std::vector<std::int32_t> index;
  std::vector<T> value;
};

}  // namespace multimargin
