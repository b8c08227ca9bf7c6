// One-vs-rest: a line of classes from its first pass to its certificate.
// Part of one_vs_rest.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/buffer.hpp"
#include "common/random.hpp"
#include "common/rounding.hpp"
#include "lines/one_vs_rest.hpp"

namespace multimargin {

constexpr std::int64_t kVisitsAtOnce = 2048;  // between two looks at the clock
constexpr double kShrinking = 0.125;          // of weights that were worse than zero
constexpr int kMostShrinkings = 6;
constexpr int kStalledCertificates = 3;  // without progress: the arithmetic's limit

template <class T, class I>
class OneVsRest<T, I>::Line {
 public:
  static constexpr int lanes = line_lanes<T>();

  explicit Line(const OneVsRest& of)
      : of_(of), active_(of.X_.rows), order_(static_cast<std::size_t>(of.X_.rows)) {
    w_.reset(static_cast<std::size_t>(of.X_.cols) * lanes);
    alpha_.reset(static_cast<std::size_t>(of.X_.rows) * lanes);
    best_w_.reset(static_cast<std::size_t>(of.X_.cols + 1) * lanes);
    best_alpha_.reset(static_cast<std::size_t>(of.X_.rows) * lanes);
    small_.reset(3 * lanes);
    view_ = {w_.data(),
             lanes,
             alpha_.data(),
             lanes,
             small_.data(),
             nullptr,
             of.y_,
             of.box_,
             of.norm2_.data(),
             of.bias_,
             0};
    if (of.label_begin_ == nullptr) return;
    own_.resize(static_cast<std::size_t>(of.X_.rows));
    view_.own = own_.data();
  }

  // Returns whether every problem of the line came to an end of its own.
  bool solve(std::int32_t begin, std::int32_t count, const LineStopping& stopping, T* alpha,
             std::int64_t stride, const std::function<bool()>& ending) {
    start(begin, count, alpha, stride);
    if (warm_) certify(stopping);
    while (open() != 0 && passes_ < stopping.max_passes) {
      one_pass(stopping, ending);
      ++passes_;
      if (ending()) break;
      if (quiet(stopping)) certify(stopping);
      if (warm_ && resting_ != 0) let_rest();
    }
    const bool finished = open() == 0 || passes_ >= stopping.max_passes;
    if (open() != 0 || !certified_) certify(stopping);
    leave_zero(stopping);
    back_to_best();
    if (alpha != nullptr) write_alpha(alpha, stride);
    return finished;
  }

  std::int32_t begin() const { return begin_; }
  std::int32_t count() const { return count_; }
  const BinaryReport& report(int lane) const { return report_[lane]; }
  const T* weights(std::int64_t feature) const { return w_.data() + feature * lanes; }
  T w_bias(int lane) const { return small_[lane]; }

 private:
  std::uint16_t all() const { return static_cast<std::uint16_t>((1u << count_) - 1); }
  std::uint16_t open() const { return static_cast<std::uint16_t>(all() & ~done_); }

  void start(std::int32_t begin, std::int32_t count, const T* alpha, std::int64_t stride) {
    begin_ = begin;
    count_ = count;
    view_.first_class = begin + of_.first_class_;
    find_own();
    passes_ = 0;
    done_ = 0;
    certified_ = false;
    resting_ = 0;
    present_w_ = present_alpha_ = 0;
    std::fill(w_.data(), w_.data() + w_.size(), T(0));
    std::fill(small_.data(), small_.data() + small_.size(), T(0));
    std::fill(alpha_.data(), alpha_.data() + alpha_.size(), T(0));
    for (int l = 0; l < lanes; ++l) {
      report_[l] = {};
      dual_[l] = gap_[l] = 0;
      stalled_[l] = 0;
      best_primal_[l] = std::numeric_limits<double>::infinity();
      best_dual_[l] = of_.empty_value_;  // of zero
    }
    std::fill(best_alpha_.data(), best_alpha_.data() + best_alpha_.size(), T(0));
    if (alpha != nullptr)
      for (std::int64_t i = 0; i < of_.X_.rows; ++i)
        std::copy_n(alpha + i * stride, count, alpha_.data() + i * lanes);
    // A start from zero is as good as none.
    warm_ = std::any_of(alpha_.data(), alpha_.data() + alpha_.size(), [](T a) { return a != 0; });
    fraction_ = warm_ ? 1.0 : 0.5;
    open_all();
  }

