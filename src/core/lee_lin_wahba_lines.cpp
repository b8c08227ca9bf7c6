// The alternation: every class by itself, the mean of all held in between.
#include <algorithm>
#include <atomic>
#include <limits>

#include "lee_lin_wahba.hpp"

namespace multimargin {

namespace {

constexpr std::int64_t kSamplesPerTask = 256;

}  // namespace

template <class T, class I>
std::vector<T> LeeLinWahba<T, I>::hold_mean(const T* shift) {
  // w_ holds the mean at the last recompute() minus each class's own sum; what the mean has
  // moved since then reaches the scores as an offset per sample.
  std::vector<double> moved(static_cast<std::size_t>(X_.cols + 1), 0.0);
  std::vector<double> change(static_cast<std::size_t>(X_.rows));
  const auto each_sample = [&](const auto& what) {
    team_.for_each((X_.rows + kSamplesPerTask - 1) / kSamplesPerTask, [&](int, std::int64_t task) {
      const std::int64_t end = std::min(X_.rows, (task + 1) * kSamplesPerTask);
      for (std::int64_t i = task * kSamplesPerTask; i < end; ++i) what(i);
    });
  };
  each_sample([&](std::int64_t i) {
    change[i] = (rows_.sum(alpha_row(i), width_) - sums_at_recompute_[i]) / n_classes_;
  });
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    if (change[i] == 0) continue;
    for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t)
      moved[X_.indices[t]] += change[i] * static_cast<double>(X_.data[t]);
    moved[X_.cols] += change[i] * static_cast<double>(bias_);
  }
  const std::vector<T> mean(moved.begin(), moved.end());
  if (shift != nullptr)
    for (std::size_t j = 0; j < moved.size(); ++j) moved[j] += static_cast<double>(shift[j]);
  each_sample([&](std::int64_t i) {
    double sum = moved[X_.cols] * static_cast<double>(bias_);
    for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t)
      sum += moved[X_.indices[t]] * static_cast<double>(X_.data[t]);
    offset_[i] = static_cast<T>(sum);
  });
  return mean;
}

template <class T, class I>
PassReport LeeLinWahba<T, I>::pass_lines(std::int32_t part, std::int32_t parts, bool everything,
                                         T idle) {
  constexpr int lanes = line_lanes<T>();
  const std::int64_t n = X_.rows, lines = (n_classes_ + lanes - 1) / lanes;
  if (part == 0 || order_.empty()) order_ = shuffled_samples();
  if (everything || active_.empty()) {
    active_.assign(static_cast<std::size_t>(lines * n), 0);
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::int64_t classes = std::min<std::int64_t>(lanes, n_classes_ - line * lanes);
      std::fill_n(active_.begin() + line * n, n, static_cast<std::uint16_t>((1u << classes) - 1));
    }
    still_low_.assign(active_.size(), 0);
    still_high_.assign(active_.size(), 0);
  }
  const std::int64_t count = static_cast<std::int64_t>(order_.size());
  const std::int64_t begin = count * part / parts, end = count * (part + 1) / parts;
  struct Seen {
    double gap[lanes] = {};
    double gain[lanes] = {};
    alignas(64) T violation[lanes] = {};
    std::int64_t visits = 0;
  };
  std::vector<Seen> seen(static_cast<std::size_t>(lines));
  alignas(64) T never[lanes];
  std::fill_n(never, lanes, std::numeric_limits<T>::infinity());
  std::vector<std::vector<std::int32_t>> desks(static_cast<std::size_t>(team_.size()));
  std::atomic<bool> ending{false};
  team_.for_each(lines, [&](int member, std::int64_t line) {
    if (ending) return;
    std::uint16_t* active = active_.data() + line * n;
    std::vector<std::int32_t>& mine = desks[member];
    mine.clear();
    for (std::int64_t k = begin; k < end; ++k)
      if (active[order_[k]] != 0) mine.push_back(order_[k]);
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
                           static_cast<std::int32_t>(line * lanes)};
    lines_.pass(X_, view,
                {mine.data(), s.visits, active, never, idle, still_low_.data() + line * n,
                 still_high_.data() + line * n, s.gap, s.gain, s.violation});
    if (member == 0 && stop_()) ending = true;
  });
  PassReport report;
  report.complete = !ending;
  for (const Seen& s : seen) {
    report.visits += s.visits;
    for (int l = 0; l < lanes; ++l) {
      report.gap += s.gap[l];
      report.violation = std::max(report.violation, static_cast<double>(s.violation[l]));
    }
  }
  return report;
}

template std::vector<float> LeeLinWahba<float, std::int32_t>::hold_mean(const float*);
template PassReport LeeLinWahba<float, std::int32_t>::pass_lines(std::int32_t, std::int32_t, bool,
                                                                 float);
template std::vector<float> LeeLinWahba<float, std::int64_t>::hold_mean(const float*);
template PassReport LeeLinWahba<float, std::int64_t>::pass_lines(std::int32_t, std::int32_t, bool,
                                                                 float);
template std::vector<double> LeeLinWahba<double, std::int32_t>::hold_mean(const double*);
template PassReport LeeLinWahba<double, std::int32_t>::pass_lines(std::int32_t, std::int32_t, bool,
                                                                  double);
template std::vector<double> LeeLinWahba<double, std::int64_t>::hold_mean(const double*);
template PassReport LeeLinWahba<double, std::int64_t>::pass_lines(std::int32_t, std::int32_t, bool,
                                                                  double);

}  // namespace multimargin
