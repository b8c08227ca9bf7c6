// Newton steps of the proximal point method; the functions are at the head of row_engine.hpp.
#include <algorithm>
#include <cmath>

#include "common/types.hpp"
#include "rows/row_engine.hpp"
#include "rows/sample_loops.hpp"

namespace multimargin {

namespace {

constexpr int kMostLengths = 20;         // tried along one direction
constexpr double kSearchAccuracy = 0.1;  // of the slope at its beginning

}  // namespace

template <class T, class I>
void RowEngine<T, I>::set_strength(double strength) {
  has_preconditioner_ = false;
  sigma_.resize(static_cast<std::size_t>(X_.rows));
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    const double box = static_cast<double>(box_[i]);
    // Without an upper bound a variable's own step is the measure.
    if (loss_.squared)
      sigma_[i] = 2 * box;
    else
      sigma_[i] = std::isinf(box) ? strength / std::max(norm2_[i], 1e-300) : strength * box;
  }
}

template <class T, class I>
NewtonReport RowEngine<T, I>::begin_newton(double strength) {
  for (Buffer<double>* b : {&before_, &score_, &change_})
    b->reset(static_cast<std::size_t>(X_.rows * width_));
  end_holding();
  recompute();  // passes have let them drift
  const RowWeights W = view(w_);
  each_sample([&](int, std::int64_t i) { data_.gather(X_, W, i, row(score_, i)); });
  tight_.assign(static_cast<std::size_t>(X_.rows), 0);
  before_is_better_ = false;
  double gain = 0;
  for (std::int64_t i = 0; i < X_.rows; ++i) gain += loss_.gain(sample(i), row(alpha_, i));
  dual_ = gain - dual_half_norm_;
  return next_point(strength);
}

template <class T, class I>
NewtonReport RowEngine<T, I>::next_point(double strength) {
  if (!before_is_better_) {
    std::copy_n(alpha_.data(), X_.rows * width_, before_.data());
    before_dual_ = dual_;
    before_half_norm_ = dual_half_norm_;
  }
  set_strength(strength);
  return evaluate();
}

template <class T, class I>
void RowEngine<T, I>::end_newton() {
  if (before_is_better_) alpha_.swap(before_);
  before_is_better_ = false;
  holds_ = false;
  recompute();
}

template <class T, class I>
NewtonReport RowEngine<T, I>::evaluate() {
  NewtonReport report;
  std::vector<RowProx> seen(static_cast<std::size_t>(X_.rows));
  each_sample([&](int member, std::int64_t i) {
    seen[i] = loss_.prox(sample(i), sigma_[i], row(score_, i), row(before_, i), row(alpha_, i),
                         scratch(member, 0));
  });
  free_.clear();
  double loss = 0, gain = 0;
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    loss += seen[i].loss;
    gain += seen[i].gain;
    report.moved += seen[i].moved;
    report.free += seen[i].free;
    tight_[i] = seen[i].tight;
    if (seen[i].free > 0 && norm2_[i] > 0) free_.push_back(static_cast<std::int32_t>(i));
  }
  make_weights(alpha_.data(), made_);
  dual_half_norm_ = half_norm(made_);
  dual_ = gain - dual_half_norm_;
  // A gain that rounding may have made, or taken, is none.
  const double noise = 1e-15 * (gain + dual_half_norm_);
  before_is_better_ = before_dual_ > dual_ + noise;
  if (before_is_better_) {
    dual_ = before_dual_;
    dual_half_norm_ = before_half_norm_;
  }
  report.primal = half_norm(w_) + loss;
  report.dual = dual_;
  for (std::int64_t k = 0; k < weight_numbers(); ++k)
    report.residual += (w_[k] - made_[k]) * (w_[k] - made_[k]);
  report.residual /= 2;
  return report;
}

template <class T, class I>
NewtonReport RowEngine<T, I>::newton_step(double reduction, std::int32_t iterations) {
  const std::int32_t taken = direction(reduction, iterations);
  if (taken < 0) {
    NewtonReport report = evaluate();
    report.complete = false;
    return report;
  }
  const RowWeights V = view(step_);
  each_sample([&](int, std::int64_t i) { data_.gather(X_, V, i, row(change_, i)); });
  search();
  for (std::int64_t j = 0; j <= X_.cols; ++j)
    for (std::int64_t c = 0; c < width_; ++c)
      w_[j * width_ + c] += length_[c] * step_[j * width_ + c];
  each_sample([&](int, std::int64_t i) {
    double* s = row(score_, i);
    const double* d = row(change_, i);
    for (std::int64_t c = 0; c < width_; ++c) s[c] += length_[c] * d[c];
  });
  NewtonReport report = evaluate();
  report.iterations = taken;
  report.length = *std::max_element(length_.data(), length_.data() + rows_);
  return report;
}

