// The whole active set in one process, and the steps of its solver. Python decides which step comes
// next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "active_set/active_set.hpp"
#include "active_set/batches.hpp"
#include "active_set/focus.hpp"
#include "active_set/passes.hpp"
#include "common/clock.hpp"
#include "common/csr.hpp"
#include "common/reports.hpp"
#include "common/samples.hpp"
#include "common/sparse_rows.hpp"
#include "common/team.hpp"
#include "intercept/free_intercept.hpp"
#include "intercept/intercept.hpp"
#include "scans/centroids.hpp"
#include "scans/class_scan.hpp"
#include "scans/scan.hpp"
#include "scans/score_moments.hpp"
#include "scans/violators.hpp"
#include "scoring/ordered_rows.hpp"

namespace multimargin {

// A certificate: all classes of all samples at the same weights.
struct ScanReport {
  double primal = 0;     // no less than the objective of the weights
  double dual = 0;       // no more than the dual objective of alpha
  double half_norm = 0;  // of the weights, that of the constant feature left out
  double rounding = 0;   // the part of primal - dual that makes both of them bounds
  double violation = 0;
  std::int64_t found = 0;  // violators that were not active
  bool complete = true;
};

// A point of a free intercept's dual.
template <class T>
struct DualPoint {
  std::vector<T> alpha;
  double value;           // no more than the dual objective, but for the imbalance
  std::vector<double> s;  // see intercept.hpp
  double alpha_sum;
};

// What becomes of the constant feature's weights: they move with the samples; they are held while
// these move, see intercept.hpp; they are held, and not regularised.
enum class Intercept { moves, held, free };

template <class T, class I>
class Engine {
 public:
  Engine(const Samples<T, I>& samples, Formulation formulation, Isa isa, int threads,
         std::uint64_t seed, Intercept intercept);

  // Both are asked about every 10 ms by the calling thread, and must not throw.
  // stop: true ends a pass or a scan early; the state stays whole.
  // abort: true ends any step at once; the engine must not be used afterwards.
  void set_stop(std::function<bool()> stop) { stop_ = Periodically(std::move(stop)); }
  void set_abort(std::function<bool()> abort) { team_.set_abort(Periodically(std::move(abort))); }

  // --- the active set
  void start_from_centroids(std::int32_t candidates, std::int64_t budget);
  // `w_bias`: weights of the constant feature to hold; empty: those that alpha makes, or zero if
  // the intercept is free.
  void assign(std::vector<std::int64_t> slot_begin, std::vector<std::int32_t> cls,
              std::vector<T> alpha, std::vector<T> w_bias);
  // Forgets pairs with alpha = 0 and no violation, adds the violators of the last scan, and to each
  // sample up to `drawn` classes by lot.
  void merge_found(std::int32_t drawn);
  // Recomputes the weights of all features from alpha. With a free intercept the next scan
  // certifies the primal of these weights, and the dual of balanced() variables near alpha.
  void recompute();

  // --- moving
  // `reach`: of the step by which the intercept moves first, in steps of Newton's method; its gap
  // is then included. 0: it stays. So it does at first after the active set has changed, until all
  // samples have been visited.
  PassReport run_pass(const VisitRule<T>& rule, double reach);
  // Passes over the samples with most of the gap alone, see focus.hpp.
  FocusReport focus(const VisitRule<T>& rule);

  // --- looking
  // Keeps the `capacity` worst violators of each sample, or fewer so that all together and the
  // pairs that stay are not more than `most`, but for a fourth of it; where few samples had so many
  // in the last scan, all of theirs. `exact`: losses by scores in double precision. `some`: look at
  // no more than so many classes, those that are likely to have the most violators; the primal is
  // then too small.
  ScanReport scan(std::int32_t capacity, std::int64_t most, T idle, bool exact = false,
                  std::int32_t some = 0);

  // One row per class. Gives back most of the memory, so that what comes next, if anything, begins
  // with a new layout.
  SparseRows<T> weights();

