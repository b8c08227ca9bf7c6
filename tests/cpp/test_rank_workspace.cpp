// The league's steps on seeded problems: certificates, feasible dual variables, and the same bits
// for every number of threads, whether bundle state travels or stays.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "check.hpp"
#include "round_robin/rank_workspace.hpp"
#include "round_robin/violators.hpp"

namespace {

using namespace multimargin;
using test::Problem;
using Pairing = std::pair<std::int32_t, std::int32_t>;

struct Plan {
  Formulation formulation;
  std::int32_t batch;
  std::int32_t bundles;  // even
  bool travels;          // bundle state is packed and unpacked between rounds
};

// The circle method: who meets in round r of an even number of bundles.
std::vector<Pairing> meetings(std::int32_t bundles, std::int32_t r) {
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

// One rank with all bundles, which goes through the steps as a solver does.
template <class T, class I>
class Driver {
 public:
  Driver(const Problem<T, I>& p, double bias, Isa isa, int threads, const Plan& plan)
      : p_(p),
        plan_(plan),
        n_(static_cast<std::int64_t>(p.y.size())),
        workspace_(p.X.view(), p.y.data(), p.box.data(), p.n_classes, static_cast<T>(bias),
                   plan.formulation, isa, threads) {}

  RankWorkspace<T, I>& league() { return workspace_; }
  const Plan& plan() const { return plan_; }

  // Candidates are found in two parts, as two ranks would.
  void begin(std::int32_t candidates) {
    PairLists lists;
    lists.pair.push_back(0);
    const std::int64_t cut[3] = {0, n_ / 3, n_};
    for (int part : {0, 1}) {
      const PairLists some = workspace_.candidates(candidates, 500, cut[part], cut[part + 1]);
      for (std::size_t k = 1; k < some.pair.size(); ++k)
        lists.pair.push_back(lists.pair.back() + some.pair[k] - some.pair[k - 1]);
      lists.cls.insert(lists.cls.end(), some.cls.begin(), some.cls.end());
    }
    const PairLists whole = workspace_.candidates(candidates, 500, 0, n_);
    CHECK(lists.pair == whole.pair && lists.cls == whole.cls);
    const std::vector<T> alpha(lists.cls.size(), T(0));
    std::vector<std::int32_t> bundle_of(p_.n_classes);
    for (std::int32_t c = 0; c < p_.n_classes; ++c) bundle_of[c] = c % plan_.bundles;
    workspace_.divide(bundle_of, plan_.bundles);
    for (std::int32_t b = 0; b < plan_.bundles; ++b)
      workspace_.add_owned(b).take(lists.pair.data(), lists.cls.data(), alpha.data());
    settle();
    arrange();
  }

  void settle() {
    for (std::int32_t b = 0; b < plan_.bundles; ++b) workspace_.owned(b).lay_out(workspace_.team());
    make_bundle_state();
  }

  void arrange() {
    workspace_.drop_meetings();
    for (std::int32_t r = 0; r < plan_.bundles - 1; ++r)
      for (const Pairing& m : meetings(plan_.bundles, r))
        workspace_.build(side(m.first), side(m.second), r == 1 % (plan_.bundles - 1));
  }

  PassReport pass(bool everything, double quiet_gap) {
    PassReport whole;
    const MeetingPass<T> how{plan_.batch,
                             {T(0), T(-1), everything, T(1)},
                             {static_cast<T>(quiet_gap), T(-1)},
                             1000 * ++passes_};
    for (std::int32_t r = 0; r < plan_.bundles - 1; ++r) {
      const auto round = meetings(plan_.bundles, r);
      const auto reports = workspace_.play(round, how);
      CHECK(reports.size() == round.size());
      for (const PassReport& report : reports) {
        whole.gap += report.gap;
        whole.visits += report.visits;
        whole.complete = whole.complete && report.complete;
      }
      if (plan_.travels) travel();
    }
    return whole;
  }

  // Brings dual variables home and makes the weights anew.
  void recompute() {
    for (std::int32_t b = 0; b < plan_.bundles; ++b) {
      workspace_.bundle_state(b).keep_alpha_only();
      CHECK(workspace_.bundle_state(b).w.size() == 0);
    }
    if (plan_.travels) travel();
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
    for (std::int32_t b = 0; b < plan_.bundles; ++b) workspace_.own_scores(b, own_.data());
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
      workspace_.scan(b, {own_.data(), least_.data(), loss.data(), norms_.data(), capacity, T(0)},
                      false);
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
      workspace_.merge(b, least_.data(), threshold.data());
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
            c.weight().data(),
            c.feature().data()};
  }

  void make_bundle_state() {
    sums_.assign(n_, 0.0);
    for (std::int32_t b = 0; b < plan_.bundles; ++b) workspace_.owned(b).add_sums(sums_.data());
    norm_ = 0;
    norms_.assign(workspace_.problem().n_classes, 0.0);
    for (std::int32_t b = 0; b < plan_.bundles; ++b) {
      const std::vector<double> squares = workspace_.make_bundle_state(b, sums_.data());
      for (std::size_t k = 0; k < squares.size(); ++k) {
        norm_ += squares[k];
        norms_[workspace_.problem().classes[b][k]] = std::sqrt(squares[k]);
      }
    }
  }

  void travel() {
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

// Rounding of the sums that primal and dual are made of.
template <class T>
double slack(double value) {
  return 200 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::abs(value);
}

// The primal objective by definition and in double precision.
template <class T, class I>
double naive_primal(const Problem<T, I>& p, const std::vector<double>& W, double bias, bool worst) {
  const std::int64_t stride = p.X.cols + 1;
  double value = 0;
  for (double w : W) value += w * w / 2;
  std::vector<double> score(p.n_classes);
  for (std::size_t i = 0; i < p.y.size(); ++i) {
    for (std::int32_t c = 0; c < p.n_classes; ++c) {
      score[c] = bias * W[c * stride + p.X.cols];
      for (std::int64_t t = p.X.indptr[i]; t < p.X.indptr[i + 1]; ++t)
        score[c] += static_cast<double>(p.X.data[t]) * W[c * stride + p.X.indices[t]];
    }
    double sum = 0, largest = 0;
    for (std::int32_t c = 0; c < p.n_classes; ++c) {
      if (c == p.y[i]) continue;
      const double hinge = std::max(0.0, 1 - score[p.y[i]] + score[c]);
      sum += hinge;
      largest = std::max(largest, hinge);
    }
    value += static_cast<double>(p.box[i]) * (worst ? largest : sum);
  }
  return value;
}

template <class T>
struct Solved {
  std::vector<T> alpha;
  std::vector<double> reports;
  bool operator==(const Solved& o) const { return alpha == o.alpha && reports == o.reports; }
};

// Scans and passes in turn until `target`; checks each certificate.
template <class T, class I>
Solved<T> solve(const Problem<T, I>& p, double bias, Isa isa, int threads, const Plan& plan,
                double target) {
  Driver<T, I> driver(p, bias, isa, threads, plan);
  driver.begin(4);
  Solved<T> result;
  Certificate scan{};
  double gap = 1;
  for (int round = 0; round < 80 && gap > target; ++round) {
    if (round > 0) driver.merge();
    for (int k = 0; k < 6; ++k) {
      const PassReport report = driver.pass(k % 3 == 0, 1e-7);
      CHECK(report.complete);
      result.reports.push_back(report.gap);
      result.reports.push_back(static_cast<double>(report.visits));
    }
    driver.recompute();
    driver.check_alpha();
    scan = driver.scan(5);
    CHECK(scan.primal + slack<T>(scan.primal) >= scan.dual);
    result.reports.insert(result.reports.end(), {scan.primal, scan.dual, scan.violation});
    gap = (scan.primal - scan.dual) / scan.primal;
  }
  CHECK(gap <= target);
  const bool worst = plan.formulation == Formulation::crammer_singer;
  const double primal = naive_primal(p, driver.weights(), bias, worst);
  CHECK(std::abs(primal - scan.primal) <= slack<T>(primal));
  result.alpha = driver.alpha();
  return result;
}

template <class T>
double target() {
  return sizeof(T) == 4 ? 1e-3 : 1e-4;
}

// The optimum, with the same bits for 1 and 4 threads and for bundle state that travels.
template <class T, class I>
void converges(double bias, Isa isa, Plan plan) {
  const auto p = test::random_problem<T, I>(110, 40, 5);
  plan.travels = false;
  const Solved<T> one = solve(p, bias, isa, 1, plan, target<T>());
  plan.travels = true;
  CHECK(solve(p, bias, isa, 4, plan, target<T>()) == one);
}

// stop() ends a season early: what was moved is whole, and work goes on.
template <class T, class I>
void stop_leaves_consistent_state(const Plan& plan, int threads) {
  const auto p = test::random_problem<T, I>(1600, 12, 8);
  Driver<T, I> driver(p, 0.5, best_isa(), threads, plan);
  driver.begin(6);
  bool stopping = true;
  driver.league().set_stop([&] { return stopping; });
  const PassReport ended = driver.pass(true, 0);
  // Only the calling thread asks, and on a busy machine others may have played all meetings.
  CHECK(ended.visits > 0 && (!ended.complete || threads > 1));
  stopping = false;
  driver.recompute();
  driver.check_alpha();
  const double before = driver.scan(3).dual;
  driver.merge();
  CHECK(driver.pass(true, 0).complete);
  driver.recompute();
  driver.check_alpha();
  CHECK(driver.scan(3).dual > before);
}

// Moves that assume the worst about their neighbours never lower the dual.
template <class T, class I>
void dual_rises(const Plan& plan) {
  const auto p = test::random_problem<T, I>(150, 20, 6);
  Driver<T, I> driver(p, 1.0, best_isa(), 2, plan);
  driver.begin(6);
  double before = driver.scan(3).dual;
  const double first = before;
  for (int k = 0; k < 10; ++k) {
    driver.pass(k % 2 == 0, 1e-5);
    driver.recompute();
    driver.check_alpha();
    const double dual = driver.scan(3).dual;
    CHECK(dual >= before - slack<T>(dual));
    before = dual;
  }
  CHECK(before > first);
}

// A meeting goes on from its state as from memory.
template <class T, class I>
void state_is_all_of_it(const Plan& plan) {
  const auto p = test::random_problem<T, I>(150, 20, 6);
  Driver<T, I> one(p, 1.0, best_isa(), 1, plan), two(p, 1.0, best_isa(), 1, plan);
  one.begin(6);
  two.begin(6);
  for (int k = 0; k < 3; ++k) one.pass(k == 0, 1e-3), two.pass(k == 0, 1e-3);
  auto state = one.league().meeting({0, 1}).state();
  auto& meeting = two.league().meeting({0, 1});
  meeting.restore({std::vector<T>(state.alpha.size(), T(0)),
                   std::vector<std::uint8_t>(state.resting),
                   std::vector<std::uint8_t>(state.pauses.size(), 1),
                   std::vector<std::uint8_t>(state.waits.size(), 0)});
  meeting.restore(state);
  for (int k = 0; k < 3; ++k) one.pass(k == 0, 1e-3), two.pass(k == 0, 1e-3);
  one.recompute();
  two.recompute();
  CHECK(one.alpha() == two.alpha());
  state.waits.push_back(0);
  CHECK_THROWS(invalid_argument, meeting.restore(state));
}

template <class T>
void parcels(const PackingKernels<T>& kernels) {
  Random random(3);
  for (std::size_t size : {0, 1, 63, 64, 65, 1000}) {
    BundleState<T> bundle_state;
    bundle_state.w.reset(size);
    const auto some = [&] { return random.below(3) == 0 ? T(0.5) : T(0); };
    for (std::size_t k = 0; k < size; ++k) bundle_state.w[k] = some();
    for (std::size_t k = 0; k < size / 7; ++k) bundle_state.w_bias.push_back(some());
    for (std::size_t k = 0; k < size / 3; ++k) bundle_state.sum.push_back(some());
    for (std::size_t k = 0; k < size / 2; ++k) bundle_state.alpha.push_back(some());
    const Packed<T> packed = pack(bundle state, kernels);
    for (T value : packed.values) CHECK(value != 0);
    const auto open = [&](const Packed<T>& p) {
      // As large as it is: a kernel that reads beyond the end is found out.
      const std::vector<T> values(p.values.begin(), p.values.end());
      return unpack(p.sizes.data(), p.mask.data(), p.mask.size(), values.data(), values.size(),
                    kernels);
    };
    const BundleState<T> back = open(packed);
    CHECK(back.w.size() == size && back.w_bias == bundle_state.w_bias &&
          back.sum == bundle_state.sum && back.alpha == bundle_state.alpha);
    for (std::size_t k = 0; k < size; ++k) CHECK(back.w[k] == bundle_state.w[k]);
    Packed<T> damaged = packed;
    damaged.sizes[1] = -1;
    CHECK_THROWS(invalid_argument, open(damaged));
    damaged = packed;
    damaged.sizes[0] += 64;
    CHECK_THROWS(invalid_argument, open(damaged));
    damaged = packed;
    damaged.values.push_back(T(1));
    CHECK_THROWS(invalid_argument, open(damaged));
    if (size % 64 != 0) {  // a bit beyond the end of the first part, and a value for it
      damaged.mask[size / 64] |= std::uint64_t{1} << 63;
      CHECK_THROWS(invalid_argument, open(damaged));
    }
  }
}

template <class T>
void worst_violators() {
  const T none = std::numeric_limits<T>::lowest();
  // Two samples; the first bundle counts from 10 on, as a part of a longer list does.
  const std::vector<std::int64_t> a{10, 13, 13}, b{0, 2, 3}, c{0, 0, 0};
  const std::vector<T> of_a{T(1), T(5), T(3)}, of_b{T(4), T(2), T(9)}, of_c;
  const std::vector<Violators<T>> all{
      {a.data(), of_a.data()}, {b.data(), of_b.data()}, {c.data(), of_c.data()}};
  CHECK(thresholds(all, 2, 5) == (std::vector<T>{none, none}));
  CHECK(thresholds(all, 2, 4) == (std::vector<T>{T(2), none}));
  CHECK(thresholds(all, 2, 1) == (std::vector<T>{T(5), none}));
  CHECK(thresholds(std::vector<Violators<T>>{}, 2, 1) == (std::vector<T>{none, none}));
}

// Degenerate shapes: no rows, nothing but empty rows, more bundles than classes.
template <class T, class I>
void small_problems(Formulation formulation) {
  const bool worst = formulation == Formulation::crammer_singer;
  for (std::int64_t rows : {0, 1, 5})
    for (std::int32_t bundles : {2, 4}) {
      Problem<T, I> p;
      p.n_classes = 3;
      p.X.cols = rows == 1 ? 0 : 4;
      for (std::int64_t i = 0; i < rows; ++i) {
        p.y.push_back(static_cast<std::int32_t>(i % 3));
        p.box.push_back(T(1));
        p.X.end_row();
      }
      Driver<T, I> driver(p, 0.0, best_isa(), 3, {formulation, 2, bundles, true});
      driver.begin(2);
      driver.pass(true, 0);
      driver.recompute();
      const Certificate scan = driver.scan(2);
      CHECK(scan.primal == scan.dual);
      CHECK(scan.primal == (worst ? 1.0 : 2.0) * static_cast<double>(rows));
      driver.merge();
    }
  const auto two = test::random_problem<T, I>(17, 3, 2);
  solve(two, 1.0, Isa::baseline, 2, {formulation, 4, 4, true}, target<T>());
}

template <class T, class I>
void one_kind() {
  // The type of the indices matters to few kernels: one pair of types suffices for all of them.
  const auto isas = sizeof(I) == 4 ? test::available_isas() : std::vector<Isa>{best_isa()};
  for (Formulation f : {Formulation::weston_watkins, Formulation::crammer_singer}) {
    for (Isa isa : isas) converges<T, I>(1.0, isa, {f, 1, 4, false});
    converges<T, I>(0.5, best_isa(), {f, 8, 6, false});
    converges<T, I>(0.0, best_isa(), {f, 3, 2, false});
    for (std::int32_t batch : {1, 7}) {
      dual_rises<T, I>({f, batch, 4, false});
      state_is_all_of_it<T, I>({f, batch, 4, false});
      for (int threads : {1, 4}) stop_leaves_consistent_state<T, I>({f, batch, 4, true}, threads);
    }
    small_problems<T, I>(f);
  }
}

}  // namespace

int main() {
  one_kind<float, std::int32_t>();
  one_kind<float, std::int64_t>();
  one_kind<double, std::int32_t>();
  one_kind<double, std::int64_t>();
  for (Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!isa_available(isa)) continue;
    parcels<float>(packing_kernels<float>(isa));
    parcels<double>(packing_kernels<double>(isa));
  }
  worst_violators<float>();
  worst_violators<double>();
  std::puts("test_league: ok");
}
