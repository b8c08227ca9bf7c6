#include "bounded_rows/bounded_engine.hpp"

#include <algorithm>
#include <cmath>

#include "common/random.hpp"
#include "common/rounding.hpp"
#include "common/types.hpp"

namespace multimargin {

namespace {

// Rows a multiple of 1 KiB apart would share a few sets of the cache.
template <class T>
std::int64_t padded(std::int32_t classes) {
  const std::int64_t wide = (classes + kWordClasses - 1) / kWordClasses * kWordClasses;
  return wide * sizeof(T) % 1024 == 0 ? wide + kWordClasses : wide;
}

}  // namespace

template <class T, class I>
BoundedEngine<T, I>::BoundedEngine(const Samples<T, I>& samples, Isa isa, int threads,
                                   std::uint64_t seed)
    : X_(samples.X),
      y_(samples.y),
      box_(samples.box),
      n_classes_(samples.n_classes),
      bias_(samples.bias),
      seed_(seed),
      kernels_(bounded_kernels<T, I>(isa)),
      team_(threads),
      width_(padded<T>(samples.n_classes)),
      alpha_(samples.X.rows, width_) {
  const std::size_t n = static_cast<std::size_t>(X_.rows);
  norm2_.resize(n);
  sum_.assign(n, 0.0);
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    norm2_[i] = static_cast<double>(bias_) * static_cast<double>(bias_);
    for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t)
      norm2_[i] += static_cast<double>(X_.data[t]) * static_cast<double>(X_.data[t]);
    if (norm2_[i] > 0) everyone_.push_back(static_cast<std::int32_t>(i));
  }
  waits_.assign(n, 0);
  span_.assign(n, 0);
  words_.resize(static_cast<std::size_t>(width_ / kWordClasses));
  found_.resize(static_cast<std::size_t>(width_));
  norm_.reset(static_cast<std::size_t>(width_));
  scratch_.reset(static_cast<std::size_t>(team_.size() * kScratch * width_));
  w_.reset(static_cast<std::size_t>((X_.cols + 1) * width_));
  std::fill_n(w_.data(), w_.size(), T(0));
  transpose();
  settle_empty();
}

// Samples by feature, in the order of samples.
template <class T, class I>
void BoundedEngine<T, I>::transpose() {
  column_begin_.assign(static_cast<std::size_t>(X_.cols + 1), 0);
  for (std::int64_t i = 0; i < X_.rows; ++i)
    for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t) ++column_begin_[X_.features(i)[t] + 1];
  for (std::int64_t j = 0; j < X_.cols; ++j) column_begin_[j + 1] += column_begin_[j];
  columns_.reset(static_cast<std::size_t>(column_begin_[X_.cols]));
  std::vector<std::int64_t> next(column_begin_.begin(), column_begin_.end() - 1);
  for (std::int64_t i = 0; i < X_.rows; ++i)
    for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t)
      columns_[next[X_.features(i)[t]]++] = {static_cast<std::int32_t>(i), X_.data[t]};
}

// Samples without entries have margins 1 whatever the weights: all variables are at their bound.
template <class T, class I>
void BoundedEngine<T, I>::settle_empty() {
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    if (norm2_[i] > 0) continue;
    alpha_.set_free(i, nullptr, 0);
    for (std::int32_t c = 0; c < n_classes_; ++c)
      if (c != y_[i]) alpha_.set_bound(i, c);
  }
}

template <class T, class I>
void BoundedEngine<T, I>::assign(const std::int64_t* slot_begin, const std::int32_t* cls,
                                 const T* value) {
  alpha_.clear();
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    std::int64_t count = 0;
    for (std::int64_t s = slot_begin[i]; s < slot_begin[i + 1]; ++s) {
      if (cls[s] == y_[i] || !(value[s] > 0)) continue;
      if (value[s] >= box_[i])
        alpha_.set_bound(i, cls[s]);
      else
        found_[count++] = {cls[s], value[s]};
    }
    std::sort(found_.begin(), found_.begin() + count,
              [](const auto& a, const auto& b) { return a.cls < b.cls; });
    alpha_.set_free(i, found_.data(), count);
  }
  settle_empty();
  std::fill(span_.begin(), span_.end(), std::uint8_t{0});
  std::fill(waits_.begin(), waits_.end(), std::uint8_t{0});
  recompute();
}

