// The exact optimum of one sample's variables, all other samples fixed. The equations are at the
// heads of the formulations.
//
// Each is one monotone equation in one unknown, solved by Newton's method within a bracket: plain
// Newton cycles when many terms are nearly equal.
#pragma once

#include <limits>

#include "rows/loss_kernels.hpp"

namespace multimargin {
namespace MM_ISA {

constexpr double kAccuracy = 4 * std::numeric_limits<double>::epsilon();

// The root of a function that falls, from its value and (negative) slope at a point.
// evaluate(t, &value, &slope, &size): the value counts as zero below kAccuracy * size.
template <class Evaluate>
inline double falling_root(double t, double low, double high, const Evaluate& evaluate) {
  for (int step = 0; step < 100; ++step) {
    double value = 0, slope = 0, size = 0;
    evaluate(t, &value, &slope, &size);
    if ((value < 0 ? -value : value) <= kAccuracy * size) break;
    (value > 0 ? low : high) = t;
    double next = t - value / slope;
    if (!(next > low && next < high)) {
      if (!(high < std::numeric_limits<double>::infinity()))
        next = t + 2 * (t > 0 ? t : -t) + size;
      else
        next = low + (high - low) / 2;
    }
    if (next == t) break;
    t = next;
  }
  return t;
}

// Relative margins: v_c = a_c + m_c / k + A in, the new variables out.
template <class L>
inline void solve_relative(const RowSample& b, double before, double* v) {
  const double box = ceiling<L>(b), room = L::shared ? b.box : b.box * b.n_classes;
  const double t = falling_root(before, -1, std::numeric_limits<double>::infinity(),
                                [&](double at, double* value, double* slope, double* size) {
                                  Reg sum{}, free{};
                                  each_register(b.width, [&](std::int64_t c) {
                                    const Reg x = load(v + c) - at;
                                    sum += clip(x, spread(box));
                                    free += (x > 0.0) & (x < box) ? spread(1) : Reg{};
                                  });
                                  const double right = at < room ? at : room, left = total(sum);
                                  *value = left - right;
                                  *slope = -total(free) - (at < room ? 1 : 0);
                                  *size = left > right ? left : right;
                                });
  each_register(b.width, [&](std::int64_t c) { store(v + c, clip(load(v + c) - t, spread(box))); });
}

// Centred: v_c = a_c + m_c / k in; returns D, with K D = sum of others' steps less the own step.
// `own`: the own variable's v, or kNever; `a_own`: its value before.
inline double centred_root(const RowSample& b, double box, const double* v, double sum_before,
                           double own, double a_own) {
  const double classes = b.n_classes, infinite = std::numeric_limits<double>::infinity();
  const double most = box < infinite ? 2 * box + sum_before / classes + 1 : infinite;
  const double least = -2 * (sum_before + a_own + (own > 0 ? own : 0) + 1);
  return falling_root(0, least, most, [&](double at, double* value, double* slope, double* size) {
    Reg sum{}, free{};
    each_register(b.width, [&](std::int64_t c) {
      const Reg x = load(v + c) + at;
      sum += clip(x, spread(box));
      free += (x > 0.0) & (x < box) ? spread(1) : Reg{};
    });
    double others = total(sum) - sum_before, mine = own - at, count = total(free);
    if (mine > 0 && mine < box) count += 1;
    mine = (mine < 0 ? 0 : mine > box ? box : mine) - a_own;
    *value = others - mine - classes * at;
    *slope = count - classes;
    *size = (others < 0 ? -others : others) + (mine < 0 ? -mine : mine) + sum_before + a_own +
            classes * (at < 0 ? -at : at);
  });
}

// ATM where the budget is used up: the own variable p. G grows in p.
inline double own_of_budget(const RowSample& b, const double* v, double sum_before, double own,
                            double a_own, double* threshold) {
  const double classes = b.n_classes, R = b.box - sum_before + a_own;
  double low = 0, high = b.box, p = a_own < b.box ? a_own : b.box;
  for (int step = 0; step < 100; ++step) {
    const double left = b.box - p;
    *threshold = simplex_root(v, b.width, left > 0 ? left : 0);
    const double at = *threshold;
    const double count = sum_registers(
        b.width, [&](std::int64_t c) { return load(v + c) > at ? spread(1) : Reg{}; });
    const double g = p - own + 2 * (R - 2 * p) / classes + at;
    const double slope = 1 - 4 / classes + 1 / (count > 1 ? count : 1);
    if ((g < 0 ? -g : g) <= kAccuracy * (b.box + (own < 0 ? -own : own))) break;
    (g < 0 ? low : high) = p;
    if (g > 0 && p == 0) break;
    if (g < 0 && p == b.box) break;
    double next = slope > 1e-12 ? p - g / slope : low + (high - low) / 2;
    if (next <= low && low == 0) next = 0;
    if (next >= high && high == b.box) next = b.box;
    if (!(next >= low && next <= high)) next = low + (high - low) / 2;
    if (next == p) break;
    p = next;
  }
  return p;
}

template <class L>
inline void solve_centred(const RowSample& b, double sum_before, double own, double a_own,
                          double* v) {
  const double box = ceiling<L>(b);
  const double d = centred_root(b, box, v, sum_before, own, a_own);
  double mine = own - d;
  mine = mine < 0 ? 0 : mine > box ? box : mine;
  double threshold = -d;
  if (L::shared) {
    const double used = mine + sum_registers(b.width, [&](std::int64_t c) {
                          return larger(load(v + c) + d, Reg{});
                        });
    if (used > b.box) {
      if (L::own)
        mine = own_of_budget(b, v, sum_before, own, a_own, &threshold);
      else
        threshold = simplex_root(v, b.width, b.box);
    }
  }
  each_register(b.width,
                [&](std::int64_t c) { store(v + c, clip(load(v + c) - threshold, spread(box))); });
  if (L::own && b.own >= 0) v[b.own] = mine;
}

template <class L>
bool row_block(const RowSample& b, const double* score, double* alpha, double* step, double* work,
               double leave_below, double idle, RowReport* report) {
  double* margin = step;
  margins_of<L>(b, score, margin);
  *report = inspect<L>(b, margin, alpha);
  if (report->gap < leave_below || !(report->violation > 0) || report->violation <= idle)
    return false;
  double* v = work;
  const double q = L::squared ? 0.5 / b.box : 0;
  const double inverse = 1 / (b.norm2 + q);
  double sum = 0;
  if (L::relative || L::centred)
    sum = sum_registers(b.width, [&](std::int64_t c) { return load(alpha + c); });
  const double shift = L::relative ? sum : 0;
  each_register(b.width, [&](std::int64_t c) {
    const Reg a = load(alpha + c);
    store(v + c, a + (load(margin + c) - q * a) * inverse + shift);
  });
  if (L::relative) {
    solve_relative<L>(b, sum, v);
  } else if (L::centred) {
    double own = kNever, a_own = 0;
    if (L::own && b.own >= 0) {
      own = v[b.own];
      a_own = alpha[b.own];
      v[b.own] = kNever;
    }
    solve_centred<L>(b, sum - a_own, own, a_own, v);
  } else {
    const Reg most = spread(ceiling<L>(b));
    each_register(b.width, [&](std::int64_t c) { store(v + c, clip(load(v + c), most)); });
  }
  if (L::shared) {
    // Their sum is known better than they are, and must not exceed the bound.
    const double used = sum_registers(b.width, [&](std::int64_t c) { return load(v + c); });
    if (used > b.box)
      each_register(b.width, [&](std::int64_t c) { store(v + c, load(v + c) * (b.box / used)); });
  }
  each_register(b.width, [&](std::int64_t c) {
    const Reg fresh = load(v + c);
    store(v + c, fresh - load(alpha + c));
    store(alpha + c, fresh);
  });
  shares_of<L>(b, v, step);
  return true;
}

template <class L>
RowLossKernels make_row_loss_kernels() {
  return {kRegister,        !L::relative && !L::centred,
          L::squared,       L::relative,
          L::centred,       &row_block<L>,
          &shares_of<L>,    &gain_of<L>,
          &row_values<L>,   &row_prox<L>,
          &row_slope<L>,    &row_jacobian<L>,
          &row_diagonal<L>, &row_free_classes<L>};
}

}  // namespace MM_ISA
}  // namespace multimargin
