// The samples of a training problem as Python hands them over: arrays that are borrowed and kept
// alive.
#pragma once

#include <utility>

#include "arrays.hpp"
#include "common/samples.hpp"

namespace multimargin::bindings {

template <class T, class I>
class PySamples {
 public:
  PySamples(In<T> data, In<I> indices, In<I> indptr, std::int64_t cols, In<std::int32_t> y,
            In<T> box, std::int32_t n_classes, double bias)
      : data_(std::move(data)),
        indices_(std::move(indices)),
        indptr_(std::move(indptr)),
        y_(std::move(y)),
        box_(std::move(box)),
        view_{csr_view(data_, indices_, indptr_, cols), y_.data(), box_.data(), n_classes,
              static_cast<T>(bias)} {
    if (static_cast<std::int64_t>(y_.size()) != view_.X.rows ||
        static_cast<std::int64_t>(box_.size()) != view_.X.rows)
      throw nanobind::value_error("y and box must have one entry per row of X");
  }

  const Samples<T, I>& view() const { return view_; }
  std::int64_t rows() const { return view_.X.rows; }

 private:
  In<T> data_;
  In<I> indices_, indptr_;
  In<std::int32_t> y_;
  In<T> box_;
  Samples<T, I> view_;
};

}  // namespace multimargin::bindings
