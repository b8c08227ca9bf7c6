// Some of the classes, and what a scan of them needs, with classes counted from 0 among them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace multimargin {

// The `count` classes of the largest values, in order.
inline std::vector<std::int32_t> classes_of_largest(const std::vector<double>& value,
                                                    std::int32_t count) {
  std::vector<std::int32_t> classes(value.size());
  std::iota(classes.begin(), classes.end(), 0);
  std::nth_element(classes.begin(), classes.begin() + count, classes.end(),
                   [&](std::int32_t a, std::int32_t b) {
                     return value[a] != value[b] ? value[a] > value[b] : a < b;
                   });
  classes.resize(count);
  std::sort(classes.begin(), classes.end());
  return classes;
}

struct SomeClasses {
  std::vector<std::int32_t> class_of;  // [count]
  std::vector<double> norm;            // [count] |w_c|
  std::vector<std::int32_t> label;     // [n] own classes, < 0: not among them
  std::vector<std::int32_t> cls;       // of the active pairs, likewise

  // The classes; of all of them the norms; the labels of n samples; the classes of all pairs.
  SomeClasses(std::vector<std::int32_t> classes, const std::vector<double>& norms,
              const std::int32_t* y, std::int64_t n, const std::vector<std::int32_t>& active)
      : class_of(std::move(classes)), label(n), cls(active.size()) {
    std::vector<std::int32_t> place(norms.size(), -1);
    for (const std::int32_t c : class_of) {
      place[c] = static_cast<std::int32_t>(norm.size());
      norm.push_back(norms[c]);
    }
    const auto placed = [&](std::int32_t c) { return place[c]; };
    std::transform(y, y + n, label.begin(), placed);
    std::transform(active.begin(), active.end(), cls.begin(), placed);
  }
};

}  // namespace multimargin
