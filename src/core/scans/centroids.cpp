#include "scans/centroids.hpp"

#include <algorithm>
#include <utility>

#include "common/types.hpp"
#include "dense_rows/nearest_classes.hpp"

namespace multimargin {

namespace {

constexpr std::int64_t kSamplesPerTask = 256;

// Calls visit(class, feature, mean value) for all non-zeros of the centroids, by class.
template <class T, class I, class Visit>
void each_centroid_entry(const Csr<T, I>& X, const std::vector<std::int32_t>& by_class,
                         const std::int32_t* y, const Visit& visit) {
  std::vector<double> sum(X.cols, 0.0);
  std::vector<char> seen(X.cols, 0);
  std::vector<std::int64_t> features;
  const std::size_t n = by_class.size();
  for (std::size_t a = 0; a < n;) {
    const std::int32_t c = y[by_class[a]];
    std::size_t b = a;
    features.clear();
    for (; b < n && y[by_class[b]] == c; ++b) {
      const std::int64_t i = by_class[b];
      const auto feature = X.features(i);
      for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
        const std::int64_t j = feature[t];
        if (!seen[j]) {
          seen[j] = 1;
          features.push_back(j);
        }
        sum[j] += static_cast<double>(X.data[t]);
      }
    }
    for (std::int64_t j : features) {
      visit(c, j, sum[j] / static_cast<double>(b - a));
      sum[j] = 0;
      seen[j] = 0;
    }
    a = b;
  }
}

// Samples in the order of their classes; those of class c are from start[c] on.
struct ByClass {
  std::vector<std::int64_t> start;
  std::vector<std::int32_t> sample;

  ByClass(const std::int32_t* y, std::int64_t n, std::int32_t n_classes)
      : start(n_classes + 1, 0), sample(n) {
    for (std::int64_t i = 0; i < n; ++i) ++start[y[i] + 1];
    for (std::int32_t c = 0; c < n_classes; ++c) start[c + 1] += start[c];
    std::vector<std::int64_t> next(start);
    for (std::int64_t i = 0; i < n; ++i) sample[next[y[i]]++] = static_cast<std::int32_t>(i);
  }
};

}  // namespace

template <class T, class I>
Postings<T> make_postings(const Csr<T, I>& X, const std::int32_t* y,
                          const std::vector<std::int32_t>& by_class) {
  Postings<T> p;
  p.begin.assign(X.cols + 1, 0);
  each_centroid_entry(X, by_class, y,
                      [&](std::int32_t, std::int64_t j, double) { ++p.begin[j + 1]; });
  for (std::int64_t j = 0; j < X.cols; ++j) p.begin[j + 1] += p.begin[j];
  p.cls.resize(p.begin[X.cols]);
  p.weight.resize(p.begin[X.cols]);
  std::vector<std::int64_t> next(p.begin.begin(), p.begin.end() - 1);
  each_centroid_entry(X, by_class, y, [&](std::int32_t c, std::int64_t j, double mean) {
    const std::int64_t at = next[j]++;
    p.cls[at] = c;
    p.weight[at] = static_cast<T>(mean);
  });
  return p;
}

namespace {

template <class T>
struct Ranking {
  std::vector<T> score;  // [K], zero between samples
  std::vector<std::int32_t> touched;
  std::vector<std::int64_t> order;
  std::vector<std::pair<T, std::int32_t>> best;
};

template <class T, class I>
void rank_sample(const Csr<T, I>& X, const Postings<T>& p, const std::vector<std::int64_t>& listed,
                 std::int64_t i, std::int32_t own, std::int32_t candidates, std::int64_t budget,
                 Ranking<T>& r) {
  const auto feature = X.features(i);
  r.order.clear();
  for (std::int64_t t = X.begin(i); t < X.end(i); ++t) r.order.push_back(t);
  const auto length = [&](std::int64_t t) { return listed[feature[t]]; };
  std::sort(r.order.begin(), r.order.end(), [&](std::int64_t a, std::int64_t b) {
    return length(a) != length(b) ? length(a) < length(b) : a < b;
  });
  r.touched.clear();
  std::int64_t used = 0;
  for (std::int64_t t : r.order) {
    if (used > 0 && used + length(t) > budget) break;
    used += length(t);
    const std::int64_t j = feature[t];
    for (std::int64_t e = p.begin[j]; e < p.begin[j + 1]; ++e) {
      const std::int32_t c = p.cls[e];
      if (r.score[c] == 0) r.touched.push_back(c);
      r.score[c] += X.data[t] * p.weight[e];
    }
  }
  r.best.clear();
  for (std::int32_t c : r.touched) {
    // A class can be listed twice when its score passed through zero; the second
    // time its score has been taken.
    if (c != own && r.score[c] > 0) r.best.emplace_back(-r.score[c], c);
    r.score[c] = 0;
  }
  const std::size_t keep = std::min<std::size_t>(candidates, r.best.size());
  std::nth_element(r.best.begin(), r.best.begin() + keep, r.best.end());
  r.best.resize(keep);
  std::sort(r.best.begin(), r.best.end());
}

}  // namespace

