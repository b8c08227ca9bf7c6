// One-vs-rest on seeded problems: certificates, the same bits for every number of threads, and
// ends before the end.
#include <cmath>
#include <memory>
#include <vector>

#include "check.hpp"
#include "one_vs_rest.hpp"

namespace {

using namespace multimargin;
using test::Problem;

template <class T, class I>
std::unique_ptr<OneVsRest<T, I>> make(const Problem<T, I>& p, LineLoss loss, Isa isa, int threads) {
  return std::make_unique<OneVsRest<T, I>>(p.X.view(), p.y.data(), p.box.data(), p.n_classes, 0,
                                           T(0.5), loss, isa, threads, 42);
}

template <class T, class I>
void check_reports(const OneVsRest<T, I>& solver, double tol) {
  for (const MachineReport& r : solver.reports()) {
    CHECK(r.reached);
    CHECK(r.primal - r.dual <= tol * r.primal);
    CHECK(r.primal - r.dual >= -1e-5 * r.primal);
    CHECK(r.passes > 0);
  }
}

template <class T>
bool same(const SparseRows<T>& a, const SparseRows<T>& b) {
  return a.begin == b.begin && a.index == b.index && a.value == b.value;
}

template <class T, class I>
void reaches_tolerance_with_the_same_bits(LineLoss loss) {
  const auto p = test::random_problem<T, I>(170, 37, 3);
  const auto one = make(p, loss, best_isa(), 1);
  CHECK(one->solve(0, p.n_classes, {1e-3, true, 10000}, nullptr));
  check_reports(*one, 1e-3);
  for (int threads : {2, 4}) {
    const auto many = make(p, loss, best_isa(), threads);
    CHECK(many->solve(0, p.n_classes, {1e-3, true, 10000}, nullptr));
    CHECK(same(one->weights(), many->weights()));
    CHECK(one->w_bias() == many->w_bias());
  }
  // Another instruction set rounds otherwise, but ends at the same optimum.
  for (Isa isa : test::available_isas()) {
    const auto other = make(p, loss, isa, 1);
    CHECK(other->solve(0, p.n_classes, {1e-3, true, 10000}, nullptr));
    check_reports(*other, 1e-3);
    for (std::int32_t k = 0; k < p.n_classes; ++k)
      CHECK(other->reports()[k].dual <= one->reports()[k].primal * (1 + 1e-5));
  }
}

template <class T, class I>
void goes_on_from_alpha(LineLoss loss) {
  const auto p = test::random_problem<T, I>(120, 21, 5);
  std::vector<T> alpha(120 * 21, T(0));
  const auto solver = make(p, loss, best_isa(), 2);
  CHECK(solver->solve(0, 21, {0.3, true, 10000}, alpha.data()));
  std::vector<double> before;
  for (const MachineReport& r : solver->reports()) before.push_back(r.dual);
  CHECK(solver->solve(0, 21, {1e-3, true, 10000}, alpha.data()));
  for (std::size_t k = 0; k < before.size(); ++k)
    CHECK(solver->reports()[k].dual >= before[k] * (1 - 1e-5));
  // A start at the optimum is certified without a pass.
  CHECK(solver->solve(0, 21, {2e-3, true, 10000}, alpha.data()));
  for (const MachineReport& r : solver->reports()) CHECK(r.passes == 0);
}

template <class T, class I>
void ends_early() {
  const auto p = test::random_problem<T, I>(200, 60, 7);
  for (int threads : {1, 3}) {
    const auto solver = make(p, LineLoss::hinge, best_isa(), threads);
    solver->set_stop([] { return true; });
    CHECK(!solver->solve(0, 60, {1e-9, true, 10000}, nullptr));
    // Other threads may have finished machines before the first question: up to rounding, then.
    for (const MachineReport& r : solver->reports()) CHECK(r.primal - r.dual >= -1e-5 * r.primal);
    // Passes can run out, too; then every machine still has its certificate.
    const auto short_run = make(p, LineLoss::hinge, best_isa(), threads);
    CHECK(short_run->solve(0, 60, {1e-9, true, 1}, nullptr));
    for (const MachineReport& r : short_run->reports()) CHECK(r.passes == 1 && r.primal > r.dual);
  }
}

template <class T, class I>
void one_kind() {
  for (LineLoss loss : {LineLoss::hinge, LineLoss::squared_hinge}) {
    reaches_tolerance_with_the_same_bits<T, I>(loss);
    goes_on_from_alpha<T, I>(loss);
  }
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
