// Binary problems, a line of classes at a time: scores, steps and certificates.
//
// For class c and sample i with sign +1 where the sample has not the class, -1 where it has:
//   h = 1 + sign (w_c.x_i)                    hinge
//   m = h - q a                               the dual's gradient, q the loss's diagonal
//   a' = clip(a + m / (k_i + q), 0, ceiling)  one variable, exactly
//   w_c -= sign (a' - a) x_i
// Included once per instruction set; no library template.
#pragma once

#include "formulations/binary_losses.hpp"
#include "lines/line.hpp"
#include "simd/vector.hpp"

namespace multimargin {
namespace MM_ISA {

// Bits of the lanes whose class a sample has.
template <class T>
inline std::uint32_t own_lanes(const LineView<T>& v, std::int64_t i) {
  if (v.own != nullptr) return v.own[i];
  const std::int32_t mine = v.y[i] - v.first_class;
  return mine >= 0 && mine < line_lanes<T>() ? 1u << mine : 0u;
}

// Everything about a sample's variables in one line at the present weights.
template <class Loss, class T>
struct LineState {
  using V = typename Vector<T>::type;
  using M = typename MaskVector<T>::type;
  V sign, h, a, m;
  M taking_part;  // all lanes but, for some losses, the own class

  template <class I>
  LineState(const Csr<T, I>& X, const LineView<T>& v, std::int64_t i) {
    V score = *reinterpret_cast<const V*>(v.w_bias) * v.bias;
    if (v.offset != nullptr) score += v.offset[i];
    const std::int64_t end = X.end(i);
    const auto feature = X.features(i);
    for (std::int64_t t = X.begin(i); t < end; ++t)
      score += X.data[t] * *row(v, static_cast<std::int64_t>(feature[t]));
    a = *reinterpret_cast<const V*>(v.alpha + i * v.alpha_stride);
    sign = V{} + T(1);
    taking_part = M{} == M{};
    for (std::uint32_t own = own_lanes(v, i); own != 0; own &= own - 1) {
      const int mine = __builtin_ctz(own);
      sign[mine] = T(-1);
      if (!Loss::own) taking_part[mine] = 0;
    }
    h = T(1) + sign * score;
    m = h - Loss::diagonal(v.box[i]) * a;
  }

  V violation(T ceiling) const {
    const V zero{};
    const V up = a < ceiling ? m : zero, down = a > zero ? -m : zero;
    return taking_part ? (m > zero ? up : down) : zero;
  }

  V positive() const { return taking_part && h > V{} ? h : V{}; }

  // Added to primal - dual by the sample, never negative.
  V gap(T box) const {
    const V own = Loss::loss(positive(), box) - a * h + (a - Loss::value(a, box));
    return taking_part ? own : V{};
  }

  static V* row(const LineView<T>& v, std::int64_t j) {
    return reinterpret_cast<V*>(v.w + j * v.w_stride);
  }

  template <class I>
  static void add(const Csr<T, I>& X, const LineView<T>& v, std::int64_t i, const V& step) {
    const std::int64_t end = X.end(i);
    const auto feature = X.features(i);
    for (std::int64_t t = X.begin(i); t < end; ++t)
      *row(v, static_cast<std::int64_t>(feature[t])) += X.data[t] * step;
    *reinterpret_cast<V*>(v.w_bias) += v.bias * step;
  }
};

// Sums of many numbers, moved to double precision now and then.
template <class T>
struct LaneSum {
  typename Vector<T>::type part{};
  int held = 0;

