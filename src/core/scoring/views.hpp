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

// Rows whose frequent features come first (split_rows.hpp).
template <class T>
struct SplitView {
  const T* value;
  const std::int32_t* number;  // of a frequent feature, or of a rare one counted from 0 on
  const std::int64_t* begin;   // [n+1] where rows begin
  const std::int64_t* rare;    // [n] where their rare features begin
};

// A weight in a list of one feature's weights.
template <class T>
struct ListedWeight {
  T value;
  std::int32_t cls;  // counted from the first class of the group on
};

// Several blocks of classes for products with rows that are split (split_rows.hpp).
template <class T>
struct GroupView {
  // Block b, frequent feature r: lanes<T>() weights at (b * frequent + r) * lanes<T>().
  const T* dense;
  const std::int64_t* list_begin;  // [rare features + 1]
  const ListedWeight<T>* list;
  const T* intercept;  // [whole blocks] added to every score
  std::int64_t frequent;
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

// What is summed over the classes of a row. With s = score - origin and g = s / (1 + curvature |s|)
// of a class, e is exp(beta (g - largest)), and h = -g |g| is how g changes with the curvature.
enum SoftmaxSum : int {
  kLargest,  // g of all classes
  kSum,      // of e
  kAbove,    // of e, over the classes ranked above the own one
  kCount,    // of those
  kG,        // of e g, and so on
  kH,
  kGG,
  kGH,
  kHH,
  kSoftmaxSums
};

template <class T>
struct SoftmaxView {
  double* sums;  // [rows, kSoftmaxSums], `largest` minus infinity at first, else zeros
  double beta;   // inverse temperature
  double curvature, origin;
  bool moments;                       // whether kG and all after it are asked for
  const std::int32_t* own = nullptr;  // [rows] a class of each row, or null
  T* own_score = nullptr;             // [rows] its score: found, or given for kAbove and kCount
  const T* below_own = nullptr;       // [rows] the next smaller number, which asks for these two
};

}  // namespace multimargin
