// The violators of a scan that become active: of each sample its worst.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/team.hpp"
#include "scans/class_scan.hpp"

namespace multimargin {

// Classes by sample, ragged.
struct Violators {
  std::vector<std::int64_t> begin;  // [n+1]
  std::vector<std::int32_t> cls;
};

// The most violators of one sample so that all together are not more than `most`.
template <class T>
std::int32_t most_of_a_sample(const ClassScan<T>& found, std::int64_t most) {
  std::int32_t largest = 0;
  for (const std::int32_t count : found.count) largest = std::max(largest, count);
  std::vector<std::int64_t> samples(largest + 2, 0);  // that have so many
  for (const std::int32_t count : found.count) ++samples[count];
  std::int64_t more = std::accumulate(samples.begin() + 1, samples.end(), std::int64_t{0});
  std::int32_t each = 0;
  for (std::int64_t sum = more; each < largest && sum <= most; sum += more) more -= samples[++each];
  return each;
}

template <class T>
Violators worst_violators(const ClassScan<T>& found, std::int64_t most, Team& team) {
  const auto n = static_cast<std::int64_t>(found.count.size());
  const std::int32_t each = most_of_a_sample(found, most);
  Violators kept;
  kept.begin.assign(n + 1, 0);
  for (std::int64_t i = 0; i < n; ++i)
    kept.begin[i + 1] = kept.begin[i] + std::min(each, found.count[i]);
  kept.cls.resize(kept.begin[n]);
  constexpr std::int64_t at_once = 512;
  team.for_each((n + at_once - 1) / at_once, [&](int, std::int64_t task) {
    std::vector<std::int32_t> order;
    for (std::int64_t i = task * at_once; i < std::min(n, (task + 1) * at_once); ++i) {
      const T* margin = found.margin.data() + found.begin[i];
      const std::int32_t* cls = found.cls.data() + found.begin[i];
      order.resize(found.count[i]);
      std::iota(order.begin(), order.end(), 0);
      if (found.count[i] > each)
        std::nth_element(order.begin(), order.begin() + each, order.end(),
                         [&](std::int32_t a, std::int32_t b) {
                           return margin[a] != margin[b] ? margin[a] > margin[b] : cls[a] < cls[b];
                         });
      for (std::int64_t k = kept.begin[i]; k < kept.begin[i + 1]; ++k)
        kept.cls[k] = cls[order[k - kept.begin[i]]];
    }
  });
  return kept;
}

// Samples whose lists are full, if they are few and their violators in all of so many classes have
// room in a few hundred megabytes: those in whose classes many others are alike. Otherwise none.
template <class T>
std::vector<std::int32_t> full_lists(const ClassScan<T>& found, std::int32_t classes) {
  constexpr std::size_t most_numbers = std::size_t{1} << 25;
  std::vector<std::int32_t> full;
  for (std::size_t i = 0; i < found.count.size(); ++i)
    if (found.count[i] == found.begin[i + 1] - found.begin[i])
      full.push_back(static_cast<std::int32_t>(i));
  const bool few = full.size() <= found.count.size() / 8;
  if (!few || full.size() * static_cast<std::size_t>(classes) > most_numbers) full.clear();
  return full;
}

}  // namespace multimargin
