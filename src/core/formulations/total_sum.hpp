// Absolute margins, the sum over all classes (ATS).
//
//   primal  min  1/2 sum_c |w_c|^2 + sum_i U_i sum_c max(0, m_ic),   sum_c w_c = 0
//   dual    max  sum_ic a_ic - 1/2 sum_c |w_c|^2,   0 <= a_ic <= U_i
//           w_c = sum_i (z_ic a_ic - sum_k z_ik a_ik / K) x_i,   z_ic = 1 where y_i = c, else -1
//   margin  m_ic = 1 - z_ic w_c.x_i             (the dual's gradient)
//
// All classes of one sample at once: a'_c = clip(a_c + m_c / k - z_c D, 0, U), where D solves
// K D = -sum_c z_c (a'_c - a_c). The right side grows by at most K in D.
#pragma once

#include "formulations/row_losses.hpp"

namespace multimargin {
namespace MM_ISA {

struct RowTotalSum : RowLossFacts {
  static constexpr bool own = true, centred = true;
};

}  // namespace MM_ISA
}  // namespace multimargin
