// The classes of a bundle and the samples that are active in each, at the rank that owns it; its
// weights are in the bundle state, which moves from meeting to meeting.
//
// Memory: 12 bytes a pair (16 in double precision), 4 for each weight that two samples of a class
// share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "active_set/weight_layout.hpp"
#include "common/sparse_rows.hpp"
#include "common/team.hpp"
#include "round_robin/bundle_state.hpp"
#include "round_robin/partition.hpp"
#include "scans/class_scan.hpp"

namespace multimargin {

// What a scan of one bundle's classes found; see ClassScan.
template <class T>
struct BundleScan {
  std::vector<double> loss, bound;  // [n]
  T violation = 0;                  // largest of a class that is not active
  std::vector<std::int64_t> begin;  // [n+1] where a sample's violators begin
  std::vector<std::int32_t> cls;    // their indices within the bundle
  std::vector<T> margin;
  bool complete = true;

  // Of the samples that follow.
  void append(const BundleScan& next) {
    const std::int64_t before = begin.back();
    loss.insert(loss.end(), next.loss.begin(), next.loss.end());
    bound.insert(bound.end(), next.bound.begin(), next.bound.end());
    violation = std::max(violation, next.violation);
    for (std::size_t i = 1; i < next.begin.size(); ++i) begin.push_back(before + next.begin[i]);
    cls.insert(cls.end(), next.cls.begin(), next.cls.end());
    margin.insert(margin.end(), next.margin.begin(), next.margin.end());
    complete = complete && next.complete;
  }
};

// A weight of a feature that one sample of a class has.
template <class T>
struct LoneWeight {
  std::int32_t feature;
  T value;
};

// Samples that follow each other: the first, and the one behind the last.
using SampleRange = std::pair<std::int64_t, std::int64_t>;

// Of the weights of a bundle's classes.
struct MadeWeights {
  std::vector<double> norm2;     // |w_c|^2 of the features
  std::vector<double> constant;  // the weight of the constant feature that alpha makes
};

template <class T, class I>
class Bundle {
 public:
  Bundle(const PartitionedProblem<T, I>& problem, std::int32_t bundle);

  // Pairs by sample (slot 0: the own class, whose alpha is ignored) -> pairs by class.
  void take(const std::int64_t* slot_begin, const std::int32_t* cls, const T* alpha);
  // Pairs by class, as they are.
  void set(std::vector<std::int64_t> begin, std::vector<std::int32_t> sample, std::vector<T> alpha);
  // Both throw std::invalid_argument for samples or pairs that do not exist.
  void restore(std::vector<std::int64_t> begin, std::vector<std::int32_t> sample,
               std::vector<T> alpha);
  void put_alpha(const std::int64_t* pair, const T* value, std::int64_t count);
  const std::vector<std::int64_t>& begin() const { return begin_; }
  const std::vector<std::int32_t>& sample() const { return sample_; }
  std::vector<T>& alpha() { return alpha_; }
  const std::vector<T>& alpha() const { return alpha_; }
  std::int32_t classes() const { return static_cast<std::int32_t>(begin_.size()) - 1; }

  // The dual variables of the bundle state: all, or only those of samples of the bundle's own
  // classes. The others, which stay where their bundles meet, are zero in `out`.
  void pack_alpha(bool all, std::vector<T>& out) const;
  // Calls use(sample, class, pair) for those pairs of samples [first, last).
  template <class Use>
  void each_moving(bool all, std::int64_t first, std::int64_t last, const Use& use) const {
    for (std::int32_t k = 0; k < classes(); ++k) {
      const auto end = sample_.begin() + begin_[k + 1];
      auto at = std::lower_bound(sample_.begin() + begin_[k], end, first);
      for (; at != end && *at < last; ++at)
        if (all || moves(*at)) use(*at, problem_.classes[bundle_][k], at - sample_.begin());
    }
  }

  // Adds the variables of this bundle to the sums over each sample's.
  void add_sums(double* sums) const;
  // The sum of the variables, each times what is asked of its class.
  double value() const;
  // Multiplies the variables of each sample by its factor.
  void scale(const double* factor);

  // Where each feature lies in each class's weights.
  void lay_out(Team& team);
  const WeightLayout& layout() const { return layout_; }

