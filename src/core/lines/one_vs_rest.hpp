// One-vs-rest: K binary problems that share nothing but the data.
//
//   primal  min  1/2 |w_c|^2 + sum_i U_i max(0, 1 - z_ic w_c.x_i)      (or its square)
//   dual    max  sum_i a_ic - 1/2 |w_c|^2,  0 <= a_ic <= U_i           (or 0 <= a_ic, minus
//           w_c = sum_i a_ic z_ic x_i                                   sum_i a_ic^2 / (4 U_i))
//   z_ic = 1 where sample i has class c, else -1; a sample may have none or several
//
// Classes are solved a line at a time (line.hpp), lines by different threads. A line keeps its
// weights in the second cache from its first pass to its certificate, so that nothing of size
// features x classes exists but the result.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/clock.hpp"
#include "common/csr.hpp"
#include "common/samples.hpp"
#include "common/sparse_rows.hpp"
#include "common/team.hpp"
#include "lines/line.hpp"

namespace multimargin {

// When a binary problem is solved.
struct LineStopping {
  double tol;
  bool by_gap;  // a relative duality gap of tol; otherwise a violation of tol
  std::int32_t max_passes;
  bool shrinking = true;  // samples at a bound that they press against are left out for a while
};

// Where one binary problem ended.
struct BinaryReport {
  double primal = 0;  // no less than the objective of its weights
  double dual = 0;    // no more than the dual objective of its alpha
  double violation = 0;
  std::int32_t passes = 0;
  bool reached = false;    // tol
  bool precision = false;  // rounding did not allow more
};

template <class T, class I>
class OneVsRest {
 public:
  // Problem p is class p + first_class against the rest.
  OneVsRest(const Samples<T, I>& samples, std::int32_t problems, std::int32_t first_class,
            BinaryLoss loss, Isa isa, int threads, std::uint64_t seed);

  // See Engine: true ends the work early, and the state stays whole.
  void set_stop(std::function<bool()> stop) { stop_ = Periodically(std::move(stop)); }

  // Solves problems [begin, end), begin a multiple of a line. They start from `alpha` and write
  // their solution to it: problem begin and sample i at alpha + i * stride; nullptr: from zero,
  // and not kept. Reports and weights of problems reached before stop() are written; returns
  // whether all were.
  bool solve(std::int32_t begin, std::int32_t end, const LineStopping& stopping, T* alpha,
             std::int64_t stride);

  const std::vector<BinaryReport>& reports() const { return reports_; }
  // Of problems [begin, end).
  SparseRows<T> weights(std::int32_t begin, std::int32_t end) const;
  const std::vector<T>& w_bias() const { return w_bias_; }
  // Puts back what weights() gave of `rows` problems from begin on, and the primal of each.
  // Throws std::invalid_argument where row_begin falls.
  void put_weights(std::int32_t begin, const std::int64_t* row_begin, const std::int32_t* index,
                   const T* value, const T* w_bias, const double* primal, std::int64_t rows);
  // Memory of the weights that are held.
  std::int64_t bytes() const;

 private:
  class Line;
  // Weights replace those that are held if their primal is no larger; zero weights are held first.
  void keep(const Line& line, const LineStopping& stopping);

  Csr<T, I> X_;
  const std::int32_t* y_;
  const std::int64_t* label_begin_;
  const T* box_;
  std::int32_t first_class_;
  T bias_;
  std::uint64_t seed_;
  LineKernels<T, I> kernels_;
  Team team_;
  Periodically stop_;
  std::vector<T> norm2_;
  double empty_value_ = 0;  // primal = dual contribution of samples without entries
  double zero_primal_ = 0;  // of zero weights
  std::vector<BinaryReport> reports_;
  std::vector<std::vector<std::pair<std::int32_t, T>>> rows_;  // weights of each problem
  std::vector<T> w_bias_;
};

}  // namespace multimargin