template <class T, class I>
std::vector<std::int64_t> BoundedEngine<T, I>::slot_begin() const {
  std::vector<std::int64_t> begin(static_cast<std::size_t>(X_.rows + 1), 0);
  for (std::int64_t i = 0; i < X_.rows; ++i)
    begin[i + 1] = begin[i] + 1 + alpha_.free_count(i) + alpha_.bound_count(i);
  return begin;
}

template <class T, class I>
void BoundedEngine<T, I>::lists(const std::int64_t* slot_begin, std::int32_t* cls, T* value) const {
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    std::int64_t s = slot_begin[i];
    cls[s] = y_[i];
    value[s++] = static_cast<T>(alpha_.sum(i, box_[i]));
    std::int32_t k = 0;
    for (std::int32_t c = 0; c < n_classes_; ++c) {
      const bool free = k < alpha_.free_count(i) && alpha_.free(i)[k].cls == c;
      if (!free && !alpha_.at_bound(i, c)) continue;
      cls[s] = c;
      value[s++] = free ? alpha_.free(i)[k++].value : box_[i];
    }
  }
}

template <class T, class I>
double BoundedEngine<T, I>::total() const {
  double total = 0;
  for (std::int64_t i = 0; i < X_.rows; ++i) total += alpha_.sum(i, box_[i]);
  return total;
}

template <class T, class I>
void BoundedEngine<T, I>::expand(std::int64_t i, T* alpha) const {
  kernels_.expand(alpha_.bits(i), width_, box_[i], alpha);
  const FreeVariable<T>* free = alpha_.free(i);
  for (std::int32_t k = 0; k < alpha_.free_count(i); ++k) alpha[free[k].cls] = free[k].value;
}

template <class T, class I>
PassReport BoundedEngine<T, I>::pass(bool everything, double leave_below, double quiet,
                                     double idle) {
  if (w_.size() == 0) recompute();
  PassReport report;
  std::vector<std::int32_t> order;
  for (const std::int32_t i : everyone_) {
    if (waits_[i] > 0 && !everything) {
      --waits_[i];
      continue;
    }
    order.push_back(i);
  }
  Random(seed_, passes_++).shuffle(order.data(), static_cast<std::int64_t>(order.size()));
  const BoundedWeights<T> W = view();
  T *score = scratch(0, 0), *alpha = scratch(0, 1), *work = scratch(0, 2);
  for (const std::int32_t i : order) {
    BoundedReport seen;
    kernels_.gather(X_, W, i, score);
    expand(i, alpha);
    if (kernels_.solve(sample(i), score, alpha, work, words_.data(), leave_below, idle, &seen)) {
      kernels_.scatter(X_, W, i, score, words_.data(), seen.words);
      const T own = static_cast<T>(seen.own_step);
      for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t)
        w_[X_.features(i)[t] * width_ + y_[i]] += X_.data[t] * own;
      W.w_bias[y_[i]] += bias_ * own;
      const std::int64_t count =
          kernels_.pack(alpha, width_, box_[i], alpha_.bits(i), found_.data());
      alpha_.set_free(i, found_.data(), count);
    }
    report.gap += seen.gap;
    report.violation = std::max(report.violation, seen.violation);
    span_[i] = static_cast<std::uint8_t>(
        seen.gap > quiet ? 0 : std::min(16, span_[i] == 0 ? 2 : 2 * span_[i]));
    waits_[i] = span_[i];
    if ((++report.visits & 63) == 0 && stop_()) {
      report.complete = false;
      break;
    }
  }
  return report;
}

