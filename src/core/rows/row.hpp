// A sample with all its classes: rows of numbers, one per class, padded to whole registers.
//
// Weights and dual variables are in double precision, whatever the type of X: with a large C they
// are sums of large terms that nearly cancel.
#pragma once

#include <cstdint>

#include "common/csr.hpp"
#include "rows/losses.hpp"
#include "simd/isa.hpp"

namespace multimargin {

// A matrix with a row of class weights per feature.
struct RowWeights {
  double* w;  // feature j at w + j * width; the constant one is the last
  double* w_bias;
  double bias;
  std::int64_t width;  // of a row, padding included
};

// One sample as a loss sees it.
struct RowSample {
  std::int64_t width;
  std::int32_t n_classes;
  std::int32_t own;     // -1: the first of two classes with one weight vector
  double box;           // U_i
  double norm2;         // |x_i|^2
  const double* asked;  // margins asked of the classes [width]; nullptr: all 1
};

// How far a sample is from its optimum before it is solved.
struct RowReport {
  double gap = 0;        // added to primal - dual
  double violation = 0;  // its largest projected gradient
};

// What a sample adds to the objectives.
struct RowValues {
  double loss = 0;       // multiplied by the box
  double gain = 0;       // what its dual variables add to the dual, weights apart
  double violation = 0;  // largest projected gradient
  double margin = 0;     // largest, >= 0
  std::int32_t free = 0;
};

// A sample's proximal step: a = the projection of b + sigma m onto the dual's set.
struct RowProx {
  double loss = 0;   // of the primal, multiplied by the box
  double gain = 0;   // of the dual
  double moved = 0;  // |a - b|^2 / (2 sigma)
  std::int32_t free = 0;
  bool tight = false;  // whether the variables use up a common bound
};

// Kernels that know the data. The type of X is T.
template <class T, class I>
struct RowDataKernels {
  // Scores of sample i with all classes.
  void (*gather)(const Csr<T, I>&, const RowWeights&, std::int64_t i, double* score);
  // Adds step x_i to the weights.
  void (*scatter)(const Csr<T, I>&, const RowWeights&, std::int64_t i, const double* step);
};

// Kernels that know the loss. The formulas are at the head of loss_kernels.hpp; `work` holds two
// rows.
struct RowLossKernels {
  int lanes;         // rows are padded to a multiple of this
  bool independent;  // whether classes have nothing to do with each other
  bool squared;
  bool relative;  // whether margins are of differences to the own score
  bool centred;   // whether weights have to sum to zero over the classes
  // The exact optimum of a sample. Leaves what has to be scattered in step; false: nothing moved.
  bool (*block)(const RowSample&, const double* score, double* alpha, double* step, double* work,
                double leave_below, double idle, RowReport*);
  // step = what the dual variables of a sample add to the weights, in multiples of x_i
  void (*shares)(const RowSample&, const double* alpha, double* step);
  // What a sample's dual variables add to the dual, weights apart.
  double (*gain)(const RowSample&, const double* alpha);
  // rounding: [width] what a margin may be larger by.
  RowValues (*values)(const RowSample&, const double* score, const double* alpha,
                      const double* rounding);
  RowProx (*prox)(const RowSample&, double sigma, const double* score, const double* before,
                  double* alpha, double* work);
  // slope[c] += what a.m grows by along `change` of the scores, at score + length * change
  void (*slope)(const RowSample&, double sigma, const double* score, const double* change,
                const double* length, const double* before, double* work, double* slope);
  // step = sigma B J B' score, with J the derivative of the projection at alpha
  void (*jacobian)(const RowSample&, double sigma, bool tight, const double* alpha,
                   const double* score, double* step);
  // out[c] = the entry (c, c) of that matrix
  void (*diagonal)(const RowSample&, double sigma, bool tight, const double* alpha, double* out);
  // Lists the classes with free variables, and the own class where the sum of all is free; returns
  // how many. For relative margins.
  int (*free_classes)(const RowSample&, const double* alpha, std::int32_t* cls);
};

// Kernels on dense symmetric matrices, of which the lower half is kept, row by row.
struct DenseKernels {
  // A += sum_k x_k x_k', rows of x are `stride` apart
  void (*add_products)(const double* x, std::int64_t count, std::int64_t stride, std::int64_t size,
                       double* A);
  // A = L L'; false: not positive definite
  bool (*factor)(double* A, std::int64_t size);
  // x = (L L')^-1 x
  void (*solve)(const double* L, std::int64_t size, double* x);
};

template <class T, class I>
RowDataKernels<T, I> row_data_kernels(Isa isa);
RowLossKernels row_loss_kernels(RowLoss loss, Isa isa);
DenseKernels dense_kernels(Isa isa);

}  // namespace multimargin
