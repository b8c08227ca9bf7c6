// A line of classes: as many as fit one cache line, worked on together.
//
// Every row of X is read once for all of them, and one vector holds what one class
// would keep in a number. Weights are feature-major: a feature's weights are one line.
#pragma once

#include <cstdint>

#include "common/csr.hpp"
#include "formulations/formulation.hpp"
#include "simd/isa.hpp"

namespace multimargin {

template <class T>
constexpr int line_lanes() {
  return 64 / static_cast<int>(sizeof(T));
}

// Pointers to a line within larger arrays; strides count numbers.
template <class T>
struct LineView {
  T* w;  // feature j at w + j * w_stride
  std::int64_t w_stride;
  T* alpha;  // sample i at alpha + i * alpha_stride
  std::int64_t alpha_stride;
  T* w_bias;                 // [lanes] weights of the constant feature
  const T* offset;           // [n] added to the scores of every class, or nullptr
  const std::int32_t* y;     // [n]
  const T* box;              // [n]
  const T* norm2;            // [n] x_i.x_i, intercept included
  T bias;                    // value of the constant feature, 0: none
  std::int32_t first_class;  // class of lane 0
  // [n] bits of the lanes whose class a sample has; nullptr: its class is in y.
  const std::uint16_t* own = nullptr;
};

// One pass over some samples, each moved by an exact step per lane.
template <class T>
struct LinePass {
  std::int32_t* order;  // samples to visit
  std::int64_t count;
  std::uint16_t* active;  // [n] bits of the lanes that may move
  const T* threshold;     // [lanes] a variable at its bound whose gradient points out by more
                          // than this becomes inactive
  T idle;                 // variables violated by no more than this stay; < 0: none stay
  // [n] each, or nullptr: the two bits of a count of visits without a move. A variable that
  // has had three becomes inactive.
  std::uint16_t* still_low;
  std::uint16_t* still_high;
  // Results, per lane. Gap and violation are as each sample was just before it moved.
  double* gap;
  double* gain;  // by how much the dual grew
  T* violation;
};

// Sums over samples at fixed weights, per lane; all arithmetic is in double precision.
template <class T>
struct LineSums {
  const double* norm;  // |w|, of which rounding depends
  double* loss;        // weighted by the box; margins are raised by what rounding may have taken
  double* value;       // the dual's terms without the norm
  T* violation;
  // [n] or nullptr: bits of the lanes whose variable may move, which are those inside of their
  // bounds and those that pull away from one.
  std::uint16_t* loose = nullptr;
};

template <class T, class I>
struct LineKernels {
  // Returns how many samples are left with an active lane; they come first in order.
  std::int64_t (*pass)(const Csr<T, I>&, const LineView<T>&, const LinePass<T>&);
  void (*certify)(const Csr<T, I>&, const LineView<T>&, const LineSums<T>&, std::int64_t begin,
                  std::int64_t end);
  // Adds the weights that alpha stands for to sums, feature-major, the constant feature last.
  void (*recompute)(const Csr<T, I>&, const LineView<T>&, double* sums);
};

template <class T, class I>
LineKernels<T, I> line_kernels(BinaryLoss loss, Isa isa);

}  // namespace multimargin
