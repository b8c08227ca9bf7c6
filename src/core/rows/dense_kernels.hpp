// Dense symmetric matrices: the preconditioner of Newton's method, one per class.
//
// Row r of the lower half begins at r * padded(size): whole registers, with zeros to the right of
// the diagonal's register.
// Included once per instruction set; no library template.
#pragma once

#include "rows/row.hpp"
#include "simd/register.hpp"

namespace multimargin {
namespace MM_ISA {

inline std::int64_t padded_size(std::int64_t size) {
  return (size + kRegister - 1) / kRegister * kRegister;
}

// A += sum of N products of the rows of x.
template <int N>
inline void add_some(const double* x, std::int64_t stride, std::int64_t size, double* A) {
  const std::int64_t wide = padded_size(size);
  for (std::int64_t r = 0; r < size; ++r) {
    double* row = A + r * wide;
    double f[N];
    for (int k = 0; k < N; ++k) f[k] = x[k * stride + r];
    for (std::int64_t c = 0; c <= r; c += kRegister) {
      Reg sum = load(row + c);
      for (int k = 0; k < N; ++k) sum += f[k] * load(x + k * stride + c);
      store(row + c, sum);
    }
  }
}

inline void dense_add_products(const double* x, std::int64_t count, std::int64_t stride,
                               std::int64_t size, double* A) {
  std::int64_t k = 0;
  for (; k + 8 <= count; k += 8) add_some<8>(x + k * stride, stride, size, A);
  for (; k < count; ++k) add_some<1>(x + k * stride, stride, size, A);
}

// The first n products of two rows, whole registers: beyond n one of the two is zero.
inline double dot_of(const double* a, const double* b, std::int64_t n) {
  Reg s0{}, s1{}, s2{}, s3{};
  std::int64_t c = 0;
  for (; c + 4 * kRegister <= n; c += 4 * kRegister) {
    s0 += load(a + c) * load(b + c);
    s1 += load(a + c + kRegister) * load(b + c + kRegister);
    s2 += load(a + c + 2 * kRegister) * load(b + c + 2 * kRegister);
    s3 += load(a + c + 3 * kRegister) * load(b + c + 3 * kRegister);
  }
  for (; c + kRegister <= n; c += kRegister) s0 += load(a + c) * load(b + c);
  double sum = total((s0 + s1) + (s2 + s3));
  for (; c < n; ++c) sum += a[c] * b[c];
  return sum;
}

inline bool dense_factor(double* A, std::int64_t size) {
  const std::int64_t wide = padded_size(size);
  for (std::int64_t i = 0; i < size; ++i) {
    double* row = A + i * wide;
    for (std::int64_t j = 0; j < i; ++j) {
      const double* other = A + j * wide;
      row[j] = (row[j] - dot_of(row, other, j)) * other[j];
    }
    const double rest = row[i] - dot_of(row, row, i);
    if (!(rest > 0)) return false;
    // The inverse of the diagonal is kept: products are faster than quotients.
    row[i] = 1 / __builtin_sqrt(rest);
  }
  return true;
}

inline void dense_solve(const double* L, std::int64_t size, double* x) {
  const std::int64_t wide = padded_size(size);
  for (std::int64_t i = 0; i < size; ++i)
    x[i] = (x[i] - dot_of(L + i * wide, x, i)) * L[i * wide + i];
  for (std::int64_t i = size; i-- > 0;) {
    const double* row = L + i * wide;
    x[i] *= row[i];
    const double f = x[i];
    for (std::int64_t c = 0; c < i; ++c) x[c] -= f * row[c];
  }
}

}  // namespace MM_ISA
}  // namespace multimargin
