// Kernels of prediction: rows of X times weights. See score_kernels.hpp, softmax_kernels.hpp.
#pragma once

#include <cstdint>

#include "common/csr.hpp"
#include "scoring/views.hpp"
#include "simd/isa.hpp"

namespace multimargin {

template <class T, class I>
struct ScoreKernels {
  // Keeps the best classes of each row.
  void (*top)(const Csr<T, I>&, const BlockView<T>&, const BestView<T>&, std::int64_t begin,
              std::int64_t end);
  // Writes all scores: row i, class c at out[i * stride + c].
  void (*scores)(const Csr<T, I>&, const BlockView<T>&, T* out, std::int64_t stride,
                 std::int64_t begin, std::int64_t end);
  // Scores of row i from weights by feature; adds in the order of the block products, so that
  // the bits are the same. `score` is aligned, with room for whole blocks.
  void (*row_by_features)(const Csr<T, I>&, const FeatureView<T>&, const T* intercept,
                          std::int64_t classes, std::int64_t i, T* score);
  // Keeps the best of them.
  void (*top_of_row)(const T* score, std::int64_t classes, const BestView<T>&, std::int64_t i);
};

// Sums over a row's classes (SoftmaxSum), with the best classes in the same product or without.
template <class T, class I>
struct SoftmaxKernels {
  void (*sums)(const Csr<T, I>&, const BlockView<T>&, const SoftmaxView<T>&, std::int64_t begin,
               std::int64_t end);
  void (*top)(const Csr<T, I>&, const BlockView<T>&, const BestView<T>&, const SoftmaxView<T>&,
              std::int64_t begin, std::int64_t end);
  void (*of_row)(const T* score, std::int64_t classes, const SoftmaxView<T>&, std::int64_t i);
};

template <class T, class I>
ScoreKernels<T, I> score_kernels(Isa isa);
template <class T, class I>
SoftmaxKernels<T, I> softmax_kernels(Isa isa);

}  // namespace multimargin
