// The samples of a training problem, borrowed.
#pragma once

#include <cstdint>

#include "common/csr.hpp"
#include "common/label_costs.hpp"

namespace multimargin {

template <class T, class I>
struct Samples {
  Csr<T, I> X;
  const std::int32_t* y = nullptr;  // [n] classes, counted from zero; or see label_begin
  const T* box = nullptr;           // [n] upper bounds of the dual variables; infinite: hard margin
  std::int32_t n_classes = 0;
  T bias = 0;                         // value of the constant feature; 0: none
  const LabelCosts* costs = nullptr;  // margins asked of other classes; nullptr: 1 of all
  // [n + 1] or nullptr: where the classes of each sample begin in y, which may be none or several
  // and rise. Only one-vs-rest lines take such samples.
  const std::int64_t* label_begin = nullptr;

  // Of the other classes of sample i: the largest margin asked, and the sum.
  double most_asked(std::int64_t i) const { return costs == nullptr ? 1.0 : costs->largest(y[i]); }
  double total_asked(std::int64_t i) const {
    return costs == nullptr ? n_classes - 1.0 : costs->total(y[i]);
  }
};

}  // namespace multimargin
