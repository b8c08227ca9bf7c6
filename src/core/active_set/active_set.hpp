// All pairs (sample, class) that are being worked on, their dual variables and the weights they
// touch.
//
// Memory: 4 bytes for each feature of each pair (where it lies in the class's weights), about 21
// for each pair, and each weight that two pairs share once. Nothing of size features x classes or
// samples x classes. With dense rows: about 21 bytes for each pair, and all weights.
#pragma once

#include <cstdint>
#include <vector>

#include "active_set/slots.hpp"
#include "active_set/weight_layout.hpp"
#include "common/buffer.hpp"
#include "common/csr.hpp"
#include "common/label_costs.hpp"
#include "common/team.hpp"
#include "intercept/intercept.hpp"

namespace multimargin {

template <class T>
class ActiveSet {
 public:
  // Starts anew from lists of classes: slot 0 of each sample is its own class, whose alpha is
  // replaced by the sum of the others. `slot_begin` has n+1 entries.
  void assign(std::vector<std::int64_t> slot_begin, std::vector<std::int32_t> cls,
              std::vector<T> alpha, const LabelCosts* costs, Team& team);

  // Lays out the weights for the pairs.
  template <class I>
  void lay_out(const Csr<T, I>& X, std::int32_t n_classes, Team& team);

  // Computes the weights of the features from alpha, in double precision and in an order that
  // depends on the pairs alone: rounding that moves have accumulated is gone.
  template <class I>
  void recompute(const Csr<T, I>& X, const SolverKernels<T>& kernels, Team& team);

  std::int64_t samples() const { return slots_.samples(); }
  std::int64_t pairs() const { return slot_begin().back() - samples(); }  // own classes not counted
  std::int32_t widest() const { return slots_.widest; }

  const std::vector<std::int64_t>& slot_begin() const { return slots_.begin; }
  const std::vector<std::int32_t>& cls() const { return slots_.cls; }
  const std::vector<T>& alpha() const { return slots_.alpha; }
  std::vector<T>& alpha() { return slots_.alpha; }
  // Makes room for the heights that visits note.
  void keep_heights() { slots_.height.assign(slots_.cls.size(), T(0)); }
  // The variables, for the intercept.
  InterceptView<T> intercept_view(const T* box, const T* curvature);
  // Weights of the constant feature, see intercept.hpp.
  const std::vector<T>& w_bias() const { return w_bias_; }
  std::vector<T>& w_bias() { return w_bias_; }
  const ClassMembers& members() const { return members_; }

  const WeightLayout& layout() const { return layout_; }
  T lone(std::int64_t p) const { return slots_.lone[p]; }  // sum of x^2 over lone features
  double asked(std::int64_t p) const {
    return slots_.asked.empty() ? 1.0 : static_cast<double>(slots_.asked[p]);
  }
  T* weights_of(std::int32_t c) { return w_of_[c]; }  // of the places
  std::int32_t n_classes() const { return static_cast<std::int32_t>(w_bias_.size()); }
  // Replaces the variables of the same pairs, slot 0 of each sample by the sum of the others;
  // weights are left to be computed.
  void set_alpha(std::vector<T> alpha, Team& team);

  // place(t): where the t-th feature of the sample lies in the weights of the slot's class.
  template <class I>
  auto places_of(const Csr<T, I>& X, std::int64_t i, std::int64_t slot) const {
    if constexpr (is_dense<I>) {
      return [](std::int64_t t) { return t; };
    } else {
      const std::uint32_t* at =
          slots_.position.data() + slots_.place[i] + slot * (X.end(i) - X.begin(i));
      return [at](std::int64_t t) { return at[t]; };
    }
  }
  // Calls use(sample, slot, place) for the members of class c.
  template <class I, class Use>
  void each_member(const Csr<T, I>& X, std::int32_t c, const Use& use) const {
    const auto each = [&](std::int64_t i, std::int64_t slot) {
      use(i, slot, places_of(X, i, slot));
    };
    if constexpr (is_dense<I>) {
      members_.each(c, each);
    } else {
      members_.each(c, each, [&](std::int64_t i, std::int64_t slot) {
        if (slots_.alpha[slots_.begin[i] + slot] == 0) return;
        const std::int64_t len = X.end(i) - X.begin(i);
        prefetch(X.data + X.begin(i), len);
        prefetch(X.indices + X.begin(i), len);
        prefetch(slots_.position.data() + slots_.place[i] + slot * len, len);
      });
    }
  }

  // Calls use(feature, weight) for the weights of class c, each feature once.
  template <class I, class Use>
  void each_weight(const Csr<T, I>& X, std::int32_t c, const Use& use) const {
    const auto members = [&](const auto& take) {
      each_member(X, c, [&](std::int64_t i, std::int64_t slot, const auto& place) {
        take(i, coefficient(i, slot), place);
      });
    };
    multimargin::each_weight(X, layout_, w_of_[c], c, members, use);
  }

  // The same where positions have been given back; `places` is scratch of the calling thread.
  template <class I, class Use>
  void each_weight(const Csr<T, I>& X, std::int32_t c, FeaturePlaces& places,
                   const Use& use) const {
    layout_.open(places, X.cols, c);
    const auto members = [&](const auto& take) {
      members_.each(c, [&](std::int64_t i, std::int64_t slot) {
        take(i, coefficient(i, slot),
             [&, first = X.begin(i), feature = X.features(i)](std::int64_t t) {
               return places[feature[first + t]];
             });
      });
    };
    multimargin::each_weight(X, layout_, w_of_[c], c, members, use);
    places.close();
  }

  // Gives back the positions, most of the memory; lay_out() makes them anew.
  void give_back_positions() { slots_.position = {}; }
  bool has_positions() const {
    return slots_.position.size() > 0 || slots_.place.empty() || slots_.place.back() == 0;
  }

  // Sum of alpha, each times what is asked of its class, and |w_c|^2 of every class, lone features
  // included and the constant one not, each in a fixed order.
  double alpha_sum(const LabelCosts* costs) const;
  std::vector<double> squared_norms(Team& team) const;

  // Points those members of the view here that belong to the active set.
  void fill(WorkView<T>& view);

 private:
  // Lays out the weights of sparse rows, and notes where their features lie.
  template <class I>
  void place_features(const Csr<T, I>& X, std::int32_t n_classes, Team& team);

  // Of x_i in the weights of a slot's class: the sum of alpha in the own class, -alpha in others.
  T coefficient(std::int64_t i, std::int64_t slot) const {
    const T a = slots_.alpha[slots_.begin[i] + slot];
    return slot == 0 ? a : -a;
  }
  // The same without the rounding of the sum. Added up over many samples, that would give a norm
  // that does not belong to alpha, and a dual objective of no point at all.
  double exact_coefficient(std::int64_t i, std::int64_t slot) const;

  Slots<T> slots_;
  ClassMembers members_;
  WeightLayout layout_;
  Buffer<T> w_;
  std::vector<T*> w_of_;  // where each class's weights begin
  std::vector<T> w_bias_;
};

}  // namespace multimargin
