// One pass over samples: those that are due, in random order, one after the other or in batches.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "active_set/kernels.hpp"
#include "active_set/shared_classes.hpp"
#include "active_set/visits.hpp"
#include "common/clock.hpp"
#include "common/reports.hpp"
#include "common/team.hpp"

namespace multimargin {

// A sample seen with a smaller gap, or no larger violation, need not be seen soon.
template <class T>
struct Quiet {
  T gap;
  T violation;
  bool holds(T g, T v) const { return g < gap || v <= violation; }
};

template <class T>
class Pass {
 public:
  // `widest`: most slots of a sample of the view. `classes`: of the view.
  Pass(const SolverKernels<T>& kernels, std::int32_t classes, std::int32_t widest)
      : kernels_(kernels), classes_(classes), work_(static_cast<std::size_t>(widest) * 8 + 16) {}

  // One after the other. stop() true ends the pass early.
  PassReport alone(const WorkView<T>& v, const std::vector<std::int32_t>& due, Visits& visits,
                   const VisitRule<T>& rule, const Quiet<T>& quiet,
                   const std::function<bool()>& stop);
  // `batch` samples are solved at the same weights and then applied together, by the whole team.
  PassReport together(const WorkView<T>& v, const std::vector<std::int32_t>& due, Visits& visits,
                      std::int32_t batch, const VisitRule<T>& rule, const Quiet<T>& quiet,
                      Team& team, SharedClasses<T>& shared_classes, Periodically& stop);

 private:
  PassReport summary(const std::vector<std::int32_t>& due, std::int64_t done, Visits& visits,
                     const Quiet<T>& quiet) const;

  const SolverKernels<T>& kernels_;
  std::int32_t classes_;
  std::size_t work_;
  std::vector<T> gap_, violation_;  // by sample
};

}  // namespace multimargin
