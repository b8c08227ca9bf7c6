// Passes over the few samples that have most of the gap.
//
// With a large C some variables go a long way: those of samples that are alike but for their
// labels rise side by side, by about 1 / k_i a pass, until they reach C or a large value. On 12,582
// classes with C = 1000 thirty variables of 700,000 made 80% of the way from a dual 0.5% short of
// the optimum, 3,000 passes long, and 200 samples had half of the gap. A pass over these alone
// costs a three hundredth of one over all: so they are visited until little of their gap is left,
// then the others answer. That took the dual from 427,839 to 430,150 in 3 s (optimum: 430,220), of
// which 0.6 s were spent here; all-sample passes with extrapolation took 50 s. Conjugate gradients
// on the free variables got to 428,800 in that time: they leave the bounds of thousands after five
// steps.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "active_set/kernels.hpp"
#include "active_set/passes.hpp"
#include "common/random.hpp"

namespace multimargin {

struct FocusReport {
  std::int64_t samples = 0;  // that were visited
  double gap = 0;            // of these, before
  double left = 0;           // as the last pass over them saw it
};

// The samples with the largest gaps that make half of the whole one, largest first.
template <class T>
std::vector<std::int32_t> samples_with_most(const Report<T>* report, std::int64_t samples);

// Visits the given samples one after the other, again and again. `report`: of all samples.
template <class T>
FocusReport focus_on(std::vector<std::int32_t> chosen, const Report<T>* report,
                     const WorkView<T>& view, Pass<T>& pass, Visits& visits,
                     const VisitRule<T>& rule, Random random, const std::function<bool()>& stop);

}  // namespace multimargin
