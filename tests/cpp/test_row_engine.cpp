// The row engine on seeded problems: passes and Newton steps raise the dual towards the primal, the
// same bits for every number of threads, odd shapes, and ends before the end.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "check.hpp"
#include "rows/row_engine.hpp"

namespace {

using namespace multimargin;
using test::Problem;

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr RowLoss kLosses[] = {RowLoss::weston_watkins,      RowLoss::crammer_singer,
                               RowLoss::lee_lin_wahba,       RowLoss::one_vs_rest,
                               RowLoss::one_vs_rest_squared, RowLoss::discriminative_max,
                               RowLoss::total_sum,           RowLoss::total_max,
                               RowLoss::reinforced,          RowLoss::max_margin_regression};

template <class T, class I>
std::unique_ptr<RowEngine<T, I>> make(const Problem<T, I>& p, RowLoss loss, Isa isa, int threads,
                                      std::int32_t rows = 0, T bias = T(0.5)) {
  return std::make_unique<RowEngine<T, I>>(p.samples(bias), loss, rows == 0 ? p.n_classes : rows,
                                           isa, threads, 42);
}

template <class T, class I>
Problem<T, I> scaled(Problem<T, I> p, double factor) {
  for (T& box : p.box) box = static_cast<T>(box * factor);
  return p;
}

struct Values {
  double primal, dual;
  double gap() const { return primal - dual; }
};

template <class T, class I>
Values certify(RowEngine<T, I>& engine) {
  const RowCertificate seen = engine.certify();
  return {seen.half_norm + seen.loss, seen.gain - seen.dual_half_norm};
}

template <class T, class I>
std::vector<double> alpha_of(const RowEngine<T, I>& engine) {
  std::vector<double> alpha(static_cast<std::size_t>(engine.n_samples() * engine.n_rows()));
  engine.alpha(alpha.data());
  return alpha;
}

template <class T, class I>
std::vector<double> weights_of(const RowEngine<T, I>& engine) {
  std::vector<double> w(static_cast<std::size_t>((engine.n_features() + 1) * engine.n_rows()));
  engine.copy_weights(w.data());
  return w;
}

// Every value is finite and no less than zero, and within the bounds of the loss.
template <class T, class I>
void check_alpha(const Problem<T, I>& p, const RowEngine<T, I>& engine, RowLoss loss) {
  const std::vector<double> alpha = alpha_of(engine);
  const std::size_t k = static_cast<std::size_t>(engine.n_rows());
  const bool shared = loss == RowLoss::crammer_singer || loss == RowLoss::discriminative_max ||
                      loss == RowLoss::total_max;
  for (std::size_t i = 0; i < p.y.size(); ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < k; ++c) {
      const double a = alpha[i * k + c];
      CHECK(std::isfinite(a) && a >= 0);
      sum += a;
      if (loss != RowLoss::one_vs_rest_squared) CHECK(a <= p.box[i] * (1 + 1e-12));
    }
    if (shared) CHECK(sum <= p.box[i] * (1 + 1e-12));
  }
}

// Newton steps, stronger ones where a proximal step is solved; returns the steps taken.
template <class T, class I>
int newton(RowEngine<T, I>& engine, int most) {
  double strength = 0.1;
  NewtonReport report = engine.begin_newton(strength);
  int taken = 0;
  for (; taken < most && report.primal - report.dual > 1e-9 * report.primal; ++taken) {
    if (taken > 0 && report.residual <= 0.25 * report.moved) {
      strength *= 4;
      const NewtonReport moved = engine.next_point(strength);
      CHECK(moved.dual >= report.dual - 1e-12 * std::abs(report.primal));
    }
    report = engine.newton_step(0.1, 100);
    CHECK(report.complete && report.residual >= 0 && report.moved >= 0);
    CHECK(report.primal >= report.dual - 1e-9 * std::abs(report.primal));
  }
  return taken;
}

template <class T, class I>
Values run(RowEngine<T, I>& engine, int passes, int steps) {
  for (int k = 0; k < passes; ++k) CHECK(engine.pass(k == 0, kNone, kNone, kNone).complete);
  newton(engine, steps);
  engine.end_newton();
  return certify(engine);
}

