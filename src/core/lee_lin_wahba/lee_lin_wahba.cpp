#include "lee_lin_wahba/lee_lin_wahba.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "common/norms.hpp"
#include "lee_lin_wahba/sample_loops.hpp"

namespace multimargin {

namespace {

// Rows of an odd number of lines: with a power of two every row would start in the same few
// sets of the cache.
template <class T>
std::int64_t padded(std::int32_t classes) {
  const std::int64_t lines = (classes + line_lanes<T>() - 1) / line_lanes<T>();
  return lines == 0 ? 0 : (lines | 1) * line_lanes<T>();
}

template <class T>
void check_cuts(const std::vector<std::int32_t>& cuts, std::int32_t n_classes) {
  std::int32_t least = 0;
  for (const std::int32_t cut : cuts) {
    if (cut < least || cut > n_classes || (cut % line_lanes<T>() != 0 && cut != n_classes))
      throw std::invalid_argument(
          "cuts must rise and be multiples of a line, or the last class's end");
    least = cut + 1;
  }
}

template <class T>
double exact_sum(const T* row, std::int64_t width) {
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += static_cast<double>(row[c]);
  return sum;
}

}  // namespace

template <class T, class I>
LeeLinWahba<T, I>::LeeLinWahba(const Samples<T, I>& samples, Isa isa, int threads,
                               std::uint64_t seed, const std::vector<std::int32_t>& cuts)
    : X_(samples.X),
      y_(samples.y),
      box_(samples.box),
      n_classes_(samples.n_classes),
      first_(cuts.empty() ? 0 : cuts.front()),
      cuts_(cuts),
      bias_(samples.bias),
      seed_(seed),
      rows_(wide_kernels<T, I>(isa)),
      lines_(line_kernels<T, I>(BinaryLoss::others_hinge, isa)),
      team_(threads),
      norm2_(row_norms(samples.X, samples.bias)) {
  if (cuts.empty()) cuts_ = {0, n_classes_};
  check_cuts<T>(cuts_, n_classes_);
  for (std::int32_t& cut : cuts_) cut -= first_;
  width_ = padded<T>(held());
  alpha_.reset(static_cast<std::size_t>(X_.rows * width_));
  w_.reset(static_cast<std::size_t>((X_.cols + 1) * width_));
  set_alpha(nullptr);
  fill_zero(w_, X_.cols + 1);
  // Samples without entries have alphas, but no part in any weight.
  sums_.assign(static_cast<std::size_t>(X_.rows), 0.0);
  mean_.assign(static_cast<std::size_t>(X_.cols + 1), 0.0);
  offset_.assign(static_cast<std::size_t>(X_.rows), T(0));
}

template <class T, class I>
WideBlock<T> LeeLinWahba<T, I>::block(std::int64_t i, std::int64_t bundle) const {
  const std::int32_t own = y_[i] - first_ - cuts_[bundle], classes = classes_of(bundle);
  return {width_of(bundle), classes, own >= 0 && own < classes ? own : -1, box_[i],
          std::isinf(box_[i]) ? T(0) : box_[i]};
}

template <class T, class I>
std::int64_t LeeLinWahba<T, I>::width_of(std::int64_t bundle) const {
  constexpr std::int64_t lanes = line_lanes<T>();
  return (classes_of(bundle) + lanes - 1) / lanes * lanes;
}

// ---------------------------------------------------------------- state

template <class T, class I>
void LeeLinWahba<T, I>::set_alpha(const T* alpha) {
  const std::int32_t held = this->held();
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    T* row = alpha_row(i);
    std::fill(row, row + width_, T(0));
    if (alpha != nullptr) std::copy_n(alpha + i * held, held, row);
    if (!(norm2_[i] > 0)) std::fill(row, row + held, std::isinf(box_[i]) ? T(0) : box_[i]);
    const std::int32_t own = y_[i] - first_;
    if (own >= 0 && own < held) row[own] = 0;
  }
  active_.clear();
}

template <class T, class I>
void LeeLinWahba<T, I>::alpha(T* out) const {
  for (std::int64_t i = 0; i < X_.rows; ++i) std::copy_n(alpha_row(i), held(), out + i * held());
}

template <class T, class I>
void LeeLinWahba<T, I>::weights(T* out, T* constant) {
  const std::int64_t tasks = (X_.cols + kFeaturesPerTask - 1) / kFeaturesPerTask;
  team_.for_each(tasks, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(X_.cols, (task + 1) * kFeaturesPerTask);
    for (std::int32_t c = 0; c < held(); ++c)
      for (std::int64_t j = task * kFeaturesPerTask; j < end; ++j)
        out[c * X_.cols + j] = w_[j * width_ + c];
  });
  std::copy_n(w_.data() + X_.cols * width_, held(), constant);
}

