// Sums of K numbers over all samples, in double precision, and in an order that does not depend on
// the threads.
#pragma once

#include <cstdint>
#include <vector>

#include "common/team.hpp"
#include "intercept/intercept.hpp"

namespace multimargin {

constexpr std::int64_t kParts = 16;  // of the samples, each with sums of its own

// The samples of part p.
inline std::int64_t part_begin(std::int64_t samples, std::int64_t p) {
  return samples * p / kParts;
}

class ClassSums {
 public:
  template <class T>
  ClassSums(const InterceptView<T>& view, Team& team)
      : samples_(view.samples), classes_(view.n_classes), team_(team), parts_(kParts) {}

  // add(part, first, last, sums) does so for a part of the samples.
  template <class Add>
  std::vector<double> operator()(const Add& add) {
    team_.for_each(kParts, [&](int, std::int64_t p) {
      parts_[p].assign(classes_, 0.0);
      add(p, part_begin(samples_, p), part_begin(samples_, p + 1), parts_[p].data());
    });
    std::vector<double> sum(classes_, 0.0);
    for (const std::vector<double>& part : parts_)
      for (std::int32_t c = 0; c < classes_; ++c) sum[c] += part[c];
    return sum;
  }

 private:
  std::int64_t samples_;
  std::int32_t classes_;
  Team& team_;
  std::vector<std::vector<double>> parts_;
};

}  // namespace multimargin