  const ActiveSet<T>& active() const { return active_; }
  // Slot by slot, as alpha; empty where there are none, or alpha itself is balanced.
  std::vector<T> balanced() const { return balanced_ ? balanced_->alpha : std::vector<T>(); }
  std::int32_t n_classes() const { return n_classes_; }
  const Csr<T, I>& X() const { return X_; }

 private:
  WorkView<T> view();
  // Lays out the weights of other pairs, and leaves them to be computed.
  void replace_pairs(std::vector<std::int64_t> slot_begin, std::vector<std::int32_t> cls,
                     std::vector<T> alpha);
  const T* curvature() const { return holds_ ? curvature_.data() : norm2_.data(); }
  InterceptView<T> intercept_view() { return active_.intercept_view(box_, curvature()); }
  void add_opposed(SlotLists& lists, std::vector<T>& alpha) const;
  // Sets the weights of the constant feature if they are held; see assign().
  void hold_intercept(std::vector<T> w_bias);
  // Moves the intercept and wakes samples that answer to it.
  void settle_intercept(const VisitRule<T>& rule, double reach);
  // B s of the present alpha, see intercept.hpp.
  std::vector<double> made_intercept();
  // 1/2 |v - B s|^2, or what a free intercept has instead.
  double intercept_gap();
  // Finds the dual point near alpha that a free intercept allows.
  void balance_alpha();
  DualPoint<T> dual_point(double half_norm);  // of the present alpha
  void add_up_weights();
  // Calls use(c) for up to `drawn` classes by lot that sample i has not and the scan has not found.
  template <class Use>
  void each_drawn(std::int64_t i, std::int32_t drawn, const Use& use) const;
  void look_at_active(bool exact = false);
  // Those that score high for most samples, in order.
  std::vector<std::int32_t> high_classes(std::int32_t count);
  // After a scan: whether slot p of sample i is still needed, and how many are.
  bool stays(std::int64_t i, std::int64_t p) const;
  std::int64_t pairs_that_stay();
  // Calls use(begin, end) for ranges of samples, shared out among the team.
  template <class Use>
  void each_task(const Use& use) {
    constexpr std::int64_t at_once = 512;
    team_.for_each((X_.rows + at_once - 1) / at_once, [&](int, std::int64_t task) {
      use(task * at_once, std::min(X_.rows, (task + 1) * at_once));
    });
  }

  Samples<T, I> samples_;
  Csr<T, I> X_;
  const std::int32_t* y_;
  const T* box_;
  std::int32_t n_classes_;
  T bias_;
  bool holds_;  // whether the intercept is held while samples move; otherwise it moves with them
  std::uint64_t seed_;
  Isa isa_;
  std::uint64_t passes_ = 0;
  SolverKernels<T> solver_;
  ScanKernels<T> scan_kernels_;
  Team team_;
  Periodically stop_;

  std::vector<std::int64_t> row_;
  std::vector<T> norm2_;
  std::vector<T> curvature_;  // of visits while the intercept is held
  InterceptSteps steps_;
  std::optional<FreeIntercept<T>> free_;
  std::optional<DualPoint<T>> balanced_;
  double pass_gap_ = std::numeric_limits<double>::infinity();  // of the last pass
  double empty_value_ = 0;  // primal = dual contribution of samples without entries
  ActiveSet<T> active_;
  bool heights_ = false;  // whether all samples were visited since the last assign()
  Visits visits_;
  Batches<T> batches_;

  std::optional<ScoreMoments> moments_;  // made when they are first needed
  OrderedRows<T, I> rows_;  // the active set and scans know features by their numbers there

  // Last scan.
  bool scanned_ = false;  // since the active set changed
  std::vector<double> own_;
  std::vector<T> margin_;          // of the active pairs
  std::vector<double> exact_;      // their scores in double precision, if these were asked for
  std::vector<Report<T>> report_;  // [n] of the active classes
  Violators found_;
  std::vector<std::int32_t> wide_;  // samples that had more violators than room for them
};

}  // namespace multimargin
