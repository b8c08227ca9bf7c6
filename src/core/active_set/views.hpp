// Raw pointers that the kernels work on, owned by others, and the rule of a visit.
#pragma once

#include <cstdint>

#include "common/csr.hpp"
#include "formulations/sample_block.hpp"

namespace multimargin {

// Samples with their active classes ("pairs") and the weights these touch.
//
// Slot 0 of a sample is its own class; slots 1.. are active classes. Weights are kept per class;
// `position` says where each feature of a sample lies in each class's weights, so that a visit is a
// gather and a scatter and never a search.
//
// Most features of a pair belong to no other active sample of the class. The weight of such a
// *lone* feature is just the pair's coefficient times x, so it is not stored: its position is 0,
// where every class keeps a zero, and `lone` holds the sum of x^2 over them. Visits touch less
// memory, and it stays nearer: on 12,582 classes inner passes took 4.3 s instead of 5.5 s.
template <class T>
struct WorkView {
  const T* x;                      // values of X, rows one after the other
  const std::int64_t* row;         // [n] where rows begin in x
  const std::int64_t* row_end;     // [n] where they end
  const T* norm2;                  // [n] k_i = x_i.x_i, intercept included
  const T* box;                    // [n]
  T bias;                          // value of the constant feature, 0: none
  const std::int64_t* slot_begin;  // [n+1] where a sample's slots begin
  const std::int32_t* cls;         // [pairs] class of each slot; slot 0, < 0: not at hand
  T* alpha;                        // [pairs] dual variables; slot 0: their sum
  std::uint8_t* resting;           // [pairs] slots that only visits to everything look at
  const std::int64_t* place;       // [n+1] where a sample's positions begin
  const std::uint32_t* position;   // slot-major: slot s, feature t at place + s*len + t
  const T* lone;                   // [pairs] sum of x^2 over the slot's lone features
  T* const* w;                     // [K] the weights of each class; first comes a zero
  T* w_bias;                       // [K] weight of the constant feature
  const T* outside;  // [n] sum of a sample's variables that have no slot here; nullptr: zero
};

// A slot whose class other samples of the batch touch too.
struct SharedSlot {
  std::int32_t k;  // index of the sample in the pass
  std::int32_t slot;
};

// How a pass visits samples, and how it treats what it finds.
template <class T>
struct VisitRule {
  std::int32_t batch;  // samples that are solved at the same weights and then applied together
  bool everything;     // visit all samples and resting slots, and decide anew who rests
  T leave_below;       // samples with a smaller gap are left as they are
  T idle;              // coordinates violated by no more than this stay; < 0: none stay
  T coupling;          // assumed |cosine| between samples of one batch that share a class
  // A sample with a smaller gap, or no larger violation, is not due again for a while.
  T quiet_gap;
  T quiet_violation;
};

// A few classes of W, feature-major, for products with many rows of X.
template <class T>
struct BlockView {
  const T* rows;               // row r: lanes<T>() weights of one feature; row 0 is zero
  const std::int32_t* row_of;  // [features] -> row
  const T* intercept;          // [lanes] added to every score
  std::int32_t first_class;
  std::int32_t classes;
};

// All weights by feature: those of frequent features as rows of a matrix with one column per class,
// those of others as lists of classes.
template <class T>
struct FeatureView {
  Csr<T, std::int32_t> lists;          // "row" j: classes and weights of feature j
  const std::int32_t* slot = nullptr;  // [features] row of the matrix, or `rows` for none
  const T* matrix = nullptr;
  std::int64_t rows = 0;  // of the matrix
};

// A block of classes fills four vectors of 64 bytes: it stays in registers.
template <class T>
constexpr int lanes() {
  return 256 / static_cast<int>(sizeof(T));
}

// The best few (value, class) of each sample: `capacity` slots a sample, a
// min-heap by value while it is filled.
template <class T>
struct BestView {
  T* value;
  std::int32_t* cls;
  std::int32_t* count;
  std::int32_t capacity;
};

// What a scan knows and finds per sample.
template <class T>
struct ScanView {
  const double* own;        // [n] score of the own class, exact
  const T* norm2;           // [n] samples without entries are skipped
  const T* least;           // [n] see Report
  const double* threshold;  // [n] no score that is not above it can add to the loss
  // What rounding may have taken from a margin: own_rounding[i] + rounding[i] * norm[c].
  const double* own_rounding;
  const double* rounding;
  const double* norm;              // [K] |w_c|
  const std::int64_t* slot_begin;  // [n+1] classes that are active already, by sample
  const std::int32_t* cls;
  T idle;             // classes that violate by no more are not reported
  double* loss;       // [n] the loss so far: classes of the block are added
  double* bound;      // [n] the same with margins raised by `rounding`: no loss is larger
  T* violation;       // [n] largest violation of a class that is not active
  BestView<T> found;  // worst violators that are not active yet
};

}  // namespace multimargin