template <class T, class I>
std::vector<std::int32_t> rank_samples(const Csr<T, I>& X, const std::int32_t* y,
                                       std::int32_t n_classes, const Postings<T>& postings,
                                       const std::vector<std::int64_t>& length,
                                       std::int32_t candidates, std::int64_t budget,
                                       std::int64_t from, std::int64_t to, Team& team,
                                       std::int32_t* found, T* score) {
  const std::int64_t rows = to - from;
  std::vector<Ranking<T>> rankings(team.size());
  std::vector<std::int32_t> count(rows);
  const std::int64_t tasks = (rows + kSamplesPerTask - 1) / kSamplesPerTask;
  team.for_each(tasks, [&](int thread, std::int64_t task) {
    Ranking<T>& r = rankings[thread];
    r.score.resize(n_classes, T(0));
    const std::int64_t end = std::min(rows, (task + 1) * kSamplesPerTask);
    for (std::int64_t k = task * kSamplesPerTask; k < end; ++k) {
      rank_sample(X, postings, length, from + k, y[from + k], candidates, budget, r);
      const std::size_t room = static_cast<std::size_t>(k) * candidates;
      for (std::size_t b = 0; b < r.best.size(); ++b) {
        found[room + b] = r.best[b].second;
        if (score != nullptr) score[room + b] = -r.best[b].first;
      }
      count[k] = static_cast<std::int32_t>(r.best.size());
    }
  });
  return count;
}

template <class T, class I>
SlotLists nearest_centroids(const Csr<T, I>& X, const std::int32_t* y, std::int32_t n_classes,
                            std::int32_t candidates, std::int64_t budget, std::int64_t from,
                            std::int64_t to, Isa isa, Team& team) {
  const std::int64_t rows = to - from;
  std::vector<std::int32_t> found(static_cast<std::size_t>(rows) * candidates), count;
  if constexpr (is_dense<I>) {
    const ByClass by_class(y, X.rows, n_classes);
    const Buffer<T> means = class_means(X, by_class.sample, by_class.start, team);
    count = nearest_classes(X, y, means, n_classes, candidates, from, to, isa, team, found);
  } else {
    const Postings<T> postings = make_postings(X, y, ByClass(y, X.rows, n_classes).sample);
    count = rank_samples(X, y, n_classes, postings, list_lengths(postings.begin), candidates,
                         budget, from, to, team, found.data());
  }
  SlotLists lists;
  lists.slot_begin.assign(rows + 1, 0);
  for (std::int64_t k = 0; k < rows; ++k) lists.slot_begin[k + 1] = count[k] + 1;
  for (std::int64_t k = 0; k < rows; ++k) lists.slot_begin[k + 1] += lists.slot_begin[k];
  lists.cls.resize(lists.slot_begin[rows]);
  for (std::int64_t k = 0; k < rows; ++k) {
    std::int32_t* out = lists.cls.data() + lists.slot_begin[k];
    *out++ = y[from + k];
    const std::int32_t* in = found.data() + static_cast<std::size_t>(k) * candidates;
    std::copy(in, in + (lists.slot_begin[k + 1] - lists.slot_begin[k] - 1), out);
  }
  return lists;
}

#define MM_CENTROIDS(T, I)                                                                        \
  template Postings<T> make_postings<T, I>(const Csr<T, I>&, const std::int32_t*,                 \
                                           const std::vector<std::int32_t>&);                     \
  template std::vector<std::int32_t> rank_samples<T, I>(                                          \
      const Csr<T, I>&, const std::int32_t*, std::int32_t, const Postings<T>&,                    \
      const std::vector<std::int64_t>&, std::int32_t, std::int64_t, std::int64_t, std::int64_t,   \
      Team&, std::int32_t*, T*);                                                                  \
  template SlotLists nearest_centroids<T, I>(const Csr<T, I>&, const std::int32_t*, std::int32_t, \
                                             std::int32_t, std::int64_t, std::int64_t,            \
                                             std::int64_t, Isa, Team&);
MM_FOR_TYPES(MM_CENTROIDS)
#undef MM_CENTROIDS

}  // namespace multimargin
