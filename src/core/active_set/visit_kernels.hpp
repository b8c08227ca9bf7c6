// Visits of samples: gather scores, solve the block, scatter the step.
// Included once per instruction set; uses no library template, so that no code
// compiled for one processor can be linked into another's path.
#pragma once

#include "active_set/kernels.hpp"
#include "active_set/visited_sample.hpp"
#include "common/prefetch.hpp"
#include "dense_rows/dense_visit.hpp"
#include "formulations/sample_block.hpp"

namespace multimargin {
namespace MM_ISA {

template <class T>
inline T gather_dot(const T* x, const std::uint32_t* at, std::int64_t len, const T* w) {
  T a = 0, b = 0;
  std::int64_t t = 0;
  for (; t + 1 < len; t += 2) {
    a += x[t] * w[at[t]];
    b += x[t + 1] * w[at[t + 1]];
  }
  if (t < len) a += x[t] * w[at[t]];
  return a + b;
}

template <class T>
inline void scatter_add(const T* x, const std::uint32_t* at, std::int64_t len, T step, T* w) {
  for (std::int64_t t = 0; t < len; ++t) w[at[t]] += step * x[t];
}

// One sample as the kernels see it. Dense rows have a view of their own, DenseVisit.
template <class T>
struct Visit : VisitedSample<T> {
  using VisitedSample<T>::x, VisitedSample<T>::len, VisitedSample<T>::cls, VisitedSample<T>::alpha;
  const std::uint32_t* at;
  const T* lone;

  Visit(const WorkView<T>& v, std::int64_t i)
      : VisitedSample<T>(v, i), at(v.position + v.place[i]), lone(v.lone + v.slot_begin[i]) {}

  // Score with the slot's class, in which x_i has the given coefficient.
  T score(const WorkView<T>& v, std::int32_t slot, T coefficient) const {
    const std::int32_t c = cls[slot];
    return gather_dot(x, at + slot * len, len, v.w[c]) + v.bias * v.w_bias[c] +
           coefficient * lone[slot];
  }

  static void prefetch(const WorkView<T>&, std::int64_t) {}
  static void prefetch_slots(const WorkView<T>&, std::int64_t) {}

  // Scores with the classes of some slots; returns that of the own class, 0 if it is not at hand.
  T scores(const WorkView<T>& v, const std::int32_t* slot, int count, T* out) const {
    const T own = cls[0] >= 0 ? score(v, 0, alpha[0]) : T(0);
    for (int k = 0; k < count; ++k) out[k] = score(v, slot[k], -alpha[slot[k]]);
    return own;
  }

  // The same in double precision, of the weights as they are kept.
  double exact_score(const WorkView<T>& v, std::int32_t slot, T coefficient) const {
    const std::int32_t c = cls[slot];
    const std::uint32_t* place = at + slot * len;
    double sum = static_cast<double>(static_cast<T>(v.bias * v.w_bias[c]));
    for (std::int64_t t = 0; t < len; ++t) {
      const T w = place[t] == 0 ? static_cast<T>(coefficient * x[t]) : v.w[c][place[t]];
      sum += static_cast<double>(x[t]) * static_cast<double>(w);
    }
    return sum;
  }

