// The classes whose centroids are nearest to dense rows: a product of all rows with all centroids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "active_set/weight_layout.hpp"
#include "common/csr.hpp"
#include "common/team.hpp"
#include "dense_rows/dense_product.hpp"
#include "scoring/kernels.hpp"

namespace multimargin {

// Mean rows of the classes, one after the other. by_class: samples in the order of their classes,
// those of class c from start[c] on.
template <class T>
Buffer<T> class_means(const Csr<T, Dense>& X, const std::vector<std::int32_t>& by_class,
                      const std::vector<std::int64_t>& start, Team& team) {
  const auto classes = static_cast<std::int32_t>(start.size()) - 1;
  Buffer<T> means;
  means.reset(static_cast<std::size_t>(classes) * X.cols);
  std::vector<std::vector<double>> sums(team.size());
  each_class(team, classes, [&](int thread, std::int32_t c) {
    std::vector<double>& sum = sums[thread];
    sum.assign(X.cols, 0.0);
    for (std::int64_t e = start[c]; e < start[c + 1]; ++e) {
      const T* x = X.data + X.begin(by_class[e]);
      for (std::int64_t j = 0; j < X.cols; ++j) sum[j] += static_cast<double>(x[j]);
    }
    const double count = static_cast<double>(std::max<std::int64_t>(1, start[c + 1] - start[c]));
    T* mean = means.data() + c * X.cols;
    for (std::int64_t j = 0; j < X.cols; ++j) mean[j] = static_cast<T>(sum[j] / count);
  });
  return means;
}

// For rows [from, to): up to `candidates` classes with positive products, other than the own one,
// best first. Row k's begin at k * candidates of found_out; returns how many each row has.
template <class T>
std::vector<std::int32_t> nearest_classes(const Csr<T, Dense>& X, const std::int32_t* y,
                                          const Buffer<T>& means, std::int32_t n_classes,
                                          std::int32_t candidates, std::int64_t from,
                                          std::int64_t to, Isa isa, Team& team,
                                          std::vector<std::int32_t>& found_out) {
  const Csr<T, Dense> part{X.data + X.begin(from), to - from, X.cols};
  const std::int32_t capacity = std::min(candidates + 1, n_classes);  // the own class may be one
  std::vector<T> score(static_cast<std::size_t>(part.rows) * capacity);
  std::vector<std::int32_t> cls(score.size()), count(part.rows, 0);
  const BestView<T> best{score.data(), cls.data(), count.data(), capacity};
  const ScoreKernels<T, Dense> kernels = score_kernels<T, Dense>(isa);
  const auto fill = [&](int, DenseBlock<T>& block, std::int32_t first, std::int32_t classes) {
    for (std::int32_t k = 0; k < classes; ++k)
      for (std::int64_t j = 0; j < X.cols; ++j)
        block.add(k, j, means[(first + static_cast<std::int64_t>(k)) * X.cols + j]);
  };
  const auto use = [&](const BlockView<T>& block, std::int64_t begin, std::int64_t end) {
    kernels.top(part, block, best, begin, end);
  };
  dense_product<T>(team, part.rows, X.cols, n_classes, fill, use, {});
  std::vector<std::pair<T, std::int32_t>> row;
  for (std::int64_t k = 0; k < part.rows; ++k) {
    row.clear();
    for (std::int64_t e = k * capacity; e < k * capacity + count[k]; ++e)
      if (cls[e] != y[from + k] && score[e] > 0) row.emplace_back(-score[e], cls[e]);
    std::sort(row.begin(), row.end());
    count[k] = std::min(candidates, static_cast<std::int32_t>(row.size()));
    for (std::int32_t b = 0; b < count[k]; ++b) found_out[k * candidates + b] = row[b].second;
  }
  return count;
}

}  // namespace multimargin
