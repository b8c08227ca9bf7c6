// Borrowed views of the rows of X: compressed sparse rows, or dense ones in C order. Nothing is
// copied: the arrays belong to the caller and may be memory-mapped and read-only.
//
// Entry t of all entries belongs to row i if begin(i) <= t < end(i); its value is data[t] and its
// feature features(i)[t]. What is written with these serves both kinds of rows.
#pragma once

#include <cstdint>
#include <type_traits>

namespace multimargin {

// Stands in place of the index type of X where rows are dense.
struct Dense {};

// I: std::int32_t, std::int64_t or Dense.
template <class T, class I>
struct Csr {
  const T* data = nullptr;
  const I* indices = nullptr;
  const I* indptr = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  std::int64_t begin(std::int64_t i) const { return static_cast<std::int64_t>(indptr[i]); }
  std::int64_t end(std::int64_t i) const { return static_cast<std::int64_t>(indptr[i + 1]); }
  const I* features(std::int64_t) const { return indices; }
  // Of the row whose first entry is given.
  const I* features_from(std::int64_t) const { return indices; }
};

template <class T>
struct Csr<T, Dense> {
  const T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  struct Features {
    std::int64_t begin;
    std::int64_t operator[](std::int64_t t) const { return t - begin; }
  };
  std::int64_t begin(std::int64_t i) const { return i * cols; }
  std::int64_t end(std::int64_t i) const { return (i + 1) * cols; }
  Features features(std::int64_t i) const { return {begin(i)}; }
  Features features_from(std::int64_t begin) const { return {begin}; }
};

template <class I>
constexpr bool is_dense = std::is_same_v<I, Dense>;

// Rows first .. last - 1.
template <class T, class I>
Csr<T, I> rows_between(const Csr<T, I>& X, std::int64_t first, std::int64_t last) {
  Csr<T, I> some = X;
  some.rows = last - first;
  if constexpr (is_dense<I>) {
    some.data += first * X.cols;
  } else {
    some.indptr += first;
  }
  return some;
}

}  // namespace multimargin
