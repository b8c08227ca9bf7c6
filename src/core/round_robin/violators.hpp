// The worst violators of each sample among those that several bundles found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace multimargin {

// The violators of some samples in the classes of one bundle.
template <class T>
struct Violators {
  const std::int64_t* begin;  // [samples+1], from any number on
  const T* margin;            // of the first sample's first violator on
};

// The margin of each sample from which on violators become active: about `capacity` of them, or all
// where there are no more.
template <class T>
std::vector<T> thresholds(const std::vector<Violators<T>>& bundles, std::int64_t samples,
                          std::int64_t capacity) {
  std::vector<T> result(samples, std::numeric_limits<T>::lowest());
  std::vector<T> all;
  for (std::int64_t i = 0; i < samples; ++i) {
    std::int64_t count = 0;
    for (const Violators<T>& v : bundles) count += v.begin[i + 1] - v.begin[i];
    if (count <= capacity) continue;
    all.clear();
    for (const Violators<T>& v : bundles)
      all.insert(all.end(), v.margin + (v.begin[i] - v.begin[0]),
                 v.margin + (v.begin[i + 1] - v.begin[0]));
    std::nth_element(all.begin(), all.begin() + (capacity - 1), all.end(), std::greater<T>());
    result[i] = all[capacity - 1];
  }
  return result;
}

}  // namespace multimargin
