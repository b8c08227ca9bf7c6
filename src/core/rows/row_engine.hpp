// All samples with all their classes: passes of exact steps, and Newton steps where passes crawl.
//
// Weights are kept by features, a row of all classes each, and dual variables by samples. Both are
// dense: this is for few classes, and for losses whose solution is dense.
//
// Newton steps. The proximal point method raises the dual by
//   a <- argmax_a  dual(a) - sum_i |a_i - b_i|^2 / (2 sigma_i),    b the point before.
// Its maximum is the minimum over all weights of the smooth, convex function
//   f(W) = 1/2 |W|^2 + sum_i envelope_i(W),   gradient W - B a(W),   a_i(W) = the projection of
//   b_i + sigma_i m_i(W) onto the dual's set,
// where B a are the weights of dual variables. Newton's method finds it: the matrix
// I + sum_i sigma_i (B_i J_i B_i') (x) x_i x_i' has as many rows as there are weights, and only
// samples with free variables take part. Every W has a primal value and every a(W) a dual one.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "common/buffer.hpp"
#include "common/clock.hpp"
#include "common/label_costs.hpp"
#include "common/reports.hpp"
#include "common/samples.hpp"
#include "common/team.hpp"
#include "intercept/steps.hpp"
#include "rows/row.hpp"

namespace multimargin {

// Objectives at the present weights and dual variables, which need not belong together.
struct RowCertificate {
  double half_norm = 0;       // of the weights, rounded to the type of X
  double loss = 0;            // at these weights, no less than it is; 0 for the hard margin
  double gain = 0;            // what the dual variables add to the dual
  double dual_half_norm = 0;  // of the weights that the dual variables make
  double violation = 0;       // largest projected gradient
  double margin = 0;          // largest margin, >= 0
  std::int64_t free = 0;
};

// After a Newton step.
struct NewtonReport {
  double primal = 0;            // of the weights
  double dual = 0;              // of the dual variables, or of the point before if that is better
  double residual = 0;          // 1/2 |W - B a|^2: zero where the proximal step is solved
  double moved = 0;             // sum_i |a_i - b_i|^2 / (2 sigma_i)
  double length = 0;            // of the step along Newton's direction
  std::int32_t iterations = 0;  // of conjugate gradients
  std::int64_t free = 0;        // variables
  bool complete = true;         // false: ended early by stop()
};

template <class T, class I>
class RowEngine {
 public:
  // `rows` weight vectors: one per class, or one for two classes.
  RowEngine(const Samples<T, I>& samples, RowLoss loss, std::int32_t rows, Isa isa, int threads,
            std::uint64_t seed);

  // See Engine.
  void set_stop(std::function<bool()> stop) { stop_ = Periodically(std::move(stop)); }
  void set_abort(std::function<bool()> abort) { team_.set_abort(Periodically(std::move(abort))); }

  // Dual variables, samples x weight vectors, and their weights.
  void assign(const double* alpha);
  void alpha(double* out) const;
  // Weight vectors x features, and the constant feature's weights, as the model has them.
  void weights(T* out, T* constant);
  // (Features + 1) x weight vectors, for a run that comes back to them.
  void copy_weights(double* out) const;
  void put_weights(const double* weights);

  // One pass of exact steps. Samples whose gap is below `quiet` wait for 2, 4, ... 16 passes unless
  // `everything` is visited; those below `leave_below` stay as they are. `hold`: the intercept is
  // held, where that is possible; see held_intercept.cpp.
  PassReport pass(bool everything, double leave_below, double quiet, double idle,
                  bool hold = false);
  // Makes the weights anew from the dual variables; an intercept that is held stays.
  void recompute();
  RowCertificate certify();

  // --- Newton steps
  // Begins at the present weights and dual variables; sigma_i = strength * U_i.
  NewtonReport begin_newton(double strength);
  NewtonReport newton_step(double reduction, std::int32_t iterations);
  // The point before becomes the present one, with another strength.
  NewtonReport next_point(double strength);
  // Ends them: the weights are made of the dual variables again.
  void end_newton();

  // --- the state between two passes, or where the next call is next_point()
  // alpha, scores: samples x weight vectors; weights: (features + 1) x weight vectors; state: how
  // long samples wait [2 n], then numbers of the run [kRunNumbers].
  static constexpr std::int64_t kRunNumbers = 3;
  void save(double* alpha, double* weights, double* scores, double* state) const;
  void load(const double* alpha, const double* weights, const double* scores, const double* state);