// The slope of f along the step, class by class, or of all together.
template <class T, class I>
std::vector<double> RowEngine<T, I>::slopes(const std::vector<double>& along,
                                            const std::vector<double>& squares) {
  const std::int64_t tasks = (X_.rows + kRowsPerTask - 1) / kRowsPerTask;
  Buffer<double> parts;
  parts.reset(static_cast<std::size_t>(tasks * width_));
  std::fill_n(parts.data(), tasks * width_, 0.0);
  each_sample([&](int member, std::int64_t i) {
    if (!(norm2_[i] > 0)) return;
    loss_.slope(sample(i), sigma_[i], row(score_, i), row(change_, i), length_.data(),
                row(before_, i), scratch(member, 0), row(parts, i / kRowsPerTask));
  });
  std::vector<double> slope(static_cast<std::size_t>(loss_.independent ? rows_ : 1), 0.0);
  for (std::int32_t c = 0; c < rows_; ++c) {
    double sum = along[c] + length_[c] * squares[c];
    for (std::int64_t task = 0; task < tasks; ++task) sum += parts[task * width_ + c];
    slope[loss_.independent ? c : 0] += sum;
  }
  return slope;
}

// The step's length, where f's slope along it is nearly zero: one for all classes, or one each
// where classes are independent.
template <class T, class I>
void RowEngine<T, I>::search() {
  std::vector<double> along(static_cast<std::size_t>(width_), 0.0), squares(along), first(along);
  for (std::int64_t j = 0; j <= X_.cols; ++j)
    for (std::int64_t c = 0; c < width_; ++c) {
      const double d = step_[j * width_ + c], w = w_[j * width_ + c];
      along[c] += d * w;
      squares[c] += d * d;
      first[c] += d * (w - made_[j * width_ + c]);
    }
  struct Bracket {
    double low = 0, at_low = 0, high = -1, at_high = 0, wanted = 0, length = 1;
    bool done = false;
  };
  std::vector<Bracket> brackets(static_cast<std::size_t>(loss_.independent ? rows_ : 1));
  for (std::int32_t c = 0; c < rows_; ++c) brackets[loss_.independent ? c : 0].at_low += first[c];
  for (Bracket& b : brackets) {
    b.wanted = kSearchAccuracy * std::abs(b.at_low);
    b.done = !(b.at_low < 0);
    if (b.done) b.length = 0;
  }
  length_.reset(static_cast<std::size_t>(width_));
  std::fill_n(length_.data(), width_, 0.0);
  for (int tried = 0; tried < kMostLengths; ++tried) {
    for (std::int32_t c = 0; c < rows_; ++c)
      length_[c] = brackets[loss_.independent ? c : 0].length;
    if (std::all_of(brackets.begin(), brackets.end(), [](const Bracket& b) { return b.done; }))
      return;
    const std::vector<double> slope = slopes(along, squares);
    for (std::size_t k = 0; k < brackets.size(); ++k) {
      Bracket& b = brackets[k];
      if (b.done) continue;
      b.done = std::abs(slope[k]) <= b.wanted;
      if (b.done) continue;
      if (slope[k] < 0) {
        b.low = b.length;
        b.at_low = slope[k];
      } else {
        b.high = b.length;
        b.at_high = slope[k];
      }
      if (b.high < 0) {
        b.length *= 2;
      } else {
        const double wide = b.high - b.low;
        const double next = b.low + wide * (-b.at_low) / (b.at_high - b.at_low);
        if (b.low > 0)
          b.length = std::clamp(next, b.low + 0.1 * wide, b.high - 0.1 * wide);
        else  // a step that is far too long is cut by more and more
          b.length = std::min(next, b.high * std::pow(0.1, tried));
      }
    }
  }
  for (std::int32_t c = 0; c < rows_; ++c) {
    Bracket& b = brackets[loss_.independent ? c : 0];
    length_[c] = b.done ? b.length : b.low;
  }
}

#define MM_MEMBERS(T, I)                                       \
  template NewtonReport RowEngine<T, I>::begin_newton(double); \
  template NewtonReport RowEngine<T, I>::next_point(double);   \
  template void RowEngine<T, I>::end_newton();                 \
  template NewtonReport RowEngine<T, I>::newton_step(double, std::int32_t);
MM_FOR_TYPES(MM_MEMBERS)
#undef MM_MEMBERS

}  // namespace multimargin
