// Crammer-Singer.
//
//   primal  min  1/2 sum_c |w_c|^2 + sum_i U_i max(0, max_{c != y_i} m_ic)
//   dual    max  sum_ic D_ic a_ic - 1/2 sum_c |w_c|^2,   a_ic >= 0,  A_i <= U_i,  c != y_i
//           w_c = sum_{i: y_i = c} A_i x_i - sum_{i: y_i != c} a_ic x_i,
//           A_i = sum_{c != y_i} a_ic
//   margin  m_ic = D_ic - (w_{y_i} - w_c).x_i      (the dual's gradient)
//   budget  U_i = C * sample weight * class weight
//   asked   D_ic = 1, or the label cost of y_i and c
//
// primal - dual = sum_i [ U_i max(0, max_c m_ic) - sum_c a_ic m_ic ], every term >= 0.
//
// The rest of the budget is like one more class, with margin 0 and variable U - A. Then the
// variables are >= 0 and add up to U, and at the optimum those > 0 have the largest margin. A
// sample is violated by the largest margin less the smallest that has something to give.
//
// All classes of one sample at once: with q_c the curvature along class c and
// q_y along the own class (all equal to k_i = x_i.x_i when the sample moves alone)
//   a'_c = max(0, b_c - r_c t),  b_c = a_c + m_c / q_c + r_c A,  r_c = q_y / q_c,
// where t solves  sum_c max(0, b_c - r_c t) = min(t, U).  Left side less right side falls in t and
// is convex: Newton arrives from the left without passing the root, after at most one step from
// the right. The bracket is for rounding.
//
// Classes that meet without the sample's own class can only pass on to each other what they have:
//   a'_c = max(0, b_c - t / q_c),  b_c = a_c + m_c / q_c,  sum_c a'_c = sum_c a_c.
// With those moves, meetings of two bundles of classes at a time lead to the optimum although a
// sample's budget is shared by all.
#pragma once

#include <limits>

#include "formulations/row_losses.hpp"
#include "formulations/sample_block.hpp"

namespace multimargin {
namespace MM_ISA {

template <class T>
struct CrammerSinger {
  // The variables of a sample share one budget: which of them move is not decided one by one.
  static constexpr bool kSeparable = false;

  // `asked` is D of the two classes.
  static T margin(T own, T other, T asked) { return asked - own + other; }

  // Classes that score above this have a margin above the floor.
  static T threshold(T own, T floor, T asked) { return own - asked + floor; }

  // The sample's loss from its positive margins, in any order.
  template <class S>
  static S add_loss(S loss, S margin) {
    return margin > loss ? margin : loss;
  }
  // The most that a loss of some classes can be if none of their margins is larger by more.
  static double raised(double loss, int, double more) { return loss + more; }

  // A sample without entries: margins are what is asked, and A = U attains the largest.
  static double empty_loss(double most_asked, double) { return most_asked; }

  static Report<T> inspect(const Block<T>& b) {
    Survey s = survey(b, T(0));
    if (s.sum < b.room - kRounding * b.box) s.least = s.least < 0 ? s.least : T(0);
    const T violation = s.most > s.least ? s.most - s.least : T(0);
    return {b.room * s.most - s.product, violation, s.least, s.most};
  }

  // The same for classes that meet without the own one. Margins may have any offset in common.
  static Report<T> inspect_exchange(const Block<T>& b) {
    const Survey s = survey(b, std::numeric_limits<T>::lowest());
    if (!(s.sum > 0)) return {0, 0, s.most, 0};
    const T gap = s.sum * s.most - s.product;
    return {gap > 0 ? gap : T(0), s.most > s.least ? s.most - s.least : T(0), s.least, 0};
  }

  static void add_to_account(T margin, T alpha, T, Account<T>* account) {
    account->most = margin > account->most ? margin : account->most;
    account->least = alpha > 0 && margin < account->least ? margin : account->least;
  }
  static Report<T> close_account(const Account<T>& account, T sum, T box) {
    const T most = account.most > 0 ? account.most : T(0);
    T least = account.least;
    if (sum < box - kRounding * box) least = least < 0 ? least : T(0);
    return {0, most > least ? most - least : T(0), least, most};
  }

  // Writes the optimal alpha of the block. `work` holds 2 * size numbers.
  static void solve(const Block<T>& b, T* alpha_out, T* work) {
    T* shifted = work;
    T* ratio = work + b.size;
    T total = 0;
    for (int c = 0; c < b.size; ++c) total += b.alpha[c];
    const bool uniform = b.curvature == nullptr;
    T high = 0;  // here the left side is zero
    T at_room = 0;
    for (int c = 0; c < b.size; ++c) {
      const T q = uniform ? b.curvature_own : b.curvature[c];
      ratio[c] = b.curvature_own / q;
      shifted[c] = b.alpha[c] + b.margin[c] / q + ratio[c] * total;
      const T end = shifted[c] / ratio[c];
      high = end > high ? end : high;
      const T v = shifted[c] - ratio[c] * b.room;
      at_room += v > 0 ? v : T(0);
    }
    if (at_room >= b.room) return spread(b, b.room, alpha_out, work);
    const T t = root(shifted, ratio, b.size, b.room, total, high);
    for (int c = 0; c < b.size; ++c) alpha_out[c] = part(shifted[c], ratio[c] * t);
    fit(alpha_out, b.size, b.room, false);
  }

