// A sample with dense features as visits see it: every class has a weight for each feature, in
// order, so that a score is a product of two contiguous rows and nothing has to be looked up.
// Included once per instruction set; no library template.
#pragma once

#include "active_set/kernels.hpp"
#include "dense_rows/contiguous.hpp"

namespace multimargin {
namespace MM_ISA {

// See Visit in visit_kernels.hpp. No feature is lone.
template <class T>
struct DenseVisit {
  const T* x;
  std::int64_t len;
  const std::int32_t* cls;
  T* alpha;
  const T* asked;
  std::int32_t slots;

  DenseVisit(const WorkView<T>& v, std::int64_t i)
      : x(v.x + v.row[i]),
        len(v.row_end[i] - v.row[i]),
        cls(v.cls + v.slot_begin[i]),
        alpha(v.alpha + v.slot_begin[i]),
        asked(v.asked == nullptr ? nullptr : v.asked + v.slot_begin[i]),
        slots(static_cast<std::int32_t>(v.slot_begin[i + 1] - v.slot_begin[i])) {}

  T asked_of(std::int32_t slot) const { return asked == nullptr ? T(1) : asked[slot]; }

  T own_score(const WorkView<T>& v) const {
    T score;
    const std::int32_t own = 0;
    other_scores(v, &own, 1, &score);
    return score;
  }

  // Scores with the classes of some slots.
  void other_scores(const WorkView<T>& v, const std::int32_t* slot, int count, T* score) const {
    const T* w[4];
    int k = 0;
    for (; k + 4 <= count; k += 4) {
      for (int j = 0; j < 4; ++j) w[j] = v.w[cls[slot[k + j]]];
      dot_some<4>(x, w, len, score + k);
    }
    for (; k < count; ++k) {
      w[0] = v.w[cls[slot[k]]];
      dot_some<1>(x, w, len, score + k);
    }
    for (k = 0; k < count; ++k) score[k] += v.bias * v.w_bias[cls[slot[k]]];
  }

  // In double precision, of the weights as they are kept.
  double exact_own_score(const WorkView<T>& v) const {
    const std::int32_t c = cls[0];
    return static_cast<double>(static_cast<T>(v.bias * v.w_bias[c])) + exact_dot(x, v.w[c], len);
  }

  void add(const WorkView<T>& v, std::int32_t slot, T step) const {
    const std::int32_t c = cls[slot];
    add_row(x, len, step, v.w[c]);
    v.w_bias[c] += step * v.bias;
  }
};

}  // namespace MM_ISA
}  // namespace multimargin
