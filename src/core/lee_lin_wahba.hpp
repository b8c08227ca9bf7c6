// Lee-Lin-Wahba: all classes of a sample at once, or class by class with the mean held fixed.
// The problem and the formulas are at the head of row_kernels.hpp.
//
// Its solution is dense in samples x classes and features x classes, so both are kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "clock.hpp"
#include "csr.hpp"
#include "kernels.hpp"
#include "line.hpp"
#include "reports.hpp"
#include "row.hpp"
#include "team.hpp"

namespace multimargin {

// Everything at the same weights.
struct FullReport {
  double half_norm = 0;
  double loss = 0;       // weighted by the box; 0 for the hard margin
  double alpha = 0;      // sum of the dual variables
  double violation = 0;  // largest projected gradient
  double margin = 0;     // largest margin, >= 0
  std::int64_t free = 0;
};

// What conjugate gradients on the free variables came to.
struct FaceReport {
  std::int32_t iterations = 0;
  double step = 0;  // share of the step that was taken, 0 .. 1
  double gain = 0;  // by how much the dual grew
};

template <class T, class I>
class LeeLinWahba {
 public:
  // X, y and box are borrowed; an infinite box is the hard margin.
  LeeLinWahba(const Csr<T, I>& X, const std::int32_t* y, const T* box, std::int32_t n_classes,
              T bias, Isa isa, int threads, std::uint64_t seed);

  // See Engine.
  void set_stop(std::function<bool()> stop) { stop_ = Periodically(std::move(stop)); }
  void set_abort(std::function<bool()> abort) { team_.set_abort(Periodically(std::move(abort))); }

  // Threads share samples from this many cache lines of work between two meetings.
  void set_least_shared(double lines) { least_shared_ = lines; }

  // Dual variables, samples x classes; nullptr: all zero.
  void assign(const T* alpha);
  void alpha(T* out) const;
  // Classes x features, and the constant feature's weights.
  void weights(T* out, T* constant);

  // Recomputes all weights from alpha.
  void recompute();
  // At the present weights; recompute() comes first where rounding matters.
  FullReport look();

  // One pass of exact steps over all samples, all classes of a sample at once.
  PassReport pass_rows(T leave_below, T idle);
  // Conjugate gradients on the free variables, to the given share of the first residual.
  FaceReport polish(std::int32_t iterations, double reduction);

  // --- the paper's alternation
  // Holds the mean at what alpha gives now plus `shift` (features, then the constant), or
  // exactly there for nullptr. Returns what alpha gives, less the mean at the last recompute().
  std::vector<T> hold_mean(const T* shift);
  // Every class by itself over the given part of the samples, the mean held.
  // `everything`: variables that were dropped take part again.
  PassReport pass_lines(std::int32_t part, std::int32_t parts, bool everything, T idle);

  std::int32_t n_classes() const { return n_classes_; }
  const Csr<T, I>& X() const { return X_; }

 private:
  RowBlock<T> block(std::int64_t i) const;
  T* alpha_row(std::int64_t i) { return alpha_.data() + i * width_; }
  const T* alpha_row(std::int64_t i) const { return alpha_.data() + i * width_; }
  void fill_zero(Buffer<T>& buffer, std::int64_t rows);
  std::vector<std::int32_t> shuffled_samples();
  RowWeights<T> weights_in(Buffer<T>& rows);

  // Sums of something per sample, added up in the samples' order.
  template <class Each>
  double sum_samples(const Each& each);
  // Adds what sample i contributes to classes [from, to), in rows of `wide` sums.
  void add_row(std::int64_t i, std::int64_t from, std::int64_t to, double* sums,
               std::int64_t wide) const;
  // W += sum_i x_i (row_i - its mean)
  void scatter_all(const T* rows, const RowWeights<T>& W);
  // Visits samples one after the other, a few at a time so that threads can share the classes.
  // visit(i, score, step) may change step and returns whether it has to be added to W.
  template <class Visit>
  bool sweep(const std::vector<std::int32_t>& order, const RowWeights<T>& W, const Visit& visit);
  T inner(std::int64_t i, std::int64_t j) const;
  bool worth_sharing() const;

  // Arrays of conjugate gradients: samples x classes, and u, features x classes.
  struct Face {
    Buffer<T> r, z, p, q, e, u;
  };
  // A step within the bounds, and what the dual gains along it.
  struct Bent {
    double slope = 0;
    double curvature = 0;
    double gain(double share) const { return share * (slope - share * curvature / 2); }
  };
  // z = what is left of length * e within the bounds, u = its weights.
  Bent bend(Face& f, T length);
  // Along e as far as the dual grows, from the longest multiple of it down to a share of that.
  // Returns the share that was taken.
  double take_step(Face& f, double longest, double shortest_share, FaceReport& report);

  Csr<T, I> X_;
  const std::int32_t* y_;
  const T* box_;
  std::int32_t n_classes_;
  T bias_;
  std::uint64_t seed_;
  std::uint64_t passes_ = 0;
  RowKernels<T, I> rows_;
  LineKernels<T, I> lines_;
  Team team_;
  Periodically stop_;
  double least_shared_ = 400;
  std::int64_t width_;  // of a row, padding included
  std::vector<T> norm2_;
  std::unique_ptr<Face> face_;
  Buffer<T> alpha_, w_;  // w_: features + 1 rows, the constant feature's last

  // The alternation.
  std::vector<double> sums_at_recompute_;  // A_i
  std::vector<T> offset_;                  // x_i.(held mean - mean at the last recompute)
  std::vector<std::int32_t> order_;        // of the present epoch
  std::vector<std::uint16_t> active_, still_low_, still_high_;  // [line][n]
};

}  // namespace multimargin
