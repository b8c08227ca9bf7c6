// Lee-Lin-Wahba on seeded problems: the dual never falls, certificates, the same bits for every
// number of threads, and ends before the end.
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "check.hpp"
#include "lee_lin_wahba.hpp"

namespace {

using namespace multimargin;
using test::Problem;

template <class T, class I>
std::unique_ptr<LeeLinWahba<T, I>> make(const Problem<T, I>& p, Isa isa, int threads) {
  auto solver = std::make_unique<LeeLinWahba<T, I>>(p.X.view(), p.y.data(), p.box.data(),
                                                    p.n_classes, T(0.5), isa, threads, 42);
  solver->set_least_shared(0);  // also where it does not pay
  return solver;
}

template <class T, class I>
Problem<T, I> scaled(Problem<T, I> p, double factor) {
  for (T& box : p.box) box = static_cast<T>(box * factor);
  return p;
}

template <class T>
double slack(double value) {
  return 64 * std::numeric_limits<T>::epsilon() * std::abs(value);
}

struct Values {
  double primal, dual;
};

template <class T, class I>
Values certify(LeeLinWahba<T, I>& solver) {
  solver.recompute();
  const FullReport seen = solver.look();
  return {seen.half_norm + seen.loss, seen.alpha - seen.half_norm};
}

template <class T, class I>
std::vector<T> weights(LeeLinWahba<T, I>& solver) {
  const std::size_t k = static_cast<std::size_t>(solver.n_classes());
  std::vector<T> w(k * static_cast<std::size_t>(solver.X().cols) + k);
  solver.weights(w.data(), w.data() + w.size() - k);
  return w;
}

template <class T, class I>
void check_alpha(const Problem<T, I>& p, const LeeLinWahba<T, I>& solver) {
  const std::size_t k = static_cast<std::size_t>(p.n_classes);
  std::vector<T> alpha(p.y.size() * k);
  solver.alpha(alpha.data());
  for (std::size_t i = 0; i < p.y.size(); ++i)
    for (std::size_t c = 0; c < k; ++c) {
      const T a = alpha[i * k + c];
      CHECK(a >= 0 && a <= p.box[i]);
      if (static_cast<std::int32_t>(c) == p.y[i]) CHECK(a == 0);
    }
}

// Passes and conjugate gradients raise the dual towards the primal.
template <class T, class I>
void ascends(double factor, Isa isa) {
  const auto p = scaled(test::random_problem<T, I>(150, 37, 3), factor);
  const auto solver = make(p, isa, 2);
  Values before = certify(*solver);
  const double first = before.primal - before.dual;
  for (int round = 0; round < 12; ++round) {
    CHECK(solver->pass_rows(T(-1), T(-1)).complete);
    if (round % 4 == 3) {
      const FaceReport face = solver->polish(20, 1e-2);
      CHECK(face.gain >= 0 && face.step >= 0);
    }
    const Values now = certify(*solver);
    CHECK(now.dual >= before.dual - slack<T>(now.primal));
    CHECK(now.primal >= now.dual - slack<T>(now.primal));
    before = now;
  }
  // With a large box the primal is far off until the very end, and says nothing here.
  CHECK(before.dual > 0);
  if (factor <= 10) CHECK(before.primal - before.dual < 0.5 * first);
  check_alpha(p, *solver);
  // Weights that were moved along and weights made anew are the same but for rounding.
  solver->pass_rows(T(-1), T(-1));
  const std::vector<T> moved = weights(*solver);
  solver->recompute();
  const std::vector<T> anew = weights(*solver);
  double largest = 0, apart = 0;
  for (std::size_t k = 0; k < anew.size(); ++k) {
    largest = std::max(largest, std::abs(static_cast<double>(anew[k])));
    apart = std::max(apart, std::abs(static_cast<double>(anew[k]) - static_cast<double>(moved[k])));
  }
  CHECK(apart <= 1e4 * std::numeric_limits<T>::epsilon() * largest);
}

template <class T, class I>
std::vector<T> run(const Problem<T, I>& p, int threads) {
  const auto solver = make(p, best_isa(), threads);
  for (int round = 0; round < 3; ++round) solver->pass_rows(T(-1), T(-1));
  solver->polish(5, 1e-3);
  solver->recompute();
  for (int part = 0; part < 4; ++part) {
    const std::vector<T> mean = solver->hold_mean(nullptr);
    solver->hold_mean(mean.data());
    solver->pass_lines(part, 4, part == 0, T(-1));
  }
  std::vector<T> all = weights(*solver);
  const FullReport seen = solver->look();
  all.push_back(static_cast<T>(seen.loss));
  all.push_back(static_cast<T>(seen.half_norm));
  return all;
}

template <class T, class I>
void gives_the_same_bits() {
  for (std::int32_t classes : {2, 5, 40, 200}) {
    const auto p = scaled(test::random_problem<T, I>(90, classes, 9), 10);
    const std::vector<T> one = run(p, 1);
    for (int threads : {2, 3, 4}) CHECK(run(p, threads) == one);
  }
}

// The alternation, mean held exactly: the dual never falls, and dropped variables come back.
template <class T, class I>
void alternates() {
  const auto p = test::random_problem<T, I>(120, 21, 5);
  const auto solver = make(p, best_isa(), 2);
  double before = certify(*solver).dual;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max(), most = 0;
  for (int epoch = 0; epoch < 40; ++epoch) {
    std::int64_t visits = 0;
    for (int part = 0; part < 3; ++part) {
      solver->hold_mean(nullptr);
      visits += solver->pass_lines(part, 3, epoch == 39 && part == 0, T(-1)).visits;
    }
    (epoch == 39 ? most : fewest) = epoch == 39 ? visits : std::min(fewest, visits);
    const Values now = certify(*solver);
    CHECK(now.dual >= before - slack<T>(now.primal));
    before = now.dual;
  }
  CHECK(fewest < most);
  check_alpha(p, *solver);
}

template <class T, class I>
void ends_early() {
  const auto p = scaled(test::random_problem<T, I>(160, 33, 7), 100);
  for (int threads : {1, 3}) {
    const auto solver = make(p, best_isa(), threads);
    solver->pass_rows(T(-1), T(-1));
    bool stopping = true;
    solver->set_stop([&] { return stopping; });
    CHECK(!solver->pass_rows(T(-1), T(-1)).complete);
    solver->polish(50, 1e-9);
    solver->hold_mean(nullptr);
    solver->pass_lines(0, 1, true, T(-1));
    check_alpha(p, *solver);
    stopping = false;
    const double dual = certify(*solver).dual;
    CHECK(solver->pass_rows(T(-1), T(-1)).complete);
    CHECK(certify(*solver).dual > dual);
  }
}

template <class T, class I>
void one_kind() {
  for (Isa isa : test::available_isas())
    for (double factor : {0.01, 10.0, 1000.0}) ascends<T, I>(factor, isa);
  gives_the_same_bits<T, I>();
  alternates<T, I>();
  ends_early<T, I>();
}

}  // namespace

int main() {
  one_kind<float, std::int32_t>();
  one_kind<float, std::int64_t>();
  one_kind<double, std::int32_t>();
  one_kind<double, std::int64_t>();
  std::puts("test_lee_lin_wahba: ok");
}
