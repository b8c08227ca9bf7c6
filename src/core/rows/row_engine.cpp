#include "rows/row_engine.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "common/random.hpp"
#include "common/rounding.hpp"
#include "common/types.hpp"
#include "rows/sample_loops.hpp"

namespace multimargin {

namespace {

// Rows a multiple of 1 KiB apart would share a few sets of the cache.
std::int64_t padded(std::int32_t classes, int lanes) {
  const std::int64_t wide = (classes + lanes - 1) / lanes * lanes;
  return wide % 128 == 0 ? wide + lanes : wide;
}

}  // namespace

template <class T, class I>
RowEngine<T, I>::RowEngine(const Samples<T, I>& samples, RowLoss loss, std::int32_t rows, Isa isa,
                           int threads, std::uint64_t seed)
    : X_(samples.X),
      y_(samples.y),
      box_(samples.box),
      n_classes_(samples.n_classes),
      rows_(rows),
      bias_(static_cast<double>(samples.bias)),
      seed_(seed),
      data_(row_data_kernels<T, I>(isa)),
      loss_(row_loss_kernels(loss, isa)),
      dense_(dense_kernels(isa)),
      team_(threads),
      width_(padded(rows, loss_.lanes)) {
  const std::size_t n = static_cast<std::size_t>(X_.rows);
  norm2_.resize(n);
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    norm2_[i] = bias_ * bias_;
    for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t)
      norm2_[i] += static_cast<double>(X_.data[t]) * static_cast<double>(X_.data[t]);
    if (norm2_[i] > 0) everyone_.push_back(static_cast<std::int32_t>(i));
  }
  may_hold_ = can_hold();
  const std::int64_t entries = X_.begin(X_.rows);
  chunks_ = static_cast<int>(std::clamp<std::int64_t>(entries / (8 * (X_.cols + 1)), 1, 16));
  if (samples.costs != nullptr) {
    // Of classes x classes: less than the dual variables, which are dense here.
    asked_.reset(static_cast<std::size_t>(n_classes_ * width_));
    std::fill_n(asked_.data(), n_classes_ * width_, 0.0);
    for (std::int32_t c = 0; c < n_classes_; ++c)
      samples.costs->row(c, 0, n_classes_, asked_.data() + c * width_);
    most_asked_ = samples.costs->largest();
  }
  waits_.assign(n, 0);
  span_.assign(n, 0);
  scratch_.reset(static_cast<std::size_t>(team_.size() * kScratch * width_));
  alpha_.reset(static_cast<std::size_t>(X_.rows * width_));
  std::fill_n(alpha_.data(), X_.rows * width_, 0.0);
  w_.reset(static_cast<std::size_t>(weight_numbers()));
  std::fill_n(w_.data(), weight_numbers(), 0.0);
  settle_empty();
}

// Samples without entries have the same margins whatever the weights, and so the same variables.
template <class T, class I>
void RowEngine<T, I>::settle_empty() {
  Buffer<double> zero;
  zero.reset(static_cast<std::size_t>(width_));
  std::fill_n(zero.data(), width_, 0.0);
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    if (norm2_[i] > 0) continue;
    const double box = static_cast<double>(box_[i]);
    if (std::isinf(box))
      std::fill_n(row(alpha_, i), width_, 0.0);
    else
      loss_.prox(sample(i), (loss_.squared ? 2 : 1e9) * box, zero.data(), zero.data(),
                 row(alpha_, i), scratch(0, 0));
  }
}

template <class T, class I>
RowSample RowEngine<T, I>::sample(std::int64_t i) const {
  const std::int32_t own = rows_ == n_classes_ ? y_[i] : y_[i] - 1;
  const double* asked = asked_.size() == 0 ? nullptr : asked_.data() + y_[i] * width_;
  return {width_, rows_, own, static_cast<double>(box_[i]), norm2_[i], asked};
}

template <class T, class I>
RowWeights RowEngine<T, I>::view(Buffer<double>& w) const {
  return {w.data(), w.data() + X_.cols * width_, bias_, width_};
}

template <class T, class I>
void RowEngine<T, I>::assign(const double* alpha) {
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    double* out = row(alpha_, i);
    std::copy_n(alpha + i * rows_, rows_, out);
    std::fill(out + rows_, out + width_, 0.0);
  }
  before_is_better_ = false;
  settle_empty();
  std::fill(span_.begin(), span_.end(), std::uint8_t{0});
  std::fill(waits_.begin(), waits_.end(), std::uint8_t{0});
  holds_ = false;
  recompute();
}

