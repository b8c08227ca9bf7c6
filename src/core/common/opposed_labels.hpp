// Samples that are alike but for their labels, and dual variables for them.
//
// Let samples i of class a and j of class b have the same features. If a_ib and a_ja both grow by
// t, no weight changes, since w_a and w_b gain and lose the same, and the dual grows by
// (D_ab + D_ba) t; and so along any circle of labels. Passes, one sample at a time, raise them in
// steps of about 1 / |x|^2: they take C |x|^2 passes to the bounds. Here they start there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/samples.hpp"

namespace multimargin {

template <class T>
struct OpposedLabel {
  std::int64_t sample;
  std::int32_t cls;
  T value;
};

namespace opposed {

constexpr double kSlow = 4;              // passes that variables take to their bound
constexpr std::size_t kMostLabels = 64;  // of equal samples: all their pairs become active

template <class T, class I>
std::uint64_t row_hash(const Csr<T, I>& X, std::int64_t i) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto feature = X.features(i);
  for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
    const double value = static_cast<double>(X.data[t]);
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 0x100000001b3u;
    hash = (hash ^ static_cast<std::uint64_t>(feature[t])) * 0x100000001b3u;
    hash ^= hash >> 29;
  }
  return hash;
}

template <class T, class I>
bool same_row(const Csr<T, I>& X, std::int64_t i, std::int64_t j) {
  const std::int64_t length = X.end(i) - X.begin(i);
  if (X.end(j) - X.begin(j) != length) return false;
  const auto a = X.features(i), b = X.features(j);
  for (std::int64_t t = 0; t < length; ++t)
    if (a[X.begin(i) + t] != b[X.begin(j) + t] || X.data[X.begin(i) + t] != X.data[X.begin(j) + t])
      return false;
  return true;
}

// Sums of variables by label: flow[a * n + b] of samples of label a against label b. The sums that
// leave a label equal those that enter it, so that no weight changes; `box`: bounds of labels.
//
// Every variable by itself bounded: the largest such flow with flow_ab <= box_a. All are at their
// bound first; what leaves too much is taken back along shortest paths from labels with large
// bounds to those with small ones.
inline std::vector<double> largest_flow(const std::vector<double>& box) {
  const std::size_t n = box.size();
  double all = 0;
  for (const double each : box) all += each;
  std::vector<double> flow(n * n, 0.0), excess(n);
  for (std::size_t a = 0; a < n; ++a) {
    excess[a] = static_cast<double>(n) * box[a] - all;
    for (std::size_t b = 0; b < n; ++b) flow[a * n + b] = a == b ? 0 : box[a];
  }
  const double little = 1e-9 * all;
  for (std::size_t round = 0; round < 8 * n * n; ++round) {
    // Taking back costs 1 for each arc, giving again gains 1.
    std::vector<double> cost(n);
    std::vector<std::size_t> from(n, n);
    for (std::size_t a = 0; a < n; ++a) cost[a] = excess[a] > little ? 0 : 1e9;
    bool changed = true;
    for (std::size_t look = 0; look <= n && changed; ++look) {  // there is no gain in a circle
      changed = false;
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b) {
          if (a == b) continue;
          const bool gives = box[b] - flow[b * n + a] > little, takes = flow[a * n + b] > little;
          if (!gives && !takes) continue;
          const double through = cost[a] + (gives ? -1 : 1);
          if (through < cost[b] && cost[a] < 1e8) {
            cost[b] = through;
            from[b] = a;
            changed = true;
          }
        }
    }
    std::size_t end = n;
    for (std::size_t a = 0; a < n; ++a)
      if (excess[a] < -little && cost[a] < 1e8 && (end == n || cost[a] < cost[end])) end = a;
    if (end == n) break;
    double amount = -excess[end];
    std::size_t a = end;
    for (; from[a] != n; a = from[a]) {
      const std::size_t u = from[a];
      const double room = box[a] - flow[a * n + u];
      amount = std::min(amount, room > little ? room : flow[u * n + a]);
    }
    amount = std::min(amount, excess[a]);
    excess[a] -= amount;
    excess[end] += amount;
    for (a = end; from[a] != n; a = from[a]) {
      const std::size_t u = from[a];
      if (box[a] - flow[a * n + u] > little)
        flow[a * n + u] += amount;
      else
        flow[u * n + a] -= amount;
    }
  }
  return flow;
}

