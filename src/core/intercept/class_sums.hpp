// Sums of K numbers over all samples, in double precision, and in an order that depends neither on
// the threads nor on the ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "common/team.hpp"
#include "intercept/intercept.hpp"

namespace multimargin {

// Adds what the variables a of a sample, of some classes other than its own, make of s.
template <class S>
void add_to_sums(std::int64_t size, const std::int32_t* cls, const S* a, std::int32_t own,
                 double* s) {
  double sum = 0;
  for (std::int64_t k = 0; k < size; ++k) {
    if (!(a[k] > 0)) continue;
    sum += static_cast<double>(a[k]);
    s[cls[k]] -= static_cast<double>(a[k]);
  }
  s[own] += sum;
}

class ClassSums {
 public:
  template <class T>
  ClassSums(const InterceptView<T>& view, Team& team)
      : samples_(view.samples),
        classes_(view.n_classes),
        shared_(view.sums),
        team_(team),
        parts_(shared_.last - shared_.first) {}

  // add(part, first, last, sums) does so for a part of the samples.
  template <class Add>
  std::vector<double> operator()(const Add& add) {
    team_.for_each(static_cast<std::int64_t>(parts_.size()), [&](int, std::int64_t k) {
      const std::int64_t p = shared_.first + k;
      parts_[k].assign(classes_, 0.0);
      add(p, part_begin(samples_, p), part_begin(samples_, p + 1), parts_[k].data());
    });
    if (shared_.add_up) return shared_.add_up(parts_);
    std::vector<double> sum(classes_, 0.0);
    for (const std::vector<double>& part : parts_)
      for (std::int32_t c = 0; c < classes_; ++c) sum[c] += part[c];
    return sum;
  }

 private:
  std::int64_t samples_;
  std::int32_t classes_;
  const PartSums& shared_;
  Team& team_;
  std::vector<std::vector<double>> parts_;
};

}  // namespace multimargin
