#include "intercept/balance.hpp"

#include <algorithm>
#include <cmath>

#include "intercept/class_sums.hpp"
#include "intercept/responses.hpp"

namespace multimargin {

namespace {

constexpr int kMostSteps = 12;

double total_of(const std::vector<double>& s) {
  double sum = 0;
  for (const double each : s) sum += std::abs(each);
  return sum;
}

// The variables that may move, and what that costs them.
template <class T>
class Costs {
 public:
  Costs(const InterceptView<T>& view, const std::vector<T>& b, bool separable)
      : view_(view), b_(b), separable_(separable) {}

  bool moves(std::int64_t p) const { return view_.alpha[p] > 0 || !view_.resting[p]; }

  double margin(std::int64_t i, std::int64_t p) const {
    if (b_.empty()) return 0;
    const std::int64_t own = view_.slot_begin[i];
    const double more = static_cast<double>(b_[view_.cls[p]] - b_[view_.cls[own]]);
    return static_cast<double>(view_.margin(p, own, more, view_.norm2[i]));
  }

  // Where variables share a bound, and use it up: the margin that those of value > 0 should have.
  double level(std::int64_t i) const {
    const std::int64_t own = view_.slot_begin[i];
    if (separable_ || view_.alpha[own] < view_.box[i] * (1 - T(1e-5))) return 0;
    double sum = 0, product = 0;
    for (std::int64_t p = own + 1; p < view_.slot_begin[i + 1]; ++p) {
      const double a = static_cast<double>(view_.alpha[p]);
      if (!(a > 0)) continue;
      sum += a;
      product += a * margin(i, p);
    }
    return sum > 0 ? std::max(0.0, product / sum) : 0;
  }

  double of(std::int64_t i, std::int64_t p, double level) const {
    if (!(view_.alpha[p] > 0)) return std::min(level, margin(i, p));
    if (!separable_) return level;
    return view_.alpha[p] < view_.box[i] ? 0.0 : std::max(0.0, margin(i, p));
  }

 private:
  const InterceptView<T>& view_;
  const std::vector<T>& b_;
  bool separable_;
};

// Rounds the variables of a sample. Those that share a bound still obey it.
template <class T>
void put_rounded(const ResponseBlock<double>& block, bool separable, T* alpha) {
  double sum = 0;
  int largest = 0;
  for (int c = 0; c < block.size; ++c) {
    alpha[c] = static_cast<T>(block.fresh[c]);
    sum += static_cast<double>(alpha[c]);
    if (alpha[c] > alpha[largest]) largest = c;
  }
  if (separable || !(sum > block.box)) return;
  const double less = static_cast<double>(alpha[largest]) - (sum - block.box);
  alpha[largest] = std::max(T(0), std::nextafter(static_cast<T>(less), T(0)));
}

}  // namespace

template <class T>
bool balance(const InterceptView<T>& view, const SolverKernels<double>& kernels,
             const std::vector<T>& b, double square, double enough, T* alpha, Team& team) {
  Responses responses(view, team);
  std::vector<std::vector<double>> work(kParts);
  const Costs<T> costs(view, b, kernels.separable);
  std::vector<double> mu(view.n_classes, 0.0), rest;
  const auto block_of = [&](std::int64_t part, std::int64_t i, const std::vector<double>& at) {
    const std::int64_t own = view.slot_begin[i], end = view.slot_begin[i + 1];
    ResponseBlock<double> block(work[part], end - own, view.cls[own],
                                static_cast<double>(view.box[i]),
                                static_cast<double>(view.norm2[i]));
    const double level = costs.level(i);
    for (std::int64_t p = own + 1; p < end; ++p)
      if (costs.moves(p))
        block.add(view.cls[p], costs.of(i, p, level) + at[view.cls[p]] - at[block.own],
                  static_cast<double>(view.alpha[p]));
    return block;
  };
  const auto set_rest = [&](const std::vector<double>& at) {
    rest = responses.all([&](std::int64_t part, std::int64_t i, FreeClasses& free, double* out) {
      const ResponseBlock<double> block = block_of(part, i, at);
      if (block.size > 0) block.solve(kernels, free, out);
    });
    for (double& each : rest) each *= square;
  };
  set_rest(mu);
  const double before = total_of(rest);
  responses.minimise(mu, rest, square, kMostSteps, set_rest,
                     [&] { return !(total_of(rest) > square * enough); });
  if (!(total_of(rest) < before)) return false;
  responses.all([&](std::int64_t part, std::int64_t i, FreeClasses& free, double* out) {
    const ResponseBlock<double> block = block_of(part, i, mu);
    if (block.size == 0) return;
    block.solve(kernels, free, out);
    std::vector<T> rounded(block.size);
    put_rounded(block, kernels.separable, rounded.data());
    const std::int64_t own = view.slot_begin[i];
    T sum = 0;
    int c = 0;
    for (std::int64_t p = own + 1; p < view.slot_begin[i + 1]; ++p) {
      if (costs.moves(p)) alpha[p] = rounded[c++];
      sum += alpha[p];
    }
    alpha[own] = sum;
  });
  return true;
}

template bool balance<float>(const InterceptView<float>&, const SolverKernels<double>&,
                             const std::vector<float>&, double, double, float*, Team&);
template bool balance<double>(const InterceptView<double>&, const SolverKernels<double>&,
                              const std::vector<double>&, double, double, double*, Team&);

}  // namespace multimargin
