// The facts of a loss that the row engine asks for, and those that several losses share.
//
// With scores s_c = w_c.x, sign +1 for the own class y and -1 for others, and dual variables a_c:
//   relative   m_c = asked_c + s_c - s_y,      w_c += (sum a [c = y] - a_c) x
//   otherwise  m_c = asked_c - sign_c s_c,     w_c += sign_c a_c x
//   own, others   which classes have a variable
//   shared     a_c >= 0 and sum a <= U, the loss is the largest margin; otherwise 0 <= a_c <= U,
//   the
//              loss is the sum of margins
//   centred    weights sum to zero over the classes: the mean of the shares is taken off
//   squared    the loss is U m^2; a_c has no upper bound, and the dual loses a_c^2 / (4 U)
// Included once per instruction set; no library template.
#pragma once

#include <cstdint>

namespace multimargin {
namespace MM_ISA {

struct RowLossFacts {
  static constexpr bool relative = false, own = false, others = true, shared = false,
                        centred = false, squared = false;
  // The margin asked of the own class.
  static double own_margin(std::int32_t) { return 1; }
};

}  // namespace MM_ISA
}  // namespace multimargin
