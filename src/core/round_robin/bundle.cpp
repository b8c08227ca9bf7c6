#include "round_robin/bundle.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "active_set/slots.hpp"
#include "common/random.hpp"
#include "common/types.hpp"

namespace multimargin {

template <class T, class I>
Bundle<T, I>::Bundle(const PartitionedProblem<T, I>& problem, std::int32_t bundle)
    : problem_(problem), bundle_(bundle), begin_(problem.classes[bundle].size() + 1, 0) {}

template <class T, class I>
template <class Use>
void Bundle<T, I>::each_open_class(Team& team, const Use& use) const {
  std::vector<FeaturePlaces> places(team.size());
  each_class(team, classes(), [&](int thread, std::int32_t k) {
    layout_.open(places[thread], problem_.X.cols, k);
    use(places[thread], k);
    places[thread].close();
  });
}

template <class T, class I>
template <class Own, class Pair>
void Bundle<T, I>::each_member(std::int32_t k, const Own& own, const Pair& pair) const {
  const std::vector<std::int64_t>& from = problem_.own_from[bundle_];
  for (std::int64_t e = from[k]; e < from[k + 1]; ++e) own(problem_.own[bundle_][e], e);
  for (std::int64_t p = begin_[k]; p < begin_[k + 1]; ++p) pair(sample_[p], p);
}

// ---------------------------------------------------------------- the pairs

template <class T, class I>
void Bundle<T, I>::take(const std::int64_t* slot_begin, const std::int32_t* cls, const T* alpha) {
  const std::int64_t n = problem_.X.rows;
  const auto each = [&](const auto& use) {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t p = slot_begin[i] + 1; p < slot_begin[i + 1]; ++p)
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
void Bundle<T, I>::restore(std::vector<std::int64_t> begin, std::vector<std::int32_t> sample,
                           std::vector<T> alpha) {
  if (!std::is_sorted(begin.begin(), begin.end()))
    throw std::invalid_argument("a bundle's columns must begin one after the other");
  for (const std::int32_t i : sample)
    if (i < 0 || i >= problem_.X.rows) throw std::invalid_argument("there is no such sample");
  set(std::move(begin), std::move(sample), std::move(alpha));
}

template <class T, class I>
void Bundle<T, I>::put_alpha(const std::int64_t* pair, const T* value, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) {
    if (pair[k] < 0 || pair[k] >= static_cast<std::int64_t>(alpha_.size()))
      throw std::invalid_argument("put_alpha: no such pair");
    alpha_[pair[k]] = value[k];
  }
}

template <class T, class I>
void Bundle<T, I>::pack_alpha(bool all, std::vector<T>& out) const {
  out = alpha_;
  for (std::size_t p = 0; p < out.size(); ++p)
    if (!all && !moves(sample_[p])) out[p] = 0;
}

template <class T, class I>
void Bundle<T, I>::add_sums(double* sums) const {
  for (std::size_t p = 0; p < sample_.size(); ++p)
    sums[sample_[p]] += static_cast<double>(alpha_[p]);
}

template <class T, class I>
double Bundle<T, I>::value() const {
  double sum = 0;
  for (std::int32_t k = 0; k < classes(); ++k)
    for (std::int64_t p = begin_[k]; p < begin_[k + 1]; ++p)
      sum += asked(sample_[p], k) * static_cast<double>(alpha_[p]);
  return sum;
}

template <class T, class I>
void Bundle<T, I>::scale(const double* factor) {
  for (std::size_t p = 0; p < sample_.size(); ++p)
    alpha_[p] = static_cast<T>(factor[sample_[p]] * static_cast<double>(alpha_[p]));
}

// ---------------------------------------------------------------- the weights

namespace {

// Where the t-th entry of x_i lies in the weights of the class whose places these are.
template <class T, class I>
auto places_of(const Csr<T, I>& X, const FeaturePlaces& places, std::int64_t i) {
  if constexpr (is_dense<I>) {
    return [](std::int64_t t) { return t; };
  } else {
    const I* feature = X.indices + X.begin(i);
    return [&places, feature](std::int64_t t) { return places[feature[t]]; };
  }
}

}  // namespace

template <class T, class I>
void Bundle<T, I>::lay_out(Team& team) {
  if constexpr (is_dense<I>) {
    layout_.template lay_out_dense<T>(problem_.X.cols, classes());
  } else {
    const auto rows = [&](std::int32_t k, const auto& use) {
      const auto take = [&](std::int32_t i, std::int64_t) { use(i); };
      each_member(k, take, take);
    };
    layout_.lay_out(problem_.X, classes(), team, rows, [](std::int32_t, const FeaturePlaces&) {});
  }
}

template <class T, class I>
MadeWeights Bundle<T, I>::make_bundle_state(const double* sums, const SolverKernels<T>& kernels,
                                            BundleState<T>& out, Team& team) const {
  const Csr<T, I>& X = problem_.X;
  const std::vector<std::int32_t>& own = problem_.own[bundle_];
  out.w.reset(static_cast<std::size_t>(layout_.begin.back()));
  out.w_bias.resize(classes());
  out.sum.resize(own.size());
  for (std::size_t e = 0; e < own.size(); ++e) out.sum[e] = static_cast<T>(sums[own[e]]);
  MadeWeights made{std::vector<double>(classes()), std::vector<double>(classes())};
  each_open_class(team, [&](const FeaturePlaces& places, std::int32_t k) {
    // Not the sums as they are rounded for the bundle state: the dual objective is that of alpha.
    const auto members = [&](const auto& take) {
      const auto add = [&](std::int32_t i, double coefficient) {
        take(i, coefficient, places_of(X, places, i));
      };
      each_member(
          k, [&](std::int32_t i, std::int64_t) { add(i, sums[i]); },
          [&](std::int32_t i, std::int64_t p) { add(i, -static_cast<double>(alpha_[p])); });
    };
    double squares = 0;
    std::vector<double> sum;
    T* w = out.w.data() + layout_.begin[k];
    made.constant[k] = add_up_weights(
        X, problem_.bias, layout_.count(k), members, [&](double w) { squares += w * w; },
        kernels.add_exact_row, sum, w);
    for (std::int64_t p = 0; p < layout_.count(k); ++p)
      squares += static_cast<double>(w[p]) * static_cast<double>(w[p]);
    made.norm2[k] = squares;
    out.w_bias[k] = static_cast<T>(made.constant[k]);
  });
  return made;
}

template <class T, class I>
template <class Use>
void Bundle<T, I>::each_weight(const BundleState<T>& state, std::int32_t k,
                               const FeaturePlaces& places, const Use& use) const {
  const Csr<T, I>& X = problem_.X;
  if (problem_.rows_come()) {
    for (std::int64_t p = 1; p < layout_.count(k); ++p)
      use(layout_.feature[layout_.begin[k] + p], state.w[layout_.begin[k] + p]);
    for (const LoneWeight<T>& lone : lone_[k]) use(lone.feature, lone.value);
    return;
  }
  const auto members = [&](const auto& take) {
    const auto add = [&](std::int32_t i, T coefficient) {
      take(i, coefficient, places_of(X, places, i));
    };
    each_member(
        k, [&](std::int32_t i, std::int64_t e) { add(i, state.sum[e]); },
        [&](std::int32_t i, std::int64_t p) { add(i, -alpha_[p]); });
  };
  multimargin::each_weight(X, layout_, state.w.data() + layout_.begin[k], k, members, use);
}

template <class T, class I>
SparseRows<T> Bundle<T, I>::weights(const BundleState<T>& state, Team& team) const {
  std::vector<FeaturePlaces> places(team.size());
  const std::int64_t cols = problem_.X.cols;
  return list_weights<T>(team, classes(), cols, [&](int thread, std::int32_t k, const auto& use) {
    layout_.open(places[thread], cols, k);
    each_weight(state, k, places[thread], use);
    places[thread].close();
  });
}

// ---------------------------------------------------------------- looking

template <class T, class I>
double Bundle<T, I>::score(const BundleState<T>& state, std::int32_t k, const FeaturePlaces& places,
                           std::int64_t i, T coefficient) const {
  const Csr<T, I>& X = problem_.X;
  const T* w = state.w.data() + layout_.begin[k];
  double dot = static_cast<double>(static_cast<T>(problem_.bias * state.w_bias[k]));
  const T* x = X.data + X.begin(i);
  const std::int64_t len = X.end(i) - X.begin(i);
  const auto place = places_of(X, places, i);
  for (std::int64_t t = 0; t < len; ++t) {
    const bool lone = !is_dense<I> && place(t) == 0;
    const T weight = lone ? static_cast<T>(coefficient * x[t]) : w[place(t)];
    dot += static_cast<double>(x[t]) * static_cast<double>(weight);
  }
  return dot;
}

template <class T, class I>
void Bundle<T, I>::own_scores(const BundleState<T>& state, double* own, Team& team) const {
  each_open_class(team, [&](const FeaturePlaces& places, std::int32_t k) {
    each_member(
        k,
        [&](std::int32_t i, std::int64_t e) { own[i] = score(state, k, places, i, state.sum[e]); },
        [](std::int32_t, std::int64_t) {});
  });
}

template <class T, class I>
void Bundle<T, I>::look(const BundleState<T>& state, const double* own,
                        const SolverKernels<T>& kernels, T* most, T* least, T* violation,
                        Team& team) {
  const auto note = [&](std::int32_t k, std::int64_t p, T scored) {
    margin_[p] = kernels.margin(static_cast<T>(own[sample_[p]]), scored,
                                static_cast<T>(asked(sample_[p], k)));
  };
  if (problem_.rows_come()) {
    for (std::int32_t k = 0; k < classes(); ++k)
      for (std::int64_t p = begin_[k]; p < begin_[k + 1]; ++p) note(k, p, margin_[p]);
  } else {
    margin_.resize(sample_.size());
    each_open_class(team, [&](const FeaturePlaces& places, std::int32_t k) {
      for (std::int64_t p = begin_[k]; p < begin_[k + 1]; ++p)
        note(k, p, static_cast<T>(score(state, k, places, sample_[p], -alpha_[p])));
    });
  }
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
BundleScan<T> Bundle<T, I>::scan(const BundleState<T>& state, OrderedRows<T, I>& rows,
                                 const ScanRequest<T>& request, const ScanKernels<T>& kernels,
                                 Team& team, const std::function<bool()>& stop,
                                 const SampleRange& samples) const {
  const std::int64_t n = problem_.X.rows, from = samples.first;
  const std::vector<std::int32_t>& here = problem_.classes[bundle_];
  std::vector<double> norm(here.size());
  for (std::size_t k = 0; k < here.size(); ++k) norm[k] = request.norm[here[k]];
  std::vector<std::int32_t> own(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t c = problem_.y[i];
    own[i] = problem_.bundle_of[c] == bundle_ ? problem_.place_of[c] : -1;
  }
  // The pairs by sample: which classes of the bundle are active already.
  std::vector<std::int64_t> slot_begin(n + 1, 0);
  for (std::int32_t i : sample_) ++slot_begin[i + 1];
  for (std::int64_t i = 0; i < n; ++i) slot_begin[i + 1] += slot_begin[i];
  std::vector<std::int32_t> cls(sample_.size());
  std::vector<std::int64_t> next(slot_begin.begin(), slot_begin.end() - 1);
  for (std::int32_t k = 0; k < classes(); ++k)
    for (std::int64_t p = begin_[k]; p < begin_[k + 1]; ++p) cls[next[sample_[p]]++] = k;

  std::vector<FeaturePlaces> places(team.size());
  const auto fill = [&](int thread, std::int32_t k, const auto& put) {
    layout_.open(places[thread], problem_.X.cols, k);
    each_weight(state, k, places[thread], [&](std::int32_t j, T w) { put(rows.number(j), w); });
    places[thread].close();
    return static_cast<T>(problem_.bias * state.w_bias[k]);
  };
  ScanRequest<T> limited = request;
  limited.capacity = std::min(request.capacity, std::max(1, classes()));
  limited.own += from;
  limited.least += from;
  limited.loss += from;
  Samples<T, I> some = problem_;
  some.X = rows_between(problem_.X, from, samples.second);
  some.y += from;
  some.box += from;
  ClassScan<T> found = scan_classes<T, I>(some, rows, problem_.norm2.data() + from, limited,
                                          {classes(), own.data() + from, here.data(), norm.data(),
                                           slot_begin.data() + from, cls.data()},
                                          kernels, team, fill, stop);

  BundleScan<T> result;
  result.loss = std::move(found.loss);
  result.bound = std::move(found.bound);
  result.complete = found.complete;
  result.begin.assign(some.X.rows + 1, 0);
  for (std::int64_t i = 0; i < some.X.rows; ++i) {
    result.begin[i + 1] = result.begin[i] + found.count[i];
    result.violation = std::max(result.violation, found.violation[i]);
    const std::int64_t first = found.begin[i], last = first + found.count[i];
    result.cls.insert(result.cls.end(), found.cls.begin() + first, found.cls.begin() + last);
    result.margin.insert(result.margin.end(), found.margin.begin() + first,
                         found.margin.begin() + last);
  }
  return result;
}

template <class T, class I>
void Bundle<T, I>::merge(const BundleScan<T>& found, const T* least, const T* threshold,
                         std::int32_t drawn, std::uint64_t seed) {
  struct Pair {
    std::int32_t sample;
    T alpha;
  };
  std::vector<std::vector<Pair>> fresh(classes());
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(problem_.X.rows); ++i) {
    for (std::int64_t f = found.begin[i]; f < found.begin[i + 1]; ++f)
      if (found.margin[f] >= threshold[i]) fresh[found.cls[f]].push_back({i, T(0)});
    Random random(seed, static_cast<std::uint64_t>(i));
    for (std::int32_t d = 0; d < drawn; ++d) {
      const auto c = static_cast<std::int32_t>(random.below(problem_.n_classes));
      if (c == problem_.y[i] || problem_.bundle_of[c] != bundle_) continue;
      const std::int32_t k = problem_.place_of[c];
      std::vector<Pair>& column = fresh[k];
      if (!column.empty() && column.back().sample == i) continue;
      const auto first = sample_.begin() + begin_[k], last = sample_.begin() + begin_[k + 1];
      if (!std::binary_search(first, last, i)) column.push_back({i, T(0)});
    }
  }
  std::vector<std::int64_t> begin(1, 0);
  std::vector<std::int32_t> sample;
  std::vector<T> alpha;
  for (std::int32_t k = 0; k < classes(); ++k) {
    std::vector<Pair>& column = fresh[k];
    const std::size_t added = column.size();
    for (std::int64_t p = begin_[k]; p < begin_[k + 1]; ++p)
      if (stays_active(alpha_[p], margin_[p], least[sample_[p]]))
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
  margin_ = std::vector<T>();
}

#define MM_CLASS(T, I) template class Bundle<T, I>;
MM_FOR_TYPES(MM_CLASS)
#undef MM_CLASS

}  // namespace multimargin
