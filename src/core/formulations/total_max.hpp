// Absolute margins, the worst of all classes (ATM).
//
//   primal  min  1/2 sum_c |w_c|^2 + sum_i U_i max(0, max_c m_ic),   sum_c w_c = 0
//   dual    max  sum_ic a_ic - 1/2 sum_c |w_c|^2,   a_ic >= 0,  sum_c a_ic <= U_i
//           w_c = sum_i (z_ic a_ic - sum_k z_ik a_ik / K) x_i,   z_ic = 1 where y_i = c, else -1
//   margin  m_ic = 1 - z_ic w_c.x_i             (the dual's gradient)
//
// All classes of one sample at once: as ATS without the upper bound. If that uses more than U, the
// bound has a multiplier t: a'_c = max(0, a_c + m_c / k - z_c D - t). With p = a'_y,
// K D = U - A + 2 a_y - 2 p, where A = sum_c a_c, and the others add up to U - p. That leaves one
// equation in p, which is monotone.
#pragma once

#include "formulations/row_losses.hpp"

namespace multimargin {
namespace MM_ISA {

struct RowTotalMax : RowLossFacts {
  static constexpr bool own = true, shared = true, centred = true;
};

}  // namespace MM_ISA
}  // namespace multimargin
