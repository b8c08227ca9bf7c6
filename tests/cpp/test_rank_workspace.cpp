// The steps of a rank's workspace on seeded problems: certificates, feasible dual variables, and
// the same bits for every number of threads, whether bundle states are packed or stay, and whether
// rows are there or come and go.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "check.hpp"
#include "rank_driver.hpp"

namespace {

using namespace multimargin;
using test::Certificate;
using test::Driver;
using test::Plan;
using test::Problem;

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

// The optimum, with the same bits for 1 and 4 threads and for bundle states that are packed.
template <class T, class I>
void converges(double bias, Isa isa, Plan plan) {
  const auto p = test::random_problem<T, I>(110, 40, 5);
  plan.packed = false;
  const Solved<T> one = solve(p, bias, isa, 1, plan, target<T>());
  plan.packed = true;
  CHECK(solve(p, bias, isa, 4, plan, target<T>()) == one);
  plan.parts = !is_dense<I>;
  CHECK(solve(p, bias, isa, 2, plan, target<T>()) == one);
}

// stop() ends a pass early: moves are whole, and work goes on.
template <class T, class I>
void stop_leaves_consistent_state(const Plan& plan, int threads) {
  const auto p = test::random_problem<T, I>(1600, 12, 8);
  Driver<T, I> driver(p, 0.5, best_isa(), threads, plan);
  driver.begin(6);
  bool stopping = true;
  driver.workspace().set_stop([&] { return stopping; });
  const PassReport ended = driver.pass(true, 0);
  // Only the calling thread asks, and on a busy machine others may have done all meetings.
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

// An intercept that is held comes to where alpha makes it, with the same bits for every team.
template <class T, class I>
void intercept_settles(const Plan& plan) {
  const auto p = test::random_problem<T, I>(150, 20, 6);
  std::vector<T> found[2];
  for (int threads : {1, 3}) {
    Driver<T, I> driver(p, 1.0, best_isa(), threads, plan, true);
    driver.begin(6);
    std::vector<T> v(p.n_classes, T(0));
    std::vector<double> made;
    for (int k = 0; k < 200; ++k) {
      CHECK(driver.pass(true, 0).complete);
      made = driver.move_intercept(v);
    }
    double off = 0, size = 0;
    for (std::int32_t c = 0; c < p.n_classes; ++c) {
      off = std::max(off, std::abs(made[c] - static_cast<double>(v[c])));
      size = std::max(size, std::abs(made[c]));
    }
    CHECK(size > 0 && off < 0.01 * size);
    found[threads > 1] = v;
  }
  CHECK(found[0] == found[1]);
}

// A meeting goes on from its state as from memory.
template <class T, class I>
void state_is_all_of_it(const Plan& plan) {
  const auto p = test::random_problem<T, I>(150, 20, 6);
  Driver<T, I> one(p, 1.0, best_isa(), 1, plan), two(p, 1.0, best_isa(), 1, plan);
  one.begin(6);
  two.begin(6);
  for (int k = 0; k < 3; ++k) one.pass(k == 0, 1e-3), two.pass(k == 0, 1e-3);
  auto state = one.workspace().meeting({0, 1}).state();
  auto& meeting = two.workspace().meeting({0, 1});
  meeting.restore({std::vector<T>(state.alpha.size(), T(0)),
                   std::vector<std::uint8_t>(state.resting),
                   std::vector<std::uint8_t>(state.pauses.size(), 1),
                   std::vector<std::uint8_t>(state.waits.size(), 0),
                   {}});
  meeting.restore(state);
  for (int k = 0; k < 3; ++k) one.pass(k == 0, 1e-3), two.pass(k == 0, 1e-3);
  one.recompute();
  two.recompute();
  CHECK(one.alpha() == two.alpha());
  state.waits.push_back(0);
  CHECK_THROWS(invalid_argument, meeting.restore(state));
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
      intercept_settles<T, I>({f, batch, 4, false});
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
  std::puts("test_rank_workspace: ok");
}
