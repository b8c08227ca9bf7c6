// One sample with all its classes at a time, for every loss. The facts L of a loss are in
// formulations/row_losses.hpp, the exact steps of a sample in block_kernels.hpp.
//
// Newton steps in the space of the weights need a sample's proximal step. For a point b of the
// dual's set and a length sigma,
//   a = the projection of b + sigma m onto the set,
//   envelope  a.m - |a - b|^2 / (2 sigma), whose gradient in m is a,
// and the derivative J of the projection: the identity on free variables, less their mean where
// they use up a common bound. With squared losses the dual is smooth by itself: sigma = 2 U, b = 0.
//
// A row has one number per class; classes without a variable, and the padding, have the margin
// `kNever` and stay at zero.
#pragma once

#include <limits>

#include "formulations/row_losses.hpp"
#include "rows/row.hpp"
#include "simd/register.hpp"

namespace multimargin {
namespace MM_ISA {

constexpr double kNever = -1e100;

// The largest value of a variable by itself.
template <class L>
inline double ceiling(const RowSample& b) {
  return L::squared || L::shared ? std::numeric_limits<double>::infinity() : b.box;
}

template <class L>
inline void margins_of(const RowSample& b, const double* score, double* margin) {
  if (L::others) {
    const double shift = L::relative ? score[b.own] : 0;
    if (b.asked == nullptr) {
      each_register(b.width,
                    [&](std::int64_t c) { store(margin + c, 1 + (load(score + c) - shift)); });
    } else {
      each_register(b.width, [&](std::int64_t c) {
        store(margin + c, load(b.asked + c) + (load(score + c) - shift));
      });
    }
    for (std::int64_t c = b.n_classes; c < b.width; ++c) margin[c] = kNever;
  } else {
    each_register(b.width, [&](std::int64_t c) { store(margin + c, spread(kNever)); });
  }
  if (b.own >= 0) margin[b.own] = L::own ? L::own_margin(b.n_classes) - score[b.own] : kNever;
}

// What variables add to the dual, weights apart.
template <class L>
inline double gain_of(const RowSample& b, const double* alpha) {
  double gain;
  if (b.asked == nullptr)
    gain = sum_registers(b.width, [&](std::int64_t c) { return load(alpha + c); });
  else
    gain =
        sum_registers(b.width, [&](std::int64_t c) { return load(alpha + c) * load(b.asked + c); });
  if (L::own && b.own >= 0) gain += (L::own_margin(b.n_classes) - 1) * alpha[b.own];
  if (L::squared)
    gain -= 0.25 / b.box * sum_registers(b.width, [&](std::int64_t c) {
              return load(alpha + c) * load(alpha + c);
            });
  return gain;
}

// step = shares of the sample in the weights, in place too.
template <class L>
void shares_of(const RowSample& b, const double* alpha, double* step) {
  double sum = 0;
  if (L::relative || L::centred)
    sum = sum_registers(b.width, [&](std::int64_t c) { return load(alpha + c); });
  const double own = b.own >= 0 ? alpha[b.own] : 0;
  const double mean = L::centred ? (2 * own - sum) / b.n_classes : 0;
  each_register(b.width, [&](std::int64_t c) { store(step + c, -load(alpha + c) - mean); });
  if (b.own >= 0) step[b.own] = L::relative ? sum : own - mean;
  for (std::int64_t c = b.n_classes; c < b.width; ++c) step[c] = 0;
}

// ---------------------------------------------------------------- objectives

// Margin, loss, gap and violation of a sample, at given margins.
template <class L>
RowReport inspect(const RowSample& b, const double* margin, const double* alpha) {
  RowReport report;
  const Reg box = spread(ceiling<L>(b));
  if (L::shared) {
    Reg most{}, least = spread(1e300), sum{}, product{};
    each_register(b.width, [&](std::int64_t c) {
      const Reg m = load(margin + c), a = load(alpha + c);
      most = larger(most, m);
      least = a > 0.0 ? smaller(least, m) : least;
      sum += a;
      product += a * m;
    });
    const double top = largest(most);
    double low = -largest(-least);
    if (total(sum) < b.box * (1 - 1e-14)) low = low < 0 ? low : 0;
    report.gap = b.box * top - total(product);
    report.violation = top > low ? top - low : 0;
    return report;
  }
  Reg worst{};
  const double q = L::squared ? 0.5 / b.box : 0;
  report.gap = sum_registers(b.width, [&](std::int64_t c) {
    const Reg a = load(alpha + c), h = load(margin + c), m = h - q * a;
    const Reg up = a < box ? m : Reg{}, down = a > 0.0 ? -m : Reg{};
    worst = larger(worst, m > 0.0 ? up : down);
    const Reg positive = larger(h, Reg{});
    if (L::squared) return b.box * positive * positive - a * h + 0.5 * q * a * a;
    return b.box * positive - a * h;
  });
  report.violation = largest(worst);
  return report;
}

template <class L>
RowValues row_values(const RowSample& b, const double* score, const double* alpha,
                     const double* rounding) {
  RowValues values;
  const double box = b.box, ceiling_here = ceiling<L>(b);
  double most = 0, least = 1e300, sum = 0, top = 0, worst = 0;
  const double shift = L::relative ? score[b.own] : 0;
  for (std::int64_t c = 0; c < b.n_classes; ++c) {
    const bool own = c == b.own;
    if (own ? !L::own : !L::others) continue;
    const double asked = own ? L::own_margin(b.n_classes) : b.asked == nullptr ? 1 : b.asked[c];
    const double h = own ? asked - score[c] : asked + (score[c] - shift);
    const double a = alpha[c], m = L::squared ? h - 0.5 / box * a : h;
    const double raised = h + rounding[c] > 0 ? h + rounding[c] : 0;
    values.loss += L::squared ? raised * raised : raised;
    most = raised > most ? raised : most;
    top = m > top ? m : top;
    least = a > 0 && m < least ? m : least;
    sum += a;
    const double violation = m > 0 ? (a < ceiling_here ? m : 0) : (a > 0 ? -m : 0);
    worst = violation > worst ? violation : worst;
    values.free += a > 0 && (L::shared || a < ceiling_here);
  }
  if (L::shared) {
    if (sum < box * (1 - 1e-14)) least = least < 0 ? least : 0;
    values.loss = most;
    worst = top > least ? top - least : 0;
  }
  values.loss *= box < std::numeric_limits<double>::infinity() ? box : 0;
  values.gain = gain_of<L>(b, alpha);
  values.violation = worst;
  values.margin = most;
  return values;
}

// ---------------------------------------------------------------- the proximal step

// t that makes sum_c max(0, v_c - t) equal to `sum`: Newton from the left, which never passes the
// root of a convex function that falls.
inline double simplex_root(const double* v, std::int64_t width, double sum) {
  Reg most = load(v);
  each_register(width, [&](std::int64_t c) { most = larger(most, load(v + c)); });
  const double top = largest(most);
  double t = top - sum;
  for (int step = 0; step < 100; ++step) {
    Reg part{}, count{};
    each_register(width, [&](std::int64_t c) {
      const Reg x = load(v + c) - t;
      part += x > 0.0 ? x : Reg{};
      count += x > 0.0 ? spread(1) : Reg{};
    });
    const double rest = total(part) - sum;
    if (rest <= 4 * std::numeric_limits<double>::epsilon() * sum) break;
    const double next = t + rest / total(count);
    if (!(next > t && next < top)) break;
    t = next;
  }
  return t;
}

// v = the projection of before + sigma margin onto the dual's set, `before` = nullptr: of
// sigma margin. `margin` may be v. Returns whether a common bound is used up.
template <class L>
inline bool project(const RowSample& b, double sigma, const double* margin, const double* before,
                    double* work, double* v) {
  const auto wanted = [&](std::int64_t c, double shift) {
    const Reg step = sigma * (load(margin + c) - shift);
    return before == nullptr ? step : load(before + c) + step;
  };
  if (!L::shared) {
    const Reg most = spread(ceiling<L>(b));
    each_register(b.width, [&](std::int64_t c) { store(v + c, clip(wanted(c, 0), most)); });
    return false;
  }
  const double sum =
      sum_registers(b.width, [&](std::int64_t c) { return larger(wanted(c, 0), Reg{}); });
  if (sum <= b.box) {
    each_register(b.width, [&](std::int64_t c) { store(v + c, larger(wanted(c, 0), Reg{})); });
    return false;
  }
  // Only differences of margins count, in which no digit is lost yet.
  Reg most = load(margin);
  each_register(b.width, [&](std::int64_t c) { most = larger(most, load(margin + c)); });
  const double top = largest(most);
  each_register(b.width, [&](std::int64_t c) { store(work + c, wanted(c, top)); });
  const double t = simplex_root(work, b.width, b.box);
  const double used =
      sum_registers(b.width, [&](std::int64_t c) { return larger(load(work + c) - t, Reg{}); });
  // The sum is known better than the variables are.
  each_register(b.width, [&](std::int64_t c) {
    store(v + c, larger(load(work + c) - t, Reg{}) * (b.box / used));
  });
  return true;
}

template <class L>
RowProx row_prox(const RowSample& b, double sigma, const double* score, const double* before,
                 double* alpha, double* work) {
  RowProx prox;
  margins_of<L>(b, score, alpha);
  Reg most{}, sum{};
  each_register(b.width, [&](std::int64_t c) {
    const Reg m = load(alpha + c), positive = larger(m, Reg{});
    most = larger(most, positive);
    sum += L::squared ? positive * positive : positive;
  });
  const bool finite = b.box < std::numeric_limits<double>::infinity();
  prox.loss = finite ? b.box * (L::shared ? largest(most) : total(sum)) : 0;
  prox.tight = project<L>(b, sigma, alpha, L::squared ? nullptr : before, work, alpha);
  const double box = ceiling<L>(b);
  Reg free{}, moved{};
  each_register(b.width, [&](std::int64_t c) {
    const Reg a = load(alpha + c), d = L::squared ? a : a - load(before + c);
    free += (a > 0.0) & (a < box) ? spread(1) : Reg{};
    moved += d * d;
  });
  prox.free = static_cast<std::int32_t>(total(free));
  if (prox.tight && prox.free == 1) prox.free = 0;  // it cannot move
  prox.moved = total(moved) / (2 * sigma);
  prox.gain = gain_of<L>(b, alpha);
  return prox;
}

template <class L>
void row_slope(const RowSample& b, double sigma, const double* score, const double* change,
               const double* length, const double* before, double* work, double* slope) {
  each_register(b.width, [&](std::int64_t c) {
    store(work + c, load(score + c) + load(length + c) * load(change + c));
  });
  double* a = work + b.width;
  margins_of<L>(b, work, a);
  project<L>(b, sigma, a, L::squared ? nullptr : before, work, a);
  // Margins of others grow with their score; the own one falls, and takes all of them along where
  // margins are relative.
  const double own = b.own >= 0 ? a[b.own] : 0;
  double sum = 0;
  if (L::relative) sum = sum_registers(b.width, [&](std::int64_t c) { return load(a + c); });
  if (b.own >= 0) a[b.own] = L::relative ? -sum : -own;
  each_register(b.width, [&](std::int64_t c) {
    store(slope + c, load(slope + c) + load(a + c) * load(change + c));
  });
}

// 1 where a variable is free, else 0.
template <class L>
inline Reg free_ones(const Reg& a, double box) {
  return (a > 0.0) & (a < box) ? spread(1) : Reg{};
}

template <class L>
void row_jacobian(const RowSample& b, double sigma, bool tight, const double* alpha,
                  const double* score, double* step) {
  const double box = ceiling<L>(b), shift = L::relative ? score[b.own] : 0;
  Reg sum{}, count{};
  // How much less of each margin is asked for: relative s_y - s_c, otherwise sign_c s_c.
  each_register(b.width, [&](std::int64_t c) {
    const Reg free = free_ones<L>(load(alpha + c), box);
    store(step + c, free * (shift - load(score + c)));
    count += free;
  });
  if (L::own && b.own >= 0) step[b.own] = -step[b.own];
  if (L::shared && tight) {
    each_register(b.width, [&](std::int64_t c) { sum += load(step + c); });
    const double f = total(count), mean = f > 0 ? total(sum) / f : 0;
    each_register(b.width, [&](std::int64_t c) {
      store(step + c, load(step + c) - mean * free_ones<L>(load(alpha + c), box));
    });
  }
  each_register(b.width, [&](std::int64_t c) { store(step + c, sigma * load(step + c)); });
  shares_of<L>(b, step, step);
}

template <class L>
void row_diagonal(const RowSample& b, double sigma, bool tight, const double* alpha, double* out) {
  const double box = ceiling<L>(b);
  double f = 0;
  for (std::int64_t c = 0; c < b.width; ++c) {
    out[c] = alpha[c] > 0 && alpha[c] < box ? sigma : 0;
    f += out[c] > 0;
  }
  if (L::shared && tight)
    for (std::int64_t c = 0; c < b.width; ++c) out[c] *= 1 - 1 / f;
  if (L::relative) out[b.own] = L::shared && tight ? 0 : sigma * f;
}

template <class L>
int row_free_classes(const RowSample& b, const double* alpha, std::int32_t* cls) {
  const double box = ceiling<L>(b);
  int count = 0;
  Reg sum{};
  each_register(b.width, [&](std::int64_t c) {
    const Reg a = load(alpha + c), free = free_ones<L>(a, box);
    sum += a;
    if (!(total(free) > 0)) return;
    for (int k = 0; k < kRegister; ++k)
      if (free[k] > 0) cls[count++] = static_cast<std::int32_t>(c + k);
  });
  if (!L::shared || total(sum) < b.box * (1 - 1e-9)) cls[count++] = b.own;
  return count;
}

}  // namespace MM_ISA
}  // namespace multimargin
