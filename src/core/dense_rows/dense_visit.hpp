// A sample with dense features as visits see it: every class has a weight for each feature, in
// order, so that a score is a product of two contiguous rows and nothing has to be looked up.
// Included once per instruction set; no library template.
#pragma once

#include "active_set/visited_sample.hpp"
#include "dense_rows/contiguous.hpp"

namespace multimargin {
namespace MM_ISA {

// See Visit in visit_kernels.hpp. No feature is lone.
template <class T>
struct DenseVisit : VisitedSample<T> {
  using VisitedSample<T>::VisitedSample;
  using VisitedSample<T>::x, VisitedSample<T>::len, VisitedSample<T>::cls, VisitedSample<T>::slots;

  // Scores with the classes of some slots; returns that of the own class, 0 if it is not at hand.
  T scores(const WorkView<T>& v, const std::int32_t* slot, int count, T* score) const {
    T own = 0;
    int k = 0;
    if (cls[0] >= 0) {  // with the first three of the others
      const int more = count < 3 ? count : 3;
      std::int32_t first[4] = {0};
      for (int j = 0; j < more; ++j) first[1 + j] = slot[j];
      T sums[4];
      some_scores(v, first, 1 + more, sums);
      own = sums[0];
      for (; k < more; ++k) score[k] = sums[1 + k];
    }
    for (; k < count; k += 4) some_scores(v, slot + k, count - k < 4 ? count - k : 4, score + k);
    return own;
  }

  // Scores of all slots but the first.
  void all_scores(const WorkView<T>& v, T* out) const {
    for (std::int32_t from = 1; from < slots; from += 4) {
      const std::int32_t slot[4] = {from, from + 1, from + 2, from + 3};
      some_scores(v, slot, slots - from < 4 ? slots - from : 4, out + from);
    }
  }

  // Of one to four slots.
  void some_scores(const WorkView<T>& v, const std::int32_t* slot, int count, T* score) const {
    const T* w[4];
    for (int k = 0; k < count; ++k) w[k] = v.w[cls[slot[k]]];
    switch (count) {
      case 1:
        dot_some<1>(x, w, len, score);
        break;
      case 2:
        dot_some<2>(x, w, len, score);
        break;
      case 3:
        dot_some<3>(x, w, len, score);
        break;
      default:
        dot_some<4>(x, w, len, score);
    }
    for (int k = 0; k < count; ++k) score[k] += v.bias * v.w_bias[cls[slot[k]]];
  }

  // In double precision, of the weights as they are kept.
  double exact_own_score(const WorkView<T>& v) const {
    const std::int32_t c = cls[0];
    return static_cast<double>(static_cast<T>(v.bias * v.w_bias[c])) + exact_dot(x, v.w[c], len);
  }

  // Samples come in random order: what visits to them need is fetched while others are solved.
  static constexpr bool kFetchesAhead = true;
  static void prefetch(const WorkView<T>& v, std::int64_t i) {
    constexpr int line = 64 / sizeof(T);
    const std::int64_t first = v.slot_begin[i], last = v.slot_begin[i + 1];
    const T* x = v.x + v.row[i];
    const std::int64_t len = v.row_end[i] - v.row[i];
    for (std::int64_t t = 0; t < len && t < 64 * line; t += line) __builtin_prefetch(x + t);
    for (std::int64_t p = first; p < last; p += line) __builtin_prefetch(v.alpha + p);
    for (std::int64_t p = first; p < last; ++p)
      if (v.cls[p] >= 0 && !v.resting[p])
        for (std::int64_t t = 0; t < len && t < 16 * line; t += line)
          __builtin_prefetch(v.w[v.cls[p]] + t);
  }
  // The same for which prefetch() will be called soon.
  static void prefetch_slots(const WorkView<T>& v, std::int64_t i) {
    __builtin_prefetch(v.cls + v.slot_begin[i]);
    __builtin_prefetch(v.cls + v.slot_begin[i] + 16);
    __builtin_prefetch(v.resting + v.slot_begin[i]);
  }

  void add(const WorkView<T>& v, std::int32_t slot, T step) const {
    const std::int32_t c = cls[slot];
    add_row(x, len, step, v.w[c]);
    if (!v.holds_bias) v.w_bias[c] += step * v.bias;
  }
};

}  // namespace MM_ISA
}  // namespace multimargin
