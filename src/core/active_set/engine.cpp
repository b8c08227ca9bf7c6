#include "active_set/engine.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "common/norms.hpp"
#include "common/opposed_labels.hpp"
#include "common/rounding.hpp"
#include "common/types.hpp"

namespace multimargin {

template <class T, class I>
Engine<T, I>::Engine(const Samples<T, I>& samples, Formulation formulation, Isa isa, int threads,
                     std::uint64_t seed, Intercept intercept)
    : samples_(samples),
      X_(samples.X),
      y_(samples.y),
      box_(samples.box),
      n_classes_(samples.n_classes),
      bias_(samples.bias),
      holds_(intercept != Intercept::moves && samples.bias != 0),
      seed_(seed),
      isa_(isa),
      solver_(solver_kernels<T>(formulation, isa, is_dense<I>)),
      scan_kernels_(scan_kernels<T>(formulation, isa)),
      team_(threads),
      norm2_(row_norms(X_, bias_)),
      rows_(X_, frequent_from(n_classes_)) {
  if (holds_) curvature_ = held_curvatures(X_, bias_);
  if (intercept == Intercept::free) {
    if (bias_ != 1) throw std::invalid_argument("a free intercept needs the constant feature 1");
    free_.emplace(samples_, solver_kernels<double>(formulation, isa), norm2_, curvature_);
  }
  row_.resize(X_.rows + 1);
  for (std::int64_t i = 0; i <= X_.rows; ++i) row_[i] = X_.begin(i);
  empty_value_ = empty_value(solver_, samples_, norm2_);
}

template <class T, class I>
WorkView<T> Engine<T, I>::view() {
  if (!active_.has_positions()) add_up_weights();
  WorkView<T> v{};
  v.x = X_.data;
  v.row = row_.data();
  v.row_end = row_.data() + 1;
  v.norm2 = curvature();
  v.box = box_;
  v.bias = bias_;
  active_.fill(v);
  v.holds_bias = holds_;
  return v;
}

// ---------------------------------------------------------------- active set

template <class T, class I>
void Engine<T, I>::start_from_centroids(std::int32_t candidates, std::int64_t budget) {
  SlotLists lists =
      nearest_centroids(X_, y_, n_classes_, candidates, budget, 0, X_.rows, isa_, team_);
  std::vector<T> alpha(lists.cls.size(), T(0));
  add_opposed(lists, alpha);
  assign(std::move(lists.slot_begin), std::move(lists.cls), std::move(alpha), {});
}

// Gives samples that are alike but for their labels the variables that they need.
template <class T, class I>
void Engine<T, I>::add_opposed(SlotLists& lists, std::vector<T>& alpha) const {
  const std::vector<OpposedLabel<T>> opposed = opposed_labels(samples_, norm2_, solver_.separable);
  if (opposed.empty()) return;
  SlotLists more;
  std::vector<T> value;
  more.slot_begin.push_back(0);
  auto next = opposed.begin();
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    const std::int64_t first = lists.slot_begin[i], end = lists.slot_begin[i + 1];
    const std::size_t start = more.cls.size();
    more.cls.insert(more.cls.end(), lists.cls.begin() + first, lists.cls.begin() + end);
    value.insert(value.end(), alpha.begin() + first, alpha.begin() + end);
    for (; next != opposed.end() && next->sample == i; ++next) {
      const auto at = std::find(more.cls.begin() + start, more.cls.end(), next->cls);
      if (at == more.cls.end()) {
        more.cls.push_back(next->cls);
        value.push_back(next->value);
      } else {
        value[at - more.cls.begin()] = next->value;
      }
    }
    more.slot_begin.push_back(static_cast<std::int64_t>(more.cls.size()));
  }
  lists = std::move(more);
  alpha = std::move(value);
}

template <class T, class I>
void Engine<T, I>::assign(std::vector<std::int64_t> slot_begin, std::vector<std::int32_t> cls,
                          std::vector<T> alpha, std::vector<T> w_bias) {
  replace_pairs(std::move(slot_begin), std::move(cls), std::move(alpha));
  add_up_weights();
  hold_intercept(std::move(w_bias));
}

template <class T, class I>
void Engine<T, I>::hold_intercept(std::vector<T> w_bias) {
  if (!holds_) return;
  heights_ = false;
  steps_.forget();
  active_.keep_heights();
  if (w_bias.empty() && free_) {
    w_bias.assign(n_classes_, T(0));
  } else if (w_bias.empty()) {
    const std::vector<double> made = made_intercept();
    w_bias.assign(made.begin(), made.end());
  }
  active_.w_bias() = std::move(w_bias);
}