// Passes raise the dual; Newton steps from there leave next to nothing of the gap.
template <class T, class I>
void ascends(RowLoss loss, double factor, Isa isa) {
  const auto p = scaled(test::random_problem<T, I>(100, 7, 3), factor);
  const auto engine = make(p, loss, isa, 2);
  const std::int64_t bytes = engine->bytes();
  Values before = certify(*engine);
  for (int round = 0; round < 6; ++round) {
    CHECK(engine->pass(true, kNone, kNone, kNone).complete);
    engine->recompute();
    const Values now = certify(*engine);
    CHECK(now.dual >= before.dual - 1e-12 * std::abs(now.primal));
    CHECK(now.gap() >= -1e-12 * std::abs(now.primal));
    before = now;
  }
  check_alpha(p, *engine, loss);
  const Values last = run(*engine, 0, 60);
  CHECK(last.dual >= before.dual - 1e-12 * std::abs(last.primal));
  CHECK(last.gap() >= -1e-12 * std::abs(last.primal));
  CHECK(last.gap() <= 0.01 * last.primal && last.gap() < 0.5 * before.gap());
  CHECK(engine->bytes() > bytes);
  check_alpha(p, *engine, loss);
}

template <class T, class I>
void gives_the_same_bits(RowLoss loss, const Problem<T, I>& p) {
  std::vector<double> one;
  for (int threads : {1, 2, 3}) {
    const auto engine = make(p, loss, best_isa(), threads);
    const Values seen = run(*engine, 3, 12);
    std::vector<double> all = weights_of(*engine);
    for (double a : alpha_of(*engine)) all.push_back(a);
    all.push_back(seen.primal);
    all.push_back(seen.dual);
    if (threads == 1) one = all;
    CHECK(all == one);
  }
}

// What was copied can be put back, and dual variables make their weights.
template <class T, class I>
void goes_on_from_alpha(RowLoss loss) {
  const auto p = test::random_problem<T, I>(60, 5, 13);
  const auto engine = make(p, loss, best_isa(), 2);
  const Values seen = run(*engine, 2, 5);
  const std::vector<double> alpha = alpha_of(*engine), weights = weights_of(*engine);
  const auto other = make(p, loss, best_isa(), 1);
  other->assign(alpha.data());
  CHECK(alpha_of(*other) == alpha);
  // Weights are added up in another way, with other rounding where a compiler chooses so.
  CHECK(std::abs(certify(*other).dual - seen.dual) <= 1e-12 * (1 + std::abs(seen.dual)));
  CHECK(std::abs(certify(*other).primal - seen.primal) <= 1e-12 * (1 + std::abs(seen.primal)));
  const std::vector<double> again = weights_of(*other);  // certificates take their mean off
  for (std::size_t k = 0; k < weights.size(); ++k)
    CHECK(std::abs(again[k] - weights[k]) <= 1e-12 * (1 + std::abs(weights[k])));
  other->pass(true, kNone, kNone, kNone);
  other->assign(alpha.data());
  other->put_weights(weights.data());
  CHECK(std::abs(certify(*other).primal - seen.primal) <= 1e-12 * (1 + std::abs(seen.primal)));
  std::vector<T> coef(static_cast<std::size_t>(p.X.cols) * 5), constant(5);
  engine->weights(coef.data(), constant.data());
  CHECK(coef[1] == static_cast<T>(weights[5]) && constant[4] == static_cast<T>(weights.back()));
}

// Two classes with a weight vector each are two problems that are mirrored; with one, it is one.
template <class T, class I>
void one_weight_vector(RowLoss loss) {
  auto p = test::random_problem<T, I>(60, 3, 17);
  p.n_classes = 2;
  const auto one = make(p, loss, best_isa(), 2, 1), both = make(p, loss, best_isa(), 3);
  const Values single = run(*one, 4, 60), twice = run(*both, 4, 60);
  const double near = sizeof(T) == 4 ? 1e-4 : 1e-7;
  CHECK(std::abs(2 * single.dual - twice.dual) <= near * twice.primal);
  CHECK(single.gap() <= near * single.primal);
}

template <class T, class I>
void odd_shapes(RowLoss loss) {
  const auto check = [&](Problem<T, I> p, T bias) {
    const auto engine = make(p, loss, best_isa(), 3, 0, bias);
    const Values seen = run(*engine, 3, 40);
    CHECK(std::isfinite(seen.primal) && std::isfinite(seen.dual));
    CHECK(seen.gap() >= -1e-6 * std::max(1.0, std::abs(seen.primal)));
    CHECK(seen.gap() <= 1e-3 * std::max(1.0, std::abs(seen.primal)));
    check_alpha(p, *engine, loss);
  };
  Problem<T, I> p;
  p.n_classes = 4;
  for (int i = 0; i < 40; ++i) {
    p.y.push_back(i % 4);
    p.box.push_back(T(1) + T(i % 3));
  }
  // One feature.
  p.X = test::random_matrix<T, I>(40, 1, 1.0, 5);
  check(p, T(0));
  check(p, T(1));
  // More features than a matrix per class has rows.
  p.X = test::random_matrix<T, I>(40, 1100, 0.02, 6);
  check(p, T(1));
  // No entries at all, and no features.
  for (std::int64_t cols : {3, 0}) {
    p.X = test::random_matrix<T, I>(40, cols, 0.0, 7);
    check(p, T(0));
    check(p, T(1));
  }
  // Two samples of one class, which leaves nothing to a boundary.
  Problem<T, I> few;
  few.n_classes = 2;
  few.y = {0, 0};
  few.box = {T(1), T(1)};
  few.X = test::random_matrix<T, I>(2, 2, 1.0, 8);
  check(few, T(1));
}

