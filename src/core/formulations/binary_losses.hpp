// Losses of one class against the rest, for one number or for a line of classes.
//
// h = 1 + sign (w.x_i) is the hinge of sample i, U its box, a its dual variable. A loss says
//   diagonal  q, which adds q a^2 / 2 to what the dual loses
//   ceiling   the largest a
//   loss      of max(0, h)
//   value     what a adds to the dual
//   own       whether samples of the class itself take part
// Included once per instruction set; no library template.
#pragma once

#include "simd/vector.hpp"

namespace multimargin {
namespace MM_ISA {

// 1/2 |w|^2 + sum U max(0, h);  0 <= a <= U
template <class T>
struct Hinge {
  using V = typename Vector<T>::type;
  static constexpr bool own = true;
  static T diagonal(T) { return 0; }
  static T ceiling(T box) { return box; }
  // Of one number, or of a line of them.
  template <class P>
  static P loss(const P& positive, T box) {
    return box * positive;
  }
  static V value(const V& a, T) { return a; }
  static double value(double a, T) { return a; }
};

// 1/2 |w|^2 + sum U max(0, h)^2;  0 <= a,  the dual loses a^2 / (4 U)
template <class T>
struct SquaredHinge {
  using V = typename Vector<T>::type;
  static constexpr bool own = true;
  static T diagonal(T box) { return T(0.5) / box; }
  static T ceiling(T) { return sizeof(T) == 4 ? T(3e38) : T(1e300); }
  template <class P>
  static P loss(const P& positive, T box) {
    return box * positive * positive;
  }
  static V value(const V& a, T box) { return a - T(0.25) / box * a * a; }
  static double value(double a, T box) { return a - 0.25 / static_cast<double>(box) * a * a; }
};

// The hinge without the class's own samples.
template <class T>
struct OthersHinge : Hinge<T> {
  static constexpr bool own = false;
};

}  // namespace MM_ISA
}  // namespace multimargin
