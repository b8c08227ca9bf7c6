// Features numbered by how many rows have them, frequent ones first: what is read often lies
// together, and stays in a cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/csr.hpp"

namespace multimargin {

class FeatureOrder {
 public:
  // A feature is frequent if at least `least` rows have it.
  template <class T, class I>
  FeatureOrder(const Csr<T, I>& X, std::int64_t least) : FeatureOrder(rows_of(X), least) {}
  // rows: how many have each feature.
  FeatureOrder(const std::vector<std::int64_t>& rows, std::int64_t least)
      : number_(rows.size()), feature_(rows.size()) {
    std::iota(feature_.begin(), feature_.end(), 0);
    std::stable_sort(feature_.begin(), feature_.end(),
                     [&](std::int32_t a, std::int32_t b) { return rows[a] > rows[b]; });
    for (std::size_t r = 0; r < rows.size(); ++r) {
      number_[feature_[r]] = static_cast<std::int32_t>(r);
      frequent_ += rows[feature_[r]] >= least;
      used_ += rows[feature_[r]] > 0;
    }
  }

  // Features numbered below this are frequent; from used() on, no row has them.
  std::int32_t frequent() const { return frequent_; }
  std::int32_t used() const { return used_; }
  std::int32_t number(std::int64_t feature) const { return number_[feature]; }
  std::int32_t feature(std::int64_t number) const { return feature_[number]; }

 private:
  template <class T, class I>
  static std::vector<std::int64_t> rows_of(const Csr<T, I>& X) {
    std::vector<std::int64_t> rows(X.cols, 0);
    if (X.rows > 0)
      for (std::int64_t t = X.begin(0); t < X.end(X.rows - 1); ++t) ++rows[X.indices[t]];
    return rows;
  }

  std::vector<std::int32_t> number_, feature_;
  std::int32_t frequent_ = 0, used_ = 0;
};

}  // namespace multimargin
