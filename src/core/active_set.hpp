// The pairs (sample, class) that are being worked on, their dual variables and
// the weights they touch.
//
// Memory: 4 bytes for each feature of each pair (where it lies in the class's
// weights), 8 for each pair, and each weight that can be non-zero once. Nothing
// of size features x classes or samples x classes.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer.hpp"
#include "csr.hpp"
#include "team.hpp"
#include "views.hpp"

namespace multimargin {

template <class T>
class ActiveSet {
 public:
  // Starts anew from lists of classes: slot 0 of each sample is its own class.
  // `pair` has n+1 entries; alpha of slot 0 is 0.
  void assign(std::vector<std::int64_t> pair, std::vector<std::int32_t> cls,
              std::vector<T> alpha);

  // Lays out the weights for the pairs and computes them from alpha, in double
  // precision and in an order that depends on nothing but the pairs.
  template <class I>
  void rebuild(const Csr<T, I>& X, std::int32_t n_classes, T bias, Team& team);

  std::int64_t samples() const { return static_cast<std::int64_t>(pair_.size()) - 1; }
  std::int64_t pairs() const { return pair_.back() - samples(); }  // own classes not counted
  std::int32_t widest() const { return widest_; }                  // most slots of a sample

  const std::vector<std::int64_t>& pair() const { return pair_; }
  const std::vector<std::int32_t>& cls() const { return cls_; }
  const std::vector<T>& alpha() const { return alpha_; }
  const std::vector<std::int64_t>& weight() const { return weight_; }
  const std::vector<std::int32_t>& feature() const { return feature_; }
  const T* w() const { return w_.data(); }
  const std::vector<T>& w_bias() const { return w_bias_; }

  // sum of alpha, and |W|^2, in a fixed order.
  double alpha_sum() const;
  double squared_norm(Team& team) const;

  // Points the view's fields that belong to the active set here.
  void fill(WorkView<T>& view);

 private:
  std::vector<std::int64_t> pair_;
  std::vector<std::int32_t> cls_;
  std::vector<T> alpha_;
  std::vector<std::uint8_t> resting_;
  std::vector<std::int64_t> place_;
  Buffer<std::uint32_t> position_;
  std::vector<std::int64_t> weight_;
  std::vector<std::int32_t> feature_;
  Buffer<T> w_;
  std::vector<T> w_bias_;
  std::int32_t widest_ = 1;
};

}  // namespace multimargin