// Costs of zero, of one and of more.
template <class T, class I>
void label_costs(RowLoss loss) {
  const auto p = test::random_problem<T, I>(80, 6, 21);
  std::vector<double> cost(36), ones(36, 1.0);
  for (int a = 0; a < 6; ++a)
    for (int b = 0; b < 6; ++b) cost[6 * a + b] = a == b ? 0 : (a + 2 * b) % 4 * 0.75;
  for (int a = 0; a < 6; ++a) ones[7 * a] = 0;
  const auto solve = [&](const std::vector<double>* given) {
    Samples<T, I> samples = p.samples();
    const LabelCosts costs = LabelCosts::dense((given ? *given : ones).data(), 6);
    if (given != nullptr) samples.costs = &costs;
    RowEngine<T, I> engine(samples, loss, 6, best_isa(), 2, 42);
    const Values seen = run(engine, 4, 60);
    CHECK(seen.gap() <= 1e-3 * seen.primal);
    return seen;
  };
  const Values plain = solve(nullptr), same = solve(&ones), other = solve(&cost);
  CHECK(std::abs(plain.primal - same.primal) <= 1e-3 * plain.primal);
  CHECK(std::abs(other.primal - plain.primal) > 0.01 * plain.primal);
}

template <class T, class I>
void ends_early(RowLoss loss) {
  const auto p = scaled(test::random_problem<T, I>(160, 5, 7), 100);
  for (int threads : {1, 3}) {
    const auto engine = make(p, loss, best_isa(), threads);
    CHECK(engine->pass(true, kNone, kNone, kNone).complete);
    engine->begin_newton(1.0);
    bool stopping = true;
    engine->set_stop([&] { return stopping; });
    CHECK(!engine->newton_step(1e-9, 1000).complete);
    engine->end_newton();
    check_alpha(p, *engine, loss);
    const double dual = certify(*engine).dual;
    engine->set_stop([&] { return stopping; });  // it may be asked at once
    CHECK(!engine->pass(true, kNone, kNone, kNone).complete);
    stopping = false;
    engine->recompute();
    CHECK(certify(*engine).dual >= dual * (1 - 1e-12));
    CHECK(engine->pass(true, kNone, kNone, kNone).complete);
  }
}

// Samples that are quiet wait, unless everything is visited.
template <class T, class I>
void waits() {
  const auto p = test::random_problem<T, I>(100, 7, 3);
  const auto engine = make(p, RowLoss::weston_watkins, best_isa(), 1);
  const std::int64_t all = engine->pass(true, kNone, kNone, kNone).visits;
  for (int k = 0; k < 20; ++k) engine->pass(true, kNone, 1e-2, kNone);
  CHECK(engine->pass(false, kNone, 1e-2, kNone).visits < all);
  CHECK(engine->pass(true, kNone, 1e-2, kNone).visits == all);
}

template <class T, class I>
void one_kind() {
  const auto chunks = scaled(test::random_problem<T, I>(300, 5, 9), 10);
  const auto wide = scaled(test::random_problem<T, I>(80, 40, 9), 10);
  for (RowLoss loss : kLosses) {
    for (Isa isa : test::available_isas()) ascends<T, I>(loss, 10, isa);
    gives_the_same_bits<T, I>(loss, chunks);
    gives_the_same_bits<T, I>(loss, wide);
    goes_on_from_alpha<T, I>(loss);
    odd_shapes<T, I>(loss);
    ends_early<T, I>(loss);
  }
  for (RowLoss loss : {RowLoss::one_vs_rest, RowLoss::one_vs_rest_squared})
    one_weight_vector<T, I>(loss);
  for (RowLoss loss : {RowLoss::weston_watkins, RowLoss::crammer_singer}) label_costs<T, I>(loss);
  waits<T, I>();
}

}  // namespace

int main() {
  one_kind<float, std::int32_t>();
  one_kind<double, std::int64_t>();
  std::puts("test_row_engine: ok");
}
