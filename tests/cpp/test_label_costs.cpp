// Costs between labels: the three kinds agree, and the steps of a solver certify what they ask for.
#include <algorithm>
#include <cmath>
#include <vector>

#include "active_set/engine.hpp"
#include "check.hpp"
#include "common/label_costs.hpp"

namespace {

using namespace multimargin;

// A tree of three levels, whose leaves are the classes.
struct Tree {
  std::vector<std::int32_t> order, depth, shared;
  std::vector<double> length{0, 0.5, 1, 1.5};
  std::vector<double> cost;  // [K x K]

  explicit Tree(std::int32_t n) : depth(n, 3), cost(static_cast<std::size_t>(n) * n) {
    const auto common = [](std::int32_t a, std::int32_t b) {
      if (a / 3 == b / 3) return 2;
      return a / 12 == b / 12 ? 1 : 0;
    };
    for (std::int32_t c = 0; c < n; ++c) order.push_back(c);
    for (std::int32_t c = 0; c + 1 < n; ++c) shared.push_back(common(c, c + 1));
    for (std::int32_t a = 0; a < n; ++a)
      for (std::int32_t b = 0; b < n; ++b)
        cost[static_cast<std::size_t>(a) * n + b] = a == b ? 0 : 3 - common(a, b);
  }
};

void check_same(const LabelCosts& costs, const std::vector<double>& expected, std::int32_t n) {
  CHECK(costs.n_classes() == n);
  double most = 0;
  std::vector<float> row(n);
  std::vector<std::int32_t> classes(n);
  for (std::int32_t c = 0; c < n; ++c) classes[c] = c;
  for (std::int32_t y = 0; y < n; ++y) {
    double total = 0, largest = 0;
    costs.row(y, 0, n, row.data());
    for (std::int32_t c = 0; c < n; ++c) {
      const double cost = expected[static_cast<std::size_t>(y) * n + c];
      CHECK(costs.at(y, c) == cost);
      CHECK(row[c] == static_cast<float>(cost));
      total += cost;
      largest = std::max(largest, cost);
    }
    CHECK(std::abs(costs.total(y) - total) <= 1e-9 * (1 + total));
    CHECK(costs.largest(y) == largest);
    most = std::max(most, largest);
    if (n < 64) continue;
    float some[64];
    costs_of(costs, y, classes.data(), 0x8000000000000005ull, some);
    CHECK(some[0] == row[0] && some[2] == row[2] && some[63] == row[63] && some[1] == 0);
  }
  CHECK(costs.largest() == most);
}

void kinds_agree(std::int32_t n) {
  const Tree t(n);
  check_same(LabelCosts::dense(t.cost.data(), n), t.cost, n);
  check_same(LabelCosts::tree(t.order, t.depth, t.shared, t.length), t.cost, n);
  test::Matrix<double, std::int64_t> m;
  m.cols = n;
  for (std::int32_t y = 0; y < n; ++y) {
    for (std::int32_t c = 0; c < n; ++c)
      if (c != y && t.cost[static_cast<std::size_t>(y) * n + c] != 1) {
        m.indices.push_back(c);
        m.data.push_back(t.cost[static_cast<std::size_t>(y) * n + c]);
      }
    m.end_row();
  }
  check_same(LabelCosts::exceptions(m.view()), t.cost, n);
}

void bad_trees_are_refused() {
  const Tree t(5);
  CHECK_THROWS(invalid_argument, LabelCosts::tree(t.order, t.depth, {0, 0, 0}, t.length));
  CHECK_THROWS(invalid_argument, LabelCosts::tree(t.order, t.depth, {0, 0, 0, 4}, t.length));
  CHECK_THROWS(invalid_argument, LabelCosts::tree({0, 1, 2, 3, 5}, t.depth, t.shared, t.length));
  CHECK_THROWS(invalid_argument, LabelCosts::tree({}, {}, {}, t.length));
}

template <class T>
void engine_certifies(Formulation formulation, Isa isa) {
  const std::int32_t n_classes = 100;
  const auto p = test::random_problem<T, std::int32_t>(200, n_classes, 7);
  const Tree t(n_classes);
  const LabelCosts tree = LabelCosts::tree(t.order, t.depth, t.shared, t.length);
  const LabelCosts dense = LabelCosts::dense(t.cost.data(), n_classes);
  std::vector<double> duals;
  for (const LabelCosts* costs : {&tree, &dense})
    for (int threads : {1, 3}) {
      Samples<T, std::int32_t> samples = p.samples();
      samples.costs = costs;
      Engine<T, std::int32_t> engine(samples, formulation, isa, threads, 42, Intercept::held);
      engine.start_from_centroids(12, 1000);
      double gap = 1;
      for (int round = 0; round < 20 && gap > 2e-2; ++round) {
        if (round > 0) engine.merge_found(0);
        for (int pass = 0; pass < 30; ++pass) {
          const VisitRule<double> rule{8, true, 0, -1, 0.5, -1, -1};
          engine.run_pass(rule_in<T>(rule), 1);
        }
        engine.recompute();
        const ScanReport scan = engine.scan(16, 1 << 30, T(-1), round % 2 == 1);
        CHECK(scan.dual <= scan.primal);
        gap = (scan.primal - scan.dual) / scan.primal;
        duals.push_back(scan.dual);
      }
      CHECK(gap <= 2e-2);
    }
  for (std::size_t k = 0; k < duals.size(); ++k) CHECK(duals[k] == duals[k % (duals.size() / 4)]);
}

}  // namespace

int main() {
  for (std::int32_t n : {1, 2, 3, 4, 5, 64, 100}) kinds_agree(n);
  bad_trees_are_refused();
  for (Isa isa : test::available_isas())
    for (Formulation f : {Formulation::weston_watkins, Formulation::crammer_singer}) {
      engine_certifies<float>(f, isa);
      engine_certifies<double>(f, isa);
    }
  std::puts("test_label_costs: ok");
}
