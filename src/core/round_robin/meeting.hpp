// The meeting of two bundles of classes: the pairs that are worked on there, pass after pass.
//
// A sample whose own class is in one of the two is solved over all its active classes in both, in
// one block: compared with those of the other bundle alone that takes a third of the passes
// (measured with 8 bundles on 1,139 classes: 40 instead of 111).
//
// Where every variable has its own bounds (Weston-Watkins), the dual variables of samples of one
// bundle and classes of the other are touched nowhere else, and stay here; those within a bundle
// move with it. Where a sample's variables share a budget (Crammer-Singer), any two of its classes
// must be able to pass on to each other what they have: samples whose own class is elsewhere take
// part, too, and all dual variables move with their class.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "active_set/passes.hpp"
#include "active_set/slots.hpp"
#include "common/team.hpp"
#include "round_robin/bundle_state.hpp"
#include "round_robin/partition.hpp"

namespace multimargin {

// A bundle as a meeting needs it to be built: borrowed from its owner, or from a message.
template <class T>
struct Side {
  std::int32_t bundle;
  const std::int64_t* begin;    // [classes+1] of its pairs
  const std::int32_t* sample;   // [pairs]
  const T* alpha;               // [pairs]
  const std::int64_t* weight;   // [classes+1] of its weights
  const std::int32_t* feature;  // [weights]
};

template <class T, class I>
class Meeting {
 public:
  // `within`: what lies within each of the two bundles is worked on here, too.
  // `shared`: the variables of a sample share a budget.
  Meeting(const PartitionedProblem<T, I>& problem, const Side<T>& a, const Side<T>& b, bool within,
          bool shared, Team& team);
  // Notes where features lie. Where rows come and go this is left to be done, while those of all
  // samples are there; they are there in passes, too.
  void place(const Side<T>& a, const Side<T>& b, Team& team);

  // One pass over the bundles' states, in an order that the seed gives.
  PassReport alone(BundleState<T>& a, BundleState<T>& b, const VisitRule<T>& rule,
                   std::uint64_t seed, const SolverKernels<T>& kernels,
                   const std::function<bool()>& stop);
  PassReport together(BundleState<T>& a, BundleState<T>& b, const VisitRule<T>& rule,
                      std::uint64_t seed, const SolverKernels<T>& kernels, Team& team,
                      Batches<T>& batches, Periodically& stop);

  // Dual variables that stay here and are not zero: which of the bundle's pairs, and their values.
  void collect(int side, std::vector<std::int64_t>& pair, std::vector<T>& value) const;

  // Everything that a later pass depends on, beside the bundle states.
  struct State {
    std::vector<T> alpha;
    std::vector<std::uint8_t> resting, pauses, waits;
    std::vector<T> height;  // see Slots; empty: there are none
  };
  State state() const;
  void restore(State state);

  // --- the intercept, see sample_slots.hpp
  // Calls use(sample, class, slot) for the pairs of samples [first, last) that are noted here:
  // those of two bundles where these meet, those within one where they are worked on.
  template <class Use>
  void each_noted(std::int64_t first, std::int64_t last, const Use& use) const {
    const auto from = std::lower_bound(sample_.begin(), sample_.end(), first);
    for (std::size_t e = from - sample_.begin(); e < sample_.size() && sample_[e] < last; ++e) {
      const std::int32_t own = slots_.cls[slots_.begin[e]];
      if (own < 0) continue;
      for (std::int64_t p = slots_.begin[e] + 1; p < slots_.begin[e + 1]; ++p)
        if (within_ || side_of(slots_.cls[p]) != side_of(own)) use(sample_[e], class_of(p), p);
    }
  }
  const Slots<T>& slots() const { return slots_; }
  // Those whose rows the next pass needs; place() needs them as a pass over everything does.
  std::vector<std::int32_t> due_samples(bool everything) const {
    std::vector<std::int32_t> due;
    for (std::size_t e = 0; e < sample_.size(); ++e)
      if (everything || visits_.waits()[e] == 0) due.push_back(sample_[e]);
    return due;
  }
  // Samples that are due at the next pass: one byte for each sample.
  void wake(const std::uint8_t* samples);

 private:
  void choose(const Side<T>& a, const Side<T>& b);
  void find_rows();
  void place(const Side<T>& side, int which, Team& team);
  // Before and after a pass: between the bundle states and this meeting's own arrays.
  WorkView<T> enter(BundleState<T>& a, BundleState<T>& b);
  void leave(BundleState<T>& a, BundleState<T>& b);
  // visit(view) does the work.
  template <class Visit>
  PassReport run(BundleState<T>& a, BundleState<T>& b, const Visit& visit);
  std::int32_t first_class(int side) const { return side == 0 ? 0 : classes_[0]; }
  int side_of(std::int32_t cls) const { return cls < classes_[0] ? 0 : 1; }
  // Whether the variable of a slot is in the state of its class's bundle.
  bool moves(std::int64_t entry, std::int64_t slot) const {
    return shared_ || side_of(slots_.cls[slot]) == side_of(slots_.cls[slots_.begin[entry]]);
  }

  // The class of a slot that is not a sample's own.
  std::int32_t class_of(std::int64_t slot) const {
    const int s = side_of(slots_.cls[slot]);
    return problem_.classes[bundle_[s]][slots_.cls[slot] - first_class(s)];
  }

  const PartitionedProblem<T, I>& problem_;
  bool within_, shared_;
  std::int32_t bundle_[2];
  std::int32_t classes_[2];
  std::vector<std::int64_t> weight_[2];  // where each class's weights begin

  // One entry per sample, as in WorkView. Classes of the second bundle count on from the first's.
  std::vector<std::int32_t> sample_;
  std::vector<std::int64_t> row_, row_end_;
  std::vector<T> norm2_, box_, outside_;
  Slots<T> slots_;
  std::vector<std::int64_t> source_;  // of each slot: its pair in the bundle; slot 0: own sample
  std::vector<T*> w_;
  std::vector<T> w_bias_;
  Visits visits_;
};

}  // namespace multimargin
