// A sample with all classes at once: rows of numbers, one per class, padded to whole lines.
#pragma once

#include <cstdint>

#include "common/csr.hpp"
#include "simd/isa.hpp"

namespace multimargin {

// A matrix with a row of class weights per feature.
template <class T>
struct WideWeights {
  T* w;  // feature j at w + j * width
  T* w_bias;
  T bias;
  std::int64_t width;  // of a row, padding included; a multiple of a line
};

// Bounds and curvature of a sample's row of dual variables.
template <class T>
struct WideBlock {
  std::int64_t width;
  std::int32_t n_classes;
  std::int32_t own;  // -1: not among these classes
  T box;             // upper bound; infinite for the hard margin
  T price;           // of a loss: the box, or 0 for the hard margin
  T norm2;
};

// How far a row is from its optimum before it is solved.
template <class T>
struct WideReport {
  T gap;        // added to primal - dual
  T violation;  // its largest projected gradient
};

// Sums over a row at fixed weights; margins are raised by what rounding may have taken.
struct WideSums {
  double loss = 0;       // sum of positive margins
  double alpha = 0;      // sum of the dual variables
  double violation = 0;  // largest projected gradient
  double margin = 0;     // largest margin, >= 0
  std::int64_t free = 0;
};

// The formulas are at the head of wide_kernels.hpp.
template <class T, class I>
struct WideKernels {
  // Scores of sample i with classes [from, to), multiples of a line.
  void (*gather)(const Csr<T, I>&, const WideWeights<T>&, std::int64_t i, std::int64_t from,
                 std::int64_t to, T* score);
  // Adds step x_i to the weights of classes [from, to); step begins at class from.
  void (*scatter)(const Csr<T, I>&, const WideWeights<T>&, std::int64_t i, std::int64_t from,
                  std::int64_t to, const T* step);
  // to += factor * from
  void (*add)(T factor, const T* from, T* to, std::int64_t width);
  double (*dot)(const T* a, const T* b, std::int64_t width);
  double (*sum)(const T* a, std::int64_t width);
  // The exact optimum of a row. Leaves what has to be scattered in step; false: nothing moved.
  // `work` holds a row.
  bool (*block)(const WideBlock<T>&, const T* score, T* alpha, T* step, T* work, T leave_below,
                T idle, WideReport<T>*);
  // In double precision, of weights as they are kept. mean: of the scores with all classes, which
  // is taken off; rounding: [width] what a margin is raised by; `score` holds a row.
  WideSums (*certify)(const Csr<T, I>&, const WideWeights<T>&, std::int64_t i, const WideBlock<T>&,
                     const T* alpha, double mean, const double* rounding, double* score);

  // --- on the face of free variables, 0 < alpha < box
  // r = gradient there, 0 elsewhere; returns r.r
  double (*face_gradient)(const WideBlock<T>&, const T* score, const T* alpha, T* r);
  // Half a symmetric sweep each: y, then z from y in place.
  void (*face_forward)(const WideBlock<T>&, const T* score, const T* alpha, const T* r, T* y,
                       T* step);
  void (*face_backward)(const WideBlock<T>&, const T* score, const T* alpha, T* z, T* step, T* work);
  // p = z + beta p, q = score on the face + beta q; returns p.q
  double (*face_direction)(const WideBlock<T>&, const T* score, const T* alpha, const T* z, T beta,
                           T* p, T* q);
  // e += length p, r -= length q; returns r.r
  double (*face_advance)(const WideBlock<T>&, T length, const T* p, const T* q, T* e, T* r);
  // out = what is left of length e within the bounds; returns its sum
  double (*face_project)(const WideBlock<T>&, T length, const T* e, const T* alpha, T* out);
  // alpha += length e, within the bounds
  void (*face_move)(const WideBlock<T>&, T length, const T* e, T* alpha);
};

template <class T, class I>
WideKernels<T, I> wide_kernels(Isa isa);

}  // namespace multimargin
