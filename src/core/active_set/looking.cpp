// What an engine sees: the active pairs, all classes of a scan or some of a look, and the weights.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "active_set/engine.hpp"
#include "common/norms.hpp"
#include "common/rounding.hpp"
#include "common/types.hpp"
#include "scans/some_classes.hpp"

namespace multimargin {

namespace {

constexpr std::int64_t kLeastRoom = 4;  // of the pairs there may be, a part for violators

}  // namespace

template <class T, class I>
std::int64_t Engine<T, I>::pairs_that_stay() {
  const std::vector<std::int64_t>& begin = active_.slot_begin();
  std::atomic<std::int64_t> count{0};
  each_task([&](std::int64_t first, std::int64_t last) {
    std::int64_t here = 0;
    for (std::int64_t i = first; i < last; ++i)
      for (std::int64_t p = begin[i] + 1; p < begin[i + 1]; ++p) here += stays(i, p);
    count += here;
  });
  return count;
}

template <class T, class I>
void Engine<T, I>::look_at_active(bool exact) {
  own_.resize(X_.rows);
  exact_.resize(exact ? active_.cls().size() : 0);
  margin_.resize(active_.cls().size());
  report_.resize(X_.rows);
  const WorkView<T> v = view();
  if constexpr (!is_dense<I>) {
    const ClassMembers& members = active_.members();
    each_class(team_, n_classes_, [&](int, std::int32_t c) {
      const std::int64_t first = members.begin[c];
      solver_.score_members(v, members.member.data() + first, members.begin[c + 1] - first,
                            own_.data(), margin_.data(), exact ? exact_.data() : nullptr);
    });
  }
  each_task([&](std::int64_t begin, std::int64_t end) {
    if constexpr (is_dense<I>) solver_.score_samples(v, begin, end, own_.data(), margin_.data());
    solver_.report_margins(v, begin, end, own_.data(), margin_.data(), report_.data());
  });
}

template <class T, class I>
std::vector<std::int32_t> Engine<T, I>::high_classes(std::int32_t count) {
  const Csr<T, I>& numbered = rows_.numbered(team_);
  if (!moments_) moments_.emplace(numbered);
  std::vector<double> high(n_classes_);
  std::vector<FeaturePlaces> places(team_.size());
  each_class(team_, n_classes_, [&](int thread, std::int32_t c) {
    ScoreMoments::OfClass score(*moments_, static_cast<double>(bias_ * active_.w_bias()[c]));
    active_.each_weight(numbered, c, places[thread],
                        [&](std::int32_t number, T w) { score.add(number, w); });
    high[c] = score.high();
  });
  return classes_of_largest(high, count);
}

template <class T, class I>
ScanReport Engine<T, I>::scan(std::int32_t capacity, std::int64_t most, T idle, bool exact,
                              std::int32_t some) {
  if (capacity < 1) throw std::invalid_argument("scan: capacity must be at least 1");
  constexpr bool rounded = !is_dense<I> && sizeof(T) < sizeof(double);
  look_at_active(exact && rounded);
  scanned_ = true;
  std::vector<double> norm = active_.squared_norms(team_);
  const double half_norm = std::accumulate(norm.begin(), norm.end(), 0.0) / 2;
  const std::vector<double> made = made_intercept();
  double half_held = 0, half_made = 0;  // of the constant feature: in the primal, in the dual
  for (std::int32_t c = 0; c < n_classes_; ++c) {
    const double held = static_cast<double>(active_.w_bias()[c]);
    half_held += free_ ? 0 : held * held / 2;
    half_made += free_ ? 0 : made[c] * made[c] / 2;
    norm[c] = std::sqrt(norm[c] + held * held);
  }
  std::vector<T> least(X_.rows), first_loss(X_.rows);
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    least[i] = report_[i].least;
    first_loss[i] = report_[i].loss;
  }
  const Csr<T, I>& numbered = rows_.numbered(team_);
  std::vector<std::int32_t> all(n_classes_);
  std::iota(all.begin(), all.end(), 0);
  ScannedClasses classes{n_classes_,
                         y_,
                         all.data(),
                         norm.data(),
                         active_.slot_begin().data(),
                         active_.cls().data(),
                         exact_.empty() ? nullptr : exact_.data()};
  std::optional<SomeClasses> part;
  if (some > 0 && some < n_classes_) {
    part.emplace(high_classes(some), norm, y_, X_.rows, active_.cls());
    wide_.clear();
    classes.count = some;
    classes.own = part->label.data();
    classes.class_of = part->class_of.data();
    classes.norm = part->norm.data();
    classes.cls = part->cls.data();
  }
  const auto fill = [&](int, std::int32_t k, const auto& put) {
    const std::int32_t c = classes.class_of[k];
    active_.each_weight(numbered, c, put);
    return static_cast<T>(bias_ * active_.w_bias()[c]);
  };
  ClassScan<T> found =
      scan_classes(samples_, rows_, norm2_.data(),
                   ScanRequest<T>{own_.data(), least.data(), first_loss.data(), norm.data(),
                                  capacity, idle, exact, wide_},
                   classes, scan_kernels_, team_, fill, [this] { return stop_(); });
  ScanReport report;
  report.complete = found.complete;
  double total = 0;
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    total += static_cast<double>(box_[i]) * found.bound[i];
    report.rounding += static_cast<double>(box_[i]) * (found.bound[i] - found.loss[i]);
    report.found += found.count[i];
    if (!(norm2_[i] > 0)) continue;
    report.violation = std::max(report.violation, static_cast<double>(report_[i].violation));
    report.violation = std::max(report.violation, static_cast<double>(found.violation[i]));
  }
  report.half_norm = half_norm;
  const double norm_error = norm_rounding<T>() * half_norm;
  report.primal = half_norm + half_held + norm_error + total + empty_value_;
  report.dual =
      active_.alpha_sum(samples_.costs) - half_norm - half_made - norm_error + empty_value_;
  if (free_ && report.complete) {
    const DualPoint<T> point = balanced_ ? *balanced_ : dual_point(half_norm);
    const double charge = free_->charge(report.primal, point.s, point.alpha_sum);
    report.dual = std::max(0.0, point.value - charge);
  }
  report.rounding += 2 * norm_error;
  const std::int64_t room = most - pairs_that_stay();
  found_ = worst_violators(found, std::max(room, most / kLeastRoom), team_);
  if (part)
    for (std::int32_t& c : found_.cls) c = part->class_of[c];
  else
    wide_ = full_lists(found, n_classes_);
  return report;
}

template <class T, class I>
SparseRows<T> Engine<T, I>::weights() {
  // The weights may be gigabytes: positions make room for them.
  active_.give_back_positions();
  rows_.give_back_scans();
  const Csr<T, I>& numbered = rows_.numbered(team_);
  std::vector<FeaturePlaces> places(team_.size());
  return list_weights<T>(
      team_, n_classes_, X_.cols, [&](int thread, std::int32_t c, const auto& use) {
        active_.each_weight(numbered, c, places[thread],
                            [&](std::int32_t number, T w) { use(rows_.feature(number), w); });
      });
}

#define MM_MEMBERS(T, I)                                                                     \
  template void Engine<T, I>::look_at_active(bool);                                          \
  template ScanReport Engine<T, I>::scan(std::int32_t, std::int64_t, T, bool, std::int32_t); \
  template SparseRows<T> Engine<T, I>::weights();
MM_FOR_TYPES(MM_MEMBERS)
#undef MM_MEMBERS

}  // namespace multimargin
