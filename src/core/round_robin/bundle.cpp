#include "round_robin/bundle.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "common/rounding.hpp"
#include "scoring/block_product.hpp"

namespace multimargin {

namespace {

constexpr std::int32_t kClassesPerTask = 32;
constexpr std::int32_t kUnseen = -1;
constexpr std::int32_t kOnce = 0;

}  // namespace

template <class T, class I>
class Bundle<T, I>::Lookup {
 public:
  void open(const Bundle& c, std::int32_t k) {
    if (at_.empty()) at_.assign(c.problem_.X.cols, 0);
    first_ = c.feature_.data() + c.weight_[k];
    count_ = static_cast<std::int32_t>(c.weight_[k + 1] - c.weight_[k]);
    for (std::int32_t p = 1; p < count_; ++p) at_[first_[p]] = p;
  }
  void close() {
    for (std::int32_t p = 1; p < count_; ++p) at_[first_[p]] = 0;
  }
  std::int32_t operator[](I feature) const { return at_[feature]; }

 private:
  std::vector<std::int32_t> at_;
  const std::int32_t* first_ = nullptr;
  std::int32_t count_ = 0;
};

template <class T, class I>
Bundle<T, I>::Bundle(const PartitionedProblem<T, I>& problem, std::int32_t bundle)
    : problem_(problem), bundle_(bundle), begin_(problem.classes[bundle].size() + 1, 0) {}

template <class T, class I>
template <class Use>
void Bundle<T, I>::each_class(Team& team, const Use& use) const {
  std::vector<Lookup> lookups(team.size());
  const std::int64_t tasks = (classes() + kClassesPerTask - 1) / kClassesPerTask;
  team.for_each(tasks, [&](int thread, std::int64_t task) {
    const std::int32_t first = static_cast<std::int32_t>(task) * kClassesPerTask;
    for (std::int32_t k = first; k < std::min(classes(), first + kClassesPerTask); ++k)
      use(lookups[thread], k);
  });
}

template <class T, class I>
template <class Use>
void Bundle<T, I>::each_member(const BundleState<T>& l, std::int32_t k, const Use& use) const {
  const std::vector<std::int64_t>& from = problem_.own_from[bundle_];
  for (std::int64_t e = from[k]; e < from[k + 1]; ++e) use(problem_.own[bundle_][e], l.sum[e]);
  for (std::int64_t p = begin_[k]; p < begin_[k + 1]; ++p) use(sample_[p], -alpha_[p]);
}

// ---------------------------------------------------------------- the pairs

template <class T, class I>
void Bundle<T, I>::take(const std::int64_t* pair, const std::int32_t* cls, const T* alpha) {
  const std::int64_t n = problem_.X.rows;
  const auto each = [&](const auto& use) {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t p = pair[i] + 1; p < pair[i + 1]; ++p)
        if (problem_.bundle_of[cls[p]] == bundle_) use(i, problem_.place_of[cls[p]], alpha[p]);
  };
  std::fill(begin_.begin(), begin_.end(), 0);
  each([&](std::int64_t, std::int32_t k, T) { ++begin_[k + 1]; });
  for (std::int32_t k = 0; k < classes(); ++k) begin_[k + 1] += begin_[k];
  sample_.resize(begin_.back());
  alpha_.resize(begin_.back());
  std::vector<std::int64_t> next(begin_.begin(), begin_.end() - 1);
  each([&](std::int64_t i, std::int32_t k, T a) {
    sample_[next[k]] = static_cast<std::int32_t>(i);
    alpha_[next[k]++] = a;
  });
}

template <class T, class I>
void Bundle<T, I>::set(std::vector<std::int64_t> begin, std::vector<std::int32_t> sample,
                       std::vector<T> alpha) {
  begin_ = std::move(begin);
  sample_ = std::move(sample);
  alpha_ = std::move(alpha);
}

