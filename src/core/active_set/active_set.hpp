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

namespace multimargin {

template <class T>
class ActiveSet {
 public:
  // Starts anew from lists of classes: slot 0 of each sample is its own class, whose alpha is
  // replaced by the sum of the others. `slot_begin` has n+1 entries.
  void assign(std::vector<std::int64_t> slot_begin, std::vector<std::int32_t> cls,
              std::vector<T> alpha, const LabelCosts* costs);

  // Lays out the weights for the pairs.
  template <class I>
  void lay_out(const Csr<T, I>& X, std::int32_t n_classes, Team& team);

  // Computes the weights from alpha, in double precision and in an order that depends on the pairs
  // alone: rounding that moves have accumulated is gone.
  template <class I>
  void recompute(const Csr<T, I>& X, T bias, const SolverKernels<T>& kernels, Team& team);

  std::int64_t samples() const { return slots_.samples(); }
  std::int64_t pairs() const { return slot_begin().back() - samples(); }  // own classes not counted
  std::int32_t widest() const { return slots_.widest; }

  const std::vector<std::int64_t>& slot_begin() const { return slots_.begin; }
  const std::vector<std::int32_t>& cls() const { return slots_.cls; }
  const std::vector<T>& alpha() const { return slots_.alpha; }
  const std::vector<T>& w_bias() const { return w_bias_; }

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

  // Sum of alpha, each times what is asked of its class, and |w_c|^2 of every class, lone features
  // included, each in a fixed order.
  double alpha_sum(const LabelCosts* costs) const;
  std::vector<double> squared_norms(Team& team) const;

  // Points those members of the view here that belong to the active set.
  void fill(WorkView<T>& view);

 private:
  std::int32_t n_classes() const { return static_cast<std::int32_t>(w_bias_.size()); }

  // Calls use(sample, slot, place) for the members of class c: place(t) is where the t-th feature
  // of the sample lies in the weights.
  template <class I, class Use>
  void each_member(const Csr<T, I>& X, std::int32_t c, const Use& use) const {
    members_.each(c, [&](std::int64_t i, std::int64_t slot) {
      if constexpr (is_dense<I>) {
        use(i, slot, [](std::int64_t t) { return t; });
        return;
      }
      const std::int64_t len = X.end(i) - X.begin(i);
      const std::uint32_t* at = slots_.position.data() + slots_.place[i] + slot * len;
      use(i, slot, [at](std::int64_t t) { return at[t]; });
    });
  }

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
