// Products of rows of X with a block of classes, held in registers.
// Included once per instruction set, like solver_kernels.hpp.
#pragma once

#include "simd/kernels.hpp"
#include "simd/vector.hpp"

namespace multimargin {
namespace MM_ISA {

// The scores of one row with the classes of a block: four vectors.
template <class T>
struct Scores {
  typename Vector<T>::type v[4];
};

template <class T, class I, class S>
inline const S* weights_at(const Csr<T, I>& X, const BlockView<S>& block, std::int64_t t) {
  return block.rows + static_cast<std::int64_t>(block.row_of[X.indices[t]]) * lanes<S>();
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

// Scores have the type of the block, S, which may have more digits than that of X.
template <class T, class I, class S>
inline Scores<S> row_scores(const Csr<T, I>& X, const BlockView<S>& block, std::int64_t i) {
  using R = typename Register<S>::type;
  constexpr int at_once = kSums * Register<S>::lanes;
  const std::int64_t begin = X.begin(i), end = X.end(i);
  Scores<S> scores;
  for (int from = 0; from < lanes<S>(); from += at_once) {
    R sum[kSums];
    for (int k = 0; k < kSums; ++k) sum[k] = reinterpret_cast<const R*>(block.intercept + from)[k];
    for (std::int64_t t = begin; t < end; ++t) {
      const R* w = reinterpret_cast<const R*>(weights_at(X, block, t) + from);
      const S x = X.data[t];
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

template <class T>
inline bool is_active(const ScanView<T>& scan, std::int64_t i, std::int32_t c) {
  bool found = false;
  for (std::int64_t p = scan.slot_begin[i]; p < scan.slot_begin[i + 1]; ++p)
    found |= scan.cls[p] == c;
  return found;
}

// Loss and bound of a sample with the classes of the mask taken into account.
template <class F, class T, class S>
inline void add_few(const ScanView<T>& scan, const BlockView<S>& block, const Scores<S>& s, S own,
                    std::int64_t i, std::uint64_t mask) {
  const S* score = reinterpret_cast<const S*>(s.v);
  const double* norm = scan.norm + block.first_class;
  double loss = scan.loss[i], bound = scan.bound[i];
  for (; mask != 0; mask &= mask - 1) {
    const int k = __builtin_ctzll(mask);
    const double m = static_cast<double>(F::margin(own, score[k]));
    const double raised = m + scan.own_rounding[i] + scan.rounding[i] * norm[k];
    loss = F::add_loss(loss, m > 0 ? m : 0.0);
    bound = F::add_loss(bound, raised > 0 ? raised : 0.0);
  }
  scan.loss[i] = loss;
  scan.bound[i] = bound;
}

// The same for a whole block, all of whose classes are others: `count` of them are in the mask.
template <class F, class T, class S>
inline void add_many(const ScanView<T>& scan, const Scores<S>& s, S own, std::int64_t i, int count,
                     double largest_norm) {
  const S* score = reinterpret_cast<const S*>(s.v);
  constexpr int wide = 16;  // sums side by side, which vector units take together
  S losses[wide] = {};
  for (int k = 0; k < lanes<S>(); k += wide)
    for (int j = 0; j < wide; ++j) {
      const S m = F::margin(own, score[k + j]);
      losses[j] = F::add_loss(losses[j], m > 0 ? m : S(0));
    }
  double part = 0;
  for (int j = 0; j < wide; ++j) part = F::add_loss(part, static_cast<double>(losses[j]));
  const double more = scan.own_rounding[i] + scan.rounding[i] * largest_norm;
  const double added =
      part * (1 + 8 * (sizeof(S) == 4 ? 6e-8 : 1.2e-16));  // with what the sums have lost
  scan.loss[i] = F::add_loss(scan.loss[i], part);
  scan.bound[i] = F::add_loss(scan.bound[i], F::raised(added, count, more));
}

constexpr int kFewClasses = 8;  // of a block, that are looked at one by one

// The classes of the mask, which may add to the loss of sample i. Not inlined: a scan comes here
// for few rows of a block, and its loop needs the registers.
template <class F, class T, class S>
__attribute__((noinline)) void take_classes(const ScanView<T>& scan, const BlockView<S>& block,
                                            const Scores<S>& s, std::int64_t i, std::uint64_t mask,
                                            bool holds_own, double largest_norm) {
  const S own = static_cast<S>(scan.own[i]);
  const int count = __builtin_popcountll(mask);
  if (count > kFewClasses && block.classes == lanes<S>() && !holds_own)
    add_many<F>(scan, s, own, i, count, largest_norm);
  else
    add_few<F>(scan, block, s, own, i, mask);

  // Only those that the list of violators may want are looked at one by one.
  const T least = scan.least[i];
  const T* worst = scan.found.value + i * scan.found.capacity;
  const bool full = scan.found.count[i] == scan.found.capacity;
  const T wanted_from = full && worst[0] > least + scan.idle ? worst[0] : least + scan.idle;
  const T from = least + scan.violation[i] < wanted_from ? least + scan.violation[i] : wanted_from;
  mask &= above(s, F::threshold(own, static_cast<S>(from > 0 ? from : T(0))));
  const S* score = reinterpret_cast<const S*>(s.v);
  for (; mask != 0; mask &= mask - 1) {
    const int k = __builtin_ctzll(mask);
    const T margin = static_cast<T>(F::margin(own, score[k]));
    const T violation = margin - least;
    if (!(margin > 0)) continue;
    const bool wanted =
        violation > scan.idle && (scan.found.count[i] < scan.found.capacity || margin > worst[0]);
    const std::int32_t c = block.first_class + k;
    if ((wanted || violation > scan.violation[i]) && !is_active(scan, i, c)) {
      if (violation > scan.violation[i]) scan.violation[i] = violation;
      if (wanted) keep_best(scan.found, i, margin, c);
    }
  }
}

// F is the formulation for scores of type S.
template <class F, class T, class I, class S>
void scan(const Csr<T, I>& X, const std::int32_t* y, const BlockView<S>& block,
          const ScanView<T>& scan, std::int64_t begin, std::int64_t end) {
  const std::uint64_t classes = first_bits(block.classes);
  const double* norm = scan.norm + block.first_class;
  double largest = 0;
  for (int k = 0; k < block.classes; ++k) largest = norm[k] > largest ? norm[k] : largest;
  for (std::int64_t i = begin; i < end; ++i) {
    if (!(scan.norm2[i] > 0)) continue;
    const Scores<S> s = row_scores(X, block, i);
    std::uint64_t mask = above(s, static_cast<S>(scan.threshold[i])) & classes;
    if (mask == 0) continue;
    const std::int32_t mine = y[i] - block.first_class;
    const bool holds_own = mine >= 0 && mine < block.classes;
    if (holds_own) mask &= ~(std::uint64_t{1} << mine);
    if (mask != 0) take_classes<F>(scan, block, s, i, mask, holds_own, largest);
  }
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

template <class T, class I>
void top(const Csr<T, I>& X, const BlockView<T>& block, const BestView<T>& best, std::int64_t begin,
         std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    keep_best_of(row_scores(X, block, i), block.first_class, block.classes, best, i);
  }
}

template <class T, class I>
void scores(const Csr<T, I>& X, const BlockView<T>& block, T* out, std::int64_t stride,
            std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const Scores<T> s = row_scores(X, block, i);
    const T* score = reinterpret_cast<const T*>(s.v);
    T* row = out + i * stride + block.first_class;
    for (int k = 0; k < block.classes; ++k) row[k] = score[k];
  }
}

template <class T, class I>
void row_by_features(const Csr<T, I>& X, const FeatureView<T>& features, const T* intercept,
                     std::int64_t classes, std::int64_t i, T* __restrict score) {
  for (std::int64_t c = 0; c < classes; ++c) score[c] = intercept[c];
  const Csr<T, std::int32_t>& lists = features.lists;
  for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
    const T x = X.data[t];
    const std::int64_t j = X.indices[t];
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

template <template <class> class F, class T, class I>
ProductKernels<T, I> make_product_kernels() {
  return {&scan<F<T>, T, I, T>, &scan<F<double>, T, I, double>, &top<T, I>,
          &scores<T, I>,        &row_by_features<T, I>,         &top_of_row<T>};
}

}  // namespace MM_ISA
}  // namespace multimargin
