// Going on in the direction of the last passes.
//
// Passes solve one sample at a time. Where samples that are alike have different labels and C is
// large, their variables rise side by side, by about 1 / k_i a pass, until they reach C. So their
// changes d over some passes, all together, are tried as a step: to alpha + t d within the bounds,
// t = 1, 2, 4, ... as long as the dual objective gains more: for a step s
//   sum_ic asked_ic s_ic - W.W(s) - 1/2 |W(s)|^2,
// W(s) being the weights that s makes. An intercept that is held stays.
#pragma once

#include <vector>

#include "active_set/active_set.hpp"
#include "common/csr.hpp"
#include "common/team.hpp"

namespace multimargin {

template <class T>
struct ExtrapolationRules {
  const T* box;    // [n]
  bool separable;  // whether every variable has its own bounds; otherwise those of a sample share
                   // one
  T bias;          // value of the constant feature, 0: none
  bool holds_bias;
};

struct ExtrapolationReport {
  double gain = 0;         // of the dual objective by the step; 0: nothing has moved
  double gain_before = 0;  // by the passes
};

// Moves alpha, which was `before` some passes ago, and the weights.
template <class T, class I>
ExtrapolationReport extrapolate(const Csr<T, I>& X, const std::vector<T>& before,
                                const ExtrapolationRules<T>& rules, ActiveSet<T>& active,
                                Team& team);

}  // namespace multimargin
