#include "intercept/free_intercept.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/rounding.hpp"
#include "common/types.hpp"
#include "intercept/balance.hpp"

namespace multimargin {

namespace {

// B^2 of proximal steps, over the mean curvature of samples. With 0.2, 1, 10 and 100 Weston-Watkins
// took 37, 38, 35 and 37 s on 12,582 classes, and 1.1 s each on 1,139.
constexpr double kSquare = 10;
// The same for balancing, which needs less caution: it solves a convex problem to the end.
constexpr double kBalanceSquare = 1e6;
// The share of the passes' gap that may be charged.
constexpr double kCharged = 0.01;
// The least imbalance asked for, over the sum of alpha, in units of rounding.
constexpr double kLeast = 0.2;

double total_of(const std::vector<double>& s) {
  double sum = 0;
  for (const double each : s) sum += std::abs(each);
  return sum;
}

}  // namespace

template <class T>
template <class I>
FreeIntercept<T>::FreeIntercept(const Samples<T, I>& samples, const SolverKernels<double>& kernels,
                                const std::vector<T>& norm2, const std::vector<T>& curvature)
    : kernels_(kernels), terms_(static_cast<double>(samples.X.rows + samples.n_classes) + 16) {
  std::vector<double> boxes(samples.n_classes, 0.0);
  for (std::int64_t i = 0; i < samples.X.rows; ++i) {
    const auto box = static_cast<double>(samples.box[i]);
    boxes[samples.y[i]] += box;
    norm_ = std::max(norm_, std::sqrt(static_cast<double>(norm2[i])));
    curvature_ += static_cast<double>(curvature[i]) / static_cast<double>(samples.X.rows);
    // At first that of zero weights.
    primal_ += box * kernels.empty_loss(samples.most_asked(i), samples.total_asked(i));
  }
  least_box_ = std::numeric_limits<double>::infinity();
  for (std::int32_t c = 0; c < samples.n_classes; ++c)
    if (boxes[c] > 0)
      least_box_ = std::min(least_box_, boxes[c]);
    else
      without_.push_back(c);
}

template <class T>
InterceptTerm FreeIntercept<T>::term() const {
  return {1, kSquare * curvature_, true};
}

template <class T>
double FreeIntercept<T>::gap(const std::vector<double>& s) const {
  double sum = 0;
  for (std::size_t c = 0; c < s.size(); ++c)
    sum += s[c] * s[c] / (1 / term().square + (diagonal_.empty() ? 0 : diagonal_[c]));
  return sum / 2;
}

template <class T>
bool FreeIntercept<T>::balance(const InterceptView<T>& view, const std::vector<T>& b, double gap,
                               T* alpha, Team& team) const {
  double sum = 0;
  for (std::int64_t i = 0; i < view.samples; ++i)
    sum += static_cast<double>(alpha[view.slot_begin[i]]);
  const double enough = std::max(kCharged * gap / half_spread(), kLeast * unit_roundoff<T>() * sum);
  return multimargin::balance(view, kernels_, b, kBalanceSquare * curvature_, enough, alpha, team);
}

template <class T>
double FreeIntercept<T>::half_spread() const {
  return 0.5 * (1 + 1e-6) *
         (primal_ / least_box_ + 2 * std::sqrt(primal_) * norm_);  // the factor: for rounding
}

template <class T>
double FreeIntercept<T>::charge(double primal, const std::vector<double>& s, double alpha_sum) {
  primal_ = std::min(primal_, primal);
  for (const std::int32_t c : without_)
    if (s[c] != 0) return std::numeric_limits<double>::infinity();
  // Each term of alpha is added up twice, with so many others.
  const double imbalance = total_of(s) + 2 * terms_ * unit_roundoff<double>() * alpha_sum;
  return half_spread() * imbalance;
}

template class FreeIntercept<float>;
template class FreeIntercept<double>;
#define MM_INSTANTIATE(T, I)                                                                   \
  template FreeIntercept<T>::FreeIntercept(const Samples<T, I>&, const SolverKernels<double>&, \
                                           const std::vector<T>&, const std::vector<T>&);
MM_FOR_TYPES(MM_INSTANTIATE)
#undef MM_INSTANTIATE

}  // namespace multimargin