  // Where samples have sets of classes, the bits of the line's in each set.
  void find_own() {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const std::int32_t* const end = of_.y_ + of_.label_begin_[i + 1];
      const std::int32_t* y =
          std::lower_bound(of_.y_ + of_.label_begin_[i], end, view_.first_class);
      own_[i] = 0;
      for (; y != end && *y < view_.first_class + lanes; ++y)
        own_[i] = static_cast<std::uint16_t>(own_[i] | 1u << (*y - view_.first_class));
    }
  }

  void write_alpha(T* alpha, std::int64_t stride) const {
    for (std::int64_t i = 0; i < of_.X_.rows; ++i)
      std::copy_n(alpha_.data() + i * lanes, count_, alpha + i * stride);
  }

  // Every sample takes part again, in the lanes that are not done.
  void open_all() {
    order_.resize(static_cast<std::size_t>(of_.X_.rows));
    std::iota(order_.begin(), order_.end(), 0);
    order_.erase(std::remove_if(order_.begin(), order_.end(),
                                [&](std::int32_t i) { return !(of_.norm2_[i] > 0); }),
                 order_.end());
    std::fill(active_.begin(), active_.end(), open());
    std::fill(threshold(), threshold() + lanes, std::numeric_limits<T>::infinity());
  }

  // Only samples that the certificate found loose take part: an earlier solution has most of the
  // others at the bound where they belong, and the next certificate checks all.
  void open_loose() {
    const std::uint16_t lanes_left = open();
    order_.clear();
    for (std::int64_t i = 0; i < of_.X_.rows; ++i) {
      active_[i] = of_.norm2_[i] > 0 ? static_cast<std::uint16_t>(active_[i] & lanes_left) : 0;
      if (active_[i] != 0) order_.push_back(static_cast<std::int32_t>(i));
    }
    std::copy_n(violation(), lanes, threshold());
  }

  // Lanes that were quiet rest until the next certificate: otherwise a single slow lane would have
  // the samples of all others visited.
  void let_rest() {
    const std::uint16_t left = static_cast<std::uint16_t>(~resting_);
    std::int64_t kept = 0;
    for (const std::int32_t i : order_)
      if ((active_[i] &= left) != 0) order_[kept++] = i;
    order_.resize(static_cast<std::size_t>(kept));
  }

  T* threshold() { return small_.data() + lanes; }
  T* violation() { return small_.data() + 2 * lanes; }

  void one_pass(const LineStopping& stopping, const std::function<bool()>& ending) {
    save();
    Random random(of_.seed_ + static_cast<std::uint64_t>(begin_),
                  static_cast<std::uint64_t>(passes_));
    random.shuffle(order_.data(), static_cast<std::int64_t>(order_.size()));
    std::fill(gap_, gap_ + lanes, 0.0);
    std::fill(violation(), violation() + lanes, T(0));
    const T idle = stopping.by_gap ? T(-1) : static_cast<T>(stopping.tol);
    std::int64_t kept = 0, at = 0;
    const std::int64_t count = static_cast<std::int64_t>(order_.size());
    while (at < count) {
      const std::int64_t part = std::min(kVisitsAtOnce, count - at);
      const LinePass<T> pass{order_.data() + at,
                             part,
                             active_.data(),
                             threshold(),
                             idle,
                             nullptr,
                             nullptr,
                             gap_,
                             dual_,
                             violation()};
      const std::int64_t left = of_.kernels_.pass(of_.X_, view_, pass);
      std::copy_n(order_.data() + at, left, order_.data() + kept);
      kept += left;
      at += part;
      if (ending()) break;
    }
    kept = std::copy(order_.begin() + at, order_.end(), order_.begin() + kept) - order_.begin();
    order_.resize(static_cast<std::size_t>(kept));
    if (stopping.shrinking) std::copy_n(violation(), lanes, threshold());
    certified_ = false;
  }

