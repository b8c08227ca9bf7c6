// exp of the lanes of a register, for numbers that are not positive: products of weights in a
// softmax. Included once per instruction set; uses no library, so that bits depend on none.
#pragma once

#include <cstdint>

namespace multimargin {
namespace MM_ISA {

// The number x is n log 2 + r with an integer n; exp(x) is 2^n exp(r), and |r| <= 0.35. Adding
// `round` leaves n in the last bits of the sum. log 2 has two parts, so that n high is exact.
template <class T>
struct ExponentialOf;

template <>
struct ExponentialOf<float> {
  using Bits = std::uint32_t;
  static constexpr float least = -87, log2_e = 1.44269504f, round = 12582912.0f;  // 1.5 * 2^23
  static constexpr float high = 0.693359375f, low = -2.12194440e-4f;
  static constexpr int mantissa = 23, bias = 127;
  // The polynomial of Cephes' expf: within 2 units in the last place.
  static constexpr int terms = 8;
  static constexpr float term[terms] = {1.9875691500e-4f,
                                        1.3981999507e-3f,
                                        8.3334519073e-3f,
                                        4.1665795894e-2f,
                                        1.6666665459e-1f,
                                        5.0000001201e-1f,
                                        1.0f,
                                        1.0f};
};

template <>
struct ExponentialOf<double> {
  using Bits = std::uint64_t;
  static constexpr double least = -708, log2_e = 1.4426950408889634;
  static constexpr double round = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double high = 6.93145751953125e-1, low = 1.42860682030941723212e-6;
  static constexpr int mantissa = 52, bias = 1023;
  // Taylor's: the first one left out is below 2e-16.
  static constexpr int terms = 14;
  static constexpr double term[terms] = {1.0 / 6227020800,
                                         1.0 / 479001600,
                                         1.0 / 39916800,
                                         1.0 / 3628800,
                                         1.0 / 362880,
                                         1.0 / 40320,
                                         1.0 / 5040,
                                         1.0 / 720,
                                         1.0 / 120,
                                         1.0 / 24,
                                         1.0 / 6,
                                         1.0 / 2,
                                         1.0,
                                         1.0};
};

// R is a vector of T; below `least`, where exp leaves the normal numbers, it is 0.
template <class T, class R>
inline R exponential(const R& x) {
  using E = ExponentialOf<T>;
  typedef typename E::Bits B __attribute__((vector_size(sizeof(R))));
  const R bounded = x > E::least ? x : R{} + E::least;
  const R shifted = bounded * E::log2_e + E::round;
  const R n = shifted - E::round;
  const R r = bounded - n * E::high - n * E::low;
  R sum = R{} + E::term[0];
  for (int k = 1; k < E::terms; ++k) sum = sum * r + E::term[k];
  const B power = (reinterpret_cast<B>(shifted) + E::bias) << E::mantissa;
  sum *= reinterpret_cast<R>(power);
  return x > E::least ? sum : R{};
}

// The sum of the lanes, by halves.
template <class T, class R>
inline T lane_sum(const R& v) {
  if constexpr (sizeof(R) == sizeof(T)) {
    return v[0];
  } else {
    typedef T Half __attribute__((vector_size(sizeof(R) / 2)));
    const Half* half = reinterpret_cast<const Half*>(&v);
    return lane_sum<T, Half>(half[0] + half[1]);
  }
}

}  // namespace MM_ISA
}  // namespace multimargin
