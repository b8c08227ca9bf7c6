// The solver's steps on seeded problems: certificates, progress, and the same bits for every
// number of threads.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "active_set/engine.hpp"
#include "check.hpp"

namespace {

using namespace multimargin;
using test::Problem;

// How a solve goes about its passes.
struct Plan {
  std::int32_t batch = 1;
  double coupling = 1;
  Formulation formulation = Formulation::weston_watkins;
  Intercept intercept = Intercept::held;
};

// When a sample may wait for its next visit.
struct Quiet {
  double gap, violation;
};

// Nobody waits: every pass visits all samples.
constexpr Quiet kNever{-std::numeric_limits<double>::infinity(), -1};

template <class T, class I>
std::unique_ptr<Engine<T, I>> make_engine(const Problem<T, I>& p, double bias, Isa isa, int threads,
                                          Formulation formulation = Formulation::weston_watkins,
                                          Intercept intercept = Intercept::held) {
  return std::make_unique<Engine<T, I>>(p.samples(static_cast<T>(bias)), formulation, isa, threads,
                                        42, intercept);
}

template <class T, class I>
PassReport pass(Engine<T, I>& engine, const Plan& plan, bool everything, const Quiet& quiet) {
  return engine.run_pass(
      rule_in<T>({plan.batch, everything, 0, -1, plan.coupling, quiet.gap, quiet.violation}), 1);
}

double relative_gap(const ScanReport& scan) { return (scan.primal - scan.dual) / scan.primal; }

// Rounding of the sums that primal and dual are made of.
template <class T>
double slack(double value) {
  return 50 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::abs(value);
}

// Dual variables lie in their boxes, or share them, and slot 0 holds their sum.
template <class T, class I>
void check_alpha(const Problem<T, I>& p, const ActiveSet<T>& active, Formulation formulation) {
  const auto& begin = active.slot_begin();
  for (std::size_t i = 0; i < p.y.size(); ++i) {
    CHECK(active.cls()[begin[i]] == p.y[i]);
    T sum = 0;
    for (std::int64_t s = begin[i] + 1; s < begin[i + 1]; ++s) {
      CHECK(active.alpha()[s] >= 0 && active.alpha()[s] <= p.box[i]);
      CHECK(active.cls()[s] != p.y[i]);
      sum += active.alpha()[s];
    }
    CHECK(active.alpha()[begin[i]] == sum);
    // Each of the additions rounds.
    const T additions = static_cast<T>(begin[i + 1] - begin[i]);
    if (formulation == Formulation::crammer_singer)
      CHECK(sum <= p.box[i] * (1 + (8 + additions) * std::numeric_limits<T>::epsilon()));
  }
}

// The primal objective of the exported weights, by definition and in double precision.
template <class T, class I>
double naive_primal(const Problem<T, I>& p, Engine<T, I>& engine, double bias,
                    Formulation formulation, bool free) {
  const Csr<T, I> X = p.X.view();
  const SparseRows<T> rows = engine.weights();
  const std::vector<T>& constant = engine.active().w_bias();
  std::vector<double> W(p.n_classes * p.X.cols, 0.0);
  double value = 0;
  for (std::int32_t c = 0; c < p.n_classes; ++c) {
    if (!free) value += static_cast<double>(constant[c]) * static_cast<double>(constant[c]) / 2;
    for (std::int64_t k = rows.begin[c]; k < rows.begin[c + 1]; ++k) {
      const double w = static_cast<double>(rows.value[k]);
      CHECK(k == rows.begin[c] || rows.index[k - 1] < rows.index[k]);
      W[c * p.X.cols + rows.index[k]] = w;
      value += w * w / 2;
    }
  }
  std::vector<double> score(p.n_classes);
  for (std::size_t i = 0; i < p.y.size(); ++i) {
    for (std::int32_t c = 0; c < p.n_classes; ++c) {
      score[c] = bias * static_cast<double>(constant[c]);
      const auto feature = X.features(i);
      for (std::int64_t t = X.begin(i); t < X.end(i); ++t)
        score[c] += static_cast<double>(X.data[t]) * W[c * X.cols + feature[t]];
    }
    double sum = 0, largest = 0;
    for (std::int32_t c = 0; c < p.n_classes; ++c) {
      if (c == p.y[i]) continue;
      const double hinge = std::max(0.0, 1 - score[p.y[i]] + score[c]);
      sum += hinge;
      largest = std::max(largest, hinge);
    }
    const bool worst = formulation == Formulation::crammer_singer;
    value += static_cast<double>(p.box[i]) * (worst ? largest : sum);
  }
  return value;
}

// What a solve left behind.
template <class T>
struct Solved {
  std::vector<T> alpha;
  std::vector<std::int32_t> cls;
  std::vector<double> reports;
  bool operator==(const Solved& o) const {
    return alpha == o.alpha && cls == o.cls && reports == o.reports;
  }
};

// Scans and passes in turn until `target`; checks each certificate.
template <class T, class I>
Solved<T> solve(const Problem<T, I>& p, double bias, Isa isa, int threads, const Plan& plan,
                double target) {
  const auto engine = make_engine(p, bias, isa, threads, plan.formulation, plan.intercept);
  engine->start_from_centroids(4, 200);
  Solved<T> result;
  const Quiet quiet{1e-7, 0};
  ScanReport scan;
  for (int round = 0; round < 100; ++round) {
    for (int k = 0; k < 6; ++k) {
      const PassReport report = pass(*engine, plan, k % 3 == 0, quiet);
      CHECK(report.complete);
      result.reports.push_back(report.gap);
      result.reports.push_back(static_cast<double>(report.visits));
    }
    engine->recompute();
    check_alpha(p, engine->active(), plan.formulation);
    scan = engine->scan(5, 1 << 30, T(0));
    CHECK(scan.complete && scan.primal + slack<T>(scan.primal) >= scan.dual);
    result.reports.insert(result.reports.end(), {scan.primal, scan.dual, scan.violation});
    if (relative_gap(scan) <= target) break;
    engine->merge_found(0);
  }
  CHECK(relative_gap(scan) <= target);
  result.alpha = engine->balanced();
  const bool free = plan.intercept == Intercept::free;
  const double primal = naive_primal(p, *engine, bias, plan.formulation, free);
  CHECK(scan.primal >= primal - 4 * slack<T>(primal));  // a bound
  CHECK(scan.primal <= primal + scan.rounding + 4 * slack<T>(primal));
  const std::vector<T>& alpha = engine->active().alpha();
  result.alpha.insert(result.alpha.end(), alpha.begin(), alpha.end());
  result.cls = engine->active().cls();
  return result;
}

template <class T>
double target() {
  return sizeof(T) == 4 ? 1e-3 : 1e-4;
}

// All ways to pass reach the optimum, with the same bits for 1, 2 and 4 threads.
template <class T, class I>
void converges(double bias, Isa isa, const Plan& plan) {
  const auto p = test::random_problem<T, I>(130, 70, 5);
  const Solved<T> one = solve(p, bias, isa, 1, plan, target<T>());
  for (int threads : {2, 4}) CHECK(solve(p, bias, isa, threads, plan, target<T>()) == one);
}

// Moves that assume the worst about their neighbours never lower the dual, unless they leave out
// the intercept.
template <class T, class I>
void dual_rises(double bias, const Plan& plan, int threads) {
  const auto p = test::random_problem<T, I>(150, 30, 6);
  const auto engine = make_engine(p, bias, best_isa(), threads, plan.formulation, Intercept::moves);
  engine->start_from_centroids(6, 500);
  double before = engine->scan(3, 1 << 30, T(0)).dual;
  const double first = before;
  for (int k = 0; k < 15; ++k) {
    pass(*engine, plan, true, kNever);
    engine->recompute();
    check_alpha(p, engine->active(), plan.formulation);
    const double dual = engine->scan(3, 1 << 30, T(0)).dual;
    CHECK(dual >= before - slack<T>(dual));
    before = dual;
  }
  CHECK(before > first);
}

// Scans fetch ahead in the lists of rare features, of which there are few here, by the numbers of
// frequent ones.
template <class T, class I>
void few_rare_features() {
  constexpr std::int64_t rows = 300, frequent = 280;
  Problem<T, I> p{{}, {}, {}, 200};
  p.X.cols = frequent + rows / 4;
  Random random(3);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < frequent; ++j) {
      if (test::uniform(random) > 0.1) continue;
      p.X.indices.push_back(static_cast<I>(j));
      p.X.data.push_back(T(0.2));
    }
    p.X.indices.push_back(static_cast<I>(frequent + i / 4));
    p.X.data.push_back(T(1));
    p.X.end_row();
    p.y.push_back(static_cast<std::int32_t>(i % p.n_classes));
    p.box.push_back(T(1));
  }
  for (Isa isa : test::available_isas()) {
    const auto engine = make_engine(p, 1.0, isa, 1);
    engine->start_from_centroids(6, 500);
    pass(*engine, {}, true, kNever);
    const ScanReport scan = engine->scan(3, 1 << 30, T(0));
    CHECK(scan.complete && scan.primal >= scan.dual);
  }
}

