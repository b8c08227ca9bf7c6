// Rows of X as scans read them: the frequent features of a row come first.
//
// A block of classes is dense in the frequent features alone, so that it stays in a cache. In a
// rare feature few classes have a weight: those are listed (class_group.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/csr.hpp"
#include "common/team.hpp"
#include "scoring/feature_order.hpp"
#include "scoring/views.hpp"

namespace multimargin {

template <class T>
class SplitRows {
 public:
  // number(t): of the feature of entry t.
  template <class I, class Number>
  SplitRows(const Csr<T, I>& X, const FeatureOrder& order, const Number& number, Team& team)
      : frequent_(order.frequent()), rare_(order.used() - order.frequent()) {
    const std::int64_t first = X.rows > 0 ? X.begin(0) : 0;
    begin_.resize(X.rows + 1);
    rare_begin_.resize(X.rows);
    for (std::int64_t i = 0; i <= X.rows; ++i)
      begin_[i] = static_cast<std::int64_t>(X.indptr[i]) - first;
    entry_.resize(begin_.back());
    value_.resize(begin_.back());
    constexpr std::int64_t at_once = 512;
    team.for_each((X.rows + at_once - 1) / at_once, [&](int, std::int64_t task) {
      for (std::int64_t i = task * at_once; i < std::min(X.rows, (task + 1) * at_once); ++i)
        split(X, number, i);
    });
  }

  std::int64_t rows() const { return static_cast<std::int64_t>(rare_begin_.size()); }
  std::int32_t frequent() const { return frequent_; }  // features
  std::int32_t rare() const { return rare_; }
  SplitView<T> view() const {
    return {value_.data(), entry_.data(), begin_.data(), rare_begin_.data()};
  }

 private:
  template <class I, class Number>
  void split(const Csr<T, I>& X, const Number& number, std::int64_t i) {
    std::int64_t to = begin_[i];
    const auto copy = [&](bool frequent) {
      for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
        const auto r = static_cast<std::int32_t>(number(t));
        if ((r < frequent_) != frequent) continue;
        entry_[to] = frequent ? r : r - frequent_;
        value_[to++] = X.data[t];
      }
    };
    copy(true);
    rare_begin_[i] = to;
    copy(false);
  }

  std::int32_t frequent_, rare_;
  std::vector<std::int64_t> begin_, rare_begin_;
  std::vector<std::int32_t> entry_;  // numbers
  std::vector<T> value_;
};

}  // namespace multimargin
