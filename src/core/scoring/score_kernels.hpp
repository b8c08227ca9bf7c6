// Products of rows of X with a block of classes, held in registers.
// Included once per instruction set; uses no library template.
#pragma once

#include "scoring/kernels.hpp"
#include "simd/vector.hpp"

namespace multimargin {
namespace MM_ISA {

// The scores of one row with the classes of a block: four vectors.
template <class T>
struct Scores {
  typename Vector<T>::type v[4];
};

// The weights of one feature.
template <class S>
inline const S* weights_at(const BlockView<S>& block, std::int64_t feature) {
  return block.rows + static_cast<std::int64_t>(block.row_of[feature]) * lanes<S>();
}

// A register of this instruction set.
#if defined(__AVX512F__)
constexpr int kRegisterBytes = 64;
#elif defined(__AVX2__)
constexpr int kRegisterBytes = 32;
#else
constexpr int kRegisterBytes = 16;
#endif
template <class S>
struct Register {
  typedef S type __attribute__((vector_size(kRegisterBytes)));
  static constexpr int lanes = kRegisterBytes / static_cast<int>(sizeof(S));
};

// Sums that stay in registers, next to those for an entry and its weights. Vectors that are longer
// than a register go through memory: a scan of 12,582 classes with AVX2 took 8.4 s instead of 2.1.
constexpr int kSums = kRegisterBytes == 64 ? 4 : 8;

// The scores `start` with the entries [begin, end) of a row added: value[t] times the weights(t) of
// a block. They have its type, S, which may have more digits than the values.
template <class T, class S, class Weights>
inline Scores<S> add_products(const S* start, const T* value, std::int64_t begin, std::int64_t end,
                              const Weights& weights) {
  using R = typename Register<S>::type;
  constexpr int at_once = kSums * Register<S>::lanes;
  Scores<S> scores;
  for (int from = 0; from < lanes<S>(); from += at_once) {
    R sum[kSums];
    for (int k = 0; k < kSums; ++k) sum[k] = reinterpret_cast<const R*>(start + from)[k];
    for (std::int64_t t = begin; t < end; ++t) {
      const R* w = reinterpret_cast<const R*>(weights(t) + from);
      const S x = value[t];
      for (int k = 0; k < kSums; ++k) sum[k] += x * w[k];
    }
    // Whole vectors stay where they are; parts have to go through memory.
    if constexpr (kRegisterBytes == 64) {
      for (int k = 0; k < kSums; ++k) scores.v[k] = sum[k];
    } else {
      R* out = reinterpret_cast<R*>(reinterpret_cast<S*>(scores.v) + from);
      for (int k = 0; k < kSums; ++k) out[k] = sum[k];
    }
  }
  return scores;
}

template <class T, class I, class S>
inline Scores<S> row_scores(const Csr<T, I>& X, const BlockView<S>& block, std::int64_t i) {
  const auto feature = X.features(i);
  return add_products(block.intercept, X.data, X.begin(i), X.end(i),
                      [&](std::int64_t t) { return weights_at(block, feature[t]); });
}

// Bit c is set where class c of the block scores above the threshold.
inline std::uint64_t above(const Scores<float>& s, float threshold) {
#if defined(__AVX512F__)
  const __m512 t = _mm512_set1_ps(threshold);
  std::uint64_t mask = 0;
  for (int k = 0; k < 4; ++k)
    mask |= static_cast<std::uint64_t>(
                _mm512_cmp_ps_mask(reinterpret_cast<const __m512&>(s.v[k]), t, _CMP_GT_OQ))
            << (16 * k);
  return mask;
#elif defined(__AVX2__)
  const __m256 t = _mm256_set1_ps(threshold);
  const float* p = reinterpret_cast<const float*>(s.v);
  std::uint64_t mask = 0;
  for (int k = 0; k < 8; ++k)
    mask |= static_cast<std::uint64_t>(static_cast<unsigned>(
                _mm256_movemask_ps(_mm256_cmp_ps(_mm256_load_ps(p + 8 * k), t, _CMP_GT_OQ))))
            << (8 * k);
  return mask;
#else
  const float* p = reinterpret_cast<const float*>(s.v);
  std::uint64_t mask = 0;
  for (int k = 0; k < 64; ++k) mask |= static_cast<std::uint64_t>(p[k] > threshold) << k;
  return mask;
#endif
}

inline std::uint64_t above(const Scores<double>& s, double threshold) {
#if defined(__AVX512F__)
  const __m512d t = _mm512_set1_pd(threshold);
  std::uint64_t mask = 0;
  for (int k = 0; k < 4; ++k)
    mask |= static_cast<std::uint64_t>(
                _mm512_cmp_pd_mask(reinterpret_cast<const __m512d&>(s.v[k]), t, _CMP_GT_OQ))
            << (8 * k);
  return mask;
#else
  const double* p = reinterpret_cast<const double*>(s.v);
  std::uint64_t mask = 0;
  for (int k = 0; k < 32; ++k) mask |= static_cast<std::uint64_t>(p[k] > threshold) << k;
  return mask;
#endif
}

inline std::uint64_t first_bits(int count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// Keeps the `capacity` largest values of a sample; of equal values the first come stay.
template <class T>
inline void keep_best(const BestView<T>& best, std::int64_t i, T value, std::int32_t c) {
  T* v = best.value + i * best.capacity;
  std::int32_t* id = best.cls + i * best.capacity;
  std::int32_t n = best.count[i];
  // The root is the element to lose next: smallest value, of equal ones the latest class.
  const auto loses = [](T va, std::int32_t ca, T vb, std::int32_t cb) {
    return va < vb || (va == vb && ca > cb);
  };
  std::int32_t hole;
  if (n < best.capacity) {
    hole = n;
    best.count[i] = n + 1;
    while (hole > 0) {
      const std::int32_t up = (hole - 1) / 2;
      if (!loses(value, c, v[up], id[up])) break;
      v[hole] = v[up];
      id[hole] = id[up];
      hole = up;
    }
  } else {
    if (!loses(v[0], id[0], value, c)) return;
    hole = 0;
    for (;;) {
      std::int32_t child = 2 * hole + 1;
      if (child >= n) break;
      if (child + 1 < n && loses(v[child + 1], id[child + 1], v[child], id[child])) ++child;
      if (!loses(v[child], id[child], value, c)) break;
      v[hole] = v[child];
      id[hole] = id[child];
      hole = child;
    }
  }
  v[hole] = value;
  id[hole] = c;
}

// Takes the scores of a block's classes into the best ones of a row.
template <class T>
inline void keep_best_of(const Scores<T>& s, std::int32_t first_class, int classes,
                         const BestView<T>& best, std::int64_t i) {
  const T* score = reinterpret_cast<const T*>(s.v);
  std::uint64_t mask = first_bits(classes);
  if (best.count[i] == best.capacity) mask &= above(s, best.value[i * best.capacity]);
  for (; mask != 0; mask &= mask - 1) {
    const int k = __builtin_ctzll(mask);
    keep_best(best, i, score[k], first_class + k);
  }
}

// The same of dense rows, some at a time; in dense_rows/tile_kernels.hpp.
template <class T, class S, class Use>
inline void each_tile(const Csr<T, Dense>& X, const BlockView<S>& block, std::int64_t begin,
                      std::int64_t end, const Use& use);

// Calls use(i, scores) for rows [begin, end).
template <class T, class I, class S, class Use>
inline void each_row_scores(const Csr<T, I>& X, const BlockView<S>& block, std::int64_t begin,
                            std::int64_t end, const Use& use) {
  if constexpr (is_dense<I>)
    each_tile(X, block, begin, end, use);
  else
    for (std::int64_t i = begin; i < end; ++i) use(i, row_scores(X, block, i));
}

template <class T, class I>
void top(const Csr<T, I>& X, const BlockView<T>& block, const BestView<T>& best, std::int64_t begin,
         std::int64_t end) {
  each_row_scores(X, block, begin, end, [&](std::int64_t i, const Scores<T>& s) {
    keep_best_of(s, block.first_class, block.classes, best, i);
  });
}

template <class T, class I>
void scores(const Csr<T, I>& X, const BlockView<T>& block, T* out, std::int64_t stride,
            std::int64_t begin, std::int64_t end) {
  each_row_scores(X, block, begin, end, [&](std::int64_t i, const Scores<T>& s) {
    const T* score = reinterpret_cast<const T*>(s.v);
    T* row = out + i * stride + block.first_class;
    for (int k = 0; k < block.classes; ++k) row[k] = score[k];
  });
}

template <class T, class I>
void row_by_features(const Csr<T, I>& X, const FeatureView<T>& features, const T* intercept,
                     std::int64_t classes, std::int64_t i, T* __restrict score) {
  for (std::int64_t c = 0; c < classes; ++c) score[c] = intercept[c];
  const Csr<T, std::int32_t>& lists = features.lists;
  const auto feature = X.features(i);
  for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
    const T x = X.data[t];
    const std::int64_t j = feature[t];
    if (features.slot[j] < features.rows) {
      const T* w = features.matrix + features.slot[j] * classes;
      for (std::int64_t c = 0; c < classes; ++c) score[c] += x * w[c];
    } else {
      const std::int64_t end = lists.end(j);
      for (std::int64_t e = lists.begin(j); e < end; ++e)
        score[lists.indices[e]] += x * lists.data[e];
    }
  }
}

template <class T>
void top_of_row(const T* score, std::int64_t classes, const BestView<T>& best, std::int64_t i) {
  for (std::int64_t first = 0; first < classes; first += lanes<T>()) {
    const auto* s = reinterpret_cast<const Scores<T>*>(score + first);
    const std::int64_t left = classes - first;
    const int count = left < lanes<T>() ? static_cast<int>(left) : lanes<T>();
    keep_best_of(*s, static_cast<std::int32_t>(first), count, best, i);
  }
}

template <class T, class I>
ScoreKernels<T, I> score_kernels() {
  return {&top<T, I>, &scores<T, I>, &row_by_features<T, I>, &top_of_row<T>};
}

}  // namespace MM_ISA
}  // namespace multimargin