// An abort at any moment of a start or a layout throws, and leaves nothing half used.
template <class T, class I>
void abort_is_clean(int threads) {
  const auto p = test::random_problem<T, I>(600, 200, 11);
  int thrown = 0;
  for (int n = 0; n < 12; ++n) {
    Team team(threads);
    int asked = 0;
    team.set_abort([&] { return asked++ == n; });
    try {
      SlotLists lists = nearest_centroids(p.X.view(), p.y.data(), p.n_classes, 6, 500, 0,
                                          p.X.view().rows, best_isa(), team);
      std::vector<T> alpha(lists.cls.size(), T(0));
      ActiveSet<T> active;
      active.assign(std::move(lists.slot_begin), std::move(lists.cls), std::move(alpha), nullptr,
                    team);
      active.lay_out(p.X.view(), p.n_classes, team);
      const auto kernels = solver_kernels<T>(Formulation::weston_watkins, best_isa(), is_dense<I>);
      active.recompute(p.X.view(), kernels, team);
    } catch (const Aborted&) {
      ++thrown;
    }
  }
  // Only the calling thread asks, and on a busy machine others may have done all jobs before it.
  CHECK(threads > 1 || thrown > 0);
}

// stop() ends a pass between two batches: what was moved is whole, and work goes on.
template <class T, class I>
void stop_leaves_consistent_state(const Plan& plan, int threads) {
  const auto p = test::random_problem<T, I>(220, 70, 8);
  for (int round = 0; round < 8; ++round) {
    const auto engine = make_engine(p, 0.5, best_isa(), threads, plan.formulation);
    engine->start_from_centroids(6, 500);
    bool stopping = true;
    engine->set_stop([&] { return stopping; });
    const PassReport ended = pass(*engine, plan, true, kNever);
    CHECK(!ended.complete && ended.visits > 0);
    check_alpha(p, engine->active(), plan.formulation);
    stopping = false;
    const double moved = engine->scan(3, 1 << 30, T(0)).dual;
    engine->recompute();
    const double exact = engine->scan(3, 1 << 30, T(0)).dual;
    CHECK(std::abs(moved - exact) <=
          slack<T>(exact) + slack<T>(engine->scan(3, 1 << 30, T(0)).primal));
    CHECK(pass(*engine, plan, true, kNever).complete);
    CHECK(engine->scan(3, 1 << 30, T(0)).dual > exact);
  }
}

