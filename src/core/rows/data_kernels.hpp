// Scores of a sample with all classes, and steps of its weights.
// Included once per instruction set; no library template.
#pragma once

#include "rows/row.hpp"
#include "simd/register.hpp"

namespace multimargin {
namespace MM_ISA {

// Scores of N registers of classes, held over a sweep of the sample's entries. A few entries have
// sums of their own, so that a multiply-add need not wait for the one before.
template <int N, class T, class I>
inline void gather_some(const Csr<T, I>& X, const RowWeights& W, std::int64_t i, std::int64_t c,
                        double* score) {
  constexpr int chains = N <= 2 ? 4 : N <= 4 ? 2 : 1;
  Reg sum[chains][N] = {};
  for (int k = 0; k < N; ++k) sum[0][k] = W.bias * load(W.w_bias + c + k * kRegister);
  const std::int64_t end = X.end(i);
  const auto feature = X.features(i);
  std::int64_t t = X.begin(i);
  for (; t + chains <= end; t += chains)
    for (int j = 0; j < chains; ++j) {
      const double* row = W.w + static_cast<std::int64_t>(feature[t + j]) * W.width + c;
      const double x = static_cast<double>(X.data[t + j]);
      for (int k = 0; k < N; ++k) sum[j][k] += x * load(row + k * kRegister);
    }
  for (; t < end; ++t) {
    const double* row = W.w + static_cast<std::int64_t>(feature[t]) * W.width + c;
    const double x = static_cast<double>(X.data[t]);
    for (int k = 0; k < N; ++k) sum[0][k] += x * load(row + k * kRegister);
  }
  for (int k = 0; k < N; ++k) {
    Reg s = sum[0][k];
    for (int j = 1; j < chains; ++j) s += sum[j][k];
    store(score + c + k * kRegister, s);
  }
}

template <int N, class T, class I>
inline void scatter_some(const Csr<T, I>& X, const RowWeights& W, std::int64_t i, std::int64_t c,
                         const double* step) {
  Reg s[N];
  for (int k = 0; k < N; ++k) s[k] = load(step + c + k * kRegister);
  const std::int64_t end = X.end(i);
  const auto feature = X.features(i);
  for (std::int64_t t = X.begin(i); t < end; ++t) {
    double* row = W.w + static_cast<std::int64_t>(feature[t]) * W.width + c;
    const double x = static_cast<double>(X.data[t]);
    for (int k = 0; k < N; ++k) store(row + k * kRegister, load(row + k * kRegister) + x * s[k]);
  }
  if (W.bias != 0)
    for (int k = 0; k < N; ++k)
      store(W.w_bias + c + k * kRegister, load(W.w_bias + c + k * kRegister) + W.bias * s[k]);
}

// Calls what(c, constant) for stretches of at most eight registers.
#define MM_STRETCHES(width, name, ...)                   \
  for (std::int64_t c = 0; c < (width);) {               \
    const std::int64_t left = ((width) - c) / kRegister; \
    switch (left < 8 ? left : 8) {                       \
      case 1:                                            \
        name<1>(__VA_ARGS__);                            \
        break;                                           \
      case 2:                                            \
        name<2>(__VA_ARGS__);                            \
        break;                                           \
      case 3:                                            \
        name<3>(__VA_ARGS__);                            \
        break;                                           \
      case 4:                                            \
        name<4>(__VA_ARGS__);                            \
        break;                                           \
      case 5:                                            \
        name<5>(__VA_ARGS__);                            \
        break;                                           \
      case 6:                                            \
        name<6>(__VA_ARGS__);                            \
        break;                                           \
      case 7:                                            \
        name<7>(__VA_ARGS__);                            \
        break;                                           \
      default:                                           \
        name<8>(__VA_ARGS__);                            \
        break;                                           \
    }                                                    \
    c += (left < 8 ? left : 8) * kRegister;              \
  }

template <class T, class I>
void row_gather(const Csr<T, I>& X, const RowWeights& W, std::int64_t i, double* score) {
  MM_STRETCHES(W.width, gather_some, X, W, i, c, score)
}

template <class T, class I>
void row_scatter(const Csr<T, I>& X, const RowWeights& W, std::int64_t i, const double* step) {
  MM_STRETCHES(W.width, scatter_some, X, W, i, c, step)
}
#undef MM_STRETCHES

template <class T, class I>
RowDataKernels<T, I> row_data_kernels() {
  return {&row_gather<T, I>, &row_scatter<T, I>};
}

}  // namespace MM_ISA
}  // namespace multimargin
