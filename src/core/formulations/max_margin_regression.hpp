// Max-margin regression: the score of the own class alone has a margin (MMR).
//
//   primal  min  1/2 sum_c |w_c|^2 + sum_i U_i max(0, m_i),   sum_c w_c = 0
//   dual    max  sum_i a_i - 1/2 sum_c |w_c|^2,   0 <= a_i <= U_i
//           w_c = sum_i a_i ([y_i = c] - 1 / K) x_i
//   margin  m_i = 1 - w_{y_i}.x_i               (the dual's gradient)
//
// One sample: a' = clip(a + m / (k (1 - 1 / K)), 0, U), the root of ATS with one variable.
#pragma once

#include "formulations/row_losses.hpp"

namespace multimargin {
namespace MM_ISA {

struct RowMaxMarginRegression : RowLossFacts {
  static constexpr bool own = true, others = false, centred = true;
};

}  // namespace MM_ISA
}  // namespace multimargin
