// Absolute margins, the worst of the other classes (ADM).
//
//   primal  min  1/2 sum_c |w_c|^2 + sum_i U_i max(0, max_{c != y_i} m_ic),   sum_c w_c = 0
//   dual    max  sum_ic a_ic - 1/2 sum_c |w_c|^2,   a_ic >= 0,  A_i <= U_i,  c != y_i
//           w_c = sum_i (A_i / K - a_ic) x_i,   A_i = sum_c a_ic
//   margin  m_ic = 1 + w_c.x_i                  (the dual's gradient)
//
// All classes of one sample at once: as Lee-Lin-Wahba without the upper bound; if that uses more
// than U, a'_c = max(0, a_c + m_c / k - t), where t makes them add up to U.
#pragma once

#include "formulations/row_losses.hpp"

namespace multimargin {
namespace MM_ISA {

struct RowDiscriminativeMax : RowLossFacts {
  static constexpr bool shared = true, centred = true;
};

}  // namespace MM_ISA
}  // namespace multimargin