  void add(const typename Vector<T>::type& v, double* total) {
    part += v;
    if (++held == 128) flush(total);
  }
  void flush(double* total) {
    for (int k = 0; k < line_lanes<T>(); ++k) total[k] += static_cast<double>(part[k]);
    part = typename Vector<T>::type{};
    held = 0;
  }
};

// Counts visits without a move in all lanes at once; returns the lanes that have had three.
template <class T>
inline std::uint32_t count_stillness(const LinePass<T>& pass, std::int64_t i, std::uint32_t moved) {
  const std::uint32_t low = pass.still_low[i], high = pass.still_high[i];
  const std::uint32_t next_low = ~low & ~moved, next_high = (high ^ low) & ~moved;
  pass.still_low[i] = static_cast<std::uint16_t>(next_low);
  pass.still_high[i] = static_cast<std::uint16_t>(next_high);
  return next_low & next_high;
}

template <class Loss, class T, class I>
std::int64_t line_pass(const Csr<T, I>& X, const LineView<T>& v, const LinePass<T>& pass) {
  using State = LineState<Loss, T>;
  using V = typename State::V;
  using M = typename State::M;
  const V zero{};
  const V threshold = *reinterpret_cast<const V*>(pass.threshold);
  V worst = *reinterpret_cast<const V*>(pass.violation);
  LaneSum<T> gap, gain;
  std::int64_t kept = 0;
  for (std::int64_t k = 0; k < pass.count; ++k) {
    const std::int64_t i = pass.order[k];
    const State s(X, v, i);
    const T box = v.box[i], ceiling = Loss::ceiling(box);
    const T curvature = v.norm2[i] + Loss::diagonal(box);
    const M active = lanes_of<T>(pass.active[i]) & s.taking_part;
    const V violation = s.violation(ceiling);
    const V counted = active ? violation : zero;
    worst = counted > worst ? counted : worst;
    gap.add(active ? s.gap(box) : zero, pass.gap);

    V fresh = s.a + s.m * (T(1) / curvature);
    fresh = fresh < zero ? zero : fresh;
    fresh = fresh > ceiling ? zero + ceiling : fresh;
    fresh = active && violation > zero + pass.idle ? fresh : s.a;
    const V step = fresh - s.a;
    const M out = (s.a == zero && s.m < -threshold) || (s.a >= ceiling && s.m > threshold);
    // Clang has types of its own for comparisons: only the named one says which `bits_of`.
    const M changed = step != zero;
    const std::uint32_t moved = bits_of(changed);
    std::uint32_t leaving = bits_of(out);
    if (pass.still_low != nullptr) leaving |= count_stillness(pass, i, moved);
    pass.active[i] = static_cast<std::uint16_t>(pass.active[i] & ~leaving);
    if (pass.active[i] != 0) pass.order[kept++] = static_cast<std::int32_t>(i);
    if (moved == 0) continue;
    gain.add(step * (s.m - T(0.5) * curvature * step), pass.gain);
    *reinterpret_cast<V*>(v.alpha + i * v.alpha_stride) = fresh;
    State::add(X, v, i, -(s.sign * step));
  }
  gap.flush(pass.gap);
  gain.flush(pass.gain);
  *reinterpret_cast<V*>(pass.violation) = worst;
  return kept;
}

// The scores of a row in double precision, of weights as they are kept.
template <class T, class I>
inline void line_scores(const Csr<T, I>& X, const LineView<T>& v, std::int64_t i, double* score) {
  constexpr int lanes = line_lanes<T>();
  for (int l = 0; l < lanes; ++l)
    score[l] = static_cast<double>(static_cast<T>(v.w_bias[l] * v.bias));
  const std::int64_t end = X.end(i);
  const auto feature = X.features(i);
  for (std::int64_t t = X.begin(i); t < end; ++t) {
    const double x = static_cast<double>(X.data[t]);
    const T* w = v.w + static_cast<std::int64_t>(feature[t]) * v.w_stride;
    for (int l = 0; l < lanes; ++l) score[l] += x * static_cast<double>(w[l]);
  }
}

template <class Loss, class T, class I>
void line_certify(const Csr<T, I>& X, const LineView<T>& v, const LineSums<T>& sums,
                  std::int64_t begin, std::int64_t end) {
  constexpr int lanes = line_lanes<T>();
  constexpr double unit = 1.2e-16;  // half the distance from 1 to the next number, and some more
  double worst[lanes] = {}, score[lanes];
  for (std::int64_t i = begin; i < end; ++i) {
    if (!(v.norm2[i] > 0)) continue;
    line_scores(X, v, i, score);
    const T* alpha = v.alpha + i * v.alpha_stride;
    const T box = v.box[i];
    const double ceiling = static_cast<double>(Loss::ceiling(box));
    const double diagonal = static_cast<double>(Loss::diagonal(box));
    // See rounding.hpp.
    const double row = static_cast<double>(X.end(i) - X.begin(i) + 8) *
                       __builtin_sqrt(static_cast<double>(v.norm2[i]));
    const std::uint32_t own = own_lanes(v, i);
    std::uint32_t loose = 0;
    for (int l = 0; l < lanes; ++l) {
      const double a = static_cast<double>(alpha[l]);
      const double h = 1 + (own >> l & 1 ? -score[l] : score[l]);
      const double m = h - diagonal * a;
      const double violation = m > 0 ? (a < ceiling ? m : 0.0) : (a > 0 ? -m : 0.0);
      worst[l] = violation > worst[l] ? violation : worst[l];
      loose |= static_cast<std::uint32_t>(violation > 0 || (a > 0 && a < ceiling)) << l;
      const double raised = h + unit * (row * sums.norm[l] + 2);
      sums.loss[l] += Loss::loss(raised > 0 ? raised : 0.0, box);
      sums.value[l] += Loss::value(a, box);
    }
    if (sums.loose != nullptr) sums.loose[i] = static_cast<std::uint16_t>(loose);
  }
  for (int l = 0; l < lanes; ++l)
    sums.violation[l] = worst[l] > static_cast<double>(sums.violation[l]) ? static_cast<T>(worst[l])
                                                                          : sums.violation[l];
}

template <class Loss, class T, class I>
void line_recompute(const Csr<T, I>& X, const LineView<T>& v, double* sums) {
  constexpr int lanes = line_lanes<T>();
  double* constant = sums + X.cols * lanes;
  for (std::int64_t i = 0; i < X.rows; ++i) {
    const T* alpha = v.alpha + i * v.alpha_stride;
    double step[lanes];
    bool any = false;
    for (int l = 0; l < lanes; ++l) {
      step[l] = -static_cast<double>(alpha[l]);
      any |= alpha[l] != 0;
    }
    if (!any) continue;
    for (std::uint32_t own = own_lanes(v, i); own != 0; own &= own - 1) {
      const int mine = __builtin_ctz(own);
      step[mine] = -step[mine];
    }
    const std::int64_t end = X.end(i);
    const auto feature = X.features(i);
    for (std::int64_t t = X.begin(i); t < end; ++t) {
      const double x = static_cast<double>(X.data[t]);
      double* sum = sums + static_cast<std::int64_t>(feature[t]) * lanes;
      for (int l = 0; l < lanes; ++l) sum[l] += x * step[l];
    }
    for (int l = 0; l < lanes; ++l) constant[l] += static_cast<double>(v.bias) * step[l];
  }
}

template <class Loss, class T, class I>
LineKernels<T, I> make_line_kernels() {
  return {&line_pass<Loss, T, I>, &line_certify<Loss, T, I>, &line_recompute<Loss, T, I>};
}

template <class T, class I>
LineKernels<T, I> line_kernels(BinaryLoss loss) {
  switch (loss) {
    case BinaryLoss::hinge:
      return make_line_kernels<Hinge<T>, T, I>();
    case BinaryLoss::squared_hinge:
      return make_line_kernels<SquaredHinge<T>, T, I>();
    case BinaryLoss::others_hinge:
      return make_line_kernels<OthersHinge<T>, T, I>();
  }
  return {};
}

}  // namespace MM_ISA
}  // namespace multimargin
