// Where the weights of classes lie, and what is done with all weights of a class. Used for the
// whole active set and for bundles of classes alike.
//
// Only features that two samples of a class share have a place in its weights, numbered from 1 on
// in the order in which a second sample brings them. Place 0 is kept zero for all others, the
// *lone* features (see kernels.hpp).
//
// Classes of dense rows have a weight for each feature, in order, in whole cache lines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/csr.hpp"
#include "common/sparse_rows.hpp"
#include "common/team.hpp"

namespace multimargin {

constexpr std::int32_t kClassesPerTask = 32;
inline std::int64_t class_tasks(std::int32_t classes) {
  return (classes + kClassesPerTask - 1) / kClassesPerTask;
}

// Calls use(thread, c) for all classes, shared out among the team.
template <class Use>
void each_class(Team& team, std::int32_t classes, const Use& use) {
  team.for_each(class_tasks(classes), [&](int thread, std::int64_t task) {
    const std::int32_t first = static_cast<std::int32_t>(task) * kClassesPerTask;
    const std::int32_t last = std::min(classes, first + kClassesPerTask);
    for (std::int32_t c = first; c < last; ++c) use(thread, c);
  });
}

// The places of one class's features: scratch of a thread that goes from class to class.
class FeaturePlaces {
 public:
  // Numbers the features of a class and appends them to `out`, place 0 first.
  // rows(use) calls use(i) for each of its samples.
  template <class T, class I, class Rows>
  void number(const Csr<T, I>& X, const Rows& rows, std::vector<std::int32_t>& out) {
    make_room(X.cols);
    const std::size_t start = out.size();
    out.push_back(0);
    rows([&](std::int64_t i) {
      const auto feature = X.features(i);
      for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
        std::int32_t& place = place_[feature[t]];
        if (place == 0) {
          place = kOnce;
          met_.push_back(static_cast<std::int32_t>(feature[t]));
        } else if (place == kOnce) {
          place = static_cast<std::int32_t>(out.size() - start);
          out.push_back(static_cast<std::int32_t>(feature[t]));
        }
      }
    });
    for (std::int32_t j : met_)
      if (place_[j] == kOnce) place_[j] = 0;
    met_.clear();
    feature_ = out.data() + start;
    count_ = static_cast<std::int64_t>(out.size() - start);
  }

  // Looks at features that were numbered before.
  void open(std::int64_t cols, const std::int32_t* feature, std::int64_t count) {
    make_room(cols);
    feature_ = feature;
    count_ = count;
    for (std::int64_t p = 1; p < count; ++p) place_[feature[p]] = static_cast<std::int32_t>(p);
  }

  // Forgets the class. The features of number() must not have moved.
  void close() {
    for (std::int64_t p = 1; p < count_; ++p) place_[feature_[p]] = 0;
    count_ = 0;
  }

  // 0 for a feature that has no place.
  std::int32_t operator[](std::int64_t feature) const { return place_[feature]; }

 private:
  static constexpr std::int32_t kOnce = -1;  // one sample has it: lone, unless another comes

  void make_room(std::int64_t cols) {
    if (place_.empty()) place_.assign(static_cast<std::size_t>(cols), 0);
  }

  std::vector<std::int32_t> place_;  // [features]
  std::vector<std::int32_t> met_;    // while numbering
  const std::int32_t* feature_ = nullptr;
  std::int64_t count_ = 0;
};

// The weights of some classes, one class after the other.
struct WeightLayout {
  std::vector<std::int64_t> begin;    // [classes+1]
  std::vector<std::int32_t> feature;  // of each weight; a class's first one is place 0

  std::int64_t count(std::int32_t c) const { return begin[c + 1] - begin[c]; }

  // rows(c, use) calls use(i) for the samples of class c; placed(c, places) is called while the
  // places of its features are known.
  template <class T, class I, class Rows, class Placed>
  void lay_out(const Csr<T, I>& X, std::int32_t classes, Team& team, const Rows& rows,
               const Placed& placed) {
    begin.assign(classes + 1, 0);
    if constexpr (is_dense<I>) {
      constexpr std::int64_t line = 64 / sizeof(T);
      const std::int64_t stride = (X.cols + line - 1) / line * line;
      for (std::int32_t c = 0; c < classes; ++c) begin[c + 1] = begin[c] + stride;
      return;
    }
    std::vector<FeaturePlaces> places(team.size());
    std::vector<std::vector<std::int32_t>> parts(class_tasks(classes));
    each_class(team, classes, [&](int thread, std::int32_t c) {
      std::vector<std::int32_t>& part = parts[c / kClassesPerTask];
      const std::size_t start = part.size();
      places[thread].number(X, [&](const auto& use) { rows(c, use); }, part);
      placed(c, places[thread]);
      places[thread].close();
      begin[c + 1] = static_cast<std::int64_t>(part.size() - start);
    });
    for (std::int32_t c = 0; c < classes; ++c) begin[c + 1] += begin[c];
    feature.resize(begin.back());
    team.for_each(class_tasks(classes), [&](int, std::int64_t task) {
      std::copy(parts[task].begin(), parts[task].end(),
                feature.begin() + begin[task * kClassesPerTask]);
      parts[task] = {};
    });
  }