template <class T, class I>
std::vector<double> Engine<T, I>::made_intercept() {
  if (bias_ == 0) return std::vector<double>(n_classes_, 0.0);
  return intercept_of(intercept_view(), static_cast<double>(bias_), team_);
}

template <class T, class I>
double Engine<T, I>::intercept_gap() {
  const std::vector<double> made = made_intercept();
  if (free_) return free_->gap(made);
  double sum = 0;
  for (std::size_t c = 0; c < made.size(); ++c) {
    const double rest = static_cast<double>(active_.w_bias()[c]) - made[c];
    sum += rest * rest;
  }
  return sum / 2;
}

template <class T, class I>
void Engine<T, I>::replace_pairs(std::vector<std::int64_t> slot_begin,
                                 std::vector<std::int32_t> cls, std::vector<T> alpha) {
  active_.assign(std::move(slot_begin), std::move(cls), std::move(alpha), samples_.costs, team_);
  visits_.reset(static_cast<std::size_t>(X_.rows));
  const std::vector<std::int64_t>& begin = active_.slot_begin();
  for (std::int64_t i = 0; i < X_.rows; ++i)
    if (!(norm2_[i] > 0) || begin[i + 1] - begin[i] < 2)
      visits_.leave_out(static_cast<std::int32_t>(i));
  scanned_ = false;
  balanced_.reset();
  active_.lay_out(rows_.numbered(team_), n_classes_, team_);
}

template <class T, class I>
void Engine<T, I>::recompute() {
  if (free_) balance_alpha();
  add_up_weights();
}

template <class T, class I>
void Engine<T, I>::balance_alpha() {
  balanced_.reset();
  std::vector<T> alpha = active_.alpha();
  if (!free_->balance(intercept_view(), heights_ ? active_.w_bias() : std::vector<T>(), pass_gap_,
                      active_.alpha().data(), team_))
    return;
  add_up_weights();
  const std::vector<double> norm = active_.squared_norms(team_);
  balanced_ = dual_point(std::accumulate(norm.begin(), norm.end(), 0.0) / 2);
  balanced_->alpha = active_.alpha();
  active_.alpha() = std::move(alpha);
}

template <class T, class I>
DualPoint<T> Engine<T, I>::dual_point(double half_norm) {
  return {{},
          active_.alpha_sum(samples_.costs) - (1 + norm_rounding<T>()) * half_norm,
          made_intercept(),
          active_.alpha_sum(nullptr)};
}

template <class T, class I>
void Engine<T, I>::add_up_weights() {
  if (!active_.has_positions()) active_.lay_out(rows_.numbered(team_), n_classes_, team_);
  active_.recompute(rows_.numbered(team_), solver_, team_);
  if (holds_) return;
  const std::vector<double> made = made_intercept();
  active_.w_bias().assign(made.begin(), made.end());
}

template <class T, class I>
template <class Use>
void Engine<T, I>::each_drawn(std::int64_t i, std::int32_t drawn, const Use& use) const {
  if (drawn == 0) return;
  const std::vector<std::int64_t>& begin = active_.slot_begin();
  const std::vector<std::int32_t>& cls = active_.cls();
  std::vector<std::int32_t> known(found_.cls.begin() + found_.begin[i],
                                  found_.cls.begin() + found_.begin[i + 1]);
  known.insert(known.end(), cls.begin() + begin[i], cls.begin() + begin[i + 1]);
  Random random(seed_, static_cast<std::uint64_t>(i));
  for (std::int32_t k = 0; k < drawn; ++k) {
    const auto c = static_cast<std::int32_t>(random.below(n_classes_));
    if (std::find(known.begin(), known.end(), c) != known.end()) continue;
    known.push_back(c);
    use(c);
  }
}

template <class T, class I>
bool Engine<T, I>::stays(std::int64_t i, std::int64_t p) const {
  return stays_active(active_.alpha()[p], margin_[p], report_[i].least);
}

