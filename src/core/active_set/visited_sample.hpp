// What visits know of a sample, whatever its rows are like.
// Included once per instruction set; no library template.
#pragma once

#include "active_set/kernels.hpp"

namespace multimargin {
namespace MM_ISA {

template <class T>
struct VisitedSample {
  const T* x;
  std::int64_t len;
  const std::int32_t* cls;
  T* alpha;
  const T* asked;
  std::int32_t slots;

  VisitedSample(const WorkView<T>& v, std::int64_t i)
      : x(v.x + v.row[i]),
        len(v.row_end[i] - v.row[i]),
        cls(v.cls + v.slot_begin[i]),
        alpha(v.alpha + v.slot_begin[i]),
        asked(v.asked == nullptr ? nullptr : v.asked + v.slot_begin[i]),
        slots(static_cast<std::int32_t>(v.slot_begin[i + 1] - v.slot_begin[i])) {}

  T asked_of(std::int32_t slot) const { return asked == nullptr ? T(1) : asked[slot]; }
};

}  // namespace MM_ISA
}  // namespace multimargin