  // Makes the bundle state that belongs to alpha and to the sums, with weights added up in double
  // precision and in a fixed order.
  MadeWeights make_bundle_state(const double* sums, const SolverKernels<T>& kernels,
                                BundleState<T>& out, Team& team) const;

  // --- looking, at weights that have just been made
  // Exact scores of the bundle's own samples in their own classes.
  void own_scores(const BundleState<T>& state, double* own, Team& team) const;
  // Computes the margins of the active pairs and adds them to the accounts of their samples.
  void look(const BundleState<T>& state, const double* own, const SolverKernels<T>& kernels,
            T* most, T* least, T* violation, Team& team);
  BundleScan<T> scan(const BundleState<T>& state, OrderedRows<T, I>& rows,
                     const ScanRequest<T>& request, const ScanKernels<T>& kernels, Team& team,
                     const std::function<bool()>& stop, const SampleRange& samples) const;
  // Forgets pairs with alpha = 0 and no violation, adds violators with margins from `threshold` on,
  // and those of `drawn` classes by lot that are in this bundle.
  void merge(const BundleScan<T>& found, const T* least, const T* threshold, std::int32_t drawn,
             std::uint64_t seed);

  SparseRows<T> weights(const BundleState<T>& state, Team& team) const;

  // --- the same where rows come and go: those of some samples at a time, which are there
  // In this order: the classes' own samples, from first to last, then (`own` is false) all samples
  // once more for those that are active in them.
  // Numbers features as lay_out() does.
  void number(const SampleRange& samples, bool own, Team& team);
  void end_layout();
  // Adds up weights as make_bundle_state() does.
  void add(const SampleRange& samples, bool own, const double* sums, Team& team);
  MadeWeights end_weights(const double* sums, BundleState<T>& out);
  // Own scores, and the scores of active pairs, which look() takes; lists lone weights, which
  // scan() and weights() take.
  void score(const BundleState<T>& state, const SampleRange& samples, double* own, Team& team);

 private:
  // Samples of a class, from `first` to before `last`.
  struct Some {
    const std::int32_t *all, *first, *last;

    bool empty() const { return first == last; }
    // use(sample, pair or index within the bundle)
    template <class Use>
    void each(const Use& use) const {
      for (const std::int32_t* at = first; at != last; ++at) use(*at, at - all);
    }
  };
  // Those of class k in the range: its own, or those that are active in it.
  Some between(const SampleRange& samples, std::int32_t k, bool own) const;

  // Whether the variables of sample i are in the bundle state where not all are.
  bool moves(std::int32_t i) const { return problem_.bundle_of[problem_.y[i]] == bundle_; }
  // The margin that sample i asks of class k of the bundle.
  double asked(std::int32_t i, std::int32_t k) const {
    const LabelCosts* costs = problem_.costs;
    return costs == nullptr ? 1.0 : costs->at(problem_.y[i], problem_.classes[bundle_][k]);
  }
  // Calls use(places, class) for all classes, shared out among the team, with the places of the
  // class's features.
  template <class Use>
  void each_open_class(Team& team, const Use& use) const;
  // Calls own(sample, its index within the bundle) for the class's own samples, then
  // pair(sample, pair) for those that are active in it.
  template <class Own, class Pair>
  void each_member(std::int32_t k, const Own& own, const Pair& pair) const;
  // Calls use(feature, weight) for the weights of an open class, each feature once.
  template <class Use>
  void each_weight(const BundleState<T>& state, std::int32_t k, const FeaturePlaces& places,
                   const Use& use) const;
  // Of the weights as each_weight lists them.
  double score(const BundleState<T>& state, std::int32_t k, const FeaturePlaces& places,
               std::int64_t i, T coefficient) const;

  const PartitionedProblem<T, I>& problem_;
  std::int32_t bundle_;
  std::vector<std::int64_t> begin_;   // [classes+1] where a class's pairs begin
  std::vector<std::int32_t> sample_;  // of each pair
  std::vector<T> alpha_;
  std::vector<T> margin_;  // of the pairs, after look(); scores, after score()
  WeightLayout layout_;

  // Where rows come and go:
  struct Growing {
    std::vector<std::int32_t> once, shared;  // features that one sample has, or several
  };
  std::vector<Growing> growing_;  // by class, while features are numbered
  std::vector<double> sum_;       // of each weight, while they are added up
  MadeWeights made_;
  std::vector<std::vector<LoneWeight<T>>> lone_;  // by class
};

}  // namespace multimargin