template <class T, class I>
void Bundle<T, I>::pack_alpha(bool all, std::vector<T>& out) const {
  out = alpha_;
  for (std::size_t p = 0; p < out.size(); ++p)
    if (!all && problem_.bundle_of[problem_.y[sample_[p]]] != bundle_) out[p] = 0;
}

template <class T, class I>
void Bundle<T, I>::add_sums(double* sums) const {
  for (std::size_t p = 0; p < sample_.size(); ++p)
    sums[sample_[p]] += static_cast<double>(alpha_[p]);
}

template <class T, class I>
void Bundle<T, I>::scale(const double* factor) {
  for (std::size_t p = 0; p < sample_.size(); ++p)
    alpha_[p] = static_cast<T>(factor[sample_[p]] * static_cast<double>(alpha_[p]));
}

// ---------------------------------------------------------------- the weights

template <class T, class I>
void Bundle<T, I>::lay_out(Team& team) {
  std::vector<std::vector<std::int32_t>> state(team.size());
  const std::int64_t tasks = (classes() + kClassesPerTask - 1) / kClassesPerTask;
  std::vector<std::vector<std::int32_t>> shared(tasks);
  weight_.assign(classes() + 1, 0);
  const Csr<T, I>& X = problem_.X;
  team.for_each(tasks, [&](int thread, std::int64_t task) {
    std::vector<std::int32_t>& seen = state[thread];
    if (seen.empty()) seen.assign(X.cols, kUnseen);
    std::vector<std::int32_t>& out = shared[task];
    std::vector<std::int32_t> touched;
    const std::int32_t first = static_cast<std::int32_t>(task) * kClassesPerTask;
    for (std::int32_t k = first; k < std::min(classes(), first + kClassesPerTask); ++k) {
      const std::size_t start = out.size();
      out.push_back(0);  // where the lone features go
      const auto visit = [&](std::int32_t i) {
        for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
          const auto j = static_cast<std::int32_t>(X.indices[t]);
          if (seen[j] == kUnseen) {
            seen[j] = kOnce;
            touched.push_back(j);
          } else if (seen[j] == kOnce) {
            seen[j] = 1;
            out.push_back(j);
          }
        }
      };
      const std::vector<std::int64_t>& from = problem_.own_from[bundle_];
      for (std::int64_t e = from[k]; e < from[k + 1]; ++e) visit(problem_.own[bundle_][e]);
      for (std::int64_t p = begin_[k]; p < begin_[k + 1]; ++p) visit(sample_[p]);
      for (std::int32_t j : touched) seen[j] = kUnseen;
      touched.clear();
      weight_[k + 1] = static_cast<std::int64_t>(out.size() - start);
    }
  });
  for (std::int32_t k = 0; k < classes(); ++k) weight_[k + 1] += weight_[k];
  feature_.clear();
  feature_.reserve(weight_.back());
  for (std::vector<std::int32_t>& part : shared) {
    feature_.insert(feature_.end(), part.begin(), part.end());
    part = {};
  }
}

