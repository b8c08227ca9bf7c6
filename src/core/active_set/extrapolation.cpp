#include "active_set/extrapolation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "common/types.hpp"

namespace multimargin {

namespace {

constexpr int kMostDoublings = 12;
constexpr int kMostHalvings = 2;

// Replaces values, none negative, by the closest ones of the same kind that sum to `total`.
template <class T>
void bring_to_sum(T* value, std::int64_t count, double total) {
  double threshold = 0;
  for (;;) {  // every round leaves out a value, or is the last
    double sum = 0;
    std::int64_t above = 0;
    for (std::int64_t c = 0; c < count; ++c)
      if (static_cast<double>(value[c]) > threshold) {
        sum += static_cast<double>(value[c]);
        ++above;
      }
    const double next = above == 0 ? threshold : (sum - total) / static_cast<double>(above);
    if (!(next > threshold)) break;
    threshold = next;
  }
  for (std::int64_t c = 0; c < count; ++c)
    value[c] = static_cast<T>(std::max(0.0, static_cast<double>(value[c]) - threshold));
}

template <class T, class I>
class Search {
 public:
  Search(const Csr<T, I>& X, const std::vector<T>& before, const ExtrapolationRules<T>& rules,
         ActiveSet<T>& active, Team& team)
      : X_(X),
        before_(before),
        rules_(rules),
        active_(active),
        team_(team),
        step_(before.size(), T(0)),
        begin_(static_cast<std::size_t>(active.n_classes()) + 1, 0),
        weights_(team.size()) {
    find_movers();
  }

  // What alpha + t d, within the bounds, gains.
  double gain(double t) {
    double gain = 0;
    for (const std::int64_t i : samples_) gain += go(i, t);
    std::vector<double> changes(static_cast<std::size_t>(active_.n_classes()), 0.0);
    each_class(team_, active_.n_classes(),
               [&](int thread, std::int32_t c) { changes[c] = half_change(c, weights_[thread]); });
    for (const double change : changes) gain -= change;
    return gain;
  }

  // Whether that is more than the best so far; then it is kept.
  bool gains(double t) {
    const double found = gain(t);
    if (!(found > gain_)) return false;
    gain_ = found;
    best_ = step_;
    return true;
  }

  // Takes the best step; returns its gain.
  double take() {
    if (!(gain_ > 0)) return 0;
    step_ = std::move(best_);
    each_class(team_, active_.n_classes(), [&](int thread, std::int32_t c) {
      std::vector<double>& more = weights_[thread];
      if (begin_[c] == begin_[c + 1]) return;
      const double constant = make_weights(c, more);
      T* w = active_.weights_of(c);
      for (std::size_t k = is_dense<I> ? 0 : 1; k < more.size(); ++k)
        w[k] = static_cast<T>(static_cast<double>(w[k]) + more[k]);
      if (!rules_.holds_bias)
        active_.w_bias()[c] += static_cast<T>(constant * static_cast<double>(rules_.bias));
    });
    std::vector<T> alpha = active_.alpha();
    for (std::size_t p = 0; p < alpha.size(); ++p) alpha[p] += step_[p];
    active_.set_alpha(std::move(alpha), team_);
    return gain_;
  }

 private:
  // Samples that have moved, and their slots by class; the own class moves with any other.
  void find_movers() {
    const std::vector<std::int64_t>& begin = active_.slot_begin();
    const std::vector<T>& alpha = active_.alpha();
    std::vector<std::uint8_t> moves(before_.size(), 0);
    for (std::int64_t i = 0; i < active_.samples(); ++i) {
      for (std::int64_t p = begin[i] + 1; p < begin[i + 1]; ++p) {
        moves[p] = alpha[p] != before_[p];
        moves[begin[i]] |= moves[p];
      }
      if (!moves[begin[i]]) continue;
      samples_.push_back(i);
      // Where variables share a bound, all that have mass may have to give way.
      if (!rules_.separable)
        for (std::int64_t p = begin[i] + 1; p < begin[i + 1]; ++p) moves[p] |= alpha[p] > 0;
    }
    for (std::int32_t c = 0; c < active_.n_classes(); ++c) {
      active_.members().each(c, [&](std::int64_t i, std::int64_t slot) {
        if (moves[begin[i] + slot])
          movers_.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(slot)});
      });
      begin_[c + 1] = static_cast<std::int64_t>(movers_.size());
    }
  }

