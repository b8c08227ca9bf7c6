// The rows of X, the samples of a training problem and its label costs as Python hands them over:
// arrays that are borrowed and kept alive.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "arrays.hpp"
#include "common/label_costs.hpp"
#include "common/samples.hpp"

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

class PyLabelCosts {
 public:
  explicit PyLabelCosts(Matrix<const double> cost)
      : dense_(std::move(cost)),
        costs_(LabelCosts::dense(dense_.data(), static_cast<std::int32_t>(dense_.shape(0)))) {
    if (dense_.shape(0) != dense_.shape(1)) throw nanobind::value_error("costs must be square");
  }
  PyLabelCosts(In<double> data, In<std::int64_t> indices, In<std::int64_t> indptr)
      : data_(std::move(data)),
        indices_(std::move(indices)),
        indptr_(std::move(indptr)),
        costs_(LabelCosts::exceptions(
            csr_view(data_, indices_, indptr_, static_cast<std::int64_t>(indptr_.size()) - 1))) {}
  explicit PyLabelCosts(LabelCosts costs) : costs_(std::move(costs)) {}

  const LabelCosts& costs() const { return costs_; }

 private:
  Matrix<const double> dense_;
  In<double> data_;
  In<std::int64_t> indices_, indptr_;
  LabelCosts costs_;
};

template <class T, class I>
class PySamples {
 public:
  PySamples(const PyRows<T, I>& rows, In<std::int32_t> y, In<T> box, std::int32_t n_classes,
            double bias, std::shared_ptr<const PyLabelCosts> costs,
            std::optional<In<std::int64_t>> label_begin)
      : rows_(rows),
        y_(std::move(y)),
        box_(std::move(box)),
        costs_(std::move(costs)),
        label_begin_(std::move(label_begin)),
        view_{rows_.view(),
              y_.data(),
              box_.data(),
              n_classes,
              static_cast<T>(bias),
              costs_ == nullptr ? nullptr : &costs_->costs(),
              label_begin_ ? label_begin_->data() : nullptr} {
    const std::int64_t labels = label_begin_ ? check_label_begin() : view_.X.rows;
    if (static_cast<std::int64_t>(y_.size()) != labels ||
        static_cast<std::int64_t>(box_.size()) != view_.X.rows)
      throw nanobind::value_error("y and box must have one entry per row of X");
    if (costs_ != nullptr && costs_->costs().n_classes() != n_classes)
      throw nanobind::value_error("label costs of another number of classes");
  }

  const Samples<T, I>& view() const { return view_; }
  std::int64_t rows() const { return view_.X.rows; }

 private:
  // Returns the number of labels.
  std::int64_t check_label_begin() const {
    const std::int64_t *begin = label_begin_->data(), n = view_.X.rows;
    if (static_cast<std::int64_t>(label_begin_->size()) != n + 1 || begin[0] != 0 ||
        !std::is_sorted(begin, begin + n + 1))
      throw nanobind::value_error("label_begin must rise from zero, one entry more than rows");
    return begin[n];
  }

  PyRows<T, I> rows_;
  In<std::int32_t> y_;
  In<T> box_;
  std::shared_ptr<const PyLabelCosts> costs_;
  std::optional<In<std::int64_t>> label_begin_;
  Samples<T, I> view_;
};

}  // namespace multimargin::bindings