template <class T, class I>
void RowEngine<T, I>::alpha(double* out) const {
  for (std::int64_t i = 0; i < X_.rows; ++i)
    std::copy_n(better_alpha().data() + i * width_, rows_, out + i * rows_);
}

template <class T, class I>
void RowEngine<T, I>::copy_weights(double* out) const {
  for (std::int64_t j = 0; j <= X_.cols; ++j)
    std::copy_n(w_.data() + j * width_, rows_, out + j * rows_);
}

template <class T, class I>
void RowEngine<T, I>::put_weights(const double* weights) {
  if (may_hold_) begin_holding();
  for (std::int64_t j = 0; j <= X_.cols; ++j)
    std::copy_n(weights + j * rows_, rows_, w_.data() + j * width_);
}

template <class T, class I>
void RowEngine<T, I>::weights(T* out, T* constant) {
  constexpr std::int64_t some = 256;
  team_.for_each((X_.cols + some - 1) / some, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(X_.cols, (task + 1) * some);
    for (std::int32_t c = 0; c < rows_; ++c)
      for (std::int64_t j = task * some; j < end; ++j)
        out[c * X_.cols + j] = static_cast<T>(w_[j * width_ + c]);
  });
  for (std::int32_t c = 0; c < rows_; ++c) constant[c] = static_cast<T>(w_[X_.cols * width_ + c]);
}

template <class T, class I>
void RowEngine<T, I>::make_weights(const double* alpha, Buffer<double>& w) {
  accumulate(everyone_, w, [&](int member, std::int32_t i, const RowWeights& out) {
    const double* a = alpha + static_cast<std::int64_t>(i) * width_;
    if (std::all_of(a, a + rows_, [](double v) { return v == 0; })) return;
    double* step = scratch(member, 0);
    loss_.shares(sample(i), a, step);
    data_.scatter(X_, out, i, step);
  });
}

template <class T, class I>
double RowEngine<T, I>::half_norm(const Buffer<double>& w) const {
  double sum = 0;
  for (std::int64_t j = 0; j <= X_.cols; ++j) {
    double part = 0;
    for (std::int64_t c = 0; c < width_; ++c) part += w[j * width_ + c] * w[j * width_ + c];
    sum += part;
  }
  return sum / 2;
}

template <class T, class I>
void RowEngine<T, I>::recompute() {
  const std::vector<double> held(constant(), constant() + (holds_ ? width_ : 0));
  make_weights(alpha_.data(), w_);
  dual_half_norm_ = half_norm(w_);
  if (!holds_) return;
  steps_.forget();
  std::copy_n(constant(), width_, made_intercept_.data());
  std::copy_n(held.data(), width_, constant());
}

template <class T, class I>
PassReport RowEngine<T, I>::pass(bool everything, double leave_below, double quiet, double idle,
                                 bool hold) {
  PassReport report;
  if (hold && may_hold_)
    move_intercept();
  else
    end_holding();
  std::vector<std::int32_t> order;
  for (const std::int32_t i : everyone_) {
    if (waits_[i] > 0 && !everything) {
      --waits_[i];
      continue;
    }
    order.push_back(i);
  }
  Random(seed_, passes_++).shuffle(order.data(), static_cast<std::int64_t>(order.size()));
  const RowWeights W = view(w_);
  RowWeights moving = W;
  if (holds_) moving.w_bias = made_intercept_.data();
  double *score = scratch(0, 0), *step = scratch(0, 1), *work = scratch(0, 2);
  std::int64_t count = 0;
  for (const std::int32_t i : order) {
    RowReport seen;
    data_.gather(X_, W, i, score);
    RowSample b = sample(i);
    if (holds_) b.norm2 = curvature_[i];
    if (loss_.block(b, score, row(alpha_, i), step, work, leave_below, idle, &seen))
      data_.scatter(X_, moving, i, step);
    report.gap += seen.gap;
    report.violation = std::max(report.violation, seen.violation);
    const bool settled = seen.gap <= quiet;
    span_[i] =
        settled ? static_cast<std::uint8_t>(std::min(16, span_[i] == 0 ? 2 : 2 * span_[i])) : 0;
    waits_[i] = span_[i];
    if ((++count & 63) == 0 && stop_()) {
      report.complete = false;
      break;
    }
  }
  report.visits = count;
  if (holds_) report.gap += intercept_gap();
  return report;
}

