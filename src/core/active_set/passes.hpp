// One pass over the samples that are due, in random order, one after the other or in batches.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "active_set/shared_classes.hpp"
#include "active_set/visits.hpp"
#include "common/clock.hpp"
#include "common/reports.hpp"
#include "common/team.hpp"
#include "simd/kernels.hpp"

namespace multimargin {

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
          static_cast<T>(rule.quiet_violation)};
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
