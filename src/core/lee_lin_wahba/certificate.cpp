// Primal, dual and violation of a Lee-Lin-Wahba solution, in double precision.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/rounding.hpp"
#include "lee_lin_wahba/lee_lin_wahba.hpp"
#include "lee_lin_wahba/sample_loops.hpp"

namespace multimargin {

template <class T, class I>
std::vector<FullReport> LeeLinWahba<T, I>::certify_bundles(const double* sums) {
  std::vector<FullReport> reports;
  for (std::int64_t b = 0; b < bundles(); ++b) reports.push_back(certify_bundle(b, sums));
  return reports;
}

template <class T, class I>
FullReport LeeLinWahba<T, I>::certify_bundle(std::int64_t bundle, const double* weight_sums) {
  FullReport report;
  const std::int64_t from = cuts_[bundle], wide = width_of(bundle);
  const WideWeights<T> W{w_.data() + from, w_.data() + X_.cols * width_ + from, bias_, width_};
  std::vector<double> norm = squared_norms(W, wide);
  report.half_norm = std::accumulate(norm.begin(), norm.end(), 0.0) / 2;
  for (double& n : norm) n = std::sqrt(n);
  std::vector<WideSums> sums(static_cast<std::size_t>(X_.rows));
  std::vector<std::vector<double>> scratch(static_cast<std::size_t>(team_.size()));
  sum_samples([&](int member, std::int64_t i) {
    std::vector<double>& mine = scratch[member];
    mine.resize(static_cast<std::size_t>(2 * wide));
    const double norm2 = static_cast<double>(norm2_[i]);
    const double unit = score_rounding<double>(X_.end(i) - X_.begin(i), norm2);
    for (std::int64_t c = 0; c < wide; ++c) mine[c] = own_rounding<double>(unit, norm[c]);
    // Rounded one by one, the weights of a feature do not quite sum to zero. The objective is that
    // of the nearest ones that do.
    double mean = static_cast<double>(bias_) * weight_sums[X_.cols];
    const auto feature = X_.features(i);
    for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t)
      mean += static_cast<double>(X_.data[t]) * weight_sums[feature[t]];
    sums[i] = rows_.certify(X_, W, i, block(i, bundle), alpha_row(i) + from, mean / n_classes_,
                            mine.data(), mine.data() + wide);
    return 0.0;
  });
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    report.loss += static_cast<double>(block(i, bundle).price) * sums[i].loss;
    report.alpha += sums[i].alpha;
    report.margin = std::max(report.margin, sums[i].margin);
    report.free += sums[i].free;
    if (norm2_[i] > 0) report.violation = std::max(report.violation, sums[i].violation);
  }
  return report;
}

template <class T, class I>
std::vector<double> LeeLinWahba<T, I>::squared_norms(const WideWeights<T>& W, std::int64_t wide) {
  constexpr std::int64_t lanes = line_lanes<T>();
  std::vector<double> squares(static_cast<std::size_t>(wide), 0.0);
  team_.for_each(wide / lanes, [&](int, std::int64_t line) {
    for (std::int64_t j = 0; j <= X_.cols; ++j) {
      const T* row = W.w + j * W.width;  // the constant feature is the last
      for (std::int64_t c = line * lanes; c < (line + 1) * lanes; ++c)
        squares[c] += static_cast<double>(row[c]) * static_cast<double>(row[c]);
    }
  });
  return squares;
}

#define MM_MEMBERS(T, I) \
  template std::vector<FullReport> LeeLinWahba<T, I>::certify_bundles(const double*);
MM_FOR_TYPES(MM_MEMBERS)
#undef MM_MEMBERS

}  // namespace multimargin
