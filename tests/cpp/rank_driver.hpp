// One rank with all bundles, which goes through the steps of a workspace as a solver does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "check.hpp"
#include "round_robin/rank_workspace.hpp"
#include "round_robin/violators.hpp"

namespace multimargin::test {

using Pairing = std::pair<std::int32_t, std::int32_t>;

struct Plan {
  Formulation formulation;
  std::int32_t batch;
  std::int32_t bundles;  // even
  bool packed;           // bundle states are packed and unpacked between rounds
  bool parts = false;    // rows come and go, as where samples are divided; here they stay
};

// The circle method: who meets in round r of an even number of bundles.
inline std::vector<Pairing> meetings(std::int32_t bundles, std::int32_t r) {
  const std::int32_t last = bundles - 1;
  std::vector<Pairing> round{{std::min(r, last), std::max(r, last)}};
  for (std::int32_t a = 0; a < last; ++a) {
    const std::int32_t b = ((2 * r - a) % last + last) % last;
    if (a < b) round.push_back({a, b});
  }
  return round;
}

struct Certificate {
  double primal, dual, violation;
};

template <class T, class I>
class Driver {
 public:
  Driver(const Problem<T, I>& p, double bias, Isa isa, int threads, const Plan& plan,
         bool hold_intercept = false)
      : p_(p),
        plan_(plan),
        n_(static_cast<std::int64_t>(p.y.size())),
        workspace_(p.samples(static_cast<T>(bias)), plan.formulation, isa, threads,
                   hold_intercept) {
    if (!plan_.parts) return;
    const Csr<T, I>& X = workspace_.problem().X;
    std::vector<std::int64_t> lengths(n_), having(X.cols, 0);
    for (std::int64_t i = 0; i < n_; ++i) {
      lengths[i] = X.end(i) - X.begin(i);
      const auto features = X.features(i);
      for (std::int64_t t = X.begin(i); t < X.end(i); ++t) ++having[features[t]];
    }
    workspace_.let_rows_come(lengths, workspace_.norms(), having);
  }

  RankWorkspace<T, I>& workspace() { return workspace_; }
  const Plan& plan() const { return plan_; }

  // Candidates are found in two parts, as two ranks would.
  void begin(std::int32_t candidates) {
    SlotLists lists;
    lists.slot_begin.push_back(0);
    const std::int64_t cut[3] = {0, n_ / 3, n_};
    for (int part : {0, 1}) {
      const SlotLists some = workspace_.candidates(candidates, 500, cut[part], cut[part + 1]);
      for (std::size_t k = 1; k < some.slot_begin.size(); ++k)
        lists.slot_begin.push_back(lists.slot_begin.back() + some.slot_begin[k] -
                                   some.slot_begin[k - 1]);
      lists.cls.insert(lists.cls.end(), some.cls.begin(), some.cls.end());
    }
    const SlotLists whole = workspace_.candidates(candidates, 500, 0, n_);
    CHECK(lists.slot_begin == whole.slot_begin && lists.cls == whole.cls);
    const std::vector<T> alpha(lists.cls.size(), T(0));
    std::vector<std::int32_t> bundle_of(p_.n_classes);
    for (std::int32_t c = 0; c < p_.n_classes; ++c) bundle_of[c] = c % plan_.bundles;
    workspace_.divide(bundle_of, plan_.bundles);
    for (std::int32_t b = 0; b < plan_.bundles; ++b)
      workspace_.add_owned(b).take(lists.slot_begin.data(), lists.cls.data(), alpha.data());
    settle();
    arrange();
  }

  void settle() {
    for (std::int32_t b = 0; b < plan_.bundles; ++b) {
      Bundle<T, I>& bundle = workspace_.owned(b);
      if (!plan_.parts) {
        bundle.lay_out(workspace_.team());
        continue;
      }
      for (const bool own : {true, false})
        for (const SampleRange& some : parts()) bundle.number(some, own, workspace_.team());
      bundle.end_layout();
    }
    make_bundle_state();
  }

  void arrange() {
    workspace_.drop_meetings();
    for (std::int32_t r = 0; r < plan_.bundles - 1; ++r)
      for (const Pairing& m : meetings(plan_.bundles, r)) {
        workspace_.build(side(m.first), side(m.second), r == 1 % (plan_.bundles - 1));
        if (plan_.parts) workspace_.place(side(m.first), side(m.second));
      }
  }

  PassReport pass(bool everything, double quiet_gap) {
    PassReport whole;
    const VisitRule<T> rule{plan_.batch, everything, T(0), T(-1), T(1), static_cast<T>(quiet_gap),
                            T(-1)};
    ++passes_;
    for (std::int32_t r = 0; r < plan_.bundles - 1; ++r) {
      const auto round = meetings(plan_.bundles, r);
      const auto reports = workspace_.run_meetings(round, rule, 1000 * passes_);
      CHECK(reports.size() == round.size());
      for (const PassReport& report : reports) {
        whole.gap += report.gap;
        whole.visits += report.visits;
        whole.complete = whole.complete && report.complete;
      }
      if (plan_.packed) pack_and_unpack();
    }
    return whole;
  }

