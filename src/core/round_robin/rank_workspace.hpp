// What one rank holds: the bundles that it owns, the bundle states that are here at the moment, and
// the meetings that it works on. Python sends bundle states from rank to rank and says which
// meetings come next.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "round_robin/bundle.hpp"
#include "round_robin/meeting.hpp"
#include "round_robin/sample_slots.hpp"
#include "scans/centroids.hpp"

namespace multimargin {

template <class T, class I>
class RankWorkspace {
 public:
  RankWorkspace(const Samples<T, I>& samples, Formulation formulation, Isa isa, int threads,
                bool hold_intercept = false);

  void set_stop(std::function<bool()> stop) { stop_ = Periodically(std::move(stop)); }
  void set_abort(std::function<bool()> abort) { team_.set_abort(Periodically(std::move(abort))); }

  // Nearest centroids of samples [from, to).
  SlotLists candidates(std::int32_t count, std::int64_t budget, std::int64_t from, std::int64_t to);

  // --- rows that are divided over ranks: they come and go
  struct Norms {
    std::vector<T> all, featured;  // squared; `featured`: without the constant feature
  };
  Norms norms() const {
    return {row_norms(problem_.X, problem_.bias), row_norms(problem_.X, T(0))};
  }
  // Of all rows; feature_rows: how many have each feature.
  void let_rows_come(std::vector<std::int64_t> lengths, Norms norms,
                     const std::vector<std::int64_t>& feature_rows);
  void set_rows(const Csr<T, I>& X) {
    problem_.X = X;
    rows_ = nullptr;
  }
  // Makes the centroids of the classes of these samples, whose rows are there and which are in the
  // order of their classes. Returns how many of these classes have each feature.
  std::vector<std::int64_t> make_centroids(const std::vector<std::int32_t>& samples);
  // The nearest of these classes, and their scores; lengths: of all ranks' classes together.
  SlotLists near_centroids(const std::vector<std::int64_t>& lengths, std::int32_t count,
                           std::int64_t budget, const SampleRange& samples, std::vector<T>& score);

  // Forgets everything and begins with these bundles.
  void divide(std::vector<std::int32_t> bundle_of, std::int32_t bundles);

  // --- owned bundles
  Bundle<T, I>& add_owned(std::int32_t bundle);  // makes it, empty, if it is not there
  Bundle<T, I>& owned(std::int32_t bundle);
  MadeWeights make_bundle_state(std::int32_t bundle, const double* sums);
  MadeWeights end_weights(std::int32_t bundle, const double* sums);  // see Bundle
  // Of all samples; where rows come and go, of some, in order: see Bundle::score().
  void own_scores(std::int32_t bundle, double* own, const SampleRange& samples);
  void look(std::int32_t bundle, const double* own, T* most, T* least, T* violation);
  // Of some samples; those before them were scanned before.
  void scan(std::int32_t bundle, const ScanRequest<T>& request, const SampleRange& samples);
  const BundleScan<T>& found(std::int32_t bundle) const { return found_.at(bundle); }
  void merge(std::int32_t bundle, const T* least, const T* threshold, std::int32_t drawn,
             std::uint64_t seed);
  SparseRows<T> weights(std::int32_t bundle);

  // --- bundle states
  BundleState<T>& bundle_state(std::int32_t bundle) { return bundle_states_.at(bundle); }
  void put_bundle_state(std::int32_t bundle, BundleState<T> state) {
    bundle_states_[bundle] = std::move(state);
  }
  const PackingKernels<T>& packing() const { return packing_; }
  void drop_bundle_state(std::int32_t bundle) { bundle_states_.erase(bundle); }

  // --- meetings
  using Pairing = std::pair<std::int32_t, std::int32_t>;
  void build(const Side<T>& a, const Side<T>& b, bool within);
  void place(const Side<T>& a, const Side<T>& b) {
    meetings_.at({a.bundle, b.bundle}).place(a, b, team_);
  }
  Meeting<T, I>& meeting(const Pairing& p) { return meetings_.at(p); }
  void drop_meetings() { meetings_.clear(); }
  // Meetings that share no bundle; reports are in their order.
  std::vector<PassReport> run_meetings(const std::vector<Pairing>& meetings,
                                       const VisitRule<T>& rule, std::uint64_t seed);

  // --- the intercept, while bundle states are at their owners
  using Range = std::pair<std::int64_t, std::int64_t>;  // of the parts of the samples
  // What this rank tells the one that has them.
  ToldPairs told_pairs(const Range& parts) const;
  ToldValues<T> told_values(const Range& parts) const;
  void gather_pairs(const Range& parts, const std::vector<SlotPairs>& messages) {
    const Range samples = samples_of(parts);
    gathered_.assign(problem_.y, problem_.X.rows, samples.first, samples.second, messages, team_);
  }
  void gather_values(const std::vector<SlotValues<T>>& messages) { gathered_.put(messages, team_); }
  const SampleSlots<T>& gathered() const { return gathered_; }
  // The weights of the constant feature that alpha makes.
  std::vector<double> made_intercept(const PartSums& sums);
  // Moves v, by at most `reach` steps of Newton's method. Returns which of the gathered samples
  // have to answer to it, one byte for each.
  std::vector<std::uint8_t> move_intercept(const VisitRule<T>& rule, double reach,
                                           const PartSums& sums, std::vector<T>& v);
  InterceptSteps& intercept_steps() { return steps_; }
  void wake(const std::uint8_t* samples) {
    for (auto& [pairing, meeting] : meetings_) meeting.wake(samples);
  }

  // The report of a sample's active pairs, from their account over all bundles.
  Report<T> judge(std::int64_t i, const Account<T>& account, T sum) const {
    return kernels_.close_account(account, sum, problem_.box[i]);
  }
  // The same for all samples: the margin to exceed and the first loss of each. Returns the largest
  // violation.
  T judge(const T* most, const T* least, const T* violation, const double* sums, T* from_out,
          T* loss_out) const;
  // Primal and dual value of samples without entries.
  double empty_value() const {
    return multimargin::empty_value<T, I>(kernels_, problem_, problem_.norm2);
  }

  bool budget_is_shared() const { return shared_; }
  const PartitionedProblem<T, I>& problem() const { return problem_; }
  Team& team() { return team_; }

 private:
  Range samples_of(const Range& parts) const {
    if (parts.first < 0 || parts.second < parts.first || parts.second > kParts)
      throw std::invalid_argument("there are no such parts of the samples");
    return {part_begin(problem_.X.rows, parts.first), part_begin(problem_.X.rows, parts.second)};
  }

  PartitionedProblem<T, I> problem_;
  SolverKernels<T> kernels_;
  bool shared_;  // a sample's variables share a budget
  ScanKernels<T> scan_kernels_;
  std::unique_ptr<OrderedRows<T, I>> rows_;  // for scans, since the first one
  std::unique_ptr<FeatureOrder> order_;      // of rows that come and go
  Postings<T> centroids_;                    // likewise
  PackingKernels<T> packing_;
  Isa isa_;
  Team team_;
  Periodically stop_;
  Batches<T> batches_;
  std::map<std::int32_t, Bundle<T, I>> owned_;
  std::map<std::int32_t, BundleScan<T>> found_;
  std::map<std::int32_t, BundleState<T>> bundle_states_;
  std::map<Pairing, Meeting<T, I>> meetings_;
  SampleSlots<T> gathered_;
  InterceptSteps steps_;
};

}  // namespace multimargin
