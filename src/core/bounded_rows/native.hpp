// A register of numbers, as wide as the instruction set has them, and the bits of comparisons.
// Wider vectors would be compared one number at a time.
// Included once per instruction set, like all kernels.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace multimargin {
namespace MM_ISA {

#if defined(__AVX512F__)
#define MM_NATIVE_BYTES 64
#else
#define MM_NATIVE_BYTES 32
#endif

template <class T>
struct Native;
template <>
struct Native<float> {
  typedef float type __attribute__((vector_size(MM_NATIVE_BYTES)));
  typedef std::int32_t mask __attribute__((vector_size(MM_NATIVE_BYTES)));
};
template <>
struct Native<double> {
  typedef double type __attribute__((vector_size(MM_NATIVE_BYTES)));
  typedef std::int64_t mask __attribute__((vector_size(MM_NATIVE_BYTES)));
};

template <class T>
using Wide = typename Native<T>::type;
template <class T>
using WideMask = typename Native<T>::mask;
template <class T>
constexpr int kWide = MM_NATIVE_BYTES / static_cast<int>(sizeof(T));

template <class T>
inline Wide<T> wide_load(const T* p) {
  return *reinterpret_cast<const Wide<T>*>(p);
}
template <class T>
inline void wide_store(T* p, const Wide<T>& v) {
  *reinterpret_cast<Wide<T>*>(p) = v;
}

// 1, 2, 4, ... in the lanes.
template <class T>
inline WideMask<T> lane_bits() {
  WideMask<T> bits{};
  for (int k = 0; k < kWide<T>; ++k) bits[k] = 1 << k;
  return bits;
}

// All ones in the lanes whose bit is set; `each` = lane_bits().
template <class T>
inline WideMask<T> wide_lanes(std::uint32_t bits, const WideMask<T>& each) {
  using M = WideMask<T>;
  return ((M{} + static_cast<decltype(M{}[0] + 0)>(bits)) & each) != M{};
}

// The bits of lanes that are all ones.
inline std::uint32_t wide_bits(const WideMask<float>& m) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  return static_cast<std::uint32_t>(_mm512_movepi32_mask(reinterpret_cast<const __m512i&>(m)));
#elif defined(__AVX2__)
  return static_cast<std::uint32_t>(_mm256_movemask_ps(reinterpret_cast<const __m256&>(m)));
#else
  std::uint32_t bits = 0;
  for (int k = 0; k < kWide<float>; ++k) bits |= static_cast<std::uint32_t>(m[k] != 0) << k;
  return bits;
#endif
}

inline std::uint32_t wide_bits(const WideMask<double>& m) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  return static_cast<std::uint32_t>(_mm512_movepi64_mask(reinterpret_cast<const __m512i&>(m)));
#elif defined(__AVX2__)
  return static_cast<std::uint32_t>(_mm256_movemask_pd(reinterpret_cast<const __m256d&>(m)));
#else
  std::uint32_t bits = 0;
  for (int k = 0; k < kWide<double>; ++k) bits |= static_cast<std::uint32_t>(m[k] != 0) << k;
  return bits;
#endif
}

#undef MM_NATIVE_BYTES

}  // namespace MM_ISA
}  // namespace multimargin
