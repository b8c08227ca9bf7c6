// A vector register of doubles, as wide as the instruction set has them.
// Included once per instruction set, like all kernels.
#pragma once

#include <cstdint>

namespace multimargin {
namespace MM_ISA {

#if defined(__AVX512F__)
constexpr int kRegister = 8;
#else
constexpr int kRegister = 4;
#endif

typedef double Reg __attribute__((vector_size(8 * kRegister)));
typedef std::int64_t RegMask __attribute__((vector_size(8 * kRegister)));

inline Reg load(const double* p) { return *reinterpret_cast<const Reg*>(p); }
inline void store(double* p, const Reg& v) { *reinterpret_cast<Reg*>(p) = v; }
inline Reg spread(double x) { return Reg{} + x; }
inline Reg larger(const Reg& a, const Reg& b) { return a > b ? a : b; }
inline Reg smaller(const Reg& a, const Reg& b) { return a < b ? a : b; }
inline Reg clip(const Reg& v, const Reg& most) { return smaller(larger(v, Reg{}), most); }

inline double total(const Reg& v) {
  double sum = 0;
  for (int k = 0; k < kRegister; ++k) sum += v[k];
  return sum;
}
inline double largest(const Reg& v) {
  double most = v[0];
  for (int k = 1; k < kRegister; ++k) most = v[k] > most ? v[k] : most;
  return most;
}

// Calls what(c) for the first number c of each register of a row.
template <class What>
inline void each_register(std::int64_t width, const What& what) {
  for (std::int64_t c = 0; c < width; c += kRegister) what(c);
}

// Sums f(c), a register, over a row.
template <class F>
inline double sum_registers(std::int64_t width, const F& f) {
  Reg sum{};
  for (std::int64_t c = 0; c < width; c += kRegister) sum += f(c);
  return total(sum);
}

}  // namespace MM_ISA
}  // namespace multimargin