// The sum of a sample's variables bounded: a symmetric flow whose sums are nearly the bounds of
// labels, of which none can have more than all others together.
inline std::vector<double> shared_flow(std::vector<double> box) {
  const std::size_t n = box.size();
  double all = 0;
  for (const double each : box) all += each;
  for (double& each : box) each = std::min(each, all - each);
  std::vector<double> scale(n), sum(n), flow(n * n, 0.0);
  for (std::size_t a = 0; a < n; ++a) scale[a] = std::sqrt(box[a]);
  for (int round = 0; round <= 100; ++round) {
    double total = 0;
    for (const double each : scale) total += each;
    for (std::size_t a = 0; a < n; ++a) sum[a] = scale[a] * (total - scale[a]);
    if (round < 100)
      for (std::size_t a = 0; a < n; ++a) scale[a] *= std::sqrt(box[a] / sum[a]);
  }
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      if (a != b)
        flow[a * n + b] =
            (1 - 1e-6) * scale[a] * scale[b] * std::min({1.0, box[a] / sum[a], box[b] / sum[b]});
  return flow;
}

// Of samples with the same features, ordered by class. `separable`: whether every variable has its
// own bound; otherwise those of a sample share one.
template <class T, class I>
void take_group(const Samples<T, I>& s, const std::vector<std::int64_t>& group, bool separable,
                std::vector<OpposedLabel<T>>* found) {
  std::vector<std::int32_t> labels;
  std::vector<double> box;
  for (const std::int64_t i : group) {
    if (labels.empty() || labels.back() != s.y[i]) {
      labels.push_back(s.y[i]);
      box.push_back(0);
    }
    box.back() += static_cast<double>(s.box[i]);
  }
  const std::size_t n = labels.size();
  if (n < 2 || n > kMostLabels) return;
  const std::vector<double> flow = separable ? largest_flow(box) : shared_flow(box);
  std::size_t own = 0;
  for (const std::int64_t i : group) {
    while (labels[own] != s.y[i]) ++own;
    const double part = static_cast<double>(s.box[i]) / box[own];
    for (std::size_t b = 0; b < n; ++b)
      if (b != own)
        found->push_back(
            {i, labels[b], std::min(s.box[i], static_cast<T>(part * flow[own * n + b]))});
  }
}

}  // namespace opposed

// In the order of samples and classes; none where passes get there soon. `norm2`: |x_i|^2.
template <class T, class I>
std::vector<OpposedLabel<T>> opposed_labels(const Samples<T, I>& s, const std::vector<T>& norm2,
                                            bool separable) {
  struct Row {
    std::uint64_t hash;
    std::int32_t cls;
    std::int64_t sample;
  };
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < s.X.rows; ++i) {
    const double passes = static_cast<double>(s.box[i]) * static_cast<double>(norm2[i]);
    if (passes > opposed::kSlow && std::isfinite(passes) && s.X.end(i) > s.X.begin(i))
      rows.push_back({opposed::row_hash(s.X, i), s.y[i], i});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    return a.cls != b.cls ? a.cls < b.cls : a.sample < b.sample;
  });
  std::vector<OpposedLabel<T>> found;
  std::vector<std::int64_t> group;
  for (std::size_t a = 0, b; a < rows.size(); a = b) {
    group.clear();
    for (b = a; b < rows.size() && rows[b].hash == rows[a].hash; ++b)
      if (opposed::same_row(s.X, rows[a].sample, rows[b].sample)) group.push_back(rows[b].sample);
    if (group.size() > 1) opposed::take_group(s, group, separable, &found);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.sample != b.sample ? a.sample < b.sample : a.cls < b.cls;
  });
  return found;
}

}  // namespace multimargin
