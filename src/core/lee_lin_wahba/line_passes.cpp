// Lee-Lin-Wahba by lines: every class by itself, the mean of all classes held fixed in between.
#include <algorithm>
#include <atomic>
#include <limits>

#include "common/random.hpp"
#include "lee_lin_wahba/lee_lin_wahba.hpp"

namespace multimargin {

namespace {

constexpr std::int64_t kSamplesPerTask = 256;

}  // namespace

template <class T, class I>
std::vector<std::int32_t> LeeLinWahba<T, I>::shuffled_samples(std::uint64_t epoch) const {
  std::vector<std::int32_t> order;
  for (std::int64_t i = 0; i < X_.rows; ++i)
    if (norm2_[i] > 0) order.push_back(static_cast<std::int32_t>(i));
  Random(seed_, epoch).shuffle(order.data(), static_cast<std::int64_t>(order.size()));
  return order;
}

template <class T, class I>
void LeeLinWahba<T, I>::move_mean(const std::int32_t* samples, std::int64_t count,
                                  const double* sums) {
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t i = samples[k];
    const double change = (sums[k] - sums_[i]) / n_classes_;
    sums_[i] = sums[k];
    if (change == 0) continue;
    const auto feature = X_.features(i);
    for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t)
      mean_[feature[t]] += change * static_cast<double>(X_.data[t]);
    mean_[X_.cols] += change * static_cast<double>(bias_);
  }
}

template <class T, class I>
void LeeLinWahba<T, I>::hold_mean(const double* mean, const std::int32_t* samples,
                                  std::int64_t count) {
  // w_ holds the mean at the last recompute() minus each class's own sum; what the mean has
  // moved since then reaches the scores as an offset per sample.
  team_.for_each((count + kSamplesPerTask - 1) / kSamplesPerTask, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(count, (task + 1) * kSamplesPerTask);
    for (std::int64_t k = task * kSamplesPerTask; k < end; ++k) {
      const std::int64_t i = samples[k];
      double sum = mean[X_.cols] * static_cast<double>(bias_);
      const auto feature = X_.features(i);
      for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t)
        sum += mean[feature[t]] * static_cast<double>(X_.data[t]);
      offset_[i] = static_cast<T>(sum);
    }
  });
}

template <class T, class I>
void LeeLinWahba<T, I>::open_all() {
  constexpr int lanes = line_lanes<T>();
  const std::int64_t n = X_.rows;
  active_.resize(static_cast<std::size_t>(lines() * n));
  for (std::int64_t line = 0; line < lines(); ++line) {
    const std::int64_t classes = std::min<std::int64_t>(lanes, held() - line * lanes);
    std::fill_n(active_.begin() + line * n, n, static_cast<std::uint16_t>((1u << classes) - 1));
  }
  still_low_.assign(active_.size(), 0);
  still_high_.assign(active_.size(), 0);
}

template <class T, class I>
std::vector<PassReport> LeeLinWahba<T, I>::pass_lines(const std::int32_t* samples,
                                                      std::int64_t count, bool everything, T idle) {
  constexpr int lanes = line_lanes<T>();
  const std::int64_t n = X_.rows;
  if (everything || active_.empty()) open_all();
  struct Seen {
    double gap[lanes] = {};
    double gain[lanes] = {};
    alignas(64) T violation[lanes] = {};
    std::int64_t visits = 0;
  };
  std::vector<Seen> seen(static_cast<std::size_t>(lines()));
  alignas(64) T never[lanes];
  std::fill_n(never, lanes, std::numeric_limits<T>::infinity());
  std::vector<std::vector<std::int32_t>> scratch(static_cast<std::size_t>(team_.size()));
  std::atomic<bool> ending{false};
  team_.for_each(lines(), [&](int member, std::int64_t line) {
    if (ending) return;
    std::uint16_t* active = active_.data() + line * n;
    std::vector<std::int32_t>& mine = scratch[member];
    mine.clear();
    for (std::int64_t k = 0; k < count; ++k)
      if (active[samples[k]] != 0) mine.push_back(samples[k]);
    Seen& s = seen[line];
    s.visits = static_cast<std::int64_t>(mine.size());
    const LineView<T> view{w_.data() + line * lanes,
                           width_,
                           alpha_.data() + line * lanes,
                           width_,
                           w_.data() + X_.cols * width_ + line * lanes,
                           offset_.data(),
                           y_,
                           box_,
                           norm2_.data(),
                           bias_,
                           first_ + static_cast<std::int32_t>(line * lanes)};
    lines_.pass(X_, view,
                {mine.data(), s.visits, active, never, idle, still_low_.data() + line * n,
                 still_high_.data() + line * n, s.gap, s.gain, s.violation});
    if (member == 0 && stop_()) ending = true;
  });
  std::vector<PassReport> reports(static_cast<std::size_t>(bundles()));
  for (std::int64_t b = 0; b < bundles(); ++b) {
    PassReport& report = reports[b];
    report.complete = !ending;
    for (std::int64_t line = cuts_[b] / lanes; line * lanes < cuts_[b + 1]; ++line) {
      const Seen& s = seen[line];
      report.visits += s.visits;
      for (int l = 0; l < lanes; ++l) {
        report.gap += s.gap[l];
        report.violation = std::max(report.violation, static_cast<double>(s.violation[l]));
      }
    }
  }
  return reports;
}

