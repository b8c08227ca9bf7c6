// One cache line of numbers, and the bit masks of comparisons between them.
// Included once per instruction set, like all kernels.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace multimargin {
namespace MM_ISA {

template <class T>
struct Vector {
  typedef T type __attribute__((vector_size(64)));
};

template <class T>
struct MaskVector;
template <>
struct MaskVector<float> {
  typedef std::int32_t type __attribute__((vector_size(64)));
  static type bits() {
    return type{1,      2,      4,       8,       16,      32,      64,      128,
                1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
  }
};
template <>
struct MaskVector<double> {
  typedef std::int64_t type __attribute__((vector_size(64)));
  static type bits() { return type{1, 2, 4, 8, 16, 32, 64, 128}; }
};

// All ones in the lanes whose bit is set.
template <class T>
inline typename MaskVector<T>::type lanes_of(std::uint32_t bits) {
  using M = typename MaskVector<T>::type;
  const M each = MaskVector<T>::bits();
  const M all = (M{} + static_cast<decltype(M{}[0] + 0)>(bits)) & each;
  return all != M{};
}

// The bits of lanes that are all ones.
inline std::uint32_t bits_of(const MaskVector<float>::type& m) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  return static_cast<std::uint32_t>(_mm512_movepi32_mask(reinterpret_cast<const __m512i&>(m)));
#elif defined(__AVX2__)
  const __m256* half = reinterpret_cast<const __m256*>(&m);
  return static_cast<std::uint32_t>(_mm256_movemask_ps(half[0])) |
         static_cast<std::uint32_t>(_mm256_movemask_ps(half[1])) << 8;
#else
  std::uint32_t bits = 0;
  for (int k = 0; k < 16; ++k) bits |= static_cast<std::uint32_t>(m[k] != 0) << k;
  return bits;
#endif
}

inline std::uint32_t bits_of(const MaskVector<double>::type& m) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  return static_cast<std::uint32_t>(_mm512_movepi64_mask(reinterpret_cast<const __m512i&>(m)));
#elif defined(__AVX2__)
  const __m256d* half = reinterpret_cast<const __m256d*>(&m);
  return static_cast<std::uint32_t>(_mm256_movemask_pd(half[0])) |
         static_cast<std::uint32_t>(_mm256_movemask_pd(half[1])) << 4;
#else
  std::uint32_t bits = 0;
  for (int k = 0; k < 8; ++k) bits |= static_cast<std::uint32_t>(m[k] != 0) << k;
  return bits;
#endif
}

}  // namespace MM_ISA
}  // namespace multimargin
