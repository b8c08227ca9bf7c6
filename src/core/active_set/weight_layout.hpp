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

#include "common/buffer.hpp"
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
    std::size_t end = start + 1, met = 0;
    out.push_back(0);
    rows([&](std::int64_t i) {
      const std::int64_t first = X.begin(i), len = X.end(i) - first;
      const auto grow = [len](std::vector<std::int32_t>& list, std::size_t used) {
        const std::size_t need = used + static_cast<std::size_t>(len);
        if (list.size() < need) list.resize(need + 4096);
      };
      grow(out, end);
      grow(met_, met);
      // Without branches, which nobody could predict: whether a feature was met before is chance.
      for (std::int64_t t = 0; t < len; ++t) {
        const auto j = static_cast<std::int32_t>(X.indices[first + t]);
        const std::int32_t known = place_[j];
        const auto fresh = static_cast<std::int32_t>(end - start);
        met_[met] = j;
        met += known == 0;
        out[end] = j;
        end += known == kOnce;
        place_[j] = known == 0 ? kOnce : known == kOnce ? fresh : known;
      }
    });
    out.resize(end);
    for (std::size_t k = 0; k < met; ++k) {
      std::int32_t& place = place_[met_[k]];
      place = place == kOnce ? 0 : place;
    }
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
  std::vector<std::int64_t> begin;  // [classes+1]
  Buffer<std::int32_t> feature;     // of each weight; a class's first one is place 0

  std::int64_t count(std::int32_t c) const { return begin[c + 1] - begin[c]; }

  // rows(c, use) calls use(i) for the samples of class c; placed(c, places) is called while the
  // places of its features are known.
  template <class T, class I, class Rows, class Placed>
  void lay_out(const Csr<T, I>& X, std::int32_t classes, Team& team, const Rows& rows,
               const Placed& placed) {
    begin.assign(classes + 1, 0);
    std::vector<FeaturePlaces> places(team.size());
    // Of one task, per thread: the memory of a part is asked for once, when its size is known.
    std::vector<std::vector<std::int32_t>> growing(team.size());
    std::vector<std::vector<std::int32_t>> parts(class_tasks(classes));
    team.for_each(class_tasks(classes), [&](int thread, std::int64_t task) {
      std::vector<std::int32_t>& part = growing[thread];
      part.clear();
      const std::int32_t first = static_cast<std::int32_t>(task) * kClassesPerTask;
      const std::int32_t last = std::min(classes, first + kClassesPerTask);
      for (std::int32_t c = first; c < last; ++c) {
        const std::size_t start = part.size();
        places[thread].number(X, [&](const auto& use) { rows(c, use); }, part);
        placed(c, places[thread]);
        places[thread].close();
        begin[c + 1] = static_cast<std::int64_t>(part.size() - start);
      }
      parts[task] = part;
    });
    growing = {};
    for (std::int32_t c = 0; c < classes; ++c) begin[c + 1] += begin[c];
    feature.reset(static_cast<std::size_t>(begin.back()));
    team.for_each(class_tasks(classes), [&](int, std::int64_t task) {
      std::copy(parts[task].begin(), parts[task].end(),
                feature.data() + begin[task * kClassesPerTask]);
      parts[task] = {};
    });
  }

  // For dense rows: weights of type T.
  template <class T>
  void lay_out_dense(std::int64_t cols, std::int32_t classes) {
    constexpr std::int64_t line = 64 / sizeof(T);
    const std::int64_t stride = (cols + line - 1) / line * line;
    begin.assign(classes + 1, 0);
    for (std::int32_t c = 0; c < classes; ++c) begin[c + 1] = begin[c] + stride;
  }

  void open(FeaturePlaces& places, std::int64_t cols, std::int32_t c) const {
    if (feature.size() > 0) places.open(cols, feature.data() + begin[c], count(c));
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

// The weights of one class on their way into the order of features: scratch of a thread. Many are
// marked in an array of all features, few are sorted. With marks the export of 12,582 classes took
// 0.32 s instead of 0.60.
template <class T>
class FeatureSort {
 public:
  void begin(std::int64_t weights, std::int64_t features) {
    marking_ = weights > features / 256;
    if (!marking_ || !marks_.empty()) return;
    marks_.assign(static_cast<std::size_t>(features / 64 + 1), 0);
    value_.resize(static_cast<std::size_t>(features));
  }

  void put(std::int32_t feature, T value) {
    if (!marking_) {
      few_.emplace_back(feature, value);
      return;
    }
    marks_[feature / 64] |= std::uint64_t{1} << feature % 64;
    value_[feature] = value;
  }

  // Calls use(feature, value) in the order of features, and forgets them.
  template <class Use>
  void take(const Use& use) {
    if (marking_) {
      for (std::size_t word = 0; word < marks_.size(); ++word) {
        for (std::uint64_t left = marks_[word]; left != 0; left &= left - 1) {
          const auto feature = static_cast<std::int32_t>(word * 64 + __builtin_ctzll(left));
          use(feature, value_[feature]);
        }
        marks_[word] = 0;
      }
      return;
    }
    std::sort(few_.begin(), few_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [feature, value] : few_) use(feature, value);
    few_.clear();
  }

 private:
  bool marking_ = false;
  std::vector<std::uint64_t> marks_;
  std::vector<T> value_;  // [features]
  std::vector<std::pair<std::int32_t, T>> few_;
};

// Lists weights as sorted rows, one per class. each(thread, c, use) calls use(feature, weight).
template <class T, class Each>
SparseRows<T> list_weights(Team& team, std::int32_t classes, std::int64_t features,
                           const Each& each) {
  // Counted first: a copy of all of them, to be moved to where they belong, would be gigabytes.
  SparseRows<T> rows;
  rows.begin.assign(classes + 1, 0);
  each_class(team, classes, [&](int thread, std::int32_t c) {
    std::int64_t count = 0;
    each(thread, c, [&](std::int32_t, T w) { count += w != 0; });
    rows.begin[c + 1] = count;
  });
  for (std::int32_t c = 0; c < classes; ++c) rows.begin[c + 1] += rows.begin[c];
  rows.index.reset(static_cast<std::size_t>(rows.begin[classes]));
  rows.value.reset(static_cast<std::size_t>(rows.begin[classes]));
  std::vector<FeatureSort<T>> sorts(team.size());
  each_class(team, classes, [&](int thread, std::int32_t c) {
    FeatureSort<T>& sort = sorts[thread];
    sort.begin(rows.begin[c + 1] - rows.begin[c], features);
    each(thread, c, [&](std::int32_t j, T w) {
      if (w != 0) sort.put(j, w);
    });
    std::int64_t at = rows.begin[c];
    sort.take([&](std::int32_t j, T w) {
      rows.index[at] = j;
      rows.value[at++] = w;
    });
  });
  return rows;
}

}  // namespace multimargin
