// One sample with all its classes where most dual variables are at a bound.
//
// A row has a number per class, padded to whole words of 16 classes. Which variables are at their
// upper bound is a bit per class; those between the bounds are a short list.
#pragma once

#include <cstdint>

#include "common/csr.hpp"
#include "simd/isa.hpp"

namespace multimargin {

constexpr int kWordClasses = 16;

// A dual variable between its bounds.
template <class T>
struct FreeVariable {
  std::int32_t cls;
  T value;
};

// A matrix with a row of class weights per feature.
template <class T>
struct BoundedWeights {
  T* w;  // feature j at w + j * width
  T* w_bias;
  T bias;
  std::int64_t width;
};

template <class T>
struct BoundedSample {
  std::int64_t width;
  std::int32_t n_classes;
  std::int32_t own;
  T box;    // U_i
  T norm2;  // |x_i|^2
};

// A sample before it is solved, and how it moved.
struct BoundedReport {
  double gap = 0;          // added to primal - dual
  double violation = 0;    // its largest projected gradient
  double own_step = 0;     // of the sum of its variables
  std::int64_t words = 0;  // words of classes that moved
};

// What a sample adds to the certificate.
struct BoundedValues {
  double loss = 0;  // no less than it is, multiplied by the box
  double violation = 0;
};

template <class T, class I>
struct BoundedKernels {
  // Scores of sample i with all classes.
  void (*gather)(const Csr<T, I>&, const BoundedWeights<T>&, std::int64_t i, T* score);
  // Adds step x_i to the weights of these words of classes.
  void (*scatter)(const Csr<T, I>&, const BoundedWeights<T>&, std::int64_t i, const T* step,
                  const std::int32_t* words, std::int64_t count);
  // alpha = the box where the bit is set, else 0
  void (*expand)(const std::uint16_t* bits, std::int64_t width, T box, T* alpha);
  // The opposite: bits of variables at the box, and a list of the free ones; returns their number.
  std::int64_t (*pack)(const T* alpha, std::int64_t width, T box, std::uint16_t* bits,
                       FreeVariable<T>* free);
  // The exact optimum of a sample. score: scores in, the step of the weights out; words: those that
  // moved. false: nothing moved.
  bool (*solve)(const BoundedSample<T>&, T* score, T* alpha, T* work, std::int32_t* words,
                double leave_below, double idle, BoundedReport*);
  // The loss and the largest violation at these scores. A margin may be larger by
  // unit * norm[c] + own.
  BoundedValues (*values)(const BoundedSample<T>&, T* score, const T* alpha, const T* norm, T unit,
                          T own);
  // sum += amount where the bit is set
  void (*add)(const std::uint16_t* bits, std::int64_t width, double amount, double* sum);
};

template <class T, class I>
BoundedKernels<T, I> bounded_kernels(Isa isa);

}  // namespace multimargin
