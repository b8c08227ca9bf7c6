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

// Bounds of a sample's row of dual variables.
template <class T>
struct WideBlock {
  std::int64_t width;
  std::int32_t n_classes;
  std::int32_t own;  // -1: not among these classes
  T box;             // upper bound; infinite for the hard margin
  T price;           // of a loss: the box, or 0 for the hard margin
};

// Sums over a row at fixed weights; margins are raised by what rounding may have taken.
struct WideSums {
  double loss = 0;       // sum of positive margins
  double alpha = 0;      // sum of the dual variables
  double violation = 0;  // largest projected gradient
  double margin = 0;     // largest margin, >= 0
  std::int64_t free = 0;
};

template <class T, class I>
struct WideKernels {
  double (*sum)(const T* a, std::int64_t width);
  // In double precision, of weights as they are kept. mean: of the scores with all classes, which
  // is taken off; rounding: [width] what a margin is raised by; `score` holds a row.
  WideSums (*certify)(const Csr<T, I>&, const WideWeights<T>&, std::int64_t i, const WideBlock<T>&,
                      const T* alpha, double mean, const double* rounding, double* score);
};

template <class T, class I>
WideKernels<T, I> wide_kernels(Isa isa);

}  // namespace multimargin
