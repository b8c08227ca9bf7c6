// Reinforced: the own class is asked for the margin that the others sum up to (RM).
//
//   primal  min  1/2 sum_c |w_c|^2 + sum_i U_i sum_c max(0, m_ic),   sum_c w_c = 0
//   dual    max  sum_ic g_ic a_ic - 1/2 sum_c |w_c|^2,   0 <= a_ic <= U_i
//           w_c = sum_i (z_ic a_ic - sum_k z_ik a_ik / K) x_i,   z_ic = 1 where y_i = c, else -1
//   margin  m_ic = g_ic - z_ic w_c.x_i          (the dual's gradient),  g_ic = K - 1 where y_i = c,
//           else 1
//
// All classes of one sample at once: as ATS. Where all K variables are free, one direction changes
// neither the weights nor the dual: any D of an interval is a root.
#pragma once

#include "formulations/row_losses.hpp"

namespace multimargin {
namespace MM_ISA {

struct RowReinforced : RowLossFacts {
  static constexpr bool own = true, centred = true;
  static double own_margin(std::int32_t n_classes) { return n_classes - 1; }
};

}  // namespace MM_ISA
}  // namespace multimargin