  // Whether the active samples of the last pass promise that all problems are solved.
  bool quiet(const LineStopping& stopping) {
    bool all_quiet = true;
    for (int l = 0; l < count_; ++l) {
      if ((done_ | resting_) >> l & 1) continue;
      const double scale = dual_[l] + gap_[l] + of_.empty_value_;
      const bool quiet = stopping.by_gap ? gap_[l] <= fraction_ * stopping.tol * scale
                                         : static_cast<double>(violation()[l]) <= stopping.tol;
      all_quiet &= quiet;
      if (warm_ && quiet) resting_ = static_cast<std::uint16_t>(resting_ | 1u << l);
    }
    return all_quiet || order_.empty();
  }

  // Recomputes weights from alpha, so that rounding drift cannot hide, and evaluates them.
  void certify(const LineStopping& stopping) {
    const std::int64_t n = of_.X_.rows;
    const bool by_loose = warm_ && stopping.shrinking;
    double squares[lanes] = {}, norm[lanes], loss[lanes] = {}, value[lanes] = {};
    recompute(squares);
    for (int l = 0; l < lanes; ++l) norm[l] = std::sqrt(squares[l]);
    std::fill(violation(), violation() + lanes, T(0));
    of_.kernels_.certify(
        of_.X_, view_, {norm, loss, value, violation(), by_loose ? active_.data() : nullptr}, 0, n);
    for (int l = 0; l < count_; ++l) {
      // |w|^2 is known of rounded weights.
      const double error = norm_rounding<T>() * squares[l] / 2;
      const double primal = squares[l] / 2 + loss[l] + of_.empty_value_;
      const double dual = value[l] - squares[l] / 2 - error + of_.empty_value_;
      BinaryReport& r = report_[l];
      const bool better = dual - r.dual > 8 * std::numeric_limits<T>::epsilon() * dual ||
                          primal - dual < 0.99 * (r.primal - r.dual);
      stalled_[l] = better ? 0 : stalled_[l] + 1;
      r = {primal, dual, static_cast<double>(violation()[l]), passes_, false, false};
      compare(l);
      r.reached = stopping.by_gap
                      ? best_primal_[l] - best_dual_[l] <= stopping.tol * best_primal_[l]
                      : r.violation <= stopping.tol;
      r.precision = !r.reached && stalled_[l] >= kStalledCertificates;
      done_ = static_cast<std::uint16_t>((done_ & ~(1u << l)) |
                                         static_cast<unsigned>(r.reached || r.precision) << l);
      dual_[l] = dual - of_.empty_value_;
    }
    certified_ = true;
    if (passes_ > 0) fraction_ *= 0.5;
    resting_ = 0;
    by_loose ? open_loose() : open_all();
  }

  // In double precision: with a large box the terms are large and nearly cancel.
  void recompute(double* squares) {
    const std::int64_t size = (of_.X_.cols + 1) * lanes;
    sums_.reset(static_cast<std::size_t>(size));
    std::fill(sums_.data(), sums_.data() + size, 0.0);
    of_.kernels_.recompute(of_.X_, view_, sums_.data());
    for (std::int64_t j = 0; j <= of_.X_.cols; ++j) {
      T* const to = j < of_.X_.cols ? w_.data() + j * lanes : small_.data();
      for (int l = 0; l < lanes; ++l) {
        to[l] = static_cast<T>(sums_[j * lanes + l]);
        squares[l] += static_cast<double>(to[l]) * static_cast<double>(to[l]);
      }
    }
  }

