// Lee-Lin-Wahba on seeded problems: the dual never falls, certificates, the same bits for every
// number of threads, and ends before the end.
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "check.hpp"
#include "lee_lin_wahba/lee_lin_wahba.hpp"

namespace {

using namespace multimargin;
using test::Problem;

template <class T, class I>
std::unique_ptr<LeeLinWahba<T, I>> make(const Problem<T, I>& p, Isa isa, int threads,
                                        const std::vector<std::int32_t>& cuts = {}) {
  return std::make_unique<LeeLinWahba<T, I>>(p.samples(), isa, threads, 42, cuts);
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
std::vector<T> weights(LeeLinWahba<T, I>& solver) {
  const std::size_t k = static_cast<std::size_t>(solver.held());
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

template <class T, class I>
using Ranks = std::vector<LeeLinWahba<T, I>*>;

// Adds up what the bundles of all ranks give, in their order.
template <class T, class I, class Ask>
std::vector<double> total(const Ranks<T, I>& ranks, std::int64_t length, const Ask& ask) {
  std::vector<double> sum(static_cast<std::size_t>(length), 0.0);
  for (LeeLinWahba<T, I>* rank : ranks) {
    std::vector<double> parts(static_cast<std::size_t>(rank->bundles() * length));
    ask(*rank, parts.data());
    for (std::size_t k = 0; k < parts.size(); ++k) sum[k % sum.size()] += parts[k];
  }
  return sum;
}

// An epoch of the alternation; returns the visits.
template <class T, class I>
std::int64_t one_epoch(const Ranks<T, I>& ranks, int number, int parts, bool everything) {
  std::int64_t visits = 0;
  const std::vector<std::int32_t> order =
      ranks[0]->shuffled_samples(static_cast<std::uint64_t>(number));
  const std::int64_t all = static_cast<std::int64_t>(order.size());
  for (int part = 0; part < parts; ++part) {
    const std::int32_t* samples = order.data() + all * part / parts;
    const std::int64_t count = all * (part + 1) / parts - all * part / parts;
    for (LeeLinWahba<T, I>* rank : ranks) {
      rank->hold_mean(rank->mean().data(), samples, count);
      for (const PassReport& r : rank->pass_lines(samples, count, everything && part == 0, T(-1)))
        visits += r.visits;
    }
    const auto sums = total<T, I>(ranks, count, [&](LeeLinWahba<T, I>& rank, double* out) {
      rank.alpha_sums(samples, count, out);
    });
    for (LeeLinWahba<T, I>* rank : ranks) rank->move_mean(samples, count, sums.data());
  }
  return visits;
}

template <class T, class I>
std::vector<double> weight_sums(const Ranks<T, I>& ranks) {
  return total<T, I>(ranks, ranks[0]->X().cols + 1,
                     [&](LeeLinWahba<T, I>& rank, double* out) { rank.weight_sums(out); });
}

template <class T, class I>
void recompute(const Ranks<T, I>& ranks) {
  const std::int64_t n = ranks[0]->X().rows;
  const auto sums = total<T, I>(
      ranks, n, [&](LeeLinWahba<T, I>& rank, double* out) { rank.alpha_sums(nullptr, n, out); });
  for (LeeLinWahba<T, I>* rank : ranks) rank->recompute(sums.data());
  const std::vector<double> weights = weight_sums(ranks);
  for (LeeLinWahba<T, I>* rank : ranks) rank->centre(weights.data());
}

template <class T, class I>
Values certify(LeeLinWahba<T, I>& solver) {
  recompute<T, I>({&solver});
  double half_norm = 0, loss = 0, alpha = 0;
  for (const FullReport& r : solver.certify_bundles(weight_sums<T, I>({&solver}).data())) {
    half_norm += r.half_norm;
    loss += r.loss;
    alpha += r.alpha;
  }
  return {half_norm + loss, alpha - half_norm};
}

// Weights of all ranks, and what each bundle's certificate says.
template <class T, class I>
std::vector<T> everything_of(const Ranks<T, I>& ranks) {
  std::vector<T> all;
  std::vector<double> seen;
  const std::vector<double> sums = weight_sums(ranks);
  for (LeeLinWahba<T, I>* rank : ranks) {
    const std::size_t held = static_cast<std::size_t>(rank->held());
    std::vector<T> w = weights(*rank);
    all.insert(all.end(), w.begin(), w.end() - static_cast<std::ptrdiff_t>(held));
    for (const FullReport& r : rank->certify_bundles(sums.data()))
      for (double v : {r.half_norm, r.loss, r.alpha, r.violation, r.margin}) seen.push_back(v);
  }
  for (double v : seen) all.push_back(static_cast<T>(v));
  return all;
}

// Epochs and certificates by one, two or four ranks, one of them empty; the same bits.
template <class T, class I>
void divides() {
  constexpr std::int32_t lanes = line_lanes<T>(), classes = 5 * lanes + 3;
  const auto p = test::random_problem<T, I>(90, classes, 11);
  using Cuts = std::vector<std::int32_t>;
  const auto run = [&](const std::vector<Cuts>& cuts, int threads) {
    std::vector<std::unique_ptr<LeeLinWahba<T, I>>> owners;
    Ranks<T, I> ranks;
    for (const Cuts& c : cuts) owners.push_back(make(p, best_isa(), threads, c));
    for (const auto& owner : owners) ranks.push_back(owner.get());
    for (int number = 0; number < 6; ++number) {
      one_epoch<T, I>(ranks, number, 3, number == 0);
      if (number == 2) recompute<T, I>(ranks);
    }
    if (cuts.size() > 1) {
      // Each bundle elsewhere, and back.
      const std::int64_t n = ranks[0]->X().rows, d = ranks[0]->X().cols;
      for (auto& owner : owners) {
        const std::size_t at = static_cast<std::size_t>(&owner - owners.data());
        auto fresh = make(p, best_isa(), threads, cuts[at]);
        for (std::int64_t b = 0; b < owner->bundles(); ++b) {
          const std::int64_t k = owner->classes_of(b), lines = (k + lanes - 1) / lanes;
          std::vector<T> alpha(static_cast<std::size_t>(n * k));
          std::vector<T> w(static_cast<std::size_t>((d + 1) * k));
          std::vector<std::uint16_t> drops(static_cast<std::size_t>(3 * lines * n));
          owner->save(b, alpha.data(), w.data(), drops.data());
          fresh->load(b, alpha.data(), w.data(), drops.data());
        }
        const std::vector<double> mean = owner->mean();
        owner = std::move(fresh);
        ranks[at] = owner.get();
        owner->loaded(std::vector<double>(static_cast<std::size_t>(n), 0.0).data(), mean.data());
      }
      const auto sums = total<T, I>(ranks, n, [&](LeeLinWahba<T, I>& rank, double* out) {
        rank.alpha_sums(nullptr, n, out);
      });
      for (LeeLinWahba<T, I>* rank : ranks) {
        const std::vector<double> mean = rank->mean();
        rank->loaded(sums.data(), mean.data());
      }
    }
    for (int number = 6; number < 9; ++number) one_epoch<T, I>(ranks, number, 3, false);
    recompute<T, I>(ranks);
    return everything_of<T, I>(ranks);
  };
  const Cuts whole{0, 2 * lanes, 3 * lanes, classes};
  const std::vector<T> one = run({whole}, 1);
  CHECK(run({whole}, 3) == one);
  CHECK(run({{0, 2 * lanes}, {2 * lanes, 3 * lanes, classes}}, 2) == one);
  CHECK(run({{0, 2 * lanes}, {2 * lanes, 3 * lanes}, {3 * lanes, classes}, {classes}}, 1) == one);
}

// The alternation, mean held exactly: the dual never falls, and dropped variables come back.
template <class T, class I>
void alternates() {
  const auto p = test::random_problem<T, I>(120, 21, 5);
  const auto solver = make(p, best_isa(), 2);
  double before = certify(*solver).dual;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max(), most = 0;
  for (int epoch = 0; epoch < 40; ++epoch) {
    const std::int64_t visits = one_epoch<T, I>({solver.get()}, epoch, 3, epoch == 39);
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
    one_epoch<T, I>({solver.get()}, 0, 1, true);
    bool stopping = true;
    solver->set_stop([&] { return stopping; });
    const auto order = solver->shuffled_samples(1);
    const auto count = static_cast<std::int64_t>(order.size());
    solver->pass_lines(order.data(), count, true, T(-1));
    check_alpha(p, *solver);
    stopping = false;
    const double dual = certify(*solver).dual;
    one_epoch<T, I>({solver.get()}, 2, 1, true);
    CHECK(certify(*solver).dual > dual);
  }
}

template <class T, class I>
void one_kind() {
  alternates<T, I>();
  divides<T, I>();
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
