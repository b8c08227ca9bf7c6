// Lee-Lin-Wahba with classes that are divided: sums and the certificate of a sample's row. The
// problem is at the head of formulations/lee_lin_wahba.hpp.
// Included once per instruction set; no library template.
#pragma once

#include "lee_lin_wahba/wide_row.hpp"
#include "lines/line.hpp"
#include "simd/vector.hpp"

namespace multimargin {
namespace MM_ISA {

template <class T>
inline const typename Vector<T>::type& line_at(const T* row, std::int64_t c) {
  return *reinterpret_cast<const typename Vector<T>::type*>(row + c);
}

template <class V>
inline double total_of(const V& v, int lanes) {
  double sum = 0;
  for (int k = 0; k < lanes; ++k) sum += static_cast<double>(v[k]);
  return sum;
}

// Sums f(c), a vector, over the lines of a row: a few lines at a time in T, then in double.
template <class T, class F>
inline double sum_lines(std::int64_t width, const F& f) {
  using V = typename Vector<T>::type;
  constexpr int lanes = line_lanes<T>();
  double sum = 0;
  for (std::int64_t c = 0; c < width;) {
    V part{};
    const std::int64_t end = width - c > 64 * lanes ? c + 64 * lanes : width;
    for (; c < end; c += lanes) part += f(c);
    sum += total_of(part, lanes);
  }
  return sum;
}

template <class T>
double wide_sum(const T* a, std::int64_t width) {
  return sum_lines<T>(width, [&](std::int64_t c) { return line_at(a, c); });
}

template <class T, class I>
WideSums wide_certify(const Csr<T, I>& X, const WideWeights<T>& W, std::int64_t i,
                      const WideBlock<T>& b, const T* alpha, double mean, const double* rounding,
                      double* score) {
  for (std::int64_t c = 0; c < b.width; ++c)
    score[c] = static_cast<double>(static_cast<T>(W.bias * W.w_bias[c])) - mean;
  const auto feature = X.features(i);
  for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
    const double x = static_cast<double>(X.data[t]);
    const T* w = W.w + static_cast<std::int64_t>(feature[t]) * W.width;
    for (std::int64_t c = 0; c < b.width; ++c) score[c] += x * static_cast<double>(w[c]);
  }
  const double box = static_cast<double>(b.box);
  WideSums sums;
  for (std::int64_t c = 0; c < b.n_classes; ++c) {
    if (c == b.own) continue;
    const double m = 1 + score[c], a = static_cast<double>(alpha[c]), raised = m + rounding[c];
    const double violation = m > 0 ? (a < box ? m : 0.0) : (a > 0 ? -m : 0.0);
    sums.loss += raised > 0 ? raised : 0.0;
    sums.alpha += a;
    sums.violation = violation > sums.violation ? violation : sums.violation;
    sums.margin = raised > sums.margin ? raised : sums.margin;
    sums.free += a > 0 && a < box;
  }
  return sums;
}

template <class T, class I>
WideKernels<T, I> wide_kernels() {
  return {&wide_sum<T>, &wide_certify<T, I>};
}

}  // namespace MM_ISA
}  // namespace multimargin