  // The least primal and the largest dual that were certified are kept, each with what attains it:
  // passes lead to a larger dual, but a step on the way can have a primal that is far off.
  void compare(int l) {
    const std::uint16_t bit = static_cast<std::uint16_t>(1u << l);
    if (report_[l].primal < best_primal_[l]) {
      best_primal_[l] = report_[l].primal;
      present_w_ |= bit;
    }
    if (report_[l].dual > best_dual_[l]) {
      best_dual_[l] = report_[l].dual;
      present_alpha_ |= bit;
    }
  }

  // Copies the best so far where it is about to change.
  void save() {
    copy_lanes(w_.data(), best_w_.data(), of_.X_.cols, present_w_);
    copy_lanes(small_.data(), best_w_.data() + of_.X_.cols * lanes, 1, present_w_);
    copy_lanes(alpha_.data(), best_alpha_.data(), of_.X_.rows, present_alpha_);
    present_w_ = present_alpha_ = 0;
  }

  void back_to_best() {
    const std::uint16_t w = all() & ~present_w_, alpha = all() & ~present_alpha_;
    copy_lanes(best_w_.data(), w_.data(), of_.X_.cols, w);
    copy_lanes(best_w_.data() + of_.X_.cols * lanes, small_.data(), 1, w);
    copy_lanes(best_alpha_.data(), alpha_.data(), of_.X_.rows, alpha);
    for (int l = 0; l < count_; ++l) {
      report_[l].primal = best_primal_[l];
      report_[l].dual = best_dual_[l];
    }
  }

  void copy_lanes(const T* from, T* to, std::int64_t rows, std::uint16_t mask) const {
    if (mask == all()) {
      std::copy_n(from, rows * lanes, to);
    } else if (mask != 0) {
      for (std::int64_t k = 0; k < rows * lanes; ++k)
        if (mask >> (k % lanes) & 1) to[k] = from[k];
    }
  }

  // Finds weights that are better than zero on the way from there to the present ones: the primal
  // is convex on that way, and falls at its beginning.
  void leave_zero(const LineStopping& stopping) {
    BinaryReport before[lanes];
    std::copy_n(report_, lanes, before);
    for (int tries = 0; tries < kMostShrinkings; ++tries) {
      std::uint16_t worse = 0;
      for (int l = 0; l < count_; ++l)
        if (best_primal_[l] > of_.zero_primal_) worse = static_cast<std::uint16_t>(worse | 1u << l);
      if (worse == 0) break;
      save();
      for (std::int64_t k = 0; k < of_.X_.rows * lanes; ++k)
        if (worse >> (k % lanes) & 1) alpha_[k] *= static_cast<T>(kShrinking);
      certify(stopping);
    }
    std::copy_n(before, lanes, report_);  // passes, and whether they came to an end
  }

  const OneVsRest& of_;
  Buffer<T> w_, alpha_;
  Buffer<T> best_w_, best_alpha_;  // of the best certificates so far; the constant feature is last
  Buffer<double> sums_;            // weights before they are rounded
  double best_primal_[lanes] = {}, best_dual_[lanes] = {};
  std::uint16_t present_w_ = 0, present_alpha_ = 0;  // lanes whose best is not copied yet
  Buffer<T> small_;  // lines of: weights of the constant feature, thresholds, violations
  std::vector<std::uint16_t> active_;
  std::vector<std::uint16_t> own_;  // of samples with sets of classes
  std::vector<std::int32_t> order_;
  LineView<T> view_{};
  std::int32_t begin_ = 0, count_ = 0, passes_ = 0;
  std::uint16_t done_ = 0;
  bool warm_ = false;          // whether the line starts from an earlier solution
  std::uint16_t resting_ = 0;  // lanes of a warm line that wait for the next certificate
  double fraction_ = 0.5;      // of tol, that active samples may show before a certificate
  bool certified_ = false;
  BinaryReport report_[lanes];
  double dual_[lanes] = {}, gap_[lanes] = {};
  int stalled_[lanes] = {};
};

}  // namespace multimargin