// A stop that comes in some later batch finds every member at the same place. Members that run
// ahead or lag behind would leave the others waiting for ever.
template <class T, class I>
void stop_is_seen_by_all(int threads) {
  const auto p = test::random_problem<T, I>(2000, 40, 9);
  const auto engine = make_engine(p, 0.0, best_isa(), threads);
  engine->start_from_centroids(3, 100);
  int asked = 0, ended = 0;
  engine->set_stop([&] { return ++asked % 2 == 0; });
  while (asked < 8)  // about every 10 ms
    ended += !pass(*engine, Plan{2, 1.0}, true, kNever).complete;
  CHECK(ended <= asked / 2);
  engine->set_stop(nullptr);
  engine->recompute();
  const ScanReport scan = engine->scan(3, 1 << 30, T(0));
  CHECK(scan.complete && scan.primal >= scan.dual);
  // A scan that is ended early says so, and what it found so far can be used.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it is asked every 10 ms
  engine->set_stop([] { return true; });
  CHECK(!engine->scan(3, 1 << 30, T(0)).complete || threads > 1);
  engine->set_stop(nullptr);
  engine->merge_found(0);
  CHECK(pass(*engine, Plan{8, 1.0}, true, kNever).complete);
}

// Degenerate shapes: no rows, nothing but empty rows, two classes, one sample.
template <class T, class I>
void small_problems(Formulation formulation) {
  const bool worst = formulation == Formulation::crammer_singer;
  for (double bias : {0.0, 1.0})
    for (int threads : {1, 3}) {
      for (std::int64_t rows : {0, 1, 5}) {
        Problem<T, I> p;
        p.n_classes = 3;
        p.X.cols = rows == 1 ? 0 : 4;
        for (std::int64_t i = 0; i < rows; ++i) {
          p.y.push_back(static_cast<std::int32_t>(i % 3));
          p.box.push_back(T(1));
          p.X.end_row();
        }
        const auto engine = make_engine(p, bias, best_isa(), threads, formulation);
        engine->start_from_centroids(2, 100);
        for (int k = 0; k < 60; ++k) {
          // The intercept stays in the first pass after a merge.
          for (int again = 0; again < 2; ++again) pass(*engine, Plan{2, 1.0}, true, kNever);
          engine->recompute();
          engine->scan(2, 1 << 30, T(0));
          engine->merge_found(0);
        }
        const ScanReport scan = engine->scan(2, 1 << 30, T(0));
        CHECK(std::abs(scan.primal - scan.dual) <= 1e-3 * scan.primal);
        if (bias == 0) CHECK(scan.primal == (worst ? 1.0 : 2.0) * static_cast<double>(rows));
      }
      const auto two = test::random_problem<T, I>(17, 3, 2);
      solve(two, bias, Isa::baseline, threads, Plan{4, 1.0, formulation}, target<T>());
    }
}