template <class T, class I>
void LeeLinWahba<T, I>::fill_zero(Buffer<T>& buffer, std::int64_t rows) {
  team_.for_each((rows + kFeaturesPerTask - 1) / kFeaturesPerTask, [&](int, std::int64_t task) {
    T* begin = buffer.data() + task * kFeaturesPerTask * width_;
    std::fill(begin, buffer.data() + std::min(rows, (task + 1) * kFeaturesPerTask) * width_, T(0));
  });
}

template <class T, class I>
void LeeLinWahba<T, I>::check_samples(const std::int32_t* samples, std::int64_t count) const {
  for (std::int64_t k = 0; k < count; ++k)
    if (samples[k] < 0 || samples[k] >= X_.rows)
      throw std::invalid_argument("there is no such sample");
}

template <class T, class I>
void LeeLinWahba<T, I>::alpha_sums(const std::int32_t* samples, std::int64_t count, double* out) {
  team_.for_each((count + kSamplesPerTask - 1) / kSamplesPerTask, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(count, (task + 1) * kSamplesPerTask);
    for (std::int64_t k = task * kSamplesPerTask; k < end; ++k)
      for (std::int64_t b = 0; b < bundles(); ++b)
        out[b * count + k] =
            rows_.sum(alpha_row(samples == nullptr ? k : samples[k]) + cuts_[b], width_of(b));
  });
}

template <class T, class I>
void LeeLinWahba<T, I>::weight_sums(double* out) {
  each_feature([&](std::int64_t j) {
    for (std::int64_t b = 0; b < bundles(); ++b)
      out[b * (X_.cols + 1) + j] = exact_sum(w_.data() + j * width_ + cuts_[b], width_of(b));
  });
}

template <class T, class I>
void LeeLinWahba<T, I>::recompute(const double* sums) {
  sums_.assign(sums, sums + X_.rows);
  // In double precision: with a large box the terms are large and nearly cancel.
  constexpr std::int64_t wide = 2 * line_lanes<T>();
  std::vector<std::vector<double>> scratch(static_cast<std::size_t>(team_.size()));
  team_.for_each((width_ + wide - 1) / wide, [&](int member, std::int64_t task) {
    const std::int64_t from = task * wide, to = std::min(width_, from + wide);
    std::vector<double>& sums_here = scratch[member];
    sums_here.assign(static_cast<std::size_t>((X_.cols + 1) * wide), 0.0);
    for (std::int64_t i = 0; i < X_.rows; ++i) add_row(i, from, to, sums_here.data(), wide);
    for (std::int64_t j = 0; j <= X_.cols; ++j)
      for (std::int64_t c = from; c < to; ++c)
        w_[j * width_ + c] = static_cast<T>(sums_here[j * wide + c - from]);
  });
  std::fill(mean_.begin(), mean_.end(), 0.0);
  std::fill(offset_.begin(), offset_.end(), T(0));
}

template <class T, class I>
void LeeLinWahba<T, I>::centre(const double* sums) {
  each_feature([&](std::int64_t j) {
    T* row = w_.data() + j * width_;
    const T mean = static_cast<T>(sums[j] / n_classes_);
    if (mean != 0)
      for (std::int32_t c = 0; c < held(); ++c) row[c] -= mean;
  });
}

template <class T, class I>
void LeeLinWahba<T, I>::add_row(std::int64_t i, std::int64_t from, std::int64_t to, double* out,
                                std::int64_t wide) const {
  if (sums_[i] == 0) return;
  const double mean = sums_[i] / n_classes_;
  double step[2 * line_lanes<T>()] = {};
  for (std::int64_t c = from; c < std::min<std::int64_t>(to, held()); ++c)
    step[c - from] = mean - static_cast<double>(alpha_row(i)[c]);
  const auto add = [&](std::int64_t j, double x) {
    for (std::int64_t c = 0; c < wide; ++c) out[j * wide + c] += x * step[c];
  };
  const auto feature = X_.features(i);
  for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t)
    add(static_cast<std::int64_t>(feature[t]), static_cast<double>(X_.data[t]));
  add(X_.cols, static_cast<double>(bias_));
}

// Members that are defined in other files are instantiated there.
#define MM_CLASS(T, I) template class LeeLinWahba<T, I>;
MM_FOR_TYPES(MM_CLASS)
#undef MM_CLASS

}  // namespace multimargin
