// The classes of a bundle and the samples that are active in each: what stays at home while the
// bundle's bundle state is on the road.
//
// Memory: 12 bytes a pair (16 in double precision), 4 for each weight that two of a class's samples
// share. A feature that one sample alone has is not kept: its weight is that sample's coefficient
// times x (see views.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "active_set/kernels.hpp"
#include "active_set/scan.hpp"
#include "common/sparse_rows.hpp"
#include "common/team.hpp"
#include "round_robin/bundle_state.hpp"
#include "round_robin/partition.hpp"
#include "scoring/class_block.hpp"

namespace multimargin {

// What a scan of one bundle's classes found.
template <class T>
struct BundleScan {
  std::vector<double> loss;         // [n] in these classes
  std::vector<double> bound;        // [n] with margins raised by what rounding may have taken
  T violation = 0;                  // largest of a class that is not active
  std::vector<std::int64_t> begin;  // [n+1] where a sample's violators begin
  std::vector<std::int32_t> cls;    // their places within the bundle
  std::vector<T> margin;
  bool complete = true;
};

// What a scan has to know of all bundles together: `own`, `least` and `loss` are [n].
template <class T>
struct ScanRequest {
  const double* own;   // exact scores
  const T* least;      // see Report
  const T* loss;       // see Report
  const double* norm;  // [K] |w_c| of all classes
  std::int32_t capacity;
  T idle;
};

template <class T, class I>
class Bundle {
 public:
  Bundle(const PartitionedProblem<T, I>& problem, std::int32_t bundle);

  // Pairs by sample (slot 0: the own class, whose alpha is ignored) -> pairs by class.
  void take(const std::int64_t* pair, const std::int32_t* cls, const T* alpha);
  // Pairs by class, from elsewhere.
  void set(std::vector<std::int64_t> begin, std::vector<std::int32_t> sample, std::vector<T> alpha);
  const std::vector<std::int64_t>& begin() const { return begin_; }
  const std::vector<std::int32_t>& sample() const { return sample_; }
  std::vector<T>& alpha() { return alpha_; }
  const std::vector<T>& alpha() const { return alpha_; }
  std::int32_t classes() const { return static_cast<std::int32_t>(begin_.size()) - 1; }

  // Those dual variables that travel: all, or only those of samples of the bundle's own classes.
  // The others, which stay where their bundles meet, are zero in `out`.
  void pack_alpha(bool all, std::vector<T>& out) const;

  // Adds this bundle's share to the sums of all samples' variables.
  void add_sums(double* sums) const;
  // Multiplies the variables of each sample by its factor.
  void scale(const double* factor);

  // Where each feature lies in each class's weights.
  void lay_out(Team& team);
  const std::vector<std::int64_t>& weight() const { return weight_; }
  const std::vector<std::int32_t>& feature() const { return feature_; }

  // The bundle state that belongs to alpha and to the sums, weights computed in double precision
  // and in a fixed order. Returns |w_c|^2 of its classes.
  std::vector<double> make_bundle_state(const double* sums, BundleState<T>& out, Team& team) const;

  // --- looking, at weights that have just been made
  // Exact ones, of the bundle's own samples.
  void own_scores(const BundleState<T>& l, double* own, Team& team) const;
  // Margins of the active pairs, and what they say about their samples.
  void look(const BundleState<T>& l, const double* own, const SolverKernels<T>& kernels, T* most,
            T* least, T* violation, Team& team);
  // Scores are added up in type S.
  template <class S>
  BundleScan<T> scan(const BundleState<T>& l, const ScanRequest<T>& request,
                     const ScanKernels<T, I>& kernels, Team& team,
                     const std::function<bool()>& stop) const;
  // Forgets pairs with alpha = 0 that do not violate, adds violators from `threshold` on.
  void merge(const BundleScan<T>& found, const T* least, const T* threshold);

  SparseRows<T> weights(const BundleState<T>& l, Team& team) const;

 private:
  // Where the features of one class lie: position, or 0 for those that are not kept.
  class Lookup;

  // use(sample, coefficient of x_i in class k) for all members: own samples, then columns.
  template <class Use>
  void each_member(const BundleState<T>& l, std::int32_t k, const Use& use) const;
  // use(feature, weight), each feature once.
  template <class Use>
  void each_weight(const BundleState<T>& l, std::int32_t k, Lookup& lookup, const Use& use) const;
  // use(thread's lookup, class) for all classes, shared out.
  template <class Use>
  void each_class(Team& team, const Use& use) const;
  double score(const BundleState<T>& l, std::int32_t k, const Lookup& lookup, std::int64_t i,
               T coefficient) const;

  const PartitionedProblem<T, I>& problem_;
  std::int32_t bundle_;
  std::vector<std::int64_t> begin_;
  std::vector<std::int32_t> sample_;
  std::vector<T> alpha_;
  std::vector<T> margin_;  // of the pairs, after look()
  std::vector<std::int64_t> weight_;
  std::vector<std::int32_t> feature_;
};

}  // namespace multimargin