template <class T, class I>
void Engine<T, I>::merge_found(std::int32_t drawn) {
  if (!scanned_) throw std::logic_error("merge_found: there was no scan of this active set");
  const std::vector<std::int64_t>& begin = active_.slot_begin();
  const std::vector<std::int32_t>& cls = active_.cls();
  const std::vector<T>& alpha = active_.alpha();
  const auto each_sample = [&](const auto& use) {
    each_task([&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) use(i);
    });
  };

  std::vector<std::int64_t> new_begin(X_.rows + 1, 0);
  each_sample([&](std::int64_t i) {
    std::int64_t slots = 1 + found_.begin[i + 1] - found_.begin[i];
    for (std::int64_t p = begin[i] + 1; p < begin[i + 1]; ++p) slots += stays(i, p);
    each_drawn(i, drawn, [&](std::int32_t) { ++slots; });
    new_begin[i + 1] = slots;
  });
  for (std::int64_t i = 0; i < X_.rows; ++i) new_begin[i + 1] += new_begin[i];
  std::vector<std::int32_t> new_cls(new_begin[X_.rows]);
  std::vector<T> new_alpha(new_begin[X_.rows], T(0));
  each_sample([&](std::int64_t i) {
    std::int64_t to = new_begin[i];
    new_cls[to++] = y_[i];
    for (std::int64_t p = begin[i] + 1; p < begin[i + 1]; ++p)
      if (stays(i, p)) {
        new_cls[to] = cls[p];
        new_alpha[to++] = alpha[p];
      }
    for (std::int64_t f = found_.begin[i]; f < found_.begin[i + 1]; ++f)
      new_cls[to++] = found_.cls[f];
    each_drawn(i, drawn, [&](std::int32_t c) { new_cls[to++] = c; });
  });
  // Nobody needs these until the next scan.
  found_ = {};
  margin_ = std::vector<T>();
  exact_ = std::vector<double>();
  report_ = std::vector<Report<T>>();
  std::vector<T> w_bias = active_.w_bias();
  replace_pairs(std::move(new_begin), std::move(new_cls), std::move(new_alpha));
  // No alpha has changed. Weights of dense rows lie where they lay.
  if constexpr (!is_dense<I>) add_up_weights();
  hold_intercept(std::move(w_bias));
}

// ---------------------------------------------------------------- moving

template <class T, class I>
void Engine<T, I>::settle_intercept(const VisitRule<T>& rule, double reach) {
  std::vector<T> gap(X_.rows, T(0)), violation(X_.rows, T(0));
  const double bias = static_cast<double>(bias_);
  const InterceptTerm term = free_ ? free_->term() : InterceptTerm{bias, bias * bias, false};
  std::vector<double> diagonal =
      move_intercept(intercept_view(), solver_, term, steps_, reach, active_.w_bias(), gap.data(),
                     violation.data(), team_);
  if (free_) free_->moved(std::move(diagonal));
  // A sample that was quiet may have to answer.
  for (std::int64_t i = 0; i < X_.rows; ++i)
    if (!is_quiet(rule, gap[i], violation[i])) visits_.wake(static_cast<std::int32_t>(i));
}

template <class T, class I>
PassReport Engine<T, I>::run_pass(const VisitRule<T>& rule, double reach) {
  const bool settle = holds_ && reach > 0;
  balanced_.reset();
  if (settle && heights_) settle_intercept(rule, reach);
  const WorkView<T> v = view();
  Pass<T> pass(solver_, n_classes_, active_.widest());
  const Random random(seed_, passes_++);
  PassReport report = rule.batch > 1
                          ? pass.together(v, visits_, rule, random, team_, batches_, stop_)
                          : pass.alone(v, visits_.due(rule.everything, random), visits_, rule,
                                       [this] { return stop_(); });
  if (settle) report.gap += intercept_gap();
  heights_ = heights_ || (rule.everything && report.complete);
  pass_gap_ = report.gap;
  return report;
}

template <class T, class I>
FocusReport Engine<T, I>::focus(const VisitRule<T>& rule) {
  look_at_active();
  balanced_.reset();
  for (std::int64_t i = 0; i < X_.rows; ++i)
    if (!(norm2_[i] > 0)) report_[i].gap = 0;  // it cannot move
  Pass<T> pass(solver_, n_classes_, active_.widest());
  return focus_on(samples_with_most(report_.data(), X_.rows), report_.data(), view(), pass, visits_,
                  rule, Random(seed_, passes_++), [this] { return stop_(); });
}

// Members that are defined in other files are instantiated there.
#define MM_CLASS(T, I) template class Engine<T, I>;
MM_FOR_TYPES(MM_CLASS)
#undef MM_CLASS

}  // namespace multimargin
