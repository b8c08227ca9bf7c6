// Sums over exp(beta * g(score)) of a row's classes, a block at a time; see SoftmaxSum. Included
// once per instruction set; uses no library template.
//
// Differences are taken from the largest number so far; when a larger one comes, the sums are
// scaled. Within a block numbers are added in the type of the scores, over blocks in double.
#pragma once

#include "scoring/exponential.hpp"
#include "scoring/score_kernels.hpp"

namespace multimargin {
namespace MM_ISA {

// Makes `most`, which is larger than the one before, the number that all are taken from.
inline void raise_largest(double* sums, double beta, double most) {
  typedef double One __attribute__((vector_size(8)));
  if (sums[kSum] > 0) {
    const double scale = exponential<double>(One{beta * (sums[kLargest] - most)})[0];
    for (int k = kSum; k < kSoftmaxSums; ++k)
      if (k != kCount) sums[k] *= scale;
  }
  sums[kLargest] = most;
}

template <class T>
inline T largest_of(const T* value, std::uint64_t mask) {
  T most = value[__builtin_ctzll(mask)];
  for (; mask != 0; mask &= mask - 1) {
    const T next = value[__builtin_ctzll(mask)];
    if (next > most) most = next;
  }
  return most;
}

// The classes of a block that rank above the own one: with a higher score, or with the same one
// and a lower number. `mask` has a bit for each class of the block.
template <class T>
inline std::uint64_t ranked_above(const Scores<T>& s, std::int32_t first_class, std::uint64_t mask,
                                  const SoftmaxView<T>& softmax, std::int64_t i) {
  const std::uint64_t higher = above(s, softmax.own_score[i]);
  const std::int64_t lower = softmax.own[i] - static_cast<std::int64_t>(first_class);
  if (lower <= 0) return mask & higher;
  const std::uint64_t same = above(s, softmax.below_own[i]);
  return mask & (higher | (same & first_bits(lower < 64 ? static_cast<int>(lower) : 64)));
}

// Adds the products of e with g and h to the sums.
template <class T>
inline void add_moments(const T* weight, const Scores<T>& value, double* sums) {
  using R = typename Register<T>::type;
  R g_sum{}, h_sum{}, gg{}, gh{}, hh{};
  for (int k = 0; k < lanes<T>() / Register<T>::lanes; ++k) {
    const R e = reinterpret_cast<const R*>(weight)[k];
    const R g = reinterpret_cast<const R*>(value.v)[k];
    const R h = g < 0 ? g * g : -g * g;
    g_sum += e * g;
    h_sum += e * h;
    gg += e * g * g;
    gh += e * g * h;
    hh += e * h * h;
  }
  sums[kG] += lane_sum<T>(g_sum);
  sums[kH] += lane_sum<T>(h_sum);
  sums[kGG] += lane_sum<T>(gg);
  sums[kGH] += lane_sum<T>(gh);
  sums[kHH] += lane_sum<T>(hh);
}

template <class T>
inline void add_to_softmax(const Scores<T>& s, std::int32_t first_class, int classes,
                           const SoftmaxView<T>& softmax, std::int64_t i) {
  using R = typename Register<T>::type;
  constexpr int n = lanes<T>() / Register<T>::lanes;
  double* sums = softmax.sums + i * kSoftmaxSums;
  const T curvature = static_cast<T>(softmax.curvature), beta = static_cast<T>(softmax.beta);
  const T origin = static_cast<T>(softmax.origin);
  Scores<T> value;
  for (int k = 0; k < n; ++k) {
    const R score = reinterpret_cast<const R*>(s.v)[k] - origin;
    const R size = score < 0 ? -score : score;
    reinterpret_cast<R*>(value.v)[k] = score / (1 + curvature * size);
  }
  const std::uint64_t mask = first_bits(classes);
  const std::uint64_t larger = mask & above(value, static_cast<T>(sums[kLargest]));
  if (larger != 0)
    raise_largest(sums, softmax.beta, largest_of(reinterpret_cast<const T*>(value.v), larger));
  const T largest = static_cast<T>(sums[kLargest]);
  alignas(64) T weight[lanes<T>()];
  for (int k = 0; k < n; ++k)
    reinterpret_cast<R*>(weight)[k] =
        exponential<T>((reinterpret_cast<const R*>(value.v)[k] - largest) * beta);
  for (int k = classes; k < lanes<T>(); ++k) weight[k] = 0;
  R sum{};
  for (int k = 0; k < n; ++k) sum += reinterpret_cast<const R*>(weight)[k];
  sums[kSum] += lane_sum<T>(sum);
  if (softmax.moments) add_moments(weight, value, sums);
  if (softmax.own == nullptr) return;
  if (softmax.below_own == nullptr) {
    const std::int64_t k = softmax.own[i] - static_cast<std::int64_t>(first_class);
    if (k >= 0 && k < classes) softmax.own_score[i] = reinterpret_cast<const T*>(s.v)[k];
    return;
  }
  for (std::uint64_t rest = ranked_above(s, first_class, mask, softmax, i); rest != 0;
       rest &= rest - 1) {
    sums[kAbove] += weight[__builtin_ctzll(rest)];
    ++sums[kCount];
  }
}

template <class T, class I>
void softmax_sums(const Csr<T, I>& X, const BlockView<T>& block, const SoftmaxView<T>& softmax,
                  std::int64_t begin, std::int64_t end) {
  each_row_scores(X, block, begin, end, [&](std::int64_t i, const Scores<T>& s) {
    add_to_softmax(s, block.first_class, block.classes, softmax, i);
  });
}

// The best classes of each row, and the sums.
template <class T, class I>
void softmax_top(const Csr<T, I>& X, const BlockView<T>& block, const BestView<T>& best,
                 const SoftmaxView<T>& softmax, std::int64_t begin, std::int64_t end) {
  each_row_scores(X, block, begin, end, [&](std::int64_t i, const Scores<T>& s) {
    keep_best_of(s, block.first_class, block.classes, best, i);
    add_to_softmax(s, block.first_class, block.classes, softmax, i);
  });
}

template <class T>
void softmax_of_row(const T* score, std::int64_t classes, const SoftmaxView<T>& softmax,
                    std::int64_t i) {
  for (std::int64_t first = 0; first < classes; first += lanes<T>()) {
    const auto* s = reinterpret_cast<const Scores<T>*>(score + first);
    const std::int64_t left = classes - first;
    const int count = left < lanes<T>() ? static_cast<int>(left) : lanes<T>();
    add_to_softmax(*s, static_cast<std::int32_t>(first), count, softmax, i);
  }
}

template <class T, class I>
SoftmaxKernels<T, I> softmax_kernels() {
  return {&softmax_sums<T, I>, &softmax_top<T, I>, &softmax_of_row<T>};
}

}  // namespace MM_ISA
}  // namespace multimargin
