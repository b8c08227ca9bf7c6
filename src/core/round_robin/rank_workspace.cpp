#include "round_robin/rank_workspace.hpp"

#include <algorithm>
#include <atomic>

#include "common/types.hpp"

namespace multimargin {

template <class T, class I>
RankWorkspace<T, I>::RankWorkspace(const Samples<T, I>& samples, Formulation formulation, Isa isa,
                                   int threads, bool hold_intercept)
    : problem_(samples, hold_intercept),
      kernels_(solver_kernels<T>(formulation, isa, is_dense<I>)),
      shared_(!kernels_.separable),
      scan_kernels_(scan_kernels<T>(formulation, isa)),
      packing_(packing_kernels<T>(isa)),
      isa_(isa),
      team_(threads) {}

template <class T, class I>
SlotLists RankWorkspace<T, I>::candidates(std::int32_t count, std::int64_t budget,
                                          std::int64_t from, std::int64_t to) {
  return nearest_centroids(problem_.X, problem_.y, problem_.n_classes, count, budget, from, to,
                           isa_, team_);
}

template <class T, class I>
void RankWorkspace<T, I>::let_rows_come(std::vector<std::int64_t> lengths, Norms norms,
                                        const std::vector<std::int64_t>& feature_rows) {
  problem_.let_rows_come(std::move(lengths), std::move(norms.all), std::move(norms.featured));
  order_ = std::make_unique<FeatureOrder>(feature_rows, frequent_from(problem_.n_classes));
}

template <class T, class I>
std::vector<std::int64_t> RankWorkspace<T, I>::make_centroids(
    const std::vector<std::int32_t>& samples) {
  centroids_ = make_postings(problem_.X, problem_.y, samples);
  return list_lengths(centroids_.begin);
}

template <class T, class I>
SlotLists RankWorkspace<T, I>::near_centroids(const std::vector<std::int64_t>& lengths,
                                              std::int32_t count, std::int64_t budget,
                                              const SampleRange& samples, std::vector<T>& score) {
  const std::int64_t rows = samples.second - samples.first;
  std::vector<std::int32_t> found(static_cast<std::size_t>(rows) * count);
  std::vector<T> scored(found.size());
  const std::vector<std::int32_t> each =
      rank_samples(problem_.X, problem_.y, problem_.n_classes, centroids_, lengths, count, budget,
                   samples.first, samples.second, team_, found.data(), scored.data());
  SlotLists lists{{0}, {}};
  for (std::int64_t k = 0; k < rows; ++k) {
    for (std::int64_t b = k * count; b < k * count + each[k]; ++b) {
      lists.cls.push_back(found[b]);
      score.push_back(scored[b]);
    }
    lists.slot_begin.push_back(static_cast<std::int64_t>(lists.cls.size()));
  }
  return lists;
}

template <class T, class I>
void RankWorkspace<T, I>::divide(std::vector<std::int32_t> bundle_of, std::int32_t bundles) {
  owned_.clear();
  found_.clear();
  bundle_states_.clear();
  meetings_.clear();
  problem_.divide(std::move(bundle_of), bundles);
}

template <class T, class I>
T RankWorkspace<T, I>::judge(const T* most, const T* least, const T* violation, const double* sums,
                             T* from_out, T* loss_out) const {
  T largest = 0;
  for (std::int64_t i = 0; i < problem_.X.rows; ++i) {
    const Report<T> r = judge(i, {most[i], least[i], violation[i]}, static_cast<T>(sums[i]));
    from_out[i] = r.least;
    loss_out[i] = r.loss;
    if (problem_.norm2[i] > 0) largest = std::max(largest, r.violation);
  }
  return largest;
}

// ---------------------------------------------------------------- owned bundles

template <class T, class I>
Bundle<T, I>& RankWorkspace<T, I>::add_owned(std::int32_t bundle) {
  return owned_.try_emplace(bundle, problem_, bundle).first->second;
}

template <class T, class I>
Bundle<T, I>& RankWorkspace<T, I>::owned(std::int32_t bundle) {
  return owned_.at(bundle);
}

template <class T, class I>
MadeWeights RankWorkspace<T, I>::make_bundle_state(std::int32_t bundle, const double* sums) {
  BundleState<T>& state = bundle_states_[bundle];
  MadeWeights made = owned(bundle).make_bundle_state(sums, kernels_, state, team_);
  owned(bundle).pack_alpha(shared_, state.alpha);
  return made;
}

template <class T, class I>
MadeWeights RankWorkspace<T, I>::end_weights(std::int32_t bundle, const double* sums) {
  BundleState<T>& state = bundle_states_[bundle];
  MadeWeights made = owned(bundle).end_weights(sums, state);
  owned(bundle).pack_alpha(shared_, state.alpha);
  return made;
}

template <class T, class I>
void RankWorkspace<T, I>::own_scores(std::int32_t bundle, double* own, const SampleRange& samples) {
  if (problem_.rows_come()) {
    owned(bundle).score(bundle_state(bundle), samples, own, team_);
  } else {
    owned(bundle).own_scores(bundle_state(bundle), own, team_);
  }
}

template <class T, class I>
void RankWorkspace<T, I>::look(std::int32_t bundle, const double* own, T* most, T* least,
                               T* violation) {
  owned(bundle).look(bundle_state(bundle), own, kernels_, most, least, violation, team_);
}

template <class T, class I>
void RankWorkspace<T, I>::scan(std::int32_t bundle, const ScanRequest<T>& request,
                               const SampleRange& samples) {
  const auto stop = [this] { return stop_(); };
  const Bundle<T, I>& b = owned(bundle);
  const BundleState<T>& state = bundle_state(bundle);
  if (rows_ == nullptr) {
    const Csr<T, I> some = rows_between(problem_.X, samples.first, samples.second);
    rows_ = order_ == nullptr
                ? std::make_unique<OrderedRows<T, I>>(some, frequent_from(problem_.n_classes))
                : std::make_unique<OrderedRows<T, I>>(some, *order_);
  }
  BundleScan<T> scanned = b.scan(state, *rows_, request, scan_kernels_, team_, stop, samples);
  if (samples.first == 0) {
    found_[bundle] = std::move(scanned);
  } else {
    found_.at(bundle).append(scanned);
  }
}

template <class T, class I>
void RankWorkspace<T, I>::merge(std::int32_t bundle, const T* least, const T* threshold,
                                std::int32_t drawn, std::uint64_t seed) {
  owned(bundle).merge(found_.at(bundle), least, threshold, drawn, seed);
  found_.erase(bundle);
}

template <class T, class I>
SparseRows<T> RankWorkspace<T, I>::weights(std::int32_t bundle) {
  return owned(bundle).weights(bundle_state(bundle), team_);
}

// ---------------------------------------------------------------- meetings

template <class T, class I>
void RankWorkspace<T, I>::build(const Side<T>& a, const Side<T>& b, bool within) {
  const Pairing pairing{a.bundle, b.bundle};
  meetings_.erase(pairing);
  meetings_.try_emplace(pairing, problem_, a, b, within, shared_, team_);
}

template <class T, class I>
std::vector<PassReport> RankWorkspace<T, I>::run_meetings(const std::vector<Pairing>& meetings,
                                                          const VisitRule<T>& rule,
                                                          std::uint64_t seed) {
  std::vector<PassReport> reports(meetings.size());
  const auto seed_of = [&](const Pairing& p) {
    return seed + static_cast<std::uint64_t>(p.first) * problem_.classes.size() + p.second;
  };
  if (rule.batch > 1) {
    for (std::size_t k = 0; k < meetings.size(); ++k) {
      const Pairing& p = meetings[k];
      reports[k] = meeting(p).together(bundle_state(p.first), bundle_state(p.second), rule,
                                       seed_of(p), kernels_, team_, batches_, stop_);
    }
    return reports;
  }
  std::atomic<bool> ending{false};
  team_.for_each(static_cast<std::int64_t>(meetings.size()), [&](int member, std::int64_t k) {
    const auto stop = [&] {
      if (member == 0 && stop_()) ending = true;
      return ending.load();
    };
    const Pairing& p = meetings[k];
    reports[k] = meeting(p).alone(bundle_state(p.first), bundle_state(p.second), rule, seed_of(p),
                                  kernels_, stop);
  });
  return reports;
}

// ---------------------------------------------------------------- the intercept

template <class T, class I>
ToldPairs RankWorkspace<T, I>::told_pairs(const Range& parts) const {
  const auto [first, last] = samples_of(parts);
  ToldPairs told;
  const auto tell = [&](std::int32_t i, std::int32_t c, std::int64_t) {
    told.sample.push_back(i);
    told.cls.push_back(c);
  };
  for (const auto& [pairing, meeting] : meetings_) meeting.each_noted(first, last, tell);
  told.noted = static_cast<std::int64_t>(told.sample.size());
  for (const auto& [bundle, owned] : owned_) owned.each_moving(shared_, first, last, tell);
  return told;
}

template <class T, class I>
ToldValues<T> RankWorkspace<T, I>::told_values(const Range& parts) const {
  const auto [first, last] = samples_of(parts);
  ToldValues<T> told;
  for (const auto& [pairing, meeting] : meetings_) {
    const Slots<T>& slots = meeting.slots();
    meeting.each_noted(first, last, [&](std::int32_t, std::int32_t, std::int64_t p) {
      told.alpha.push_back(slots.alpha[p]);
      told.height.push_back(slots.height[p]);
      told.resting.push_back(slots.resting[p]);
    });
  }
  for (const auto& [bundle, owned] : owned_) {
    const std::vector<T>& alpha = bundle_states_.at(bundle).alpha;
    owned.each_moving(shared_, first, last, [&](std::int32_t, std::int32_t, std::int64_t p) {
      told.alpha.push_back(alpha[p]);
    });
  }
  return told;
}

template <class T, class I>
std::vector<double> RankWorkspace<T, I>::made_intercept(const PartSums& sums) {
  const auto view =
      gathered_.view(problem_.box, problem_.curvature().data(), problem_.n_classes, sums);
  return intercept_of(view, static_cast<double>(problem_.bias), team_);
}

template <class T, class I>
std::vector<std::uint8_t> RankWorkspace<T, I>::move_intercept(const VisitRule<T>& rule,
                                                              double reach, const PartSums& sums,
                                                              std::vector<T>& v) {
  std::vector<T> gap(problem_.X.rows, T(0)), violation(problem_.X.rows, T(0));
  const auto view =
      gathered_.view(problem_.box, problem_.curvature().data(), problem_.n_classes, sums);
  const auto bias = static_cast<double>(problem_.bias);
  multimargin::move_intercept(view, kernels_, {bias, bias * bias, false}, steps_, reach, v,
                              gap.data(), violation.data(), team_);
  std::vector<std::uint8_t> awake;
  for (std::int64_t i = gathered_.first(); i < gathered_.last(); ++i)
    awake.push_back(!is_quiet(rule, gap[i], violation[i]));
  return awake;
}

#define MM_CLASS(T, I) template class RankWorkspace<T, I>;
MM_FOR_TYPES(MM_CLASS)
#undef MM_CLASS

}  // namespace multimargin
