// Lee-Lin-Wahba class by class, with the mean of all classes held fixed. The problem is at the head
// of formulations/lee_lin_wahba.hpp; all classes of a sample at once are in rows/.
//
// Its solution is dense: dual variables are samples x classes, weights features x classes, and both
// are kept. They can be divided by classes: a rank holds bundles of neighbouring classes, whole
// lines each. Sums over all classes are then added up outside, in the order of the bundles, so that
// it does not matter which rank holds which of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "common/buffer.hpp"
#include "common/clock.hpp"
#include "common/csr.hpp"
#include "common/reports.hpp"
#include "common/samples.hpp"
#include "common/team.hpp"
#include "common/types.hpp"
#include "lee_lin_wahba/wide_row.hpp"
#include "lines/line.hpp"

namespace multimargin {

// The certificate of all samples with some classes, at fixed weights.
struct FullReport {
  double half_norm = 0;  // of weights that were rounded
  double loss = 0;       // weighted by the box, no less than it is; 0 for the hard margin
  double alpha = 0;      // sum of the dual variables
  double violation = 0;  // largest projected gradient
  double margin = 0;     // largest margin, >= 0
  std::int64_t free = 0;
};

template <class T, class I>
class LeeLinWahba {
 public:
  // The bundles held are [cuts[k], cuts[k + 1]); cuts rise and are multiples of a line, the number
  // of classes excepted: else std::invalid_argument is thrown. A single cut: none; no cut: all
  // classes in one bundle.
  LeeLinWahba(const Samples<T, I>& samples, Isa isa, int threads, std::uint64_t seed,
              const std::vector<std::int32_t>& cuts = {});

  // See Engine.
  void set_stop(std::function<bool()> stop) { stop_ = Periodically(std::move(stop)); }
  void set_abort(std::function<bool()> abort) { team_.set_abort(Periodically(std::move(abort))); }

  // Dual variables, samples x classes held; nullptr: all zero. The weights stay as they are.
  void set_alpha(const T* alpha);
  void alpha(T* out) const;
  // Classes held x features, and the constant feature's weights.
  void weights(T* out, T* constant);

  // --- bundles of classes, and what they add up to
  // Throws std::invalid_argument unless all of these are samples.
  void check_samples(const std::int32_t* samples, std::int64_t count) const;
  // Sums of alpha over each bundle's classes, bundles x count; samples = nullptr: 0 .. count - 1.
  void alpha_sums(const std::int32_t* samples, std::int64_t count, double* out);
  // Weights from alpha, given the sums over all classes [n].
  void recompute(const double* sums);
  // Sums of the weights over each bundle's classes, bundles x (features + 1).
  void weight_sums(double* out);
  // Given the sums over all classes: makes them zero. Rounded one by one the weights of a feature
  // do not sum to zero, and only those that do are a point of the primal.
  void centre(const double* sums);
  // A report per bundle, given the sums of the present weights over all classes.
  std::vector<FullReport> certify_bundles(const double* weight_sums);

  // --- the paper's alternation
  // The samples that have entries, in the order of an epoch.
  std::vector<std::int32_t> shuffled_samples(std::uint64_t epoch) const;
  // Change of the mean since recompute(), by feature, the constant one last.
  const std::vector<double>& mean() const { return mean_; }
  // Moves the mean, given the present sums of these samples' alphas over all classes.
  void move_mean(const std::int32_t* samples, std::int64_t count, const double* sums);
  // Fixes the mean for a pass over these samples; it is counted from recompute().
  void hold_mean(const double* mean, const std::int32_t* samples, std::int64_t count);
  // Every class by itself over these samples, the mean held; reports of each bundle.
  // `everything`: variables that were dropped take part again.
  std::vector<PassReport> pass_lines(const std::int32_t* samples, std::int64_t count,
                                     bool everything, T idle);

  // --- the state of a bundle between two epochs
  // alpha: samples x classes; w: (features + 1) x classes; drops: 3 x lines x samples.
  void save(std::int64_t bundle, T* alpha, T* w, std::uint16_t* drops);
  void load(std::int64_t bundle, const T* alpha, const T* w, const std::uint16_t* drops);
  // Given the sums over all classes [n] and the mean that belong to what was loaded.
  void loaded(const double* sums, const double* mean);

  std::int64_t bundles() const { return static_cast<std::int64_t>(cuts_.size()) - 1; }
  std::int32_t classes_of(std::int64_t bundle) const { return cuts_[bundle + 1] - cuts_[bundle]; }
  std::int32_t held() const { return cuts_.back(); }
  // Memory that grows with the classes held.
  std::int64_t bytes() const;
  std::int32_t n_classes() const { return n_classes_; }
  const Csr<T, I>& X() const { return X_; }

 private:
  WideBlock<T> block(std::int64_t i, std::int64_t bundle) const;
  T* alpha_row(std::int64_t i) { return alpha_.data() + i * width_; }
  const T* alpha_row(std::int64_t i) const { return alpha_.data() + i * width_; }
  void fill_zero(Buffer<T>& buffer, std::int64_t rows);
  std::int64_t width_of(std::int64_t bundle) const;
  std::int64_t lines() const { return (held() + line_lanes<T>() - 1) / line_lanes<T>(); }
  FullReport certify_bundle(std::int64_t bundle, const double* weight_sums);
  // |w_c|^2 of `wide` classes.
  std::vector<double> squared_norms(const WideWeights<T>& W, std::int64_t wide);
  void open_all();

  // Sums of something per sample, added up in the samples' order.
  template <class Each>
  double sum_samples(const Each& each);
  // Calls each(j) for all features and the constant one, which is the last.
  template <class Each>
  void each_feature(const Each& each);
  // Adds what sample i contributes to classes [from, to), in rows of `wide` sums.
  void add_row(std::int64_t i, std::int64_t from, std::int64_t to, double* out,
               std::int64_t wide) const;

  Csr<T, I> X_;
  const std::int32_t* y_;
  const T* box_;
  std::int32_t n_classes_;
  std::int32_t first_;              // class held
  std::vector<std::int32_t> cuts_;  // counted from it
  T bias_;
  std::uint64_t seed_;
  WideKernels<T, I> rows_;
  LineKernels<T, I> lines_;
  Team team_;
  Periodically stop_;
  std::int64_t width_;  // of a row, padding included
  std::vector<T> norm2_;
  Buffer<T> alpha_, w_;  // w_: features + 1 rows, the constant feature's last

  std::vector<double> sums_;  // A_i, as given last

  // The alternation.
  std::vector<double> mean_;
  std::vector<T> offset_;                                       // x_i.(held mean)
  std::vector<std::uint16_t> active_, still_low_, still_high_;  // [line][n]
};

}  // namespace multimargin