  // Whether passes can hold the intercept.
  bool may_hold() const { return may_hold_; }
  std::int64_t n_samples() const { return X_.rows; }
  std::int64_t n_features() const { return X_.cols; }
  std::int32_t n_rows() const { return rows_; }
  std::int64_t bytes() const;
  // What Newton steps take: bytes at most, and multiply-adds of a step's matrices, one per class
  // and of all features; 0: too many features for them.
  std::int64_t newton_bytes() const;
  double matrix_work() const;

 private:
  RowSample sample(std::int64_t i) const;
  RowWeights view(Buffer<double>& w) const;
  double* row(Buffer<double>& b, std::int64_t i) const { return b.data() + i * width_; }
  std::int64_t weight_numbers() const { return (X_.cols + 1) * width_; }
  void make_weights(const double* alpha, Buffer<double>& w);
  void settle_empty();
  double* constant() { return w_.data() + X_.cols * width_; }
  bool can_hold() const;
  void begin_holding();
  void end_holding();
  void move_intercept();
  double intercept_gap();
  double half_norm(const Buffer<double>& w) const;
  // Calls each(member, i, out) for samples, which adds to `out` weights; sums them up in `w`.
  template <class Each>
  void accumulate(const std::vector<std::int32_t>& samples, Buffer<double>& w, const Each& each);
  template <class Each>
  void each_sample(const Each& each);
  double* scratch(int member, int k) {
    return scratch_.data() + (static_cast<std::int64_t>(member) * kScratch + k) * width_;
  }

  // --- Newton steps
  NewtonReport evaluate();
  void set_strength(double strength);
  const Buffer<double>& better_alpha() const { return before_is_better_ ? before_ : alpha_; }
  void precondition();
  void apply_preconditioner(const Buffer<double>& r, Buffer<double>& z);
  void centre(Buffer<double>& w) const;
  void multiply(Buffer<double>& v, Buffer<double>& out);
  std::int32_t direction(double reduction, std::int32_t iterations);
  std::vector<double> slopes(const std::vector<double>& along, const std::vector<double>& squares);
  void search();
  double dot(const Buffer<double>& a, const Buffer<double>& b);
  // Rows of a class's matrix; 0: its diagonal has to do.
  std::int64_t matrix_size() const;
  void dense_preconditioner(std::int64_t size);
  void diagonal_preconditioner();

  static constexpr int kScratch = 4;  // rows of each member

  Csr<T, I> X_;
  const std::int32_t* y_;
  const T* box_;
  std::int32_t n_classes_;
  std::int32_t rows_;  // weight vectors
  double bias_;
  std::uint64_t seed_;
  std::uint64_t passes_ = 0;
  RowDataKernels<T, I> data_;
  RowLossKernels loss_;
  DenseKernels dense_;
  Team team_;
  Periodically stop_;
  std::int64_t width_;
  int chunks_;
  std::vector<double> norm2_;
  std::vector<std::int32_t> everyone_;  // samples that have entries
  std::vector<std::uint8_t> waits_, span_;
  Buffer<double> asked_;  // margins, own class x other class; empty: 1
  double most_asked_ = 1;
  Buffer<double> alpha_, w_, scratch_;
  std::vector<Buffer<double>> parts_;  // weights of a chunk of samples
  double dual_half_norm_ = 0;          // of the weights that the better dual variables make

  // The intercept, where passes hold it.
  bool may_hold_ = false, holds_ = false;
  std::vector<double> curvature_;  // of visits
  Buffer<double> made_intercept_;  // [width] what the dual variables make of its weights
  InterceptSteps steps_;

  // Newton steps.
  Buffer<double> before_, score_, change_, made_, step_, r_, z_, p_, q_;
  double dual_ = 0, before_dual_ = 0, before_half_norm_ = 0;
  bool before_is_better_ = false;
  std::vector<double> sigma_;
  Buffer<double> length_;  // of the step, for each class
  std::vector<std::uint8_t> tight_;
  std::vector<std::int32_t> free_;  // samples with free variables
  std::vector<Buffer<double>> factor_;
  Buffer<double> diagonal_, jacobi_;
  bool has_preconditioner_ = false;
  std::int32_t last_iterations_ = 0, fresh_iterations_ = 0;
};

}  // namespace multimargin
