// Numbers without their zeros, and back: one bit per number says where they were.
// Included once per instruction set; uses no library template.
#pragma once

#include <cstdint>

#include "round_robin/packing.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace multimargin {
namespace MM_ISA {

#if defined(__AVX512F__)
// One vector: which numbers are not zero, and these side by side.
inline std::uint64_t squeeze(const float* in, float* out) {
  const __m512 v = _mm512_loadu_ps(in);
  const __mmask16 m = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ);
  _mm512_storeu_ps(out, _mm512_maskz_compress_ps(m, v));
  return m;
}
inline std::uint64_t squeeze(const double* in, double* out) {
  const __m512d v = _mm512_loadu_pd(in);
  const __mmask8 m = _mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_NEQ_UQ);
  _mm512_storeu_pd(out, _mm512_maskz_compress_pd(m, v));
  return m;
}
// Reads as many numbers as the mask has bits, and no more.
inline void spread(std::uint64_t mask, int bits, const float* in, float* out) {
  const auto first = static_cast<__mmask16>((std::uint32_t{1} << bits) - 1);
  const __m512 v = _mm512_maskz_loadu_ps(first, in);
  _mm512_storeu_ps(out, _mm512_maskz_expand_ps(static_cast<__mmask16>(mask), v));
}
inline void spread(std::uint64_t mask, int bits, const double* in, double* out) {
  const auto first = static_cast<__mmask8>((std::uint32_t{1} << bits) - 1);
  const __m512d v = _mm512_maskz_loadu_pd(first, in);
  _mm512_storeu_pd(out, _mm512_maskz_expand_pd(static_cast<__mmask8>(mask), v));
}
#endif

template <class T>
std::int64_t compress(const T* in, std::int64_t count, std::uint64_t* mask, T* out) {
  const T* const start = out;
  std::int64_t k = 0;
  for (; k < count; k += 64) {
    std::uint64_t word = 0;
    int bit = 0;
#if defined(__AVX512F__)
    constexpr int kLanes = 64 / static_cast<int>(sizeof(T));
    for (; bit < 64 && k + bit + kLanes <= count; bit += kLanes) {
      const std::uint64_t some = squeeze(in + k + bit, out);
      word |= some << bit;
      out += __builtin_popcountll(some);
    }
#endif
    // Every number is written, and the next one over it unless it counts: no branch to mispredict.
    for (; bit < 64 && k + bit < count; ++bit) {
      const T value = in[k + bit];
      const std::uint64_t counts = value != 0;
      word |= counts << bit;
      *out = value;
      out += counts;
    }
    mask[k / 64] = word;
  }
  return out - start;
}

template <class T>
std::int64_t expand(const std::uint64_t* mask, std::int64_t count, const T* in, T* out) {
  const T* const start = in;
  const T none = 0;
  for (std::int64_t k = 0; k < count; k += 64) {
    std::uint64_t word = mask[k / 64];
    int bit = 0;
#if defined(__AVX512F__)
    constexpr int kLanes = 64 / static_cast<int>(sizeof(T));
    for (; bit < 64 && k + bit + kLanes <= count; bit += kLanes) {
      const std::uint64_t some = word & ((std::uint64_t{1} << kLanes) - 1);
      const int bits = __builtin_popcountll(some);
      spread(some, bits, in, out + k + bit);
      in += bits;
      word >>= kLanes;
    }
#endif
    for (; bit < 64 && k + bit < count; ++bit) {
      const std::uint64_t counts = word & 1;
      out[k + bit] = counts != 0 ? *in : none;
      in += counts;
      word >>= 1;
    }
  }
  return in - start;
}

template <class T>
PackingKernels<T> packing_kernels() {
  return {&compress<T>, &expand<T>};
}

}  // namespace MM_ISA
}  // namespace multimargin