template <class T, class I>
std::vector<double> Bundle<T, I>::make_bundle_state(const double* sums, BundleState<T>& out,
                                                    Team& team) const {
  const Csr<T, I>& X = problem_.X;
  const std::vector<std::int32_t>& own = problem_.own[bundle_];
  out.w.reset(static_cast<std::size_t>(weight_.back()));
  out.w_bias.resize(classes());
  out.sum.resize(own.size());
  for (std::size_t e = 0; e < own.size(); ++e) out.sum[e] = static_cast<T>(sums[own[e]]);
  std::vector<double> norm(classes());
  each_class(team, [&](Lookup& lookup, std::int32_t k) {
    std::vector<double> w(weight_[k + 1] - weight_[k], 0.0);
    double constant = 0, squares = 0;
    lookup.open(*this, k);
    const auto add = [&](std::int32_t i, double step) {
      if (step == 0) return;
      constant += step * static_cast<double>(problem_.bias);
      for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
        const double move = step * static_cast<double>(X.data[t]);
        const std::int32_t at = lookup[X.indices[t]];
        if (at == 0)
          squares += move * move;  // lone: nobody else adds to it
        else
          w[at] += move;
      }
    };
    // Not the sums as they are rounded for the road: the dual is that of alpha itself.
    const std::vector<std::int64_t>& from = problem_.own_from[bundle_];
    for (std::int64_t e = from[k]; e < from[k + 1]; ++e) add(own[e], sums[own[e]]);
    for (std::int64_t p = begin_[k]; p < begin_[k + 1]; ++p)
      add(sample_[p], -static_cast<double>(alpha_[p]));
    lookup.close();
    T* to = out.w.data() + weight_[k];
    for (std::size_t p = 0; p < w.size(); ++p) {
      to[p] = static_cast<T>(w[p]);
      squares += static_cast<double>(to[p]) * static_cast<double>(to[p]);
    }
    out.w_bias[k] = static_cast<T>(constant);
    norm[k] = squares + static_cast<double>(out.w_bias[k]) * static_cast<double>(out.w_bias[k]);
  });
  return norm;
}

template <class T, class I>
template <class Use>
void Bundle<T, I>::each_weight(const BundleState<T>& l, std::int32_t k, Lookup& lookup,
                               const Use& use) const {
  for (std::int64_t p = weight_[k] + 1; p < weight_[k + 1]; ++p) use(feature_[p], l.w[p]);
  lookup.open(*this, k);
  each_member(l, k, [&](std::int32_t i, T coefficient) {
    if (coefficient == 0) return;
    for (std::int64_t t = problem_.X.begin(i); t < problem_.X.end(i); ++t)
      if (lookup[problem_.X.indices[t]] == 0)
        use(static_cast<std::int32_t>(problem_.X.indices[t]), coefficient * problem_.X.data[t]);
  });
  lookup.close();
}

template <class T, class I>
SparseRows<T> Bundle<T, I>::weights(const BundleState<T>& l, Team& team) const {
  std::vector<std::vector<std::pair<std::int32_t, T>>> part(classes());
  each_class(team, [&](Lookup& lookup, std::int32_t k) {
    each_weight(l, k, lookup, [&](std::int32_t j, T w) {
      if (w != 0) part[k].emplace_back(j, w);
    });
    std::sort(part[k].begin(), part[k].end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  });
  SparseRows<T> rows;
  rows.begin.assign(1, 0);
  for (auto& row : part) {
    for (const auto& [j, w] : row) {
      rows.index.push_back(j);
      rows.value.push_back(w);
    }
    rows.begin.push_back(static_cast<std::int64_t>(rows.index.size()));
    row = {};
  }
  return rows;
}

// ---------------------------------------------------------------- looking

// Of the weights as each_weight lists them.
template <class T, class I>
double Bundle<T, I>::score(const BundleState<T>& l, std::int32_t k, const Lookup& lookup,
                           std::int64_t i, T coefficient) const {
  const Csr<T, I>& X = problem_.X;
  const T* w = l.w.data() + weight_[k];
  double dot = static_cast<double>(static_cast<T>(problem_.bias * l.w_bias[k]));
  for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
    const std::int32_t at = lookup[X.indices[t]];
    const T weight = at == 0 ? static_cast<T>(coefficient * X.data[t]) : w[at];
    dot += static_cast<double>(X.data[t]) * static_cast<double>(weight);
  }
  return dot;
}

template <class T, class I>
void Bundle<T, I>::own_scores(const BundleState<T>& l, double* own, Team& team) const {
  const std::vector<std::int64_t>& from = problem_.own_from[bundle_];
  each_class(team, [&](Lookup& lookup, std::int32_t k) {
    lookup.open(*this, k);
    for (std::int64_t e = from[k]; e < from[k + 1]; ++e) {
      const std::int32_t i = problem_.own[bundle_][e];
      own[i] = score(l, k, lookup, i, l.sum[e]);
    }
    lookup.close();
  });
}

