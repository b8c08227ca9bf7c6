// Lee-Lin-Wahba.
//
//   primal  min  1/2 sum_c |w_c|^2 + sum_i U_i sum_{c != y_i} max(0, m_ic),   sum_c w_c = 0
//   dual    max  sum_ic a_ic - 1/2 sum_c |w_c|^2,   0 <= a_ic <= U_i,  c != y_i
//           w_c = sum_i (A_i / K - a_ic) x_i,   A_i = sum_c a_ic
//   margin  m_ic = 1 + w_c.x_i                  (the dual's gradient)
//
// All classes of one sample at once: a'_c = clip(a_c + m_c / k + D, 0, U), where D solves
// K D = sum_c (a'_c - a_c). The right side grows by less than K in D, so there is one root.
#pragma once

#include "formulations/row_losses.hpp"

namespace multimargin {
namespace MM_ISA {

struct RowLeeLinWahba : RowLossFacts {
  static constexpr bool centred = true;
};

}  // namespace MM_ISA
}  // namespace multimargin
