// The problem as every rank knows it: the data, and the partition of the classes into bundles.
//
// Where rows are divided over ranks, too, X has only those that the next step needs: the others
// have no entries there. Their lengths and norms are known.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/norms.hpp"
#include "common/samples.hpp"

namespace multimargin {

template <class T, class I>
struct PartitionedProblem : Samples<T, I> {
  using Samples<T, I>::X;
  using Samples<T, I>::y;
  using Samples<T, I>::n_classes;
  std::vector<T> norm2;
  bool holds_bias;                    // the intercept stays while samples move, see intercept.hpp
  std::vector<T> curvatures;          // of visits then
  std::vector<std::int64_t> lengths;  // [n] of rows that come and go; empty: X has all of them

  std::vector<std::int32_t> bundle_of;              // [K]
  std::vector<std::int32_t> place_of;               // [K] of a class within its bundle
  std::vector<std::vector<std::int32_t>> classes;   // of each bundle, ascending
  std::vector<std::vector<std::int64_t>> own_from;  // per bundle, [its classes + 1]: own samples
  std::vector<std::vector<std::int32_t>> own;       // of each bundle: its own samples, by class
  std::vector<std::int64_t> own_index;              // [n] of a sample within its bundle's own

  PartitionedProblem(const Samples<T, I>& samples, bool hold_intercept)
      : Samples<T, I>(samples),
        norm2(row_norms(samples.X, samples.bias)),
        holds_bias(hold_intercept && samples.bias != 0) {
    if (holds_bias) curvatures = held_curvatures(samples.X, samples.bias);
  }

  bool rows_come() const { return !lengths.empty(); }
  // `featured`: squared norms without the constant feature.
  void let_rows_come(std::vector<std::int64_t> length, std::vector<T> norms,
                     std::vector<T> featured) {
    lengths = std::move(length);
    norm2 = std::move(norms);
    if (holds_bias) curvatures = held_curvatures(std::move(featured), this->bias);
  }

  const std::vector<T>& curvature() const { return holds_bias ? curvatures : norm2; }

  // Throws std::invalid_argument where a class has no such bundle.
  void divide(std::vector<std::int32_t> bundle, std::int32_t bundles) {
    for (const std::int32_t b : bundle)
      if (b < 0 || b >= bundles) throw std::invalid_argument("divide: bundle out of range");
    bundle_of = std::move(bundle);
    place_of.resize(n_classes);
    classes.assign(bundles, {});
    for (std::int32_t c = 0; c < n_classes; ++c) {
      place_of[c] = static_cast<std::int32_t>(classes[bundle_of[c]].size());
      classes[bundle_of[c]].push_back(c);
    }
    own_from.assign(bundles, {});
    own.assign(bundles, {});
    for (std::int32_t b = 0; b < bundles; ++b) own_from[b].assign(classes[b].size() + 1, 0);
    for (std::int64_t i = 0; i < X.rows; ++i) ++own_from[bundle_of[y[i]]][place_of[y[i]] + 1];
    std::vector<std::vector<std::int64_t>> next;
    for (std::int32_t b = 0; b < bundles; ++b) {
      for (std::size_t k = 0; k < classes[b].size(); ++k) own_from[b][k + 1] += own_from[b][k];
      own[b].resize(own_from[b].back());
      next.push_back(own_from[b]);
    }
    own_index.resize(X.rows);
    for (std::int64_t i = 0; i < X.rows; ++i) {
      const std::int32_t b = bundle_of[y[i]];
      own_index[i] = next[b][place_of[y[i]]]++;
      own[b][own_index[i]] = static_cast<std::int32_t>(i);
    }
  }
};

}  // namespace multimargin