template <class T, class I>
void Bundle<T, I>::look(const BundleState<T>& l, const double* own, const SolverKernels<T>& kernels,
                        T* most, T* least, T* violation, Team& team) {
  margin_.resize(sample_.size());
  each_class(team, [&](Lookup& lookup, std::int32_t k) {
    lookup.open(*this, k);
    for (std::int64_t p = begin_[k]; p < begin_[k + 1]; ++p)
      margin_[p] = kernels.margin(static_cast<T>(own[sample_[p]]),
                                  static_cast<T>(score(l, k, lookup, sample_[p], -alpha_[p])));
    lookup.close();
  });
  // A sample has pairs in several classes: one thread.
  for (std::size_t p = 0; p < sample_.size(); ++p) {
    const std::int32_t i = sample_[p];
    if (!(problem_.norm2[i] > 0)) continue;
    Account<T> account{most[i], least[i], violation[i]};
    kernels.add_to_account(margin_[p], alpha_[p], problem_.box[i], &account);
    most[i] = account.most;
    least[i] = account.least;
    violation[i] = account.violation;
  }
}

template <class T, class I>
template <class S>
BundleScan<T> Bundle<T, I>::scan(const BundleState<T>& l, const ScanRequest<T>& request,
                                 const ScanKernels<T, I>& kernels, Team& team,
                                 const std::function<bool()>& stop) const {
  const std::int32_t capacity = std::min(request.capacity, std::max(1, classes()));
  const std::int64_t n = problem_.X.rows;
  BundleScan<T> result;
  result.loss.assign(n, 0.0);
  result.bound.assign(n, 0.0);
  const std::vector<std::int32_t>& here = problem_.classes[bundle_];
  std::vector<double> norm(here.size()), threshold(n), own_part(n), rounding(n);
  for (std::size_t k = 0; k < here.size(); ++k) norm[k] = request.norm[here[k]];
  const double largest = *std::max_element(request.norm, request.norm + problem_.n_classes);
  std::vector<std::int32_t> y(n);
  std::vector<std::int64_t> pair(n + 1, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t entries = problem_.X.end(i) - problem_.X.begin(i);
    const double norm2 = static_cast<double>(problem_.norm2[i]);
    const std::int32_t c = problem_.y[i];
    rounding[i] = score_rounding<S>(entries, norm2);
    own_part[i] = own_rounding<S>(rounding[i], request.norm[c]);
    threshold[i] =
        loss_threshold(request.own[i], Report<T>{0, 0, request.least[i], request.loss[i]},
                       own_rounding<T>(score_rounding<T>(entries, norm2), 2 * largest));
    y[i] = problem_.bundle_of[c] == bundle_ ? problem_.place_of[c] : -1;
  }
  // The pairs by sample: which classes of the bundle are active already.
  for (std::int32_t i : sample_) ++pair[i + 1];
  for (std::int64_t i = 0; i < n; ++i) pair[i + 1] += pair[i];
  std::vector<std::int32_t> cls(sample_.size());
  std::vector<std::int64_t> next(pair.begin(), pair.end() - 1);
  for (std::int32_t k = 0; k < classes(); ++k)
    for (std::int64_t p = begin_[k]; p < begin_[k + 1]; ++p) cls[next[sample_[p]]++] = k;

  std::vector<T> outside(n, T(0)), found_margin(static_cast<std::size_t>(n) * capacity);
  std::vector<std::int32_t> found_cls(found_margin.size()), count(n, 0);
  const ScanView<T> view{
      request.own,        problem_.norm2.data(),
      request.least,      threshold.data(),
      own_part.data(),    rounding.data(),
      norm.data(),        pair.data(),
      cls.data(),         request.idle > 0 ? request.idle : T(0),
      result.loss.data(), result.bound.data(),
      outside.data(),     {found_margin.data(), found_cls.data(), count.data(), capacity}};
  const auto fill = [&](ClassBlock<S>& block, std::int32_t first, std::int32_t some) {
    Lookup lookup;
    for (std::int32_t k = 0; k < some; ++k) {
      each_weight(l, first + k, lookup, [&](std::int32_t j, T w) { block.add(k, j, w); });
      block.set_intercept(k, static_cast<T>(problem_.bias * l.w_bias[first + k]));
    }
  };
  const auto use = [&](const BlockView<S>& block, std::int64_t begin, std::int64_t end) {
    if constexpr (std::is_same_v<S, T>)
      kernels.scan(problem_.X, y.data(), block, view, begin, end);
    else
      kernels.exact_scan(problem_.X, y.data(), block, view, begin, end);
  };
  result.complete = block_product<S>(team, n, problem_.X.cols, classes(), fill, use, stop);

  result.begin.assign(n + 1, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    result.begin[i + 1] = result.begin[i] + count[i];
    result.violation = std::max(result.violation, outside[i]);
    for (std::int32_t f = 0; f < count[i]; ++f) {
      result.cls.push_back(found_cls[i * capacity + f]);
      result.margin.push_back(found_margin[i * capacity + f]);
    }
  }
  return result;
}

