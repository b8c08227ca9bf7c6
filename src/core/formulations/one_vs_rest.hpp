// One-vs-rest: one binary problem per class.
//
//   primal  min  sum_c [ 1/2 |w_c|^2 + sum_i U_i max(0, m_ic) ]
//   dual    max  sum_c [ sum_i a_ic - 1/2 |w_c|^2 ],    0 <= a_ic <= U_i
//           w_c = sum_i z_ic a_ic x_i,   z_ic = 1 where y_i = c, else -1
//   margin  m_ic = 1 - z_ic w_c.x_i             (the dual's gradient)
// The squared hinge loses U_i max(0, m_ic)^2; a_ic has no upper bound and the dual loses
// a_ic^2 / (4 U_i).
//
// One sample: a'_c = clip(a_c + m_c / k, 0, U), or max(0, a_c + (m_c - a_c / 2U) / (k + 1 / 2U)).
#pragma once

#include "formulations/row_losses.hpp"

namespace multimargin {
namespace MM_ISA {

struct RowOneVsRest : RowLossFacts {
  static constexpr bool own = true;
};

struct RowOneVsRestSquared : RowOneVsRest {
  static constexpr bool squared = true;
};

}  // namespace MM_ISA
}  // namespace multimargin
