// The pairs (sample, class) that are being worked on, their dual variables and
// the weights they touch.
//
// Memory: 4 bytes for each feature of each pair (where it lies in the class's
// weights), about 21 for each pair, and each weight that two pairs share once.
// Nothing of size features x classes or samples x classes.
#pragma once

#include <cstdint>
#include <vector>

#include "active_set/views.hpp"
#include "common/buffer.hpp"
#include "common/csr.hpp"
#include "common/team.hpp"

namespace multimargin {

template <class T>
class ActiveSet {
 public:
  // Starts anew from lists of classes: slot 0 of each sample is its own class.
  // `pair` has n+1 entries; what alpha has in slot 0 is replaced by the sum of the others.
  void assign(std::vector<std::int64_t> pair, std::vector<std::int32_t> cls, std::vector<T> alpha);

  // Lays out the weights for the pairs.
  template <class I>
  void lay_out(const Csr<T, I>& X, std::int32_t n_classes, Team& team);

  // Computes the weights from alpha, in double precision and in an order that depends on
  // nothing but the pairs: what rounding added while samples moved is gone.
  template <class I>
  void recompute(const Csr<T, I>& X, T bias, Team& team);

  std::int64_t samples() const { return static_cast<std::int64_t>(pair_.size()) - 1; }
  std::int64_t pairs() const { return pair_.back() - samples(); }  // own classes not counted
  std::int32_t widest() const { return widest_; }                  // most slots of a sample

  const std::vector<std::int64_t>& pair() const { return pair_; }
  const std::vector<std::int32_t>& cls() const { return cls_; }
  const std::vector<T>& alpha() const { return alpha_; }
  const std::vector<T>& w_bias() const { return w_bias_; }

  // Calls use(feature, weight) for the weights of class c, each feature once.
  template <class I, class Use>
  void each_weight(const Csr<T, I>& X, std::int32_t c, const Use& use) const {
    for (std::int64_t k = weight_[c] + 1; k < weight_[c + 1]; ++k) use(feature_[k], w_[k]);
    const std::int64_t stop = members_.begin[c + 1];
    for (std::int64_t e = members_.begin[c]; e < stop; ++e) {
      const std::int64_t i = members_.sample[e], slot = members_.slot[e];
      const T step = coefficient(i, slot);
      if (step == 0) continue;
      const std::int64_t begin = X.begin(i), len = X.end(i) - begin;
      const std::uint32_t* at = position_.data() + place_[i] + slot * len;
      for (std::int64_t t = 0; t < len; ++t)
        if (at[t] == 0)
          use(static_cast<std::int32_t>(X.indices[begin + t]), step * X.data[begin + t]);
    }
  }

  // Sum of alpha, and |w_c|^2 of every class, lone features included, each in a fixed order.
  double alpha_sum() const;
  std::vector<double> squared_norms(Team& team) const;

  // Points the view's fields that belong to the active set here.
  void fill(WorkView<T>& view);

 private:
  // The members of each class: samples that have it in some slot, in sample order.
  struct Members {
    std::vector<std::int64_t> begin;  // [K+1]
    std::vector<std::int32_t> sample;
    std::vector<std::int32_t> slot;
  };
  // What one thread needs to lay out a class.
  struct Layout {
    std::vector<std::int32_t> slot_of;  // [features] -> kUnseen, kOnce or position
    std::vector<std::int32_t> seen;     // features of the class, to forget them again
    std::vector<std::int32_t> feature;  // by position
  };

  void list_members(std::int32_t n_classes);
  template <class I>
  void lay_out_class(const Csr<T, I>& X, std::int32_t c, Layout& layout);
  // Of x_i in the class of a slot: the sum of alpha at home, -alpha abroad.
  T coefficient(std::int64_t i, std::int64_t slot) const {
    const T a = alpha_[pair_[i] + slot];
    return slot == 0 ? a : -a;
  }
  // The same without the rounding of the sum, which many samples can add up to a norm that is not
  // that of alpha: the dual would be of no point at all.
  double exact_coefficient(std::int64_t i, std::int64_t slot) const {
    if (slot > 0) return -static_cast<double>(alpha_[pair_[i] + slot]);
    double sum = 0;
    for (std::int64_t p = pair_[i] + 1; p < pair_[i + 1]; ++p)
      sum += static_cast<double>(alpha_[p]);
    return sum;
  }

  Members members_;
  std::vector<T> lone_;
  std::vector<std::int64_t> pair_;
  std::vector<std::int32_t> cls_;
  std::vector<T> alpha_;
  std::vector<std::uint8_t> resting_;
  std::vector<std::int64_t> place_;
  Buffer<std::uint32_t> position_;
  std::vector<std::int64_t> weight_;
  std::vector<std::int32_t> feature_;
  Buffer<T> w_;
  std::vector<T*> w_of_;  // where each class's weights begin
  std::vector<T> w_bias_;
  std::int32_t widest_ = 1;
};

}  // namespace multimargin