  void open(FeaturePlaces& places, std::int64_t cols, std::int32_t c) const {
    if (!feature.empty()) places.open(cols, feature.data() + begin[c], count(c));
  }
};

// Below, members(take) calls take(i, coefficient, place) for the samples of a class: the
// coefficient of x_i in its weights, and place(t), where the t-th entry of x_i lies in them.

// Calls use(feature, weight) for the weights `w` of class c, each feature once.
template <class T, class I, class Members, class Use>
void each_weight(const Csr<T, I>& X, const WeightLayout& layout, const T* w, std::int32_t c,
                 const Members& members, const Use& use) {
  if constexpr (is_dense<I>) {
    for (std::int64_t j = 0; j < X.cols; ++j) use(static_cast<std::int32_t>(j), w[j]);
    return;
  }
  const std::int32_t* feature = layout.feature.data() + layout.begin[c];
  const std::int64_t count = layout.count(c);
  for (std::int64_t p = 1; p < count; ++p) use(feature[p], w[p]);
  members([&](std::int64_t i, T coefficient, const auto& place) {
    if (coefficient == 0) return;
    const std::int64_t begin = X.begin(i), len = X.end(i) - begin;
    const auto entry = X.features(i);
    for (std::int64_t t = 0; t < len; ++t)
      if (place(t) == 0)
        use(static_cast<std::int32_t>(entry[begin + t]), coefficient * X.data[begin + t]);
  });
}

// Adds up the `count` weights of a class in double precision, in the order of its members, and
// rounds them to `w`. lone(value) is told of the weights that have no place. Returns the weight of
// the constant feature. add_row: see SolverKernels.
template <class T, class I, class Members, class Lone, class AddRow>
double add_up_weights(const Csr<T, I>& X, T bias, std::int64_t count, const Members& members,
                      const Lone& lone, AddRow add_row, std::vector<double>& sum, T* w) {
  sum.assign(count, 0.0);
  double constant = 0;
  members([&](std::int64_t i, double coefficient, const auto& place) {
    if (coefficient == 0) return;
    constant += coefficient * static_cast<double>(bias);
    const std::int64_t begin = X.begin(i), len = X.end(i) - begin;
    if constexpr (is_dense<I>) {
      add_row(X.data + begin, len, coefficient, sum.data());
      return;
    }
    for (std::int64_t t = 0; t < len; ++t) {
      const double value = coefficient * static_cast<double>(X.data[begin + t]);
      sum[place(t)] += value;
      if (place(t) == 0) lone(value);
    }
  });
  if constexpr (!is_dense<I>) sum[0] = 0;  // where the lone features went
  for (std::int64_t p = 0; p < count; ++p) w[p] = static_cast<T>(sum[p]);
  return constant;
}

// Lists weights as sorted rows, one per class. each(thread, c, use) calls use(feature, weight).
template <class T, class Each>
SparseRows<T> list_weights(Team& team, std::int32_t classes, const Each& each) {
  // Counted first: a copy of all of them, to be moved to where they belong, would be gigabytes.
  SparseRows<T> rows;
  rows.begin.assign(classes + 1, 0);
  each_class(team, classes, [&](int thread, std::int32_t c) {
    each(thread, c, [&](std::int32_t, T w) { rows.begin[c + 1] += w != 0; });
  });
  for (std::int32_t c = 0; c < classes; ++c) rows.begin[c + 1] += rows.begin[c];
  rows.index.resize(rows.begin[classes]);
  rows.value.resize(rows.begin[classes]);
  each_class(team, classes, [&](int thread, std::int32_t c) {
    std::vector<std::pair<std::int32_t, T>> row;
    row.reserve(static_cast<std::size_t>(rows.begin[c + 1] - rows.begin[c]));
    each(thread, c, [&](std::int32_t j, T w) {
      if (w != 0) row.emplace_back(j, w);
    });
    std::sort(row.begin(), row.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::int64_t at = rows.begin[c];
    for (const auto& [j, w] : row) {
      rows.index[at] = j;
      rows.value[at++] = w;
    }
  });
  return rows;
}

}  // namespace multimargin