// What sample i adds to the weights of a feature whose value is x.
template <class T, class I>
void BoundedEngine<T, I>::add_sample(std::int64_t i, double x, double* sum) const {
  if (sum_[i] == 0) return;
  kernels_.add(alpha_.bits(i), width_, -x * static_cast<double>(box_[i]), sum);
  const FreeVariable<T>* free = alpha_.free(i);
  for (std::int32_t k = 0; k < alpha_.free_count(i); ++k)
    sum[free[k].cls] -= x * static_cast<double>(free[k].value);
  sum[y_[i]] += x * sum_[i];
}

// Rounds a feature's weights, which are summed up, to type T.
template <class T, class I>
void BoundedEngine<T, I>::take_row(std::int64_t feature, Part* part) {
  T* row = w_.data() + feature * width_;
  double exact = 0, rounded = 0;
  for (std::int64_t c = 0; c < width_; ++c) {
    const double v = part->sum[c];
    row[c] = static_cast<T>(v);
    const double r = static_cast<double>(row[c]);
    exact += v * v;
    rounded += r * r;
    part->norm2[c] += r * r;
    part->nonzeros += row[c] != T(0);
  }
  // The model has the product of the constant feature and its weight, which is rounded again.
  if (feature == X_.cols) rounded *= 1 + 8 * unit_roundoff<T>();
  part->dual_half_norm += exact / 2;
  part->half_norm += rounded / 2;
}

template <class T, class I>
void BoundedEngine<T, I>::recompute() {
  w_.reset(static_cast<std::size_t>((X_.cols + 1) * width_));
  constexpr std::int64_t some = 64;
  team_.for_each((X_.rows + some - 1) / some, [&](int, std::int64_t task) {
    for (std::int64_t i = task * some; i < std::min(X_.rows, (task + 1) * some); ++i)
      sum_[i] = alpha_.sum(i, box_[i]);
  });
  std::vector<Part> parts(static_cast<std::size_t>(kParts + 1));
  team_.for_each(kParts + 1, [&](int, std::int64_t k) {
    Part& part = parts[k];
    const std::size_t width = static_cast<std::size_t>(width_);
    part.norm2.assign(width, 0.0);
    part.sum.reset(width);
    // The constant feature, which takes longest, by itself and first.
    const std::int64_t step = k == 0 ? 1 : kParts;
    for (std::int64_t j = k == 0 ? X_.cols : k - 1; j < X_.cols + (k == 0); j += step) {
      add_up(j, part.sum.data());
      take_row(j, &part);
    }
  });
  half_norm_ = dual_half_norm_ = 0;
  nonzeros_ = 0;
  std::vector<double> norm2(static_cast<std::size_t>(width_), 0.0);
  for (const Part& part : parts) {
    half_norm_ += part.half_norm;
    dual_half_norm_ += part.dual_half_norm;
    nonzeros_ += part.nonzeros;
    for (std::int64_t c = 0; c < width_; ++c) norm2[c] += part.norm2[c];
  }
  for (std::int64_t c = 0; c < width_; ++c)
    norm_[c] = static_cast<T>(std::sqrt(norm2[c]) * (1 + 8 * unit_roundoff<T>()));
}

