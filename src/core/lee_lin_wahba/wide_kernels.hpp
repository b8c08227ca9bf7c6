// Lee-Lin-Wahba, one sample with all its classes at a time.
//
//   primal  min  1/2 sum_c |w_c|^2 + sum_i U_i sum_{c != y_i} max(0, 1 + w_c.x_i),  sum_c w_c = 0
//   dual    max  sum_ic a_ic - 1/2 sum_c |w_c|^2,   0 <= a_ic <= U_i,  a_{i,y_i} = 0
//           w_c = sum_i (A_i / K - a_ic) x_i,   A_i = sum_c a_ic
//   margin  m_ic = 1 + w_c.x_i                  (the dual's gradient)
//
// All classes of one sample at once, exactly:
//   d_c = clip(a_c + m_c / k_i + D, 0, U) - a_c,   where D solves  K D = sum_c d_c.
// The right side grows by less than K in D, so there is one root.
// Weights are kept centred: w_c changes by (D - d_c) x_i. Keeping the sums sum_i a_ic x_i
// instead and subtracting their mean costs most digits when C is large: all are large then and
// differ little.
//
// On the face of free variables F the dual is a quadratic with the matrix Q = (I - 11'/K) (x) XX',
// restricted to F. Its block for one sample is k_i (I - 11'/K)_FF, with the inverse
//   v -> (v + sum_F v / (K - |F|)) / k_i,
// which gives a symmetric block Gauss-Seidel sweep, the preconditioner of conjugate gradients.
// Included once per instruction set; no library template.
#pragma once

#include <limits>

#include "lines/line.hpp"
#include "lee_lin_wahba/wide_row.hpp"
#include "simd/vector.hpp"

