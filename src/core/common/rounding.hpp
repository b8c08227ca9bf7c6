// Bounds on the rounding error of margins, which certificates add.
//
// A sum of n products, in any order and fused or not, is off by at most (n + 1) u sum |x_j w_j| and
// terms of u^2, where u is half the distance from 1 to the next number; and sum |x_j w_j| <= |x|
// |w|. A margin is what is asked (1 without label costs), less the own score, plus another one: it
// is off by at most r (|w_y| + |w_c|) + 8 u asked with r = score_rounding. The constants leave room
// for the rounding of intercepts and of the two additions, and the factor for terms of u^2.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace multimargin {

template <class S>
constexpr double unit_roundoff() {
  return 0.5 * static_cast<double>(std::numeric_limits<S>::epsilon());
}

// For scores that are added up in type S, and a class with |w| = 1. `norm2`: |x|^2, intercept
// included.
template <class S>
double score_rounding(std::int64_t entries, double norm2) {
  return 1.25 * unit_roundoff<S>() * static_cast<double>(entries + 8) * std::sqrt(norm2);
}

template <class S>
double own_rounding(double score_rounding, double own_norm, double asked = 1) {
  return score_rounding * own_norm + 8 * unit_roundoff<S>() * asked;
}

// |W(alpha)|^2 is known of weights that were rounded to T: by how much of it the dual may be less.
template <class T>
constexpr double norm_rounding() {
  return 4 * unit_roundoff<T>();
}

}  // namespace multimargin
