// Weston-Watkins.
//
//   primal  min  1/2 sum_c |w_c|^2 + sum_i U_i sum_{c != y_i} max(0, m_ic)
//   dual    max  sum_ic D_ic a_ic - 1/2 sum_c |w_c|^2,   0 <= a_ic <= U_i,  c != y_i
//           w_c = sum_{i: y_i = c} A_i x_i - sum_{i: y_i != c} a_ic x_i,
//           A_i = sum_{c != y_i} a_ic
//   margin  m_ic = D_ic - (w_{y_i} - w_c).x_i      (the dual's gradient)
//   box     U_i = C * sample weight * class weight
//   asked   D_ic = 1, or the label cost of y_i and c
//
// primal - dual = sum_ic [ U_i max(0, m_ic) - a_ic m_ic ], every term >= 0.
//
// All classes of one sample at once: with q_c the curvature along class c and
// q_y along the own class (all equal to k_i = x_i.x_i when the sample moves alone)
//   a'_c = clip(b_c - r_c S, 0, U),  b_c = a_c + m_c / q_c + r_c A,  r_c = q_y / q_c,
// where S solves  sum_c clip(b_c - r_c S, 0, U) = S.  The left side falls and the
// right side rises in S, so there is one root. Plain Newton cycles when many b_c
// are nearly equal; a bracket with bisection makes it safe.
#pragma once

#include <limits>

#include "formulations/row_losses.hpp"
#include "formulations/sample_block.hpp"

namespace multimargin {
namespace MM_ISA {

template <class T>
struct WestonWatkins {
  // Each variable has its own bounds: one may stay while others of its sample move.
  static constexpr bool kSeparable = true;

  // `asked` is D of the two classes.
  static T margin(T own, T other, T asked) { return asked - own + other; }

  // Classes that score above this have a margin above the floor.
  static T threshold(T own, T floor, T asked) { return own - asked + floor; }

  // The sample's loss from its positive margins, in any order.
  template <class S>
  static S add_loss(S loss, S margin) {
    return loss + margin;
  }
  // The most that a loss of some classes can be if none of their margins is larger by more.
  static double raised(double loss, int classes, double more) { return loss + classes * more; }

  // A sample without entries: margins are what is asked, and alpha = U attains their sum.
  static double empty_loss(double, double total_asked) { return total_asked; }

  static T violation(T margin, T alpha, T box) {
    if (margin > 0) return alpha < box ? margin : T(0);
    return alpha > 0 ? -margin : T(0);
  }

  static Report<T> inspect(const Block<T>& b) {
    Report<T> report{0, 0, 0, 0};
    for (int c = 0; c < b.size; ++c) {
      const T m = b.margin[c], a = b.alpha[c];
      report.gap += b.box * (m > 0 ? m : T(0)) - a * m;
      const T v = violation(m, a, b.box);
      report.violation = v > report.violation ? v : report.violation;
    }
    return report;
  }

  // Variables that share nothing have nothing to exchange: such blocks are never made.
  static Report<T> inspect_exchange(const Block<T>&) { return {0, 0, 0, 0}; }
  static void solve_exchange(const Block<T>&, T*, T*) {}

  static void add_to_account(T margin, T alpha, T box, Account<T>* account) {
    const T v = violation(margin, alpha, box);
    account->violation = v > account->violation ? v : account->violation;
  }
  static Report<T> close_account(const Account<T>& account, T, T) {
    return {0, account.violation, 0, 0};
  }

  // Writes the optimal alpha of the block. `work` holds 2 * size numbers.
  static void solve(const Block<T>& b, T* alpha_out, T* work) {
    T* shifted = work;
    T* ratio = work + b.size;
    T total = 0;
    for (int c = 0; c < b.size; ++c) total += b.alpha[c];
    const bool uniform = b.curvature == nullptr;
    for (int c = 0; c < b.size; ++c) {
      const T q = uniform ? b.curvature_own : b.curvature[c];
      ratio[c] = b.curvature_own / q;
      shifted[c] = b.alpha[c] + b.margin[c] / q + ratio[c] * total;
    }
    const T s = root(shifted, ratio, b.size, b.box, total);
    for (int c = 0; c < b.size; ++c) alpha_out[c] = clip(shifted[c] - ratio[c] * s, b.box);
  }

 private:
  static T clip(T v, T box) { return v < 0 ? T(0) : (v > box ? box : v); }

  static T root(const T* shifted, const T* ratio, int size, T box, T s) {
    const T accuracy = 8 * std::numeric_limits<T>::epsilon();
    T low = 0, high = static_cast<T>(size) * box;
    for (int step = 0; step < 100; ++step) {
      T sum = 0, slope = 1;
      for (int c = 0; c < size; ++c) {
        const T v = shifted[c] - ratio[c] * s;
        sum += clip(v, box);
        slope += v > 0 && v < box ? ratio[c] : T(0);
      }
      const T rest = sum - s;
      // Relative to the solution, not to the box: with a large box the solution is about 1/k.
      if ((rest < 0 ? -rest : rest) <= accuracy * (s > sum ? s : sum)) return s;
      (rest > 0 ? low : high) = s;
      T next = s + rest / slope;
      if (!(next > low && next < high)) next = low + (high - low) / 2;
      if (next == s) return s;
      s = next;
    }
    return s;
  }
};

struct RowWestonWatkins : RowLossFacts {
  static constexpr bool relative = true;
};

}  // namespace MM_ISA
}  // namespace multimargin
