// Rows of (index, value), sorted by index and without zeros: a model on its way out.
#pragma once

#include <cstdint>
#include <vector>

#include "common/buffer.hpp"

namespace multimargin {

template <class T>
struct SparseRows {
  std::vector<std::int64_t> begin;
  Buffer<std::int32_t> index;
  Buffer<T> value;
};

}  // namespace multimargin