template <class T, class I>
RowCertificate RowEngine<T, I>::certify() {
  RowCertificate seen;
  // Rounding lets the weights of a feature not quite sum to zero. Where they have to, the objective
  // is that of the nearest ones that do; and the model has weights of type T.
  if (loss_.centred) centre(w_);
  Buffer<double> rounded;
  Buffer<double>* weights = &w_;
  if (sizeof(T) == 4) {
    rounded.reset(w_.size());
    for (std::size_t k = 0; k < w_.size(); ++k)
      rounded[k] = static_cast<double>(static_cast<T>(w_[k]));
    // It has the product of the constant feature and its weight.
    if (bias_ != 0)
      for (std::int64_t k = X_.cols * width_; k < (X_.cols + 1) * width_; ++k)
        rounded[k] = static_cast<double>(static_cast<T>(bias_ * rounded[k])) / bias_;
    if (loss_.centred) centre(rounded);
    weights = &rounded;
  }
  seen.half_norm = half_norm(*weights);
  seen.dual_half_norm = dual_half_norm_;
  std::vector<double> norm(static_cast<std::size_t>(width_), 0.0);
  for (std::int64_t j = 0; j <= X_.cols; ++j)
    for (std::int64_t c = 0; c < width_; ++c)
      norm[c] += (*weights)[j * width_ + c] * (*weights)[j * width_ + c];
  for (double& v : norm) v = std::sqrt(v);
  const RowWeights W = view(*weights);
  const double spare = 8 * unit_roundoff<double>() * std::max(1.0, most_asked_);
  std::vector<RowValues> values(static_cast<std::size_t>(X_.rows));
  each_sample([&](int member, std::int64_t i) {
    double *score = scratch(member, 0), *rounding = scratch(member, 1);
    const RowSample b = sample(i);
    data_.gather(X_, W, i, score);
    const double unit = score_rounding<double>(X_.end(i) - X_.begin(i), norm2_[i]);
    const double own = b.own >= 0 ? own_rounding<double>(unit, norm[b.own]) : 0;
    for (std::int64_t c = 0; c < width_; ++c) rounding[c] = unit * norm[c] + own + spare;
    values[i] = loss_.values(b, score, better_alpha().data() + i * width_, rounding);
  });
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    seen.loss += values[i].loss;
    seen.gain += values[i].gain;
    seen.free += values[i].free;
    seen.margin = std::max(seen.margin, values[i].margin);
    if (norm2_[i] > 0) seen.violation = std::max(seen.violation, values[i].violation);
  }
  return seen;
}

template <class T, class I>
void RowEngine<T, I>::save(double* alpha, double* weights, double* scores, double* state) const {
  this->alpha(alpha);
  copy_weights(weights);
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    for (std::int32_t c = 0; c < rows_; ++c)
      scores[i * rows_ + c] = score_.size() == 0 ? 0.0 : score_[i * width_ + c];
    *state++ = waits_[i];
    *state++ = span_[i];
  }
  *state++ = static_cast<double>(passes_);
  *state++ = dual_;
  *state++ = dual_half_norm_;
}

template <class T, class I>
void RowEngine<T, I>::load(const double* alpha, const double* weights, const double* scores,
                           const double* state) {
  assign(alpha);
  put_weights(weights);
  for (Buffer<double>* b : {&before_, &score_, &change_})
    b->reset(static_cast<std::size_t>(X_.rows * width_));
  std::fill_n(score_.data(), X_.rows * width_, 0.0);
  tight_.assign(static_cast<std::size_t>(X_.rows), 0);
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    std::copy_n(scores + i * rows_, rows_, row(score_, i));
    waits_[i] = static_cast<std::uint8_t>(*state++);
    span_[i] = static_cast<std::uint8_t>(*state++);
  }
  passes_ = static_cast<std::uint64_t>(*state++);
  dual_ = *state++;
  dual_half_norm_ = *state++;
}

template <class T, class I>
std::int64_t RowEngine<T, I>::bytes() const {
  std::size_t numbers = alpha_.size() + w_.size() + diagonal_.size() + jacobi_.size();
  for (const Buffer<double>* b : {&before_, &score_, &change_, &made_, &step_, &r_, &z_, &p_, &q_})
    numbers += b->size();
  for (const Buffer<double>& b : parts_) numbers += b.size();
  for (const Buffer<double>& b : factor_) numbers += b.size();
  return static_cast<std::int64_t>(sizeof(double) * numbers);
}

// Members that are defined in other files are instantiated there.
#define MM_CLASS(T, I) template class RowEngine<T, I>;
MM_FOR_TYPES(MM_CLASS)
#undef MM_CLASS

}  // namespace multimargin