namespace multimargin {
namespace MM_ISA {

template <class T>
inline const typename Vector<T>::type& line_at(const T* row, std::int64_t c) {
  return *reinterpret_cast<const typename Vector<T>::type*>(row + c);
}

template <class T>
inline typename Vector<T>::type& line_at(T* row, std::int64_t c) {
  return *reinterpret_cast<typename Vector<T>::type*>(row + c);
}

template <class V>
inline double total_of(const V& v, int lanes) {
  double sum = 0;
  for (int k = 0; k < lanes; ++k) sum += static_cast<double>(v[k]);
  return sum;
}

// Calls what(c) for the first number c of each line of a row.
template <class T, class What>
inline void each_line(std::int64_t width, const What& what) {
  for (std::int64_t c = 0; c < width; c += line_lanes<T>()) what(c);
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

template <class T, class I>
void row_gather(const Csr<T, I>& X, const WideWeights<T>& W, std::int64_t i, std::int64_t from,
                std::int64_t to, T* score) {
  using V = typename Vector<T>::type;
  constexpr int lanes = line_lanes<T>();
  const std::int64_t begin = X.begin(i), end = X.end(i);
  std::int64_t c = from;
  for (; c + 4 * lanes <= to; c += 4 * lanes) {
    const V* start = reinterpret_cast<const V*>(W.w_bias + c);
    V s0 = W.bias * start[0], s1 = W.bias * start[1], s2 = W.bias * start[2],
      s3 = W.bias * start[3];
    for (std::int64_t t = begin; t < end; ++t) {
      const V* r =
          reinterpret_cast<const V*>(W.w + static_cast<std::int64_t>(X.indices[t]) * W.width + c);
      const T x = X.data[t];
      s0 += x * r[0];
      s1 += x * r[1];
      s2 += x * r[2];
      s3 += x * r[3];
    }
    V* out = reinterpret_cast<V*>(score + c);
    out[0] = s0;
    out[1] = s1;
    out[2] = s2;
    out[3] = s3;
  }
  for (; c < to; c += lanes) {
    V s = W.bias * line_at(static_cast<const T*>(W.w_bias), c);
    for (std::int64_t t = begin; t < end; ++t)
      s += X.data[t] *
           line_at(static_cast<const T*>(W.w) + static_cast<std::int64_t>(X.indices[t]) * W.width,
                   c);
    line_at(score, c) = s;
  }
}

template <class T, class I>
void row_scatter(const Csr<T, I>& X, const WideWeights<T>& W, std::int64_t i, std::int64_t from,
                 std::int64_t to, const T* step) {
  const std::int64_t end = X.end(i);
  for (std::int64_t t = X.begin(i); t < end; ++t) {
    T* row = W.w + static_cast<std::int64_t>(X.indices[t]) * W.width;
    const T x = X.data[t];
    for (std::int64_t c = from; c < to; c += line_lanes<T>())
      line_at(row, c) += x * line_at(step, c - from);
  }
  if (W.bias != 0)
    for (std::int64_t c = from; c < to; c += line_lanes<T>())
      line_at(W.w_bias, c) += W.bias * line_at(step, c - from);
}

template <class T>
void row_add(T factor, const T* from, T* to, std::int64_t width) {
  each_line<T>(width, [&](std::int64_t c) { line_at(to, c) += factor * line_at(from, c); });
}

template <class T>
double row_dot(const T* a, const T* b, std::int64_t width) {
  return sum_lines<T>(width, [&](std::int64_t c) { return line_at(a, c) * line_at(b, c); });
}

template <class T>
double row_sum(const T* a, std::int64_t width) {
  return sum_lines<T>(width, [&](std::int64_t c) { return line_at(a, c); });
}

template <class T>
void row_centre(const WideBlock<T>& b, const T* row, T factor, T* out) {
  const T mean = static_cast<T>(row_sum(row, b.width) / b.n_classes);
  each_line<T>(b.width,
               [&](std::int64_t c) { line_at(out, c) = factor * (line_at(row, c) - mean); });
  for (std::int64_t c = b.n_classes; c < b.width; ++c) out[c] = 0;
}

// A margin that keeps the own class, and what pads the row, at zero for ever.
template <class T>
constexpr T never() {
  return T(-1e30);
}

template <class T>
void row_margins(const WideBlock<T>& b, const T* score, T* margin) {
  each_line<T>(b.width, [&](std::int64_t c) { line_at(margin, c) = T(1) + line_at(score, c); });
  if (b.own >= 0) margin[b.own] = never<T>();
  for (std::int64_t c = b.n_classes; c < b.width; ++c) margin[c] = never<T>();
}

template <class T>
inline typename Vector<T>::type clipped(const typename Vector<T>::type& v, T box) {
  using V = typename Vector<T>::type;
  const V floor = v < V{} ? V{} : v;
  return floor > box ? V{} + box : floor;
}

template <class T>
inline typename Vector<T>::type violation_of(const typename Vector<T>::type& m,
                                             const typename Vector<T>::type& a, T box) {
  using V = typename Vector<T>::type;
  const V up = a < box ? m : V{}, down = a > V{} ? -m : V{};
  return m > V{} ? up : down;
}

template <class T>
inline T largest(const typename Vector<T>::type& v) {
  T most = v[0];
  for (int k = 1; k < line_lanes<T>(); ++k) most = v[k] > most ? v[k] : most;
  return most;
}

template <class T>
WideReport<T> row_inspect(const WideBlock<T>& b, const T* margin, const T* alpha) {
  using V = typename Vector<T>::type;
  V worst{};
  const double gap = sum_lines<T>(b.width, [&](std::int64_t c) {
    const V m = line_at(margin, c), a = line_at(alpha, c);
    const V violation = violation_of<T>(m, a, b.box);
    worst = violation > worst ? violation : worst;
    return b.price * (m > V{} ? m : V{}) - a * m;
  });
  return {static_cast<T>(gap), largest<T>(worst)};
}

// The root D, given v_c = m_c / k; safeguarded Newton.
template <class T>
T row_root(const WideBlock<T>& b, const T* v, const T* alpha) {
  using V = typename Vector<T>::type;
  const double accuracy = 4 * std::numeric_limits<T>::epsilon();
  const double total = row_sum(alpha, b.width);
  double low = -2 * (total + 1) / b.n_classes, high = std::numeric_limits<double>::infinity();
  double d = 0;
  for (int step = 0; step < 100; ++step) {
    const T shift = static_cast<T>(d);
    V free{};
    const double sum = sum_lines<T>(b.width, [&](std::int64_t c) {
      const V a = line_at(alpha, c), z = a + (line_at(v, c) + shift);
      free += z > V{} && z < b.box ? V{} + T(1) : V{};
      return clipped<T>(z, b.box) - a;
    });
    const double rest = sum - b.n_classes * d;
    const double size = (sum < 0 ? -sum : sum) + b.n_classes * (d < 0 ? -d : d) + total;
    if ((rest < 0 ? -rest : rest) <= accuracy * size) break;
    (rest > 0 ? low : high) = d;
    double next = d + rest / (b.n_classes - total_of(free, line_lanes<T>()));
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    if (static_cast<T>(next) == shift) break;
    d = next;
  }
  return static_cast<T>(d);
}

template <class T>
bool row_block(const WideBlock<T>& b, const T* score, T* alpha, T* step, T* work, T leave_below,
               T idle, WideReport<T>* report) {
  using V = typename Vector<T>::type;
  T* margin = step;
  row_margins(b, score, margin);
  *report = row_inspect(b, margin, alpha);
  if (report->gap < leave_below || !(report->violation > 0) || report->violation <= idle)
    return false;
  const T inverse = T(1) / b.norm2;
  each_line<T>(b.width, [&](std::int64_t c) { line_at(work, c) = line_at(margin, c) * inverse; });
  const T shift = row_root(b, work, alpha);
  each_line<T>(b.width, [&](std::int64_t c) {
    const V a = line_at(alpha, c), fresh = clipped<T>(a + (line_at(work, c) + shift), b.box);
    line_at(alpha, c) = fresh;
    line_at(work, c) = fresh - a;
  });
  row_centre(b, work, T(-1), step);
  return true;
}

template <class T, class I>
WideSums row_certify(const Csr<T, I>& X, const WideWeights<T>& W, std::int64_t i,
                    const WideBlock<T>& b, const T* alpha, double mean, const double* rounding,
                    double* score) {
  for (std::int64_t c = 0; c < b.width; ++c)
    score[c] = static_cast<double>(static_cast<T>(W.bias * W.w_bias[c])) - mean;
  for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
    const double x = static_cast<double>(X.data[t]);
    const T* w = W.w + static_cast<std::int64_t>(X.indices[t]) * W.width;
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

// ---------------------------------------------------------------- the face

template <class T>
inline typename MaskVector<T>::type is_free(const typename Vector<T>::type& a, T box) {
  using V = typename Vector<T>::type;
  return a > V{} && a < box;
}

template <class T>
double face_gradient(const WideBlock<T>& b, const T* score, const T* alpha, T* r) {
  using V = typename Vector<T>::type;
  return sum_lines<T>(b.width, [&](std::int64_t c) {
    const V g = is_free<T>(line_at(alpha, c), b.box) ? T(1) + line_at(score, c) : V{};
    line_at(r, c) = g;
    return g * g;
  });
}

// v on the face -> the inverse of the sample's block times v, in place.
template <class T>
void face_inverse(const WideBlock<T>& b, const T* alpha, T* v) {
  using V = typename Vector<T>::type;
  V count{};
  const double sum = sum_lines<T>(b.width, [&](std::int64_t c) {
    count += is_free<T>(line_at(alpha, c), b.box) ? V{} + T(1) : V{};
    return line_at(v, c);
  });
  const T shift = static_cast<T>(sum / (b.n_classes - total_of(count, line_lanes<T>())));
  const T inverse = T(1) / b.norm2;
  each_line<T>(b.width, [&](std::int64_t c) {
    line_at(v, c) = is_free<T>(line_at(alpha, c), b.box) ? (line_at(v, c) + shift) * inverse : V{};
  });
}

template <class T>
void face_forward(const WideBlock<T>& b, const T* score, const T* alpha, const T* r, T* y, T* step) {
  using V = typename Vector<T>::type;
  each_line<T>(b.width, [&](std::int64_t c) {
    line_at(y, c) = is_free<T>(line_at(alpha, c), b.box) ? line_at(r, c) - line_at(score, c) : V{};
  });
  face_inverse(b, alpha, y);
  row_centre(b, static_cast<const T*>(y), T(1), step);
}

template <class T>
void face_backward(const WideBlock<T>& b, const T* score, const T* alpha, T* z, T* step, T* work) {
  using V = typename Vector<T>::type;
  each_line<T>(b.width, [&](std::int64_t c) {
    line_at(work, c) = is_free<T>(line_at(alpha, c), b.box) ? line_at(score, c) : V{};
  });
  face_inverse(b, alpha, work);
  each_line<T>(b.width, [&](std::int64_t c) { line_at(z, c) -= line_at(work, c); });
  row_centre(b, static_cast<const T*>(z), T(1), step);
}

template <class T>
double face_direction(const WideBlock<T>& b, const T* score, const T* alpha, const T* z, T beta,
                      T* p, T* q) {
  using V = typename Vector<T>::type;
  return sum_lines<T>(b.width, [&](std::int64_t c) {
    const V fresh = is_free<T>(line_at(alpha, c), b.box) ? line_at(score, c) : V{};
    line_at(p, c) = line_at(z, c) + beta * line_at(p, c);
    line_at(q, c) = fresh + beta * line_at(q, c);
    return line_at(p, c) * line_at(q, c);
  });
}

template <class T>
double face_advance(const WideBlock<T>& b, T length, const T* p, const T* q, T* e, T* r) {
  return sum_lines<T>(b.width, [&](std::int64_t c) {
    line_at(e, c) += length * line_at(p, c);
    line_at(r, c) -= length * line_at(q, c);
    return line_at(r, c) * line_at(r, c);
  });
}

template <class T>
double face_project(const WideBlock<T>& b, T length, const T* e, const T* alpha, T* out) {
  using V = typename Vector<T>::type;
  return sum_lines<T>(b.width, [&](std::int64_t c) {
    const V a = line_at(alpha, c), step = clipped<T>(a + length * line_at(e, c), b.box) - a;
    line_at(out, c) = step;
    return step;
  });
}

template <class T>
void face_move(const WideBlock<T>& b, T length, const T* e, T* alpha) {
  each_line<T>(b.width, [&](std::int64_t c) {
    line_at(alpha, c) = clipped<T>(line_at(alpha, c) + length * line_at(e, c), b.box);
  });
}

template <class T, class I>
WideKernels<T, I> wide_kernels() {
  return {&row_gather<T, I>, &row_scatter<T, I>, &row_add<T>,        &row_dot<T>,
          &row_sum<T>,       &row_block<T>,      &row_certify<T, I>, &face_gradient<T>,
          &face_forward<T>,  &face_backward<T>,  &face_direction<T>, &face_advance<T>,
          &face_project<T>,  &face_move<T>};
}

}  // namespace MM_ISA
}  // namespace multimargin