template <class T, class I>
void Bundle<T, I>::merge(const BundleScan<T>& found, const T* least, const T* threshold) {
  struct Pair {
    std::int32_t sample;
    T alpha;
  };
  std::vector<std::vector<Pair>> fresh(classes());
  for (std::int64_t i = 0; i < problem_.X.rows; ++i)
    for (std::int64_t f = found.begin[i]; f < found.begin[i + 1]; ++f)
      if (found.margin[f] >= threshold[i])
        fresh[found.cls[f]].push_back({static_cast<std::int32_t>(i), T(0)});
  std::vector<std::int64_t> begin(1, 0);
  std::vector<std::int32_t> sample;
  std::vector<T> alpha;
  for (std::int32_t k = 0; k < classes(); ++k) {
    std::vector<Pair>& column = fresh[k];
    const std::size_t added = column.size();
    for (std::int64_t p = begin_[k]; p < begin_[k + 1]; ++p)
      if (alpha_[p] > 0 || margin_[p] > std::max(T(0), least[sample_[p]]))
        column.push_back({sample_[p], alpha_[p]});
    std::inplace_merge(column.begin(), column.begin() + added, column.end(),
                       [](const Pair& a, const Pair& b) { return a.sample < b.sample; });
    for (const Pair& p : column) {
      sample.push_back(p.sample);
      alpha.push_back(p.alpha);
    }
    column = {};
    begin.push_back(static_cast<std::int64_t>(sample.size()));
  }
  set(std::move(begin), std::move(sample), std::move(alpha));
  margin_ = {};
}

template class Bundle<float, std::int32_t>;
template class Bundle<float, std::int64_t>;
template class Bundle<double, std::int32_t>;
template class Bundle<double, std::int64_t>;
#define MM_INSTANTIATE(T, I, S)                                                              \
  template BundleScan<T> Bundle<T, I>::scan<S>(const BundleState<T>&, const ScanRequest<T>&, \
                                               const ScanKernels<T, I>&, Team&,              \
                                               const std::function<bool()>&) const;
MM_INSTANTIATE(float, std::int32_t, float)
MM_INSTANTIATE(float, std::int64_t, float)
MM_INSTANTIATE(float, std::int32_t, double)
MM_INSTANTIATE(float, std::int64_t, double)
MM_INSTANTIATE(double, std::int32_t, double)
MM_INSTANTIATE(double, std::int64_t, double)
#undef MM_INSTANTIATE

}  // namespace multimargin
