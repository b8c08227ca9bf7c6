// Weston-Watkins with many classes and a small C.
//
// The margin of a sample is reached when its variables sum to about 1 / k, k = |x_i|^2: with a
// small bound C that takes 1 / (C k) classes at the bound, hundreds or thousands, and few in
// between. The weights are nearly dense then, and a list of active pairs with a position per
// feature would be larger than they are. So weights are dense, a row of all classes per feature,
// variables are bits, and a pass solves each sample with all its classes.
//
// Between certificates weights are summed up in the type of X. recompute() makes them anew, each
// from all its terms in double precision: |W(alpha)|^2 is known of these sums, and the primal is
// that of the rounded ones.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "bounded_rows/bounded_alpha.hpp"
#include "bounded_rows/bounded_row.hpp"
#include "common/buffer.hpp"
#include "common/clock.hpp"
#include "common/reports.hpp"
#include "common/samples.hpp"
#include "common/team.hpp"
#include "rows/row_engine.hpp"

namespace multimargin {

template <class T, class I>
class BoundedEngine {
 public:
  BoundedEngine(const Samples<T, I>& samples, Isa isa, int threads, std::uint64_t seed);

  // See Engine.
  void set_stop(std::function<bool()> stop) { stop_ = Periodically(std::move(stop)); }
  void set_abort(std::function<bool()> abort) { team_.set_abort(Periodically(std::move(abort))); }

  // Dual variables as ragged rows, the own class first, whose value is not read; makes the weights.
  void assign(const std::int64_t* slot_begin, const std::int32_t* cls, const T* value);
  // The same out; the own class has the sum of the others. Rows begin at slot_begin [n + 1].
  std::vector<std::int64_t> slot_begin() const;
  void lists(const std::int64_t* slot_begin, std::int32_t* cls, T* value) const;

  // See RowEngine.
  PassReport pass(bool everything, double leave_below, double quiet, double idle);
  void recompute();
  RowCertificate certify();

  // The sum of all dual variables.
  double total() const;

  // --- the model, after recompute()
  std::int64_t nonzeros() const { return nonzeros_; }
  // Weight vectors x features, and the constant feature's weights. They are made of the dual
  // variables, the same bits as by recompute(), so that the weights need not be kept for them.
  void weights(T* out, T* constant);
  void forget_weights() { w_ = Buffer<T>(); }  // the next pass makes them again
  // The same without zeros; indptr: [classes + 1].
  std::vector<std::int64_t> sparse_begin();
  void sparse_weights(const std::int64_t* indptr, std::int32_t* indices, T* data, T* constant);

  std::int64_t n_samples() const { return X_.rows; }
  std::int64_t n_features() const { return X_.cols; }
  std::int32_t n_classes() const { return n_classes_; }
  std::int64_t bytes() const {
    return alpha_.bytes() + static_cast<std::int64_t>(sizeof(T) * w_.size());
  }

 private:
  struct Entry {
    std::int32_t sample;
    T value;
  };
  // What the weights of some features are made of.
  struct Part {
    Buffer<double> sum;  // aligned, as all that kernels see
    std::vector<double> norm2;
    double half_norm = 0, dual_half_norm = 0;
    std::int64_t nonzeros = 0;
  };

  BoundedSample<T> sample(std::int64_t i) const {
    return {width_, n_classes_, y_[i], box_[i], static_cast<T>(norm2_[i])};
  }
  BoundedWeights<T> view() { return {w_.data(), w_.data() + X_.cols * width_, bias_, width_}; }
  void transpose();
  void settle_empty();
  void expand(std::int64_t i, T* alpha) const;
  void add_sample(std::int64_t i, double x, double* sum) const;
  void add_up(std::int64_t feature, double* sum) const;
  void take_row(std::int64_t feature, Part* part);
  T* scratch(int member, int k) { return scratch_.data() + (member * kScratch + k) * width_; }

  static constexpr int kScratch = 3;          // rows of each member
  static constexpr std::int64_t kParts = 64;  // of the features, for any number of threads

  Csr<T, I> X_;
  const std::int32_t* y_;
  const T* box_;
  std::int32_t n_classes_;
  T bias_;
  std::uint64_t seed_;
  std::uint64_t passes_ = 0;
  BoundedKernels<T, I> kernels_;
  Team team_;
  Periodically stop_;
  std::int64_t width_;
  std::vector<double> norm2_, sum_;     // |x_i|^2; the sum of a sample's variables
  std::vector<std::int32_t> everyone_;  // samples that have entries
  std::vector<std::uint8_t> waits_, span_;
  std::vector<std::int64_t> column_begin_;
  Buffer<Entry> columns_;
  BoundedAlpha<T> alpha_;
  Buffer<T> w_, scratch_;
  std::vector<std::int32_t> words_;
  std::vector<FreeVariable<T>> found_;
  Buffer<T> norm_;  // of a class's weights, no less than it is
  double half_norm_ = 0, dual_half_norm_ = 0;
  std::int64_t nonzeros_ = 0;
};

}  // namespace multimargin
