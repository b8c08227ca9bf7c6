// The intercept: held while samples move, and moved between two passes.
//
// With the constant feature's value B, its weight v_c in class c, and what alpha makes of it,
//   s_c = sum_{i: y_i = c} A_i - sum_{i: y_i != c} a_ic,
// the primal has 1/2 |v|^2, the dual -1/2 |B s|^2, and at the optimum v = B s(alpha). While v is
// held, scores have the constants b_c = B v_c, and a visit's curvature is that of the features
// alone: nothing that all samples share couples them. At any v and alpha
//   primal - dual = (gap of the samples at the scores with b) + 1/2 |v - B s|^2.
//
// Between two passes b moves towards B^2 s(alpha) by a step of Newton's method,
//   (I + B^2 L) step = B^2 s - b,
// with L from responses.hpp, of the variables that are free now, times a length from steps.hpp. L
// says nothing of variables that become free on the way. So every fourth sample is asked, as if it
// were alone, what it would answer to the new b: where the answers are far larger than L has it,
// the step is shortened. The next step asks the next fourth.
//
// A free intercept (free_intercept.hpp) is in no term of the primal. Moving it is then a step of
// the proximal point method: |b|^2 / (2 B^2) is taken from the present b on, and B is a constant.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "active_set/kernels.hpp"
#include "common/team.hpp"
#include "intercept/steps.hpp"

namespace multimargin {

// Sums over the samples are made in this many parts, and the parts added up in their order: so bits
// do not depend on the threads, nor on the ranks that share the parts.
constexpr std::int64_t kParts = 16;
inline std::int64_t part_begin(std::int64_t samples, std::int64_t part) {
  return samples * part / kParts;
}

// The parts of this rank; others have the rest.
struct PartSums {
  std::int64_t first = 0, last = kParts;
  // Adds up the parts of all ranks, in their order; empty: all are here. All ranks call it at the
  // same time, since what they compute from the sums is the same.
  std::function<std::vector<double>(const std::vector<std::vector<double>>& parts)> add_up;
};

// The dual variables that answer to an intercept.
template <class T>
struct InterceptView {
  std::int64_t samples;
  const std::int64_t* slot_begin;  // [n+1]
  const std::int32_t* cls;         // slot 0 of each sample: its own class
  const T* alpha;                  // slot 0: the sum of the others
  const T* height;                 // see Slots
  std::uint8_t* resting;           // slots that must answer wake
  const T* box;                    // [n]
  const T* norm2;                  // [n] k_i
  std::int32_t n_classes;
  PartSums sums = {};

  // Of slot p of the sample whose slots begin at `own`; more: b of its class less b of the own one.
  T margin(std::int64_t p, std::int64_t own, double more, T k) const {
    return height[p] + static_cast<T>(more) - k * (alpha[own] + alpha[p]);
  }
};

// The intercept's own term, |b|^2 / (2 B^2).
struct InterceptTerm {
  double bias;    // b = bias v
  double square;  // B^2
  bool free;      // whether the present b is the centre, and not zero
};

// B s, added up in double precision and in an order that does not depend on the threads.
template <class T>
std::vector<double> intercept_of(const InterceptView<T>& view, double bias, Team& team);

// Moves the weights v of the constant feature, by at most `longest` steps of Newton's method; those
// of a free intercept then add up to zero. Afterwards gap and violation have what a sample's next
// visit is expected to find, for samples that are here and were asked. Returns the diagonal of L
// if the intercept is free.
template <class T>
std::vector<double> move_intercept(const InterceptView<T>& view, const SolverKernels<T>& kernels,
                                   const InterceptTerm& term, InterceptSteps& steps, double longest,
                                   std::vector<T>& v, T* gap, T* violation, Team& team);

}  // namespace multimargin
