// Loops over the samples of a Lee-Lin-Wahba problem: each by itself.
// Part of lee_lin_wahba.hpp for the files that define its members.
#pragma once

#include <algorithm>
#include <numeric>

#include "lee_lin_wahba/lee_lin_wahba.hpp"

namespace multimargin {

constexpr std::int64_t kSamplesPerTask = 64;
constexpr std::int64_t kFeaturesPerTask = 256;

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

}  // namespace multimargin
