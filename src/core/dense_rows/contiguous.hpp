// Products of a dense row with the weights of some classes, and steps along the row.
// Included once per instruction set; no library template.
#pragma once

#include "scoring/score_kernels.hpp"

namespace multimargin {
namespace MM_ISA {

// A register whose numbers need not lie at a multiple of its size: rows belong to the caller.
template <class T>
struct Loose {
  typedef T type __attribute__((vector_size(kRegisterBytes), aligned(sizeof(T)), may_alias));
  typedef T quarter __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));
};

template <class T>
inline typename Loose<T>::type loaded(const T* p) {
  return *reinterpret_cast<const typename Loose<T>::type*>(p);
}

inline float lane_sum(const Loose<float>::quarter& q) { return (q[0] + q[2]) + (q[1] + q[3]); }
inline double lane_sum(const Loose<double>::quarter& q) { return q[0] + q[1]; }

// The sum of a register's numbers.
template <class T>
inline T register_sum(const typename Loose<T>::type& r) {
  using Q = typename Loose<T>::quarter;
  const Q* q = reinterpret_cast<const Q*>(&r);
  Q sum = q[0];
  for (int k = 1; k < kRegisterBytes / 16; ++k) sum += q[k];
  return lane_sum(sum);
}

// Products of x with N rows of weights, which share the loads of x. Each product is added up in the
// same order for any N.
template <int N, class T>
inline void dot_some(const T* x, const T* const* w, std::int64_t len, T* out) {
  using R = typename Loose<T>::type;
  constexpr int lanes = Register<T>::lanes;
  R even[N] = {}, odd[N] = {};
  std::int64_t t = 0;
  for (; t + 2 * lanes <= len; t += 2 * lanes) {
    const R a = loaded(x + t), b = loaded(x + t + lanes);
    for (int k = 0; k < N; ++k) {
      even[k] += a * loaded(w[k] + t);
      odd[k] += b * loaded(w[k] + t + lanes);
    }
  }
  if (t + lanes <= len) {
    const R a = loaded(x + t);
    for (int k = 0; k < N; ++k) even[k] += a * loaded(w[k] + t);
    t += lanes;
  }
  for (int k = 0; k < N; ++k) out[k] = register_sum<T>(even[k] + odd[k]);
  for (; t < len; ++t)
    for (int k = 0; k < N; ++k) out[k] += x[t] * w[k][t];
}

// w += step x.
template <class T>
inline void add_row(const T* x, std::int64_t len, T step, T* w) {
  using R = typename Loose<T>::type;
  constexpr int lanes = Register<T>::lanes;
  std::int64_t t = 0;
  for (; t + lanes <= len; t += lanes)
    *reinterpret_cast<R*>(w + t) = loaded(w + t) + step * loaded(x + t);
  for (; t < len; ++t) w[t] += step * x[t];
}

// The same with sums in double precision.
template <class T>
void add_exact_row(const T* x, std::int64_t len, double step, double* sum) {
  for (std::int64_t t = 0; t < len; ++t) sum[t] += step * static_cast<double>(x[t]);
}

// The product in double precision.
template <class T>
inline double exact_dot(const T* x, const T* w, std::int64_t len) {
  constexpr int wide = 8;  // sums side by side, which vector units take together
  double sum[wide] = {};
  std::int64_t t = 0;
  for (; t + wide <= len; t += wide)
    for (int k = 0; k < wide; ++k)
      sum[k] += static_cast<double>(x[t + k]) * static_cast<double>(w[t + k]);
  double total = 0;
  for (int k = 0; k < wide; ++k) total += sum[k];
  for (; t < len; ++t) total += static_cast<double>(x[t]) * static_cast<double>(w[t]);
  return total;
}

}  // namespace MM_ISA
}  // namespace multimargin
