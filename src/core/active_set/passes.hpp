// One pass over the samples that are due, in random order, one after the other or in batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "active_set/kernels.hpp"
#include "active_set/shared_classes.hpp"
#include "common/clock.hpp"
#include "common/random.hpp"
#include "common/reports.hpp"
#include "common/team.hpp"

namespace multimargin {

// Which samples are due for a visit. A sample that was nearly optimal at its last visit is left
// alone for 2, 4, ... 16 passes: on 12,582 classes this leaves 33 visits per sample of 114.
class Visits {
 public:
  void reset(std::size_t count) {
    pause_.assign(count, 1);
    wait_.assign(count, 0);
  }

  std::size_t size() const { return wait_.size(); }
  const std::vector<std::uint8_t>& pauses() const { return pause_; }
  const std::vector<std::uint8_t>& waits() const { return wait_; }
  void restore(std::vector<std::uint8_t> pauses, std::vector<std::uint8_t> waits) {
    pause_ = std::move(pauses);
    wait_ = std::move(waits);
  }

  // Appends what is due, all of it if `everything`, in random order.
  void due(bool everything, Random random, std::vector<std::int32_t>& out) {
    out.clear();
    for (std::size_t k = 0; k < wait_.size(); ++k) {
      if (everything || wait_[k] == 0) {
        out.push_back(static_cast<std::int32_t>(k));
      } else {
        --wait_[k];
      }
    }
    random.shuffle(out.data(), static_cast<std::int64_t>(out.size()));
  }

  // Due at the next pass.
  void wake(std::int32_t k) {
    wait_[k] = 0;
    pause_[k] = 1;
  }

  void seen(std::int32_t k, bool quiet) {
    if (quiet) {
      pause_[k] = static_cast<std::uint8_t>(std::min(16, pause_[k] * 2));
      wait_[k] = pause_[k];
    } else {
      pause_[k] = 1;
      wait_[k] = 0;
    }
  }

 private:
  std::vector<std::uint8_t> pause_;
  std::vector<std::uint8_t> wait_;
};

// Whether a sample that was seen like this is not due again for a while.
template <class T>
bool is_quiet(const VisitRule<T>& rule, T gap, T violation) {
  return gap < rule.quiet_gap || violation <= rule.quiet_violation;
}

// The rule as Python gives it, for numbers of type T.
template <class T>
VisitRule<T> rule_in(const VisitRule<double>& rule) {
  return {rule.batch,
          rule.everything,
          static_cast<T>(rule.leave_below),
          static_cast<T>(rule.idle),
          static_cast<T>(rule.coupling),
          static_cast<T>(rule.quiet_gap),
          static_cast<T>(rule.quiet_violation),
          static_cast<T>(rule.spare)};
}

template <class T>
class Pass {
 public:
  // Of the view: how many classes it has, and the most slots of a sample.
  Pass(const SolverKernels<T>& kernels, std::int32_t classes, std::int32_t widest)
      : kernels_(kernels), classes_(classes), work_(static_cast<std::size_t>(widest) * 8 + 16) {}

  // One after the other. stop() true ends the pass early.
  PassReport alone(const WorkView<T>& v, const std::vector<std::int32_t>& due, Visits& visits,
                   const VisitRule<T>& rule, const std::function<bool()>& stop);
  // Those of a batch are solved at the same weights and then applied together, by the whole team.
  PassReport together(const WorkView<T>& v, const std::vector<std::int32_t>& due, Visits& visits,
                      const VisitRule<T>& rule, Team& team, SharedClasses<T>& shared_classes,
                      Periodically& stop);

 private:
  PassReport summary(const std::vector<std::int32_t>& due, std::int64_t done, Visits& visits,
                     const VisitRule<T>& rule) const;

  const SolverKernels<T>& kernels_;
  std::int32_t classes_;
  std::size_t work_;
  std::vector<T> gap_, violation_;  // by sample
};

}  // namespace multimargin