// ---------------------------------------------------------------- between two epochs

template <class T, class I>
void LeeLinWahba<T, I>::save(std::int64_t bundle, T* alpha, T* w, std::uint16_t* drops) {
  if (active_.empty()) open_all();
  const std::int64_t n = X_.rows, from = cuts_[bundle], classes = classes_of(bundle);
  for (std::int64_t i = 0; i < n; ++i)
    std::copy_n(alpha_row(i) + from, classes, alpha + i * classes);
  for (std::int64_t j = 0; j <= X_.cols; ++j)
    std::copy_n(w_.data() + j * width_ + from, classes, w + j * classes);
  const std::int64_t begin = from / line_lanes<T>() * n;
  const std::int64_t count = width_of(bundle) / line_lanes<T>() * n;
  for (const auto* bits : {&active_, &still_low_, &still_high_})
    drops = std::copy_n(bits->begin() + begin, count, drops);
}

template <class T, class I>
void LeeLinWahba<T, I>::load(std::int64_t bundle, const T* alpha, const T* w,
                             const std::uint16_t* drops) {
  if (active_.empty()) open_all();
  const std::int64_t n = X_.rows, from = cuts_[bundle], classes = classes_of(bundle);
  for (std::int64_t i = 0; i < n; ++i)
    std::copy_n(alpha + i * classes, classes, alpha_row(i) + from);
  for (std::int64_t j = 0; j <= X_.cols; ++j)
    std::copy_n(w + j * classes, classes, w_.data() + j * width_ + from);
  const std::int64_t begin = from / line_lanes<T>() * n;
  const std::int64_t count = width_of(bundle) / line_lanes<T>() * n;
  for (auto* bits : {&active_, &still_low_, &still_high_}) {
    std::copy_n(drops, count, bits->begin() + begin);
    drops += count;
  }
}

template <class T, class I>
void LeeLinWahba<T, I>::loaded(const double* sums, const double* mean) {
  sums_.assign(sums, sums + X_.rows);
  mean_.assign(mean, mean + X_.cols + 1);
}

template <class T, class I>
std::int64_t LeeLinWahba<T, I>::bytes() const {
  const std::size_t bits = active_.size() + still_low_.size() + still_high_.size();
  return static_cast<std::int64_t>(sizeof(T) * (alpha_.size() + w_.size()) +
                                   sizeof(std::uint16_t) * bits);
}

#define MM_MEMBERS(T, I)                                                                         \
  template std::vector<std::int32_t> LeeLinWahba<T, I>::shuffled_samples(std::uint64_t) const;   \
  template void LeeLinWahba<T, I>::move_mean(const std::int32_t*, std::int64_t, const double*);  \
  template void LeeLinWahba<T, I>::hold_mean(const double*, const std::int32_t*, std::int64_t);  \
  template std::vector<PassReport> LeeLinWahba<T, I>::pass_lines(const std::int32_t*,            \
                                                                 std::int64_t, bool, T);         \
  template void LeeLinWahba<T, I>::save(std::int64_t, T*, T*, std::uint16_t*);                   \
  template void LeeLinWahba<T, I>::load(std::int64_t, const T*, const T*, const std::uint16_t*); \
  template void LeeLinWahba<T, I>::loaded(const double*, const double*);                         \
  template std::int64_t LeeLinWahba<T, I>::bytes() const;

MM_FOR_TYPES(MM_MEMBERS)
#undef MM_MEMBERS

}  // namespace multimargin