  // Moves an intercept that is held. Returns what alpha made of it before.
  std::vector<double> move_intercept(std::vector<T>& v) {
    const std::pair<std::int64_t, std::int64_t> all{0, kParts};
    const ToldPairs pairs = workspace_.told_pairs(all);
    const auto count = static_cast<std::int64_t>(pairs.sample.size());
    workspace_.gather_pairs(all, {{pairs.sample.data(), pairs.cls.data(), pairs.noted, count}});
    const ToldValues<T> values = workspace_.told_values(all);
    workspace_.gather_values({{values.alpha.data(), values.height.data(), values.resting.data(),
                               values.height.size(), values.alpha.size()}});
    const std::vector<double> made = workspace_.made_intercept({});
    const VisitRule<T> rule{plan_.batch, false, T(0), T(-1), T(1), T(0), T(-1)};
    workspace_.wake(workspace_.move_intercept(rule, 1, {}, v).data());
    for (std::int32_t b = 0; b < plan_.bundles; ++b)
      for (std::size_t k = 0; k < workspace_.problem().classes[b].size(); ++k)
        workspace_.bundle_state(b).w_bias[k] = v[workspace_.problem().classes[b][k]];
    return made;
  }

  // Gives dual variables back to the owned bundles and makes the weights anew.
  void recompute() {
    for (std::int32_t b = 0; b < plan_.bundles; ++b) {
      workspace_.bundle_state(b).keep_alpha_only();
      CHECK(workspace_.bundle_state(b).w.size() == 0);
    }
    if (plan_.packed) pack_and_unpack();
    for (std::int32_t b = 0; b < plan_.bundles; ++b)
      workspace_.owned(b).alpha() = workspace_.bundle_state(b).alpha;
    if (!workspace_.budget_is_shared())
      for (std::int32_t r = 0; r < plan_.bundles - 1; ++r)
        for (const Pairing& m : meetings(plan_.bundles, r))
          for (int which : {0, 1}) {
            std::vector<std::int64_t> pair;
            std::vector<T> value;
            workspace_.meeting(m).collect(which, pair, value);
            auto& alpha = workspace_.owned(which == 0 ? m.first : m.second).alpha();
            for (std::size_t k = 0; k < pair.size(); ++k) {
              CHECK(alpha[pair[k]] == 0);  // it is nowhere else
              alpha[pair[k]] = value[k];
            }
          }
    make_bundle_state();
  }

  Certificate scan(std::int32_t capacity) {
    const T most_of_all = std::numeric_limits<T>::max();
    own_.assign(n_, -std::numeric_limits<double>::infinity());
    std::vector<T> most(n_, -most_of_all), least(n_, most_of_all), violation(n_, T(0)), loss(n_);
    for (std::int32_t b = 0; b < plan_.bundles; ++b)
      for (const SampleRange& some : parts()) workspace_.own_scores(b, own_.data(), some);
    for (std::int32_t b = 0; b < plan_.bundles; ++b)
      workspace_.look(b, own_.data(), most.data(), least.data(), violation.data());
    least_.assign(n_, T(0));
    Certificate found{norm_ / 2 + workspace_.empty_value(), workspace_.empty_value() - norm_ / 2,
                      0};
    for (std::int64_t i = 0; i < n_; ++i) {
      const Report<T> r =
          workspace_.judge(i, {most[i], least[i], violation[i]}, static_cast<T>(sums_[i]));
      least_[i] = r.least;
      loss[i] = r.loss;
      found.dual += sums_[i];
      if (workspace_.problem().norm2[i] > 0)
        found.violation = std::max(found.violation, static_cast<double>(r.violation));
    }
    std::vector<double> total(n_, 0.0);
    for (std::int32_t b = 0; b < plan_.bundles; ++b) {
      const ScanRequest<T> request{own_.data(), least_.data(), loss.data(), norms_.data(),
                                   capacity,    T(0),          false};
      for (const SampleRange& some : parts()) {
        if (plan_.parts)
          workspace_.set_rows(workspace_.problem().X);  // others: what was made of them is stale
        workspace_.scan(b, request, some);
      }
      CHECK(workspace_.found(b).complete);
      found.violation =
          std::max(found.violation, static_cast<double>(workspace_.found(b).violation));
      const std::vector<double>& part = workspace_.found(b).loss;
      for (std::int64_t i = 0; i < n_; ++i)
        total[i] = workspace_.budget_is_shared() ? std::max(total[i], part[i]) : total[i] + part[i];
    }
    for (std::int64_t i = 0; i < n_; ++i) found.primal += total[i] * static_cast<double>(p_.box[i]);
    capacity_ = capacity;
    return found;
  }

  void merge() {
    std::vector<Violators<T>> found;
    for (std::int32_t b = 0; b < plan_.bundles; ++b)
      found.push_back({workspace_.found(b).begin.data(), workspace_.found(b).margin.data()});
    const std::vector<T> threshold = thresholds(found, n_, capacity_);
    for (std::int32_t b = 0; b < plan_.bundles; ++b)
      workspace_.merge(b, least_.data(), threshold.data(), 0, 0);
    settle();
    arrange();
  }

