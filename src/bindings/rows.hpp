// The rows of X as Python hands them over, sparse or dense: arrays that are borrowed and kept
// alive.
#pragma once

#include <utility>

#include "arrays.hpp"

namespace multimargin::bindings {

template <class T, class I>
class PyRows {
 public:
  PyRows(In<T> data, In<I> indices, In<I> indptr, std::int64_t cols)
      : data_(std::move(data)),
        indices_(std::move(indices)),
        indptr_(std::move(indptr)),
        view_(csr_view(data_, indices_, indptr_, cols)) {}

  const Csr<T, I>& view() const { return view_; }

 private:
  In<T> data_;
  In<I> indices_, indptr_;
  Csr<T, I> view_;
};

template <class T>
class PyRows<T, Dense> {
 public:
  explicit PyRows(Matrix<const T> matrix)
      : matrix_(std::move(matrix)),
        view_{matrix_.data(), static_cast<std::int64_t>(matrix_.shape(0)),
              static_cast<std::int64_t>(matrix_.shape(1))} {}

  const Csr<T, Dense>& view() const { return view_; }

 private:
  Matrix<const T> matrix_;
  Csr<T, Dense> view_;
};

}  // namespace multimargin::bindings