  // Writes the optimal alpha of classes that meet without the own one.
  static void solve_exchange(const Block<T>& b, T* alpha_out, T* work) {
    T total = 0;
    for (int c = 0; c < b.size; ++c) total += b.alpha[c];
    spread(b, total, alpha_out, work);
  }

 private:
  struct Survey {
    T most;   // largest margin, no less than the given one
    T least;  // smallest margin of a class that has something to give
    T sum;    // of the variables
    T product;
  };
  static Survey survey(const Block<T>& b, T most) {
    Survey s{most, std::numeric_limits<T>::max(), 0, 0};
    for (int c = 0; c < b.size; ++c) {
      const T m = b.margin[c], a = b.alpha[c];
      s.most = m > s.most ? m : s.most;
      s.least = a > 0 && m < s.least ? m : s.least;
      s.sum += a;
      s.product += a * m;
    }
    return s;
  }

  // The optimum of classes that use up `budget`: a'_c = r_c max(0, v_c - s), v_c = b_c / r_c, where
  // s makes them add up to it. The v_c may be far larger than the budget, but only their
  // differences count, and those are taken of the margins, where no digit is lost yet.
  static void spread(const Block<T>& b, T budget, T* alpha_out, T* work) {
    T* height = work;
    T* ratio = work + b.size;
    T most = std::numeric_limits<T>::lowest(), top = most, top_ratio = 1;
    for (int c = 0; c < b.size; ++c) most = b.margin[c] > most ? b.margin[c] : most;
    for (int c = 0; c < b.size; ++c) {
      ratio[c] = b.curvature == nullptr ? T(1) : b.curvature_own / b.curvature[c];
      height[c] = (b.margin[c] - most) / b.curvature_own + b.alpha[c] / ratio[c];
      if (height[c] > top) {
        top = height[c];
        top_ratio = ratio[c];
      }
    }
    // Newton on a convex function that falls. From the left, where the highest class by itself
    // takes the whole budget, it never passes the root.
    const T accuracy = 8 * std::numeric_limits<T>::epsilon();
    T s = top - budget / top_ratio;
    for (int step = 0; step < 100; ++step) {
      T sum = 0, slope = 0;
      for (int c = 0; c < b.size; ++c)
        if (height[c] > s) {
          sum += ratio[c] * (height[c] - s);
          slope += ratio[c];
        }
      const T rest = sum - budget;
      if (rest <= accuracy * budget) break;
      const T next = s + rest / slope;
      if (!(next > s && next < top)) break;
      s = next;
    }
    for (int c = 0; c < b.size; ++c) alpha_out[c] = ratio[c] * part(height[c], s);
    fit(alpha_out, b.size, budget, true);
  }

  // Alphas are as exact as the margins they come from. Their sum is known better, and the point
  // must be feasible: no more than the budget, and all of it where it is used up.
  static void fit(T* alpha, int size, T room, bool used_up) {
    T sum = 0;
    for (int c = 0; c < size; ++c) sum += alpha[c];
    if (!(sum > 0) || !(used_up || sum > room)) return;
    const T scale = room / sum;
    for (int c = 0; c < size; ++c) {
      const T v = alpha[c] * scale;
      alpha[c] = v < room ? v : room;
    }
  }

  // max(0, whole - taken), where a remainder of rounding counts as zero: a class that kept it would
  // have something to give for ever, a violation that no step removes.
  static T part(T whole, T taken) {
    const T rest = whole - taken;
    const T size = taken < 0 ? -taken : taken;
    return rest > 4 * std::numeric_limits<T>::epsilon() * size ? rest : T(0);
  }

  // Of the budget: what a sum of alphas may lack of it and still be called equal.
  static constexpr T kRounding = 32 * std::numeric_limits<T>::epsilon();

  // The root, or a number left of it by rounding: there the alphas are not all zero.
  static T root(const T* shifted, const T* ratio, int size, T room, T t, T high) {
    const T accuracy = 8 * std::numeric_limits<T>::epsilon();
    T low = 0;
    if (!(t < high)) t = 0;
    for (int step = 0; step < 100; ++step) {
      T sum = 0, slope = t < room ? T(1) : T(0);
      for (int c = 0; c < size; ++c) {
        const T v = shifted[c] - ratio[c] * t;
        sum += v > 0 ? v : T(0);
        slope += v > 0 ? ratio[c] : T(0);
      }
      const T right = t < room ? t : room;
      const T rest = sum - right;
      if ((rest < 0 ? -rest : rest) <= accuracy * (right > sum ? right : sum)) return t;
      (rest > 0 ? low : high) = t;
      T next = t + rest / slope;
      // A step from the right may fall short of zero, where it starts anew from the left.
      if (!(next > low && next < high))
        next = rest < 0 && step == 0 ? T(0) : low + (high - low) / 2;
      if (next == t || !(next < high)) return low;
      t = next;
    }
    return low;
  }
};

struct RowCrammerSinger : RowLossFacts {
  static constexpr bool relative = true, shared = true;
};

}  // namespace MM_ISA
}  // namespace multimargin