  // Dual variables lie in their boxes, or share them.
  void check_alpha() {
    std::vector<double> sum(n_, 0.0);
    const double eps = static_cast<double>(std::numeric_limits<T>::epsilon());
    for (std::int32_t b = 0; b < plan_.bundles; ++b) {
      const Bundle<T, I>& c = workspace_.owned(b);
      for (std::size_t k = 0; k < c.sample().size(); ++k) {
        const std::int32_t i = c.sample()[k];
        CHECK(c.alpha()[k] >= 0);
        if (!workspace_.budget_is_shared()) CHECK(c.alpha()[k] <= p_.box[i]);
        sum[i] += static_cast<double>(c.alpha()[k]);
      }
    }
    if (workspace_.budget_is_shared())
      for (std::int64_t i = 0; i < n_; ++i)  // each exchange rounds
        CHECK(sum[i] <= static_cast<double>(p_.box[i]) * (1 + 256 * eps));
  }

  std::vector<T> alpha() {
    std::vector<T> all;
    for (std::int32_t b = 0; b < plan_.bundles; ++b)
      all.insert(all.end(), workspace_.owned(b).alpha().begin(), workspace_.owned(b).alpha().end());
    return all;
  }

  // All weights, class by class, the constant's last.
  std::vector<double> weights() {
    const std::int64_t cols = p_.X.cols;
    std::vector<double> W(p_.n_classes * (cols + 1), 0.0);
    for (std::int32_t b = 0; b < plan_.bundles; ++b) {
      const SparseRows<T> rows = workspace_.weights(b);
      const std::vector<std::int32_t>& classes = workspace_.problem().classes[b];
      CHECK(rows.begin.size() == classes.size() + 1);
      for (std::size_t k = 0; k < classes.size(); ++k) {
        double* w = W.data() + classes[k] * (cols + 1);
        for (std::int64_t e = rows.begin[k]; e < rows.begin[k + 1]; ++e) {
          CHECK(e == rows.begin[k] || rows.index[e - 1] < rows.index[e]);
          w[rows.index[e]] = static_cast<double>(rows.value[e]);
        }
        w[cols] = static_cast<double>(workspace_.bundle_state(b).w_bias[k]);
      }
    }
    return W;
  }

 private:
  Side<T> side(std::int32_t b) {
    const Bundle<T, I>& c = workspace_.owned(b);
    return {b,
            c.begin().data(),
            c.sample().data(),
            c.alpha().data(),
            c.layout().begin.data(),
            c.layout().feature.data()};
  }

  void make_bundle_state() {
    sums_.assign(n_, 0.0);
    for (std::int32_t b = 0; b < plan_.bundles; ++b) workspace_.owned(b).add_sums(sums_.data());
    norm_ = 0;
    norms_.assign(workspace_.problem().n_classes, 0.0);
    for (std::int32_t b = 0; b < plan_.bundles; ++b) {
      const MadeWeights made = made_weights(b);
      for (std::size_t k = 0; k < made.norm2.size(); ++k) {
        const auto constant = static_cast<double>(workspace_.bundle_state(b).w_bias[k]);
        const double squares = made.norm2[k] + constant * constant;
        norm_ += squares;
        norms_[workspace_.problem().classes[b][k]] = std::sqrt(squares);
      }
    }
  }

  MadeWeights made_weights(std::int32_t b) {
    if (!plan_.parts) return workspace_.make_bundle_state(b, sums_.data());
    for (const bool own : {true, false})
      for (const SampleRange& some : parts())
        workspace_.owned(b).add(some, own, sums_.data(), workspace_.team());
    return workspace_.end_weights(b, sums_.data());
  }

  // Samples that are looked at together.
  std::vector<SampleRange> parts() const {
    if (!plan_.parts) return {{0, n_}};
    return {{0, n_ / 4}, {n_ / 4, n_ / 4}, {n_ / 4, n_}};
  }

  void pack_and_unpack() {
    for (std::int32_t b = 0; b < plan_.bundles; ++b) {
      const PackingKernels<T>& kernels = workspace_.packing();
      const Packed<T> packed = pack(workspace_.bundle_state(b), kernels);
      workspace_.drop_bundle_state(b);
      workspace_.put_bundle_state(
          b, unpack(packed.sizes.data(), packed.mask.data(), packed.mask.size(),
                    packed.values.data(), packed.values.size(), kernels));
    }
  }

  const Problem<T, I>& p_;
  Plan plan_;
  std::int64_t n_;
  RankWorkspace<T, I> workspace_;
  std::vector<double> sums_;
  std::vector<double> own_;
  std::vector<T> least_;
  double norm_ = 0;
  std::vector<double> norms_;
  std::int32_t capacity_ = 1;
  std::uint64_t passes_ = 0;
};

}  // namespace multimargin::test
