// One-vs-rest on seeded problems: certificates, the same bits for every number of threads, and
// ends before the end.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "check.hpp"
#include "lines/one_vs_rest.hpp"

namespace {

using namespace multimargin;
using test::Problem;

template <class T, class I>
std::unique_ptr<OneVsRest<T, I>> make(const Problem<T, I>& p, BinaryLoss loss, Isa isa,
                                      int threads) {
  return std::make_unique<OneVsRest<T, I>>(p.samples(), p.n_classes, 0, loss, isa, threads, 42);
}

template <class T, class I>
void check_reports(const OneVsRest<T, I>& solver, double tol) {
  for (const BinaryReport& r : solver.reports()) {
    CHECK(r.reached);
    CHECK(r.primal - r.dual <= tol * r.primal);
    CHECK(r.primal - r.dual >= -1e-5 * r.primal);
    CHECK(r.passes > 0);
  }
}

template <class T>
bool same(const SparseRows<T>& a, const SparseRows<T>& b) {
  const auto equal = [](const auto& u, const auto& v) {
    return std::equal(u.data(), u.data() + u.size(), v.data(), v.data() + v.size());
  };
  return a.begin == b.begin && equal(a.index, b.index) && equal(a.value, b.value);
}

template <class T, class I>
void reaches_tolerance_with_the_same_bits(BinaryLoss loss) {
  const auto p = test::random_problem<T, I>(170, 37, 3);
  const auto one = make(p, loss, best_isa(), 1);
  CHECK(one->solve(0, p.n_classes, {1e-3, true, 10000}, nullptr, 0));
  check_reports(*one, 1e-3);
  for (int threads : {2, 4}) {
    const auto many = make(p, loss, best_isa(), threads);
    CHECK(many->solve(0, p.n_classes, {1e-3, true, 10000}, nullptr, 0));
    CHECK(same(one->weights(0, p.n_classes), many->weights(0, p.n_classes)));
    CHECK(one->w_bias() == many->w_bias());
  }
  // Another instruction set rounds otherwise, but ends at the same optimum.
  for (Isa isa : test::available_isas()) {
    const auto other = make(p, loss, isa, 1);
    CHECK(other->solve(0, p.n_classes, {1e-3, true, 10000}, nullptr, 0));
    check_reports(*other, 1e-3);
    for (std::int32_t k = 0; k < p.n_classes; ++k)
      CHECK(other->reports()[k].dual <= one->reports()[k].primal * (1 + 1e-5));
  }
}

template <class T, class I>
void goes_on_from_alpha(BinaryLoss loss) {
  const auto p = test::random_problem<T, I>(120, 21, 5);
  std::vector<T> alpha(120 * 21, T(0));
  const auto solver = make(p, loss, best_isa(), 2);
  CHECK(solver->solve(0, 21, {0.3, true, 10000}, alpha.data(), 21));
  std::vector<double> before;
  for (const BinaryReport& r : solver->reports()) before.push_back(r.dual);
  CHECK(solver->solve(0, 21, {1e-3, true, 10000}, alpha.data(), 21));
  for (std::size_t k = 0; k < before.size(); ++k)
    CHECK(solver->reports()[k].dual >= before[k] * (1 - 1e-5));
  // A start at the optimum is certified without a pass.
  CHECK(solver->solve(0, 21, {2e-3, true, 10000}, alpha.data(), 21));
  for (const BinaryReport& r : solver->reports()) CHECK(r.passes == 0);
}

// Two solvers with some lines each find what one finds, and weights can be put back.
template <class T, class I>
void divides() {
  constexpr std::int32_t lanes = line_lanes<T>();
  const std::int32_t classes = 3 * lanes + 2;
  const auto p = test::random_problem<T, I>(120, classes, 5);
  const LineStopping stopping{1e-3, true, 10000};
  std::vector<T> all(static_cast<std::size_t>(120 * classes), T(0));
  const auto one = make(p, BinaryLoss::hinge, best_isa(), 1);
  CHECK(one->solve(0, classes, stopping, all.data(), classes));
  const std::int32_t cut = 2 * lanes;
  for (const auto& [begin, end] : {std::pair{0, cut}, std::pair{cut, classes}}) {
    const auto part = make(p, BinaryLoss::hinge, best_isa(), 2);
    std::vector<T> alpha(static_cast<std::size_t>(120 * (end - begin)), T(0));
    CHECK(part->solve(begin, end, stopping, alpha.data(), end - begin));
    const SparseRows<T> rows = part->weights(begin, end);
    CHECK(same(rows, one->weights(begin, end)));
    CHECK(part->bytes() < one->bytes());
    for (std::int32_t i = 0; i < 120; ++i)
      for (std::int32_t k = begin; k < end; ++k)
        CHECK(alpha[i * (end - begin) + k - begin] == all[i * classes + k]);
    const auto fresh = make(p, BinaryLoss::hinge, best_isa(), 1);
    std::vector<double> primal;
    for (std::int32_t k = begin; k < end; ++k) primal.push_back(part->reports()[k].primal);
    fresh->put_weights(begin, rows.begin.data(), rows.index.data(), rows.value.data(),
                       part->w_bias().data() + begin, primal.data(), end - begin);
    CHECK(same(fresh->weights(begin, end), rows));
    CHECK(fresh->w_bias()[begin] == part->w_bias()[begin]);
    CHECK(fresh->reports()[begin].primal == primal[0]);
  }
}

// Sets of one class are classes; sets of none and of several have certificates, too.
template <class T, class I>
void takes_sets() {
  const auto p = test::random_problem<T, I>(170, 37, 3);
  Samples<T, I> samples = p.samples();
  const auto solve = [&](int threads) {
    auto solver = std::make_unique<OneVsRest<T, I>>(samples, 37, 0, BinaryLoss::hinge, best_isa(),
                                                    threads, 42);
    CHECK(solver->solve(0, 37, {1e-3, true, 10000}, nullptr, 0));
    check_reports(*solver, 1e-3);
    return solver;
  };
  const auto single = solve(1);
  std::vector<std::int64_t> begin(171);
  for (std::int64_t i = 0; i <= 170; ++i) begin[i] = i;
  samples.label_begin = begin.data();
  CHECK(same(single->weights(0, 37), solve(2)->weights(0, 37)));
  std::vector<std::int32_t> y;
  for (std::int64_t i = 0; i < 170; ++i) {
    for (std::int32_t c = 0; c < 37; ++c)
      if ((i + c) % 11 < i % 4) y.push_back(c);
    begin[i + 1] = static_cast<std::int64_t>(y.size());
  }
  samples.y = y.data();
  const auto one = solve(1);
  CHECK(!same(single->weights(0, 37), one->weights(0, 37)));
  CHECK(same(one->weights(0, 37), solve(4)->weights(0, 37)));
}

template <class T, class I>
void ends_early() {
  const auto p = test::random_problem<T, I>(200, 60, 7);
  for (int threads : {1, 3}) {
    const auto solver = make(p, BinaryLoss::hinge, best_isa(), threads);
    solver->set_stop([] { return true; });
    CHECK(!solver->solve(0, 60, {1e-9, true, 10000}, nullptr, 0));
    // Other threads may have solved problems before the first question: up to rounding, then.
    for (const BinaryReport& r : solver->reports()) CHECK(r.primal - r.dual >= -1e-5 * r.primal);
    // Passes can run out, too; then every problem still has its certificate.
    const auto short_run = make(p, BinaryLoss::hinge, best_isa(), threads);
    CHECK(short_run->solve(0, 60, {1e-9, true, 1}, nullptr, 0));
    for (const BinaryReport& r : short_run->reports()) CHECK(r.passes == 1 && r.primal > r.dual);
  }
}

template <class T, class I>
void one_kind() {
  for (BinaryLoss loss : {BinaryLoss::hinge, BinaryLoss::squared_hinge}) {
    reaches_tolerance_with_the_same_bits<T, I>(loss);
    goes_on_from_alpha<T, I>(loss);
  }
  divides<T, I>();
  takes_sets<T, I>();
  ends_early<T, I>();
}

}  // namespace

int main() {
  one_kind<float, std::int32_t>();
  one_kind<float, std::int64_t>();
  one_kind<double, std::int32_t>();
  one_kind<double, std::int64_t>();
  std::puts("test_one_vs_rest: ok");
}