template <class T, class I>
RowCertificate BoundedEngine<T, I>::certify() {
  RowCertificate seen;
  seen.half_norm = half_norm_;
  seen.dual_half_norm = dual_half_norm_;
  const BoundedWeights<T> W = view();
  std::vector<BoundedValues> values(static_cast<std::size_t>(X_.rows));
  constexpr std::int64_t some = 64;
  team_.for_each((X_.rows + some - 1) / some, [&](int member, std::int64_t task) {
    T *score = scratch(member, 0), *alpha = scratch(member, 1);
    for (std::int64_t i = task * some; i < std::min(X_.rows, (task + 1) * some); ++i) {
      kernels_.gather(X_, W, i, score);
      expand(i, alpha);
      const double unit = 1.01 * score_rounding<T>(X_.end(i) - X_.begin(i), norm2_[i]);
      const double own = 1.01 * own_rounding<T>(unit, static_cast<double>(norm_[y_[i]]));
      values[i] = kernels_.values(sample(i), score, alpha, norm_.data(), static_cast<T>(unit),
                                  static_cast<T>(own));
    }
  });
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    seen.loss += values[i].loss;
    seen.gain += sum_[i];
    seen.free += alpha_.free_count(i);
    if (norm2_[i] > 0) seen.violation = std::max(seen.violation, values[i].violation);
  }
  return seen;
}

// The weights of a feature, summed up from all its terms.
template <class T, class I>
void BoundedEngine<T, I>::add_up(std::int64_t feature, double* sum) const {
  std::fill_n(sum, width_, 0.0);
  if (feature < X_.cols) {
    for (std::int64_t t = column_begin_[feature]; t < column_begin_[feature + 1]; ++t)
      add_sample(columns_[t].sample, static_cast<double>(columns_[t].value), sum);
  } else if (bias_ != 0) {
    for (const std::int32_t i : everyone_) add_sample(i, static_cast<double>(bias_), sum);
  }
}

template <class T, class I>
void BoundedEngine<T, I>::weights(T* out, T* constant) {
  constexpr std::int64_t some = 64;  // features that are turned into columns at once
  team_.for_each(X_.cols / some + 1, [&](int, std::int64_t task) {
    Buffer<double> sum;
    Buffer<T> rows;
    sum.reset(static_cast<std::size_t>(width_));
    rows.reset(static_cast<std::size_t>(some * width_));
    const std::int64_t first = task * some, end = std::min(X_.cols + 1, first + some);
    for (std::int64_t j = first; j < end; ++j) {
      add_up(j, sum.data());
      for (std::int64_t c = 0; c < n_classes_; ++c)
        rows[(j - first) * width_ + c] = static_cast<T>(sum[c]);
    }
    for (std::int64_t c = 0; c < n_classes_; ++c) {
      for (std::int64_t j = first; j < std::min(X_.cols, end); ++j)
        out[c * X_.cols + j] = rows[(j - first) * width_ + c];
      if (end > X_.cols) constant[c] = rows[(X_.cols - first) * width_ + c];
    }
  });
}

template <class T, class I>
std::vector<std::int64_t> BoundedEngine<T, I>::sparse_begin() {
  std::vector<std::int64_t> begin(static_cast<std::size_t>(n_classes_ + 1), 0);
  for (std::int64_t j = 0; j < X_.cols; ++j)
    for (std::int32_t c = 0; c < n_classes_; ++c) begin[c + 1] += w_[j * width_ + c] != T(0);
  for (std::int32_t c = 0; c < n_classes_; ++c) begin[c + 1] += begin[c];
  return begin;
}

template <class T, class I>
void BoundedEngine<T, I>::sparse_weights(const std::int64_t* indptr, std::int32_t* indices, T* data,
                                         T* constant) {
  std::vector<std::int64_t> next(indptr, indptr + n_classes_);
  for (std::int64_t j = 0; j < X_.cols; ++j)
    for (std::int32_t c = 0; c < n_classes_; ++c) {
      const T v = w_[j * width_ + c];
      if (v == T(0)) continue;
      indices[next[c]] = static_cast<std::int32_t>(j);
      data[next[c]++] = v;
    }
  std::copy_n(w_.data() + X_.cols * width_, n_classes_, constant);
}

#define MM_CLASS(T, I) template class BoundedEngine<T, I>;
MM_FOR_TYPES(MM_CLASS)
#undef MM_CLASS

}  // namespace multimargin
