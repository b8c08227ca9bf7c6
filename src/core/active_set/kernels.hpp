// Kernels that follow the active set. See visit_kernels.hpp.
#pragma once

#include <cstdint>

#include "active_set/views.hpp"
#include "formulations/formulation.hpp"
#include "formulations/sample_block.hpp"
#include "simd/isa.hpp"

namespace multimargin {

// One batch of a pass: its samples are solved at the same weights.
template <class T>
struct BatchView {
  const std::int32_t* sample;   // samples of the pass, in order
  const std::int64_t* slot_at;  // where a sample's slots begin in touch
  const T* touch;               // per slot of the pass, see SharedClasses
  std::int64_t begin, end;      // the batch within the pass
  T* step;                      // per slot of the batch: coefficient of x_i still to be added
  T* gap;                       // [n] by sample
  T* violation;                 // [n] by sample
  T* work;                      // scratch of the calling thread

  T* steps_of(std::int64_t k) const { return step + (slot_at[k] - slot_at[begin]); }
};

template <class T>
struct SolverKernels {
  bool separable;  // every variable has its own bounds
  // Samples begin + member, begin + member + members, ... of the batch: scores and exact
  // block solves at fixed weights. Writes alpha, the weights of classes that no other sample
  // of the batch touches (nobody else reads those), and the steps of the shared classes.
  void (*solve_batch)(const WorkView<T>&, const BatchView<T>&, const VisitRule<T>&, int member,
                      int members);
  // Adds the steps of shared classes that `member` of `members` owns, in sample order.
  void (*apply_batch)(const WorkView<T>&, const BatchView<T>&, const SharedSlot* shared,
                      std::int64_t count, int member, int members);
  // Visits samples one after the other, weights included. gap and violation: [n] by sample.
  void (*visit_samples)(const WorkView<T>&, const std::int32_t* samples, std::int64_t count,
                        const VisitRule<T>&, T* gap, T* violation, T* work);
  // Scores of the active set at fixed weights: own score, exact, margins, reports.
  void (*evaluate)(const WorkView<T>&, std::int64_t begin, std::int64_t end, double* own, T* margin,
                   Report<T>* report);
  // One block by itself.
  Report<T> (*solve_block)(const Block<T>&, T* alpha_out, T* work);
  // The same where the own class is not at hand.
  Report<T> (*solve_exchange)(const Block<T>&, T* alpha_out, T* work);
  // Loss, at any weights, of a sample without entries: all its scores are zero.
  double (*empty_loss)(std::int32_t n_classes);
  T (*margin)(T own, T other);
  // Takes one pair into the account of its sample, and closes the account.
  void (*add_to_account)(T margin, T alpha, T box, Account<T>* account);
  Report<T> (*close_account)(const Account<T>& account, T sum, T box);
};

template <class T>
SolverKernels<T> solver_kernels(Formulation formulation, Isa isa);

// Threads own classes in runs of this many, so that no two share a cache line of
// per-class arrays.
constexpr std::int32_t kOwnedRun = 16;

}  // namespace multimargin
