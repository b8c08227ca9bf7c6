// A scan: all samples with all classes, for the primal objective and for classes that violate and
// are not active yet. Its kernels are in scan_kernels.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/label_costs.hpp"
#include "formulations/formulation.hpp"
#include "formulations/sample_block.hpp"
#include "scoring/views.hpp"
#include "simd/isa.hpp"

namespace multimargin {

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
  const double* exact;  // their scores in double precision; nullptr: not known
  // Of margins that differ from class to class; nullptr: 1 is asked of all.
  const LabelCosts* costs;
  const std::int32_t* label;     // [n] own class
  const std::int32_t* class_of;  // [K] of the classes that are scanned
  const double* most_asked;      // [n] the threshold belongs to this margin
  T idle;                        // classes that violate by no more are not reported
  double* loss;                  // [n] the loss so far: classes of the block are added
  double* bound;  // [n] the same with margins raised by `rounding`: no loss is larger
  T* violation;   // [n] largest violation of a class that is not active
  // The worst violators that are not active yet: room for those of sample i begins at
  // found_begin[i].
  const std::int64_t* found_begin;  // [n+1]
  T* found_margin;
  std::int32_t* found_cls;
  std::int32_t* found_count;  // [n]

  BestView<T> found(std::int64_t i) const {
    const std::int64_t at = found_begin[i];
    return {found_margin + at, found_cls + at, found_count + i,
            static_cast<std::int32_t>(found_begin[i + 1] - at)};
  }
};

// Adds losses and collects violators. `scratch` has room for whole blocks of the rows' scores.
// Dense rows take one block at a time (dense_block.hpp).
template <class T>
struct ScanKernels {
  using Scan = void (*)(const SplitView<T>&, const std::int32_t* y, const GroupView<T>&,
                        const ScanView<T>&, std::int64_t begin, std::int64_t end, T* scratch);
  using DenseScan = void (*)(const Csr<T, Dense>&, const std::int32_t* y, const BlockView<T>&,
                             const ScanView<T>&, std::int64_t begin, std::int64_t end);
  Scan scan;
  Scan exact_scan;  // what may add to a loss is scored once more, in double precision
  DenseScan scan_dense;
  DenseScan exact_scan_dense;
};

template <class T>
ScanKernels<T> scan_kernels(Formulation formulation, Isa isa);

// What a margin has to exceed, at any weights, to add to a sample's loss: where only the largest
// one counts, that is at least the smallest of those that have something to give. They were
// measured with a rounding of their own.
template <class T>
double loss_floor(const Report<T>& active, double rounding) {
  const double seen = static_cast<double>(active.least < active.loss ? active.least : active.loss);
  return std::max(0.0, seen - 4 * rounding);
}

// No score that is not above this adds to the loss, whatever rounding has done.
template <class T>
double loss_threshold(double own_score, const Report<T>& active, double rounding,
                      double most_asked) {
  return own_score - most_asked + loss_floor(active, rounding) - rounding;
}

}  // namespace multimargin