  void add(const WorkView<T>& v, std::int32_t slot, T step) const {
    const std::int32_t c = cls[slot];
    T* w = v.w[c];
    scatter_add(x, at + slot * len, len, step, w);
    w[0] = 0;  // where the lone features went
    if (!v.holds_bias) v.w_bias[c] += step * v.bias;
  }
};

// A class violates if its margin exceeds this: it is positive and more than `least`.
template <class T>
inline T floor_of(T least) {
  return least > 0 ? least : T(0);
}

// Sum of the sample's variables that have no slot here.
template <class T>
inline T outside_of(const WorkView<T>& v, std::int64_t i) {
  return v.outside == nullptr ? T(0) : v.outside[i];
}

// The most that the slots of a sample may add up to where its variables share the box. Resting
// slots need not be counted: their alpha is zero.
template <class T>
inline T room_of(const WorkView<T>& v, std::int64_t i) {
  const T outside = outside_of(v, i);
  return outside < v.box[i] ? v.box[i] - outside : T(0);
}

// A slot with alpha = 0 and a margin this far below those that violate rests until everything is
// looked at again. Between two such looks scores move less; a slot that wakes late costs a visit,
// not exactness.
constexpr double kRestMargin = -0.05;

// Solves the slots of a sample at fixed weights, resting ones left out unless the rule asks for
// everything. alpha is updated; the coefficient of x_i to add to the class of a slot is left in
// step[slot], for the own class in step[0]. Returns whether anything moved.
//
// Where the own class is not at hand, its score and its weights stay: variables then pass mass on
// to each other, and their sum stays too.
template <class F, template <class> class V, class T>
inline bool solve_slots(const WorkView<T>& v, std::int64_t i, const T* touch,
                        const VisitRule<T>& rule, T* step, T* work, Report<T>* report) {
  const V<T> s(v, i);
  std::int32_t* slot = reinterpret_cast<std::int32_t*>(work);  // slots taken part, compactly
  T* margin = work + s.slots;
  T* alpha = margin + s.slots;
  T* curvature = alpha + s.slots;
  T* fresh = curvature + s.slots;
  T* scratch = fresh + s.slots;  // 2 * slots

  std::uint8_t* resting = v.resting + v.slot_begin[i];
  const bool own_here = s.cls[0] >= 0;
  int size = 0;
  for (std::int32_t k = 1; k < s.slots; ++k) {
    if (resting[k] && !rule.everything) continue;
    slot[size] = k;
    alpha[size] = s.alpha[k];
    ++size;
  }
  const T own = s.scores(v, slot, size, margin);
  for (int c = 0; c < size; ++c) margin[c] = F::margin(own, margin[c], s.asked_of(slot[c]));
  const T k = v.norm2[i];
  if (v.height != nullptr && own_here) {
    T* height = v.height + v.slot_begin[i];
    const T b_own = v.bias * v.w_bias[s.cls[0]];
    for (int c = 0; c < size; ++c)
      height[slot[c]] =
          margin[c] - (v.bias * v.w_bias[s.cls[slot[c]]] - b_own) + k * (s.alpha[0] + alpha[c]);
  }
  const T left = F::kSeparable ? v.box[i] : room_of(v, i);
  Block<T> block{size, margin, alpha, v.box[i], left, k, nullptr};
  *report = own_here ? F::inspect(block) : F::inspect_exchange(block);
  if (rule.everything) {
    const T rest_below =
        (own_here ? floor_of(report->least) : report->least) + static_cast<T>(kRestMargin);
    for (int c = 0; c < size; ++c) resting[slot[c]] = !(alpha[c] > 0) && margin[c] < rest_below;
  }
  for (std::int32_t c = 0; c < s.slots; ++c) step[c] = 0;
  if (report->gap < rule.leave_below || !(report->violation > 0)) return false;
  if (rule.idle >= 0) {
    if (report->violation <= rule.idle) return false;
    if constexpr (F::kSeparable) {
      int moving = 0;
      for (int c = 0; c < size; ++c)
        if (F::violation(margin[c], alpha[c], v.box[i]) > rule.idle) {
          slot[moving] = slot[c];
          margin[moving] = margin[c];
          alpha[moving] = alpha[c];
          ++moving;
        }
      block.size = size = moving;
    }
  }
  if (rule.spare >= 0) {
    T others = 0;
    int rising = 0;
    for (int c = 0; c < size; ++c) {
      if (!(margin[c] > -rule.spare && alpha[c] < v.box[i])) {
        others += alpha[c];
        continue;
      }
      slot[rising] = slot[c];
      margin[rising] = margin[c] + rule.spare;
      alpha[rising] = alpha[c];
      ++rising;
    }
    block.size = size = rising;
    if constexpr (!F::kSeparable) block.room = left > others ? left - others : T(0);
    if (size == 0 || !(block.room > 0)) return false;
  }
  if (touch != nullptr && rule.coupling > 0) {
    // Samples of one batch move at the same time. Those that share class c interact by at
    // most sum |x_i.x_j|; with |cosine| <= coupling that is this curvature (Gershgorin).
    const T norm = static_cast<T>(__builtin_sqrt(static_cast<double>(k)));
    const T factor = rule.coupling * norm;
    const auto others = [&](std::int32_t at) { return touch[at] < 0 ? -touch[at] - norm : T(0); };
    if (own_here) block.curvature_own = k + factor * others(0);
    for (int c = 0; c < size; ++c) curvature[c] = k + factor * others(slot[c]);
    block.curvature = curvature;
  }
  if (own_here)
    F::solve(block, fresh, scratch);
  else
    F::solve_exchange(block, fresh, scratch);
  for (int c = 0; c < size; ++c) {
    const T delta = fresh[c] - alpha[c];
    s.alpha[slot[c]] = fresh[c];
    // A slot with mass does not rest: others could not take back its part of their budget.
    if (fresh[c] > 0) resting[slot[c]] = 0;
    step[slot[c]] = -delta;
  }
  if (!own_here) return true;
  // The own class moves by the sum as it is stored, so that weights and alpha agree.
  T sum = outside_of(v, i);
  for (std::int32_t c = 1; c < s.slots; ++c) sum += s.alpha[c];
  step[0] = sum - s.alpha[0];
  s.alpha[0] = sum;
  return true;
}

template <class F, template <class> class V, class T>
void solve_batch(const WorkView<T>& v, const BatchView<T>& b, const VisitRule<T>& rule) {
  for (std::int64_t e = 0; e < b.turns; ++e) {
    const std::int32_t k = b.turn[e];
    const std::int64_t i = b.sample[k];
    if (e + 2 < b.turns) V<T>::prefetch_slots(v, b.sample[b.turn[e + 2]]);
    if (e + 1 < b.turns) V<T>::prefetch(v, b.sample[b.turn[e + 1]]);
    const V<T> s(v, i);
    const T* touch = b.touch + b.slot_at[k];
    T* step = b.steps_of(k);
    Report<T> report;
    if (solve_slots<F, V, T>(v, i, touch, rule, step, b.work, &report))
      for (std::int32_t slot = 0; slot < s.slots; ++slot)
        if (step[slot] != 0 && touch[slot] > 0) s.add(v, slot, step[slot]);
    b.gap[k] = report.gap;
    b.violation[k] = report.violation;
  }
}

template <template <class> class V, class T>
void apply_batch(const WorkView<T>& v, const BatchView<T>& b) {
  for (std::int64_t e = 0; e < b.shared_slots; ++e) {
    const SharedSlot& slot = b.shared[e];
    const T step = b.steps_of(slot.k)[slot.slot];
    if (step != 0) V<T>(v, b.sample[slot.k]).add(v, slot.slot, step);
  }
}

template <class F, template <class> class V, class T>
void visit_samples(const WorkView<T>& v, const std::int32_t* samples, std::int64_t count,
                   const VisitRule<T>& rule, T* gap, T* violation, T* work) {
  for (std::int64_t e = 0; e < count; ++e) {
    const std::int64_t i = samples[e];
    if (e + 2 < count) V<T>::prefetch_slots(v, samples[e + 2]);
    if (e + 1 < count) V<T>::prefetch(v, samples[e + 1]);
    const V<T> s(v, i);
    Report<T> report;
    T* step = work;
    T* rest = work + s.slots;
    if (solve_slots<F, V, T>(v, i, nullptr, rule, step, rest, &report))
      for (std::int32_t slot = 0; slot < s.slots; ++slot)
        if (step[slot] != 0) s.add(v, slot, step[slot]);
    gap[i] = report.gap;
    violation[i] = report.violation;
  }
}

// Class by class, whose weights then stay in a cache.
template <class T>
void score_members(const WorkView<T>& v, const Member* members, std::int64_t count, double* own,
                   T* score, double* exact) {
  for (std::int64_t e = 0; e < count; ++e) {
    const std::int64_t i = members[e].sample;
    const auto slot = static_cast<std::int32_t>(members[e].slot);
    if (e + kMembersAhead < count) {
      const Member& soon = members[e + kMembersAhead];
      const Visit<T> s(v, soon.sample);
      prefetch(s.x, s.len);
      prefetch(s.at + soon.slot * s.len, s.len);
    }
    const Visit<T> s(v, i);
    if (slot == 0) {
      own[i] = s.exact_score(v, 0, s.alpha[0]);
      continue;
    }
    const std::int64_t p = v.slot_begin[i] + slot;
    score[p] = s.score(v, slot, -s.alpha[slot]);
    if (exact != nullptr) exact[p] = s.exact_score(v, slot, -s.alpha[slot]);
  }
}

// Of dense rows: a sample with some classes at a time, which share the loads of its features.
template <class T>
void score_samples(const WorkView<T>& v, std::int64_t begin, std::int64_t end, double* own,
                   T* score) {
  for (std::int64_t i = begin; i < end; ++i) {
    const DenseVisit<T> s(v, i);
    own[i] = s.exact_own_score(v);
    s.all_scores(v, score + v.slot_begin[i]);
  }
}

template <class F, template <class> class V, class T>
void report_margins(const WorkView<T>& v, std::int64_t begin, std::int64_t end, const double* own,
                    T* margin, Report<T>* report) {
  for (std::int64_t i = begin; i < end; ++i) {
    const V<T> s(v, i);
    T* m = margin + v.slot_begin[i];
    m[0] = 0;
    for (std::int32_t slot = 1; slot < s.slots; ++slot)
      m[slot] = F::margin(static_cast<T>(own[i]), m[slot], s.asked_of(slot));
    report[i] =
        F::inspect({s.slots - 1, m + 1, s.alpha + 1, v.box[i], v.box[i], v.norm2[i], nullptr});
  }
}

template <class F, class T>
Report<T> solve_block(const Block<T>& block, T* alpha_out, T* work) {
  F::solve(block, alpha_out, work);
  return F::inspect(block);
}

template <class F, class T>
Report<T> solve_exchange(const Block<T>& block, T* alpha_out, T* work) {
  F::solve_exchange(block, alpha_out, work);
  return F::inspect_exchange(block);
}

template <class F, template <class> class V, class T>
SolverKernels<T> make_solver_kernels() {
  return {F::kSeparable,
          &solve_batch<F, V, T>,
          &apply_batch<V, T>,
          &visit_samples<F, V, T>,
          &score_members<T>,
          &score_samples<T>,
          &report_margins<F, V, T>,
          &solve_block<F, T>,
          &solve_exchange<F, T>,
          &F::empty_loss,
          &F::margin,
          &F::add_to_account,
          &F::close_account,
          &add_exact_row<T>};
}

}  // namespace MM_ISA
}  // namespace multimargin