  // Makes the step of sample i, slot 0 being the sum of the others. Returns its part of the gain.
  double go(std::int64_t i, double t) {
    const std::vector<T>& alpha = active_.alpha();
    const std::int64_t own = active_.slot_begin()[i], end = active_.slot_begin()[i + 1];
    const auto box = static_cast<double>(rules_.box[i]);
    double sum = 0;
    for (std::int64_t p = own + 1; p < end; ++p) {
      const auto a = static_cast<double>(alpha[p]);
      const double to = a + t * (a - static_cast<double>(before_[p]));
      step_[p] = static_cast<T>(std::min(box, std::max(0.0, to)));
      sum += static_cast<double>(step_[p]);
    }
    if (!rules_.separable && sum > box) bring_to_sum(step_.data() + own + 1, end - own - 1, box);
    double gain = 0, all = 0;
    for (std::int64_t p = own + 1; p < end; ++p) {
      step_[p] -= alpha[p];
      all += static_cast<double>(step_[p]);
      gain += active_.asked(p) * static_cast<double>(step_[p]);
    }
    step_[own] = static_cast<T>(all);
    return gain;
  }

  // w = W(s) of class c; returns the sum of the coefficients, that is the constant feature's.
  double make_weights(std::int32_t c, std::vector<double>& w) const {
    w.assign(static_cast<std::size_t>(active_.layout().count(c)), 0.0);
    double constant = 0;
    for (std::int64_t e = begin_[c]; e < begin_[c + 1]; ++e) {
      const auto [i, slot] = movers_[e];
      const double by = coefficient(i, slot);
      if (by == 0) continue;
      const auto place = active_.places_of(X_, i, slot);
      const T* x = X_.data + X_.begin(i);
      const std::int64_t len = X_.end(i) - X_.begin(i);
      for (std::int64_t t = 0; t < len; ++t) w[place(t)] += by * static_cast<double>(x[t]);
      constant += by;
    }
    // Place 0 of sparse rows stands for lone features.
    if constexpr (!is_dense<I>)
      if (!w.empty()) w[0] = 0;
    return constant;
  }

  double coefficient(std::int64_t i, std::int64_t slot) const {
    const auto s = static_cast<double>(step_[active_.slot_begin()[i] + slot]);
    return slot == 0 ? s : -s;
  }

  // w.w(s) + 1/2 |w(s)|^2 of class c.
  double half_change(std::int32_t c, std::vector<double>& more) {
    if (begin_[c] == begin_[c + 1]) return 0;
    const double constant = static_cast<double>(rules_.bias) * make_weights(c, more);
    const T* w = active_.weights_of(c);
    double sum = 0;
    for (std::size_t k = is_dense<I> ? 0 : 1; k < more.size(); ++k)
      sum += more[k] * (static_cast<double>(w[k]) + more[k] / 2);
    for (std::int64_t e = begin_[c]; e < begin_[c + 1]; ++e) {
      const auto [i, slot] = movers_[e];
      const std::int64_t p = active_.slot_begin()[i] + slot;
      const double by = coefficient(i, slot), a = static_cast<double>(active_.alpha()[p]);
      sum += by * ((slot == 0 ? a : -a) + by / 2) * static_cast<double>(active_.lone(p));
    }
    const double held = rules_.holds_bias ? 0.0 : constant / 2;
    return sum + constant * (static_cast<double>(active_.w_bias()[c]) + held);
  }

  const Csr<T, I>& X_;
  const std::vector<T>& before_;
  const ExtrapolationRules<T>& rules_;
  ActiveSet<T>& active_;
  Team& team_;
  std::vector<T> step_, best_;
  double gain_ = 0;
  std::vector<std::int64_t> samples_, begin_;
  std::vector<Member> movers_;                // class by class
  std::vector<std::vector<double>> weights_;  // of a class, by thread
};

}  // namespace

template <class T, class I>
ExtrapolationReport extrapolate(const Csr<T, I>& X, const std::vector<T>& before,
                                const ExtrapolationRules<T>& rules, ActiveSet<T>& active,
                                Team& team) {
  Search<T, I> search(X, before, rules, active, team);
  ExtrapolationReport report;
  report.gain_before = -search.gain(-1);
  if (search.gains(1)) {
    for (int k = 1; k <= kMostDoublings && search.gains(std::ldexp(1.0, k));) ++k;
  } else {
    for (int k = 1; k <= kMostHalvings && !search.gains(std::ldexp(1.0, -k));) ++k;
  }
  report.gain = search.take();
  return report;
}

#define MM_EXTRAPOLATE(T, I)                                                                  \
  template ExtrapolationReport extrapolate<T, I>(const Csr<T, I>&, const std::vector<T>&,     \
                                                 const ExtrapolationRules<T>&, ActiveSet<T>&, \
                                                 Team&);
MM_FOR_TYPES(MM_EXTRAPOLATE)
#undef MM_EXTRAPOLATE

}  // namespace multimargin
