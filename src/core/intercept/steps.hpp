// The steps of a held intercept, from one pass to the next.
//
// A step of Newton's method takes each sample to respond as if it were alone. Samples that respond
// change the weights that others see, so that together they respond less, and a step should be
// longer: as long as the last one, divided by the part of the slope along it that is gone now. 4 to
// 8 times on text, whatever the engine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace multimargin {

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

class InterceptSteps {
 public:
  static constexpr double kShortest = 0.1;

  // The length of a step from here, in steps of Newton's method. rest: minus the gradient.
  double length(const std::vector<double>& rest, double longest) const {
    double next = length_;
    if (slope_ > 0) next /= std::max(1 - dot(rest, direction_) / slope_, 0.01);
    return std::min(std::max(next, kShortest), longest);
  }

  // slope: of minus the gradient along the direction, before the step.
  void took(std::vector<double> direction, double slope, double length) {
    direction_ = std::move(direction);
    slope_ = slope;
    length_ = length;
    ++moves_;
  }
  std::int64_t moves() const { return moves_; }  // so far

  void forget() { *this = InterceptSteps(); }

  // All of it as numbers, for checkpoints.
  std::vector<double> state() const {
    std::vector<double> numbers{length_, slope_, static_cast<double>(moves_)};
    numbers.insert(numbers.end(), direction_.begin(), direction_.end());
    return numbers;
  }
  // slope 0: there was no step.
  static InterceptSteps from(const std::vector<double>& state) {
    InterceptSteps steps;
    if (static_cast<std::ptrdiff_t>(state.size()) <= kNumbers) return steps;
    steps.took({state.begin() + kNumbers, state.end()}, state[1], state[0]);
    steps.moves_ = static_cast<std::int64_t>(state[2]);
    return steps;
  }

 private:
  static constexpr std::ptrdiff_t kNumbers = 3;  // of a state, before the direction

  std::vector<double> direction_;
  double slope_ = 0, length_ = 1;
  std::int64_t moves_ = 0;
};

}  // namespace multimargin
