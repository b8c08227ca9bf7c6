// Costs between labels: the margin D(y, c) that a sample of class y asks of class c, 0 for c = y.
//
// Three kinds, none of which copies what is given:
//   dense       all K x K costs
//   exceptions  a sparse matrix, whose entries replace the cost 1
//   tree        classes are nodes of a tree with edges of some length; the cost is the length of
//               the path between two of them. Memory: 4 K log2 K bytes, nothing of K x K.
//
// In a tree, with classes in depth-first order, the lowest common ancestor of two classes is the
// shallowest one that two neighbours between them have in common. A table of the minima over runs
// of 1, 2, 4, ... neighbours answers that by two numbers (Bender and Farach-Colton 2000).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/csr.hpp"

namespace multimargin {

class LabelCosts {
 public:
  // [K x K] row by row: own class, other class. Borrowed.
  static LabelCosts dense(const double* cost, std::int32_t n_classes);
  // K rows, sorted by column. Borrowed.
  static LabelCosts exceptions(const Csr<double, std::int64_t>& cost);
  // `order` [K]: the classes, depth first. `depth` [K], by class. `shared` [K-1]: depth of the
  // lowest common ancestor of the classes at k and k + 1 of the order. `length`: of the path from
  // the root to a node, by the node's depth; it grows. Throws std::invalid_argument where they do
  // not fit together.
  static LabelCosts tree(const std::vector<std::int32_t>& order, std::vector<std::int32_t> depth,
                         std::vector<std::int32_t> shared, std::vector<double> length);

  std::int32_t n_classes() const { return static_cast<std::int32_t>(total_.size()); }

  double at(std::int32_t own, std::int32_t other) const;
  // out[k] = at(own, first + k)
  template <class T>
  void row(std::int32_t own, std::int32_t first, std::int32_t count, T* out) const;

  // Over the other classes of a sample: the largest cost, and the sum.
  double largest(std::int32_t own) const { return largest_[own]; }
  double total(std::int32_t own) const { return total_[own]; }
  double largest() const;

 private:
  LabelCosts() = default;
  double shared_length(std::int32_t a, std::int32_t b) const;
  void sum_tree(const std::vector<std::int32_t>& order);
  void bound_tree();

  const double* dense_ = nullptr;
  Csr<double, std::int64_t> exceptions_;
  std::vector<std::int32_t> depth_, place_;            // [K]; place in the order
  std::vector<std::vector<std::int32_t>> shallowest_;  // [level][k]: of neighbours k .. k+2^level
  std::vector<double> length_;
  std::vector<double> largest_, total_;  // [K]
};

// The cost at(own, classes[k]) where bit k of the mask is set, 0 elsewhere; out: [64] or, in double
// precision, [32]. No templates: kernels of every instruction set call the same code.
void costs_of(const LabelCosts& costs, std::int32_t own, const std::int32_t* classes,
              std::uint64_t mask, float* out);
void costs_of(const LabelCosts& costs, std::int32_t own, const std::int32_t* classes,
              std::uint64_t mask, double* out);

}  // namespace multimargin
