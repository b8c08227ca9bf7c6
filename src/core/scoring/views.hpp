// Weights as products with rows of X read them, and the best classes found so far.
#pragma once

#include <cstdint>

#include "common/csr.hpp"

namespace multimargin {

// A block of classes fills four vectors of 64 bytes: it stays in registers.
template <class T>
constexpr int lanes() {
  return 256 / static_cast<int>(sizeof(T));
}

// A few classes of W, feature-major, for products with many rows of X.
template <class T>
struct BlockView {
  const T* rows;               // row r: lanes<T>() weights of one feature; row 0 is zero
  const std::int32_t* row_of;  // [features] -> row
  const T* intercept;          // [lanes] added to every score
  std::int32_t first_class;
  std::int32_t classes;
};

// All weights by feature: frequent features are rows of a matrix with one column per class, the
// others lists of classes.
template <class T>
struct FeatureView {
  Csr<T, std::int32_t> lists;          // "row" j: classes and weights of feature j
  const std::int32_t* slot = nullptr;  // [features] row of the matrix, or `rows` for none
  const T* matrix = nullptr;
  std::int64_t rows = 0;  // of the matrix
};

// The best few (value, class) of each sample: `capacity` slots a sample, a min-heap by value while
// it is filled.
template <class T>
struct BestView {
  T* value;
  std::int32_t* cls;
  std::int32_t* count;
  std::int32_t capacity;
};

}  // namespace multimargin
