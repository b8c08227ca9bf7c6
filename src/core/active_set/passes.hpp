// One pass over samples, one after the other or in batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "active_set/batches.hpp"
#include "active_set/kernels.hpp"
#include "active_set/visits.hpp"
#include "common/clock.hpp"
#include "common/random.hpp"
#include "common/reports.hpp"
#include "common/team.hpp"

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
          static_cast<T>(rule.quiet_violation),
          static_cast<T>(rule.spare)};
}

template <class T>
class Pass {
 public:
  // Of the view: how many classes it has, and the most slots of a sample.
  Pass(const SolverKernels<T>& kernels, std::int32_t classes, std::int32_t widest)
      : kernels_(kernels), classes_(classes), work_(static_cast<std::size_t>(widest) * 8 + 16) {}

  // The given samples, one after the other. stop() true ends the pass early.
  PassReport alone(const WorkView<T>& v, const std::vector<std::int32_t>& samples, Visits& visits,
                   const VisitRule<T>& rule, const std::function<bool()>& stop);
  // What is due. The samples of a batch are solved at the same weights and then applied together,
  // by the whole team.
  PassReport together(const WorkView<T>& v, Visits& visits, const VisitRule<T>& rule, Random random,
                      Team& team, Batches<T>& batches, Periodically& stop);

 private:
  const SolverKernels<T>& kernels_;
  std::int32_t classes_;
  std::size_t work_;
  std::vector<T> gap_, violation_;  // by sample
};

}  // namespace multimargin
