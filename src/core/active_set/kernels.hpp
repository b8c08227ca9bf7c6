// Kernels that follow the active set (visit_kernels.hpp), and the raw pointers that they work on.
#pragma once

#include <cstdint>

#include "formulations/formulation.hpp"
#include "formulations/sample_block.hpp"
#include "simd/isa.hpp"

namespace multimargin {

// Samples with their active classes ("pairs") and the weights these touch.
//
// Slot 0 of a sample is its own class; slots 1.. are active classes. Weights are kept per class;
// `position` says where each feature of a sample lies in each class's weights, so that a visit is a
// gather and a scatter and never a search.
//
// Most features of a pair belong to no other active sample of the class. The weight of such a
// *lone* feature is just the pair's coefficient times x, so it is not stored: its position is 0,
// where every class keeps a zero, and `lone` holds the sum of x^2 over them. Visits touch less
// memory, and it stays nearer: on 12,582 classes inner passes took 4.3 s instead of 5.5 s.
template <class T>
struct WorkView {
  const T* x;                      // values of X, rows one after the other
  const std::int64_t* row;         // [n] where rows begin in x
  const std::int64_t* row_end;     // [n] where they end
  const T* norm2;                  // [n] k_i = x_i.x_i, intercept included unless it is held
  const T* box;                    // [n]
  T bias;                          // value of the constant feature, 0: none
  const std::int64_t* slot_begin;  // [n+1] where a sample's slots begin
  const std::int32_t* cls;         // [pairs] class of each slot; slot 0, < 0: not at hand
  T* alpha;                        // [pairs] dual variables; slot 0: their sum
  const T* asked;                  // [pairs] margins asked of the classes; nullptr: 1 of all
  T* height;                       // [pairs] see Slots; nullptr: not kept
  std::uint8_t* resting;           // [pairs] slots that only visits to everything look at
  const std::int64_t* place;       // [n+1] where a sample's positions begin
  const std::uint32_t* position;   // slot-major: slot s, feature t at place + s*len + t
  const T* lone;                   // [pairs] sum of x^2 over the slot's lone features
  // [K] the weights of each class; first comes a zero. Of dense rows: one of each feature, and
  // neither positions nor lone features.
  T* const* w;
  T* w_bias;         // [K] weight of the constant feature
  bool holds_bias;   // whether these stay, see intercept.hpp
  const T* outside;  // [n] sum of a sample's variables that have no slot here; nullptr: zero
};

// A slot of a sample.
struct Member {
  std::int32_t sample, slot;
};

// A slot whose class other samples of the batch touch too.
struct SharedSlot {
  std::int32_t k;  // index of the sample in the pass
  std::int32_t slot;
};

// How a pass visits samples, and how it treats what it finds.
template <class T>
struct VisitRule {
  std::int32_t batch;  // samples that are solved at the same weights and then applied together
  bool everything;     // visit all samples and resting slots, and decide anew who rests
  T leave_below;       // samples with a smaller gap are left as they are
  T idle;              // coordinates violated by no more than this stay; < 0: none stay
  T coupling;          // assumed |cosine| between samples of one batch that share a class
  // A sample with a smaller gap, or no larger violation, is not due again for a while.
  T quiet_gap;
  T quiet_violation;
  // >= 0: variables whose margin exceeds -spare rise until it is -spare, the others stay. A loss
  // counts C times, what is to spare only alpha times. < 0: every variable goes to its optimum.
  T spare = T(-1);
};

// One batch of a pass, whose samples are solved at the same weights, and a member's share of it.
template <class T>
struct BatchView {
  const std::int32_t* sample;   // samples of the pass, batch by batch
  const std::int64_t* slot_at;  // where a sample's slots begin in touch
  std::int64_t first_slot;      // of the batch
  // Per slot of the pass: sum of |x_j| over the batch's samples j that touch its class; negative if
  // there are others than the sample itself.
  const T* touch;
  const std::int32_t* turn;  // the member's samples: their indices in the pass
  std::int64_t turns;
  const SharedSlot* shared;  // all shared slots of the member's classes, in the order of samples
  std::int64_t shared_slots;
  T* step;       // per slot of the batch: coefficient of x_i still to be added
  T* gap;        // of each sample of the pass
  T* violation;  // of each sample of the pass
  T* work;       // scratch of the calling thread

  T* steps_of(std::int64_t k) const { return step + (slot_at[k] - first_slot); }
};

template <class T>
struct SolverKernels {
  bool separable;  // every variable has its own bounds
  // The member's samples: scores and exact block solves at fixed weights. Writes alpha, the weights
  // of classes that no other sample of the batch touches (nobody else reads those), and the steps
  // of the shared classes.
  void (*solve_batch)(const WorkView<T>&, const BatchView<T>&, const VisitRule<T>&);
  // Adds the steps of the member's shared classes.
  void (*apply_batch)(const WorkView<T>&, const BatchView<T>&);
  // Visits samples one after the other, weights included. gap and violation: [n] by sample.
  void (*visit_samples)(const WorkView<T>&, const std::int32_t* samples, std::int64_t count,
                        const VisitRule<T>&, T* gap, T* violation, T* work);
  // Scores of slots at fixed weights: exact ones of own classes by sample, the others by slot. Of
  // sparse rows, the slots of a class, if `exact` is given once more in double precision; of dense
  // rows, those of samples [begin, end).
  void (*score_members)(const WorkView<T>&, const Member* members, std::int64_t count, double* own,
                        T* score, double* exact);
  void (*score_samples)(const WorkView<T>&, std::int64_t begin, std::int64_t end, double* own,
                        T* score);
  // Makes margins of the scores of other classes, and reports of all.
  void (*report_margins)(const WorkView<T>&, std::int64_t begin, std::int64_t end,
                         const double* own, T* margin, Report<T>* report);
  // One block by itself.
  Report<T> (*solve_block)(const Block<T>&, T* alpha_out, T* work);
  // The same where the own class is not at hand.
  Report<T> (*solve_exchange)(const Block<T>&, T* alpha_out, T* work);
  // Loss, at any weights, of a sample without entries: all its scores are zero.
  double (*empty_loss)(double most_asked, double total_asked);
  T (*margin)(T own, T other, T asked);
  // Takes one pair into the account of its sample, and closes the account.
  void (*add_to_account)(T margin, T alpha, T box, Account<T>* account);
  Report<T> (*close_account)(const Account<T>& account, T sum, T box);
  // Adds step times a dense row to sums.
  void (*add_exact_row)(const T* x, std::int64_t len, double step, double* sum);
};

// For positions or, if rows are dense, for weights of all features in order.
template <class T>
SolverKernels<T> solver_kernels(Formulation formulation, Isa isa, bool dense = false);

}  // namespace multimargin
