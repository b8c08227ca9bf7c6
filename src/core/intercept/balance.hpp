// Balanced dual points, s(alpha) = 0, as the dual of a free intercept asks for
// (free_intercept.hpp).
//
// Moving b drives s to zero only in the limit. balance() moves alpha to a near point with s = 0:
// the maximum over alpha' of
//   sum_i [ g_i.(a'_i - a_i) - k_i/2 (|a'_i - a_i|^2 + (A'_i - A_i)^2) ],   s(alpha') = 0,
// in the bounds. The quadratic is what the sample alone adds to |W|^2 / 2; g is 0 for free
// variables, and what leaving a bound costs for others, so that alpha stays where s is zero. With
// multipliers -mu each sample solves its block at the margins g_ic + mu_c - mu_y; mu is found by
// Newton's method.
#pragma once

#include <vector>

#include "active_set/kernels.hpp"
#include "common/team.hpp"
#include "intercept/intercept.hpp"

namespace multimargin {

// Moves `alpha`, that of the view, until sum |s| <= enough, or as near as some steps come. `b`: the
// intercept; empty: heights are not known. `square`: of mu's own proximal term. Returns whether
// alpha has moved.
template <class T>
bool balance(const InterceptView<T>& view, const SolverKernels<double>& kernels,
             const std::vector<T>& b, double square, double enough, T* alpha, Team& team);

}  // namespace multimargin
