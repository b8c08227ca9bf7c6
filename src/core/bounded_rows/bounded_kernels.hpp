// Weston-Watkins, one sample with all its classes at a time; the equation of its block is at the
// head of formulations/weston_watkins.hpp.
// Included once per instruction set; no library template.
#pragma once

#include <limits>

#include "bounded_rows/bounded_row.hpp"
#include "bounded_rows/native.hpp"

namespace multimargin {
namespace MM_ISA {

// A sum whose rounding does not grow with the number of classes: at most kPartial terms of type T.
template <class T>
struct LongSum {
  static constexpr int kPartial = 32;
  Wide<T> part{};
  int terms = 0;
  double total = 0;

  void add(const Wide<T>& v) {
    part += v;
    if (++terms == kPartial) flush();
  }
  void flush() {
    for (int k = 0; k < kWide<T>; ++k) total += static_cast<double>(part[k]);
    part = Wide<T>{};
    terms = 0;
  }
  double value() {
    flush();
    return total;
  }
};

template <class T>
inline double wide_largest(const Wide<T>& v) {
  T most = v[0];
  for (int k = 1; k < kWide<T>; ++k) most = v[k] > most ? v[k] : most;
  return static_cast<double>(most);
}

template <class T>
inline Wide<T> wide_clip(const Wide<T>& v, const Wide<T>& most) {
  const Wide<T> positive = v > Wide<T>{} ? v : Wide<T>{};
  return positive < most ? positive : most;
}

// ---------------------------------------------------------------- scores and steps

// N vectors of scores, held over the sample's entries. Rows are read far ahead: nearly all of them
// come from memory.
template <int N, class T, class I>
inline void bounded_gather_some(const Csr<T, I>& X, const BoundedWeights<T>& W, std::int64_t i,
                                std::int64_t c, T* score) {
  Wide<T> sum[N];
  for (int k = 0; k < N; ++k) sum[k] = W.bias * wide_load(W.w_bias + c + k * kWide<T>);
  const std::int64_t end = X.end(i);
  const auto feature = X.features(i);
  for (std::int64_t t = X.begin(i); t < end; ++t) {
    const T* row = W.w + static_cast<std::int64_t>(feature[t]) * W.width + c;
    const T x = X.data[t];
    for (int k = 0; k < N; ++k) {
      __builtin_prefetch(row + (N + k) * kWide<T>);
      sum[k] += x * wide_load(row + k * kWide<T>);
    }
  }
  for (int k = 0; k < N; ++k) wide_store(score + c + k * kWide<T>, sum[k]);
}

template <class T, class I>
void bounded_gather(const Csr<T, I>& X, const BoundedWeights<T>& W, std::int64_t i, T* score) {
  constexpr int some = 8;
  std::int64_t c = 0;
  for (; c + some * kWide<T> <= W.width; c += some * kWide<T>)
    bounded_gather_some<some>(X, W, i, c, score);
  for (; c < W.width; c += kWide<T>) bounded_gather_some<1>(X, W, i, c, score);
}

template <class T>
inline void bounded_scatter_row(T* row, T x, const T* step, const std::int32_t* words,
                                std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t c = static_cast<std::int64_t>(words[k]) * kWordClasses;
    for (int j = 0; j < kWordClasses; j += kWide<T>)
      wide_store(row + c + j, wide_load(row + c + j) + x * wide_load(step + c + j));
  }
}

template <class T, class I>
void bounded_scatter(const Csr<T, I>& X, const BoundedWeights<T>& W, std::int64_t i, const T* step,
                     const std::int32_t* words, std::int64_t count) {
  const std::int64_t end = X.end(i);
  const auto feature = X.features(i);
  for (std::int64_t t = X.begin(i); t < end; ++t)
    bounded_scatter_row(W.w + static_cast<std::int64_t>(feature[t]) * W.width, X.data[t], step,
                        words, count);
  if (W.bias != 0) bounded_scatter_row(W.w_bias, W.bias, step, words, count);
}

// ---------------------------------------------------------------- bits and lists

template <class T>
void bounded_expand(const std::uint16_t* bits, std::int64_t width, T box, T* alpha) {
  const Wide<T> most = Wide<T>{} + box;
  const WideMask<T> each = lane_bits<T>();
  for (std::int64_t c = 0; c < width; c += kWide<T>) {
    const std::uint32_t word = bits[c / kWordClasses] >> (c % kWordClasses);
    wide_store(alpha + c, wide_lanes<T>(word, each) ? most : Wide<T>{});
  }
}

template <class T>
std::int64_t bounded_pack(const T* alpha, std::int64_t width, T box, std::uint16_t* bits,
                          FreeVariable<T>* free) {
  std::int64_t count = 0;
  const Wide<T> most = Wide<T>{} + box;
  for (std::int64_t c = 0; c < width; c += kWide<T>) {
    const Wide<T> a = wide_load(alpha + c);
    const std::uint32_t full = wide_bits(a >= most), some = wide_bits(a > Wide<T>{});
    std::uint16_t& word = bits[c / kWordClasses];
    word = static_cast<std::uint16_t>((c % kWordClasses == 0 ? 0u : word) |
                                      full << (c % kWordClasses));
    for (std::uint32_t left = some & ~full; left != 0; left &= left - 1) {
      const int k = __builtin_ctz(left);
      free[count++] = {static_cast<std::int32_t>(c + k), alpha[c + k]};
    }
  }
  return count;
}

inline void bounded_add(const std::uint16_t* bits, std::int64_t width, double amount, double* sum) {
  const Wide<double> term = Wide<double>{} + amount;
  const WideMask<double> each = lane_bits<double>();
  for (std::int64_t c = 0; c < width; c += kWide<double>) {
    const std::uint32_t word = bits[c / kWordClasses] >> (c % kWordClasses);
    const Wide<double> here = wide_lanes<double>(word, each) ? term : Wide<double>{};
    wide_store(sum + c, wide_load(sum + c) + here);
  }
}

// ---------------------------------------------------------------- the block of a sample

// Classes without a variable never have a positive margin.
template <class T>
inline void hide_absent(const BoundedSample<T>& b, T* score) {
  constexpr T never = static_cast<T>(-1e30);
  for (std::int64_t c = b.n_classes; c < b.width; ++c) score[c] = never;
  score[b.own] = never;
}

// S with sum_c clip(v_c - S, 0, U) = S. The dual loses the square of what S is off by, so that half
// of the digits of T are enough.
template <class T>
inline double sum_of_block(const BoundedSample<T>& b, const T* v, double start, double shift) {
  const double accuracy = sizeof(T) == 4 ? 3e-5 : 1e-9;
  const Wide<T> most = Wide<T>{} + b.box, one = Wide<T>{} + T(1);
  double low = 0, high = static_cast<double>(b.box) * b.n_classes, at = start;
  for (int step = 0; step < 60; ++step) {
    LongSum<T> sum;
    Wide<T> free{};
    const T less = static_cast<T>(at - shift);
    for (std::int64_t c = 0; c < b.width; c += kWide<T>) {
      const Wide<T> x = wide_load(v + c) - less;
      sum.add(wide_clip<T>(x, most));
      free += (x > Wide<T>{}) & (x < most) ? one : Wide<T>{};
    }
    double slope = 1;
    for (int k = 0; k < kWide<T>; ++k) slope += static_cast<double>(free[k]);
    const double left = sum.value(), rest = left - at;
    if ((rest < 0 ? -rest : rest) <= accuracy * (left > at ? left : at)) break;
    (rest > 0 ? low : high) = at;
    double next = at + rest / slope;
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    if (next == at) break;
    at = next;
  }
  return at;
}

template <class T>
bool bounded_solve(const BoundedSample<T>& b, T* score, T* alpha, T* work, std::int32_t* words,
                   double leave_below, double idle, BoundedReport* report) {
  const T own = score[b.own], inverse = 1 / b.norm2;
  hide_absent(b, score);
  const Wide<T> most = Wide<T>{} + b.box, none{};
  LongSum<T> sum, gap;
  Wide<T> worst{};
  for (std::int64_t c = 0; c < b.width; c += kWide<T>) {
    const Wide<T> m = 1 + (wide_load(score + c) - own), a = wide_load(alpha + c);
    const Wide<T> up = m > none ? m : none, down = m < none ? -m : none;
    sum.add(a);
    gap.add((most - a) * up + a * down);
    const Wide<T> rises = a < most ? up : none, falls = a > none ? down : none;
    worst = rises > worst ? rises : worst;
    worst = falls > worst ? falls : worst;
    wide_store(work + c, a + m * inverse);
  }
  report->gap = gap.value();
  report->violation = wide_largest<T>(worst);
  if (report->gap < leave_below || !(report->violation > 0) || report->violation <= idle)
    return false;
  const double before = sum.value();
  // v_c = a_c + m_c / k + A, of which the last is left out: it would cost digits.
  const T less = static_cast<T>(sum_of_block(b, work, before, before) - before);
  LongSum<T> own_step;
  report->words = 0;
  for (std::int64_t c = 0; c < b.width; c += kWordClasses) {
    bool moves = false;
    for (int j = 0; j < kWordClasses; j += kWide<T>) {
      const Wide<T> a = wide_load(alpha + c + j);
      const Wide<T> fresh = wide_clip<T>(wide_load(work + c + j) - less, most);
      const Wide<T> step = a - fresh;
      moves |= wide_bits(step != none) != 0;
      own_step.add(-step);
      wide_store(alpha + c + j, fresh);
      wide_store(score + c + j, step);
    }
    words[report->words] = static_cast<std::int32_t>(c / kWordClasses);
    report->words += moves;
  }
  report->own_step = own_step.value();
  return report->words > 0;
}

template <class T>
BoundedValues bounded_values(const BoundedSample<T>& b, T* score, const T* alpha, const T* norm,
                             T unit, T own_rounding) {
  const T own = score[b.own];
  hide_absent(b, score);
  const Wide<T> most = Wide<T>{} + b.box, none{};
  LongSum<T> loss;
  Wide<T> worst{};
  for (std::int64_t c = 0; c < b.width; c += kWide<T>) {
    const Wide<T> m = 1 + (wide_load(score + c) - own), a = wide_load(alpha + c);
    const Wide<T> raised = m + (unit * wide_load(norm + c) + own_rounding);
    loss.add(raised > none ? raised : none);
    const Wide<T> rises = a < most ? m : none, falls = a > none ? -m : none;
    worst = rises > worst ? rises : worst;
    worst = falls > worst ? falls : worst;
  }
  // Each term is rounded twice, and added at most kPartial times in type T.
  const double up =
      1 + 2 * LongSum<T>::kPartial * static_cast<double>(std::numeric_limits<T>::epsilon());
  return {loss.value() * up * static_cast<double>(b.box), wide_largest<T>(worst)};
}

template <class T, class I>
BoundedKernels<T, I> bounded_kernels() {
  return {&bounded_gather<T, I>, &bounded_scatter<T, I>, &bounded_expand<T>, &bounded_pack<T>,
          &bounded_solve<T>,     &bounded_values<T>,     &bounded_add};
}

}  // namespace MM_ISA
}  // namespace multimargin
