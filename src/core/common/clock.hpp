// A question that is asked no more often than every ten milliseconds.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

namespace multimargin {

class Periodically {
 public:
  Periodically() = default;
  explicit Periodically(std::function<bool()> question) : question_(std::move(question)) {}

  // The answer, or false when it is too early to ask again. To be called by one thread.
  bool operator()() {
    if (!question_) return false;
    const Clock::time_point now = Clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(10);
    return question_();
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::function<bool()> question_;
  Clock::time_point next_{};
};

}  // namespace multimargin