template <class T, class I>
void one_kind() {
  // The type of the indices matters to few kernels: one pair of types suffices for all of them.
  const auto isas = sizeof(I) <= 4 ? test::available_isas() : std::vector<Isa>{best_isa()};
  for (Isa isa : isas) {
    converges<T, I>(0.0, isa, {16, 0.3});
    converges<T, I>(0.5, isa, {16, 0.3, Formulation::crammer_singer});
  }
  converges<T, I>(1.0, best_isa(), {1, 1.0});
  converges<T, I>(0.5, best_isa(), {3, 1.0});
  converges<T, I>(0.0, best_isa(), {64, 0.3});
  converges<T, I>(0.0, best_isa(), {1, 1.0, Formulation::crammer_singer});
  converges<T, I>(1.0, best_isa(), {3, 1.0, Formulation::weston_watkins, Intercept::free});
  converges<T, I>(1.0, best_isa(), {16, 0.3, Formulation::crammer_singer, Intercept::free});
  for (double bias : {0.0, 1.0})
    for (const Plan& plan :
         {Plan{1, 1.0}, Plan{7, 1.0}, Plan{1000, 1.0}, Plan{7, 1.0, Formulation::crammer_singer}})
      dual_rises<T, I>(bias, plan, 2);
  for (int threads : {1, 2, 4}) {
    for (const Plan& plan : {Plan{4, 1.0}, Plan{4, 1.0, Formulation::crammer_singer}})
      stop_leaves_consistent_state<T, I>(plan, threads);
    stop_is_seen_by_all<T, I>(threads);
    abort_is_clean<T, I>(threads);
  }
  small_problems<T, I>(Formulation::weston_watkins);
  small_problems<T, I>(Formulation::crammer_singer);
}

}  // namespace

int main() {
  few_rare_features<float, std::int32_t>();
  few_rare_features<double, std::int64_t>();
  one_kind<float, std::int32_t>();
  one_kind<float, std::int64_t>();
  one_kind<double, std::int32_t>();
  one_kind<double, std::int64_t>();
  one_kind<float, Dense>();
  one_kind<double, Dense>();
  std::puts("test_engine: ok");
}
