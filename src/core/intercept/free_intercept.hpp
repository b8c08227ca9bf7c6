// An intercept that is not regularised:
//   primal  min over W, b   1/2 |W|^2 + sum_i U_i loss_i(W x_i + b)
//   dual    max over alpha  sum_ic D_ic a_ic - 1/2 |W(alpha)|^2,  s(alpha) = 0,
// alpha in its bounds, with s from intercept.hpp, whose entries always add up to zero. b is held
// and moved as any intercept is; before a certificate alpha is balanced, see balance.hpp.
//
// What rounding leaves of s is charged to the dual. For any alpha in its bounds and any W, b
//   primal(W, b) >= sum D a - 1/2 |W(alpha)|^2 - b.s(alpha),
// and b.s <= (max b - min b)/2 sum_c |s_c|, since s adds up to zero. At an optimum, with P no less
// than its primal, y the class of the least b and c any other one: a loss is no less than any
// margin, and D >= 0, so that U_i (b_c - b_y - (w_y - w_c).x_i), summed over the samples of y, is
// at most P; and |w_y - w_c| <= sqrt(2 |W|^2) <= 2 sqrt(P). Hence
//   max b - min b <= P / (sum of U_i over class y) + 2 sqrt(P) max_i |x_i|.
// The b of a class without samples may be as small as it likes: it is left out where all its
// variables are zero. Where they are not, the dual is that of alpha = 0, which is 0.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "active_set/kernels.hpp"
#include "common/samples.hpp"
#include "common/team.hpp"
#include "intercept/intercept.hpp"

namespace multimargin {

template <class T>
class FreeIntercept {
 public:
  // `norm2`: squared norms of the rows, no less than without the constant feature; `curvature`:
  // those of visits.
  template <class I>
  FreeIntercept(const Samples<T, I>& samples, const SolverKernels<double>& kernels,
                const std::vector<T>& norm2, const std::vector<T>& curvature);

  // For move_intercept().
  InterceptTerm term() const;
  // Takes the diagonal of L when the intercept has moved.
  void moved(std::vector<double> diagonal) { diagonal_ = std::move(diagonal); }
  // About what it costs to balance alpha, from its s.
  double gap(const std::vector<double>& s) const;

  // Balances `alpha`, that of the view, unless it is balanced; says so. `b`: empty if heights are
  // not known. `gap`: of the last pass, to which the charge should be small.
  bool balance(const InterceptView<T>& view, const std::vector<T>& b, double gap, T* alpha,
               Team& team) const;

  // What the dual is less than its formula says. `primal`: a value that was reached.
  double charge(double primal, const std::vector<double>& s, double alpha_sum);

 private:
  double half_spread() const;  // of b at the optimum, at most

  SolverKernels<double> kernels_;
  double curvature_ = 0;               // mean
  double terms_;                       // in a sum over samples
  double least_box_;                   // of the sums of U_i over classes with samples
  std::vector<std::int32_t> without_;  // classes without samples
  double norm_ = 0;                    // max |x_i|
  double primal_ = 0;                  // the least that was reached
  std::vector<double> diagonal_;
};

}  // namespace multimargin
