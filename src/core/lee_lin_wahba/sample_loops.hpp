// Loops over the samples of a Lee-Lin-Wahba problem: each by itself, or one after the other.
// Part of lee_lin_wahba.hpp for the files that define its members.
#pragma once

#include <algorithm>
#include <atomic>
#include <numeric>

#include "lee_lin_wahba/lee_lin_wahba.hpp"

namespace multimargin {

constexpr std::int64_t kSamplesPerTask = 64;
constexpr std::int64_t kFeaturesPerTask = 256;
// Samples whose scores are gathered together. Each one's step is applied to the scores of the
// later ones through x_i.x_j, so the result is as if they came one after the other, with two
// barriers for all of them.
constexpr int kTogether = 4;

template <class T, class I>
template <class Each>
double LeeLinWahba<T, I>::sum_samples(const Each& each) {
  std::vector<double> value(static_cast<std::size_t>(X_.rows));
  team_.for_each((X_.rows + kSamplesPerTask - 1) / kSamplesPerTask,
                 [&](int member, std::int64_t task) {
                   const std::int64_t end = std::min(X_.rows, (task + 1) * kSamplesPerTask);
                   for (std::int64_t i = task * kSamplesPerTask; i < end; ++i)
                     value[i] = each(member, i);
                 });
  return std::accumulate(value.begin(), value.end(), 0.0);
}

template <class T, class I>
template <class Each>
void LeeLinWahba<T, I>::each_feature(const Each& each) {
  team_.for_each((X_.cols + kFeaturesPerTask) / kFeaturesPerTask, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(X_.cols + 1, (task + 1) * kFeaturesPerTask);
    for (std::int64_t j = task * kFeaturesPerTask; j < end; ++j) each(j);
  });
}

template <class T, class I>
bool LeeLinWahba<T, I>::worth_sharing() const {
  // Cache lines that a thread reads and writes between two barriers. With 475 (13 entries a row,
  // 1,139 classes, 16 threads) a pass took 21 ms instead of 32; with two threads, 3,800, as long as
  // with one. Small dense problems have far less and only lose.
  const double entries = static_cast<double>(X_.indptr[X_.rows]) / static_cast<double>(X_.rows);
  const double lines = static_cast<double>(width_ / line_lanes<T>());
  return 2 * kTogether * entries * lines / team_.size() >= least_shared_;
}

template <class T, class I>
T LeeLinWahba<T, I>::inner(std::int64_t i, std::int64_t j) const {
  double sum = static_cast<double>(bias_) * static_cast<double>(bias_);
  std::int64_t a = X_.begin(i), b = X_.begin(j);
  while (a < X_.end(i) && b < X_.end(j)) {
    const std::int64_t fa = X_.indices[a], fb = X_.indices[b];
    if (fa == fb) sum += static_cast<double>(X_.data[a]) * static_cast<double>(X_.data[b]);
    a += fa <= fb;
    b += fb <= fa;
  }
  return static_cast<T>(sum);
}

template <class T, class I>
template <class Visit>
bool LeeLinWahba<T, I>::sweep(const std::vector<std::int32_t>& order, const WideWeights<T>& W,
                              const Visit& visit) {
  const std::int64_t count = static_cast<std::int64_t>(order.size());
  // A kernel takes four lines at a time and what is left one by one, and compilers may round the
  // two differently: threads get whole fours, so that every line goes the same way for any number.
  constexpr std::int64_t four = 4 * line_lanes<T>();
  const std::int64_t fours = (width_ + four - 1) / four;
  const int members = worth_sharing() ? team_.size() : 1;
  Buffer<T> score, step;
  score.reset(static_cast<std::size_t>(kTogether * width_));
  step.reset(static_cast<std::size_t>(kTogether * width_));
  T gram[kTogether][kTogether] = {};
  bool moved[kTogether] = {};
  std::atomic<bool> ending{false};
  const auto work = [&](int member) {
    const std::int64_t from = fours * member / members * four;
    const std::int64_t to = std::min(width_, fours * (member + 1) / members * four);
    const auto barrier = [&] {
      if (members > 1) team_.barrier();
    };
    for (std::int64_t at = 0; at < count; at += kTogether) {
      const int together = static_cast<int>(std::min<std::int64_t>(kTogether, count - at));
      const std::int32_t* sample = order.data() + at;
      for (int k = 0; k < together; ++k)
        rows_.gather(X_, W, sample[k], from, to, score.data() + k * width_);
      for (int k = member; k < together; k += members)
        for (int l = k + 1; l < together; ++l) gram[k][l] = inner(sample[k], sample[l]);
      barrier();
      if (member == 0) {
        for (int k = 0; k < together; ++k) {
          T* const change = step.data() + k * width_;
          moved[k] = visit(sample[k], score.data() + k * width_, change);
          for (int l = k + 1; moved[k] && l < together; ++l)
            if (gram[k][l] != 0) rows_.add(gram[k][l], change, score.data() + l * width_, width_);
        }
        if (stop_()) ending.store(true, std::memory_order_relaxed);
      }
      barrier();
      // Member 0 asks again only after the next barrier, so that all members see the same.
      const bool last = ending.load(std::memory_order_relaxed);
      for (int k = 0; k < together; ++k)
        if (moved[k]) rows_.scatter(X_, W, sample[k], from, to, step.data() + k * width_ + from);
      if (last) return;
    }
  };
  if (members == 1)
    work(0);
  else
    team_.run(work);
  return !ending;
}

}  // namespace multimargin
