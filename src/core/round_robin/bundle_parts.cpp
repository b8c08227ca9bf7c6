// The steps of a bundle where rows come and go, a part of them at a time.
//
// What is added up for a class is added in the order of Bundle's other steps: its own samples, then
// those that are active in it. So the results are the same, bit for bit.
#include <algorithm>
#include <utility>

#include "common/types.hpp"
#include "round_robin/bundle.hpp"

namespace multimargin {

template <class T, class I>
typename Bundle<T, I>::Some Bundle<T, I>::between(const SampleRange& samples, std::int32_t k,
                                                  bool own) const {
  const std::int32_t* all = (own ? problem_.own[bundle_] : sample_).data();
  const std::vector<std::int64_t>& from = own ? problem_.own_from[bundle_] : begin_;
  const std::int32_t* end = all + from[k + 1];
  const std::int32_t* first = std::lower_bound(all + from[k], end, samples.first);
  return {all, first, std::lower_bound(first, end, samples.second)};
}

template <class T, class I>
void Bundle<T, I>::number(const SampleRange& samples, bool own, Team& team) {
  if constexpr (!is_dense<I>) {
    constexpr std::int32_t kOnce = -1;
    growing_.resize(classes());
    const Csr<T, I>& X = problem_.X;
    std::vector<std::vector<std::int32_t>> known(team.size());  // [features] place, or kOnce, or 0
    each_class(team, classes(), [&](int thread, std::int32_t k) {
      const Some some = between(samples, k, own);
      if (some.empty()) return;
      std::vector<std::int32_t>& place = known[thread];
      if (place.empty()) place.assign(static_cast<std::size_t>(X.cols), 0);
      std::vector<std::int32_t>&once = growing_[k].once, &shared = growing_[k].shared;
      for (const std::int32_t j : once) place[j] = kOnce;
      for (std::size_t p = 0; p < shared.size(); ++p)
        place[shared[p]] = static_cast<std::int32_t>(p) + 1;
      some.each([&](std::int32_t i, std::int64_t) {
        for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
          const auto j = static_cast<std::int32_t>(X.indices[t]);
          if (place[j] == 0) {
            place[j] = kOnce;
            once.push_back(j);
          } else if (place[j] == kOnce) {
            shared.push_back(j);
            place[j] = static_cast<std::int32_t>(shared.size());
          }
        }
      });
      const auto is_shared = [&](std::int32_t j) { return place[j] != kOnce; };
      const auto left = std::remove_if(once.begin(), once.end(), is_shared);
      for (auto j = once.begin(); j != left; ++j) place[*j] = 0;
      once.erase(left, once.end());
      for (const std::int32_t j : shared) place[j] = 0;
    });
  }
}

template <class T, class I>
void Bundle<T, I>::end_layout() {
  growing_.resize(classes());
  layout_.begin.assign(classes() + 1, 0);
  for (std::int32_t k = 0; k < classes(); ++k) {
    growing_[k].once = std::vector<std::int32_t>();
    layout_.begin[k + 1] =
        layout_.begin[k] + 1 + static_cast<std::int64_t>(growing_[k].shared.size());
  }
  layout_.feature.reset(static_cast<std::size_t>(layout_.begin.back()));
  for (std::int32_t k = 0; k < classes(); ++k) {
    std::int32_t* out = layout_.feature.data() + layout_.begin[k];
    *out++ = 0;
    std::copy(growing_[k].shared.begin(), growing_[k].shared.end(), out);
    growing_[k].shared = std::vector<std::int32_t>();
  }
  growing_ = std::vector<Growing>();
}

template <class T, class I>
void Bundle<T, I>::add(const SampleRange& samples, bool own, const double* sums, Team& team) {
  if constexpr (!is_dense<I>) {
    const Csr<T, I>& X = problem_.X;
    sum_.resize(static_cast<std::size_t>(layout_.begin.back()), 0.0);
    made_.norm2.resize(classes(), 0.0);
    made_.constant.resize(classes(), 0.0);
    std::vector<FeaturePlaces> scratch(team.size());
    each_class(team, classes(), [&](int thread, std::int32_t k) {
      const Some some = between(samples, k, own);
      if (some.empty()) return;
      FeaturePlaces& places = scratch[thread];
      layout_.open(places, X.cols, k);
      double* sum = sum_.data() + layout_.begin[k];
      double constant = made_.constant[k], squares = made_.norm2[k];
      some.each([&](std::int32_t i, std::int64_t p) {
        const double coefficient = own ? sums[i] : -static_cast<double>(alpha_[p]);
        if (coefficient == 0) return;
        constant += coefficient * static_cast<double>(problem_.bias);
        for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
          const std::int32_t place = places[X.indices[t]];
          const double value = coefficient * static_cast<double>(X.data[t]);
          sum[place] += value;
          if (place == 0) squares += value * value;
        }
      });
      made_.constant[k] = constant;
      made_.norm2[k] = squares;
      places.close();
    });
  }
}

template <class T, class I>
MadeWeights Bundle<T, I>::end_weights(const double* sums, BundleState<T>& out) {
  const std::vector<std::int32_t>& own = problem_.own[bundle_];
  sum_.resize(static_cast<std::size_t>(layout_.begin.back()), 0.0);
  made_.norm2.resize(classes(), 0.0);
  made_.constant.resize(classes(), 0.0);
  out.w.reset(sum_.size());
  out.w_bias.resize(classes());
  out.sum.resize(own.size());
  for (std::size_t e = 0; e < own.size(); ++e) out.sum[e] = static_cast<T>(sums[own[e]]);
  for (std::int32_t k = 0; k < classes(); ++k) {
    sum_[layout_.begin[k]] = 0;  // where the lone features went
    for (std::int64_t p = layout_.begin[k]; p < layout_.begin[k + 1]; ++p) {
      const T w = static_cast<T>(sum_[p]);
      out.w[p] = w;
      made_.norm2[k] += static_cast<double>(w) * static_cast<double>(w);
    }
    out.w_bias[k] = static_cast<T>(made_.constant[k]);
  }
  sum_ = std::vector<double>();
  lone_.clear();  // of weights that were
  return std::exchange(made_, {});
}

template <class T, class I>
void Bundle<T, I>::score(const BundleState<T>& state, const SampleRange& samples, double* own,
                         Team& team) {
  if constexpr (!is_dense<I>) {
    const Csr<T, I>& X = problem_.X;
    if (samples.first == 0) lone_.clear();
    margin_.resize(sample_.size());
    lone_.resize(classes());
    std::vector<FeaturePlaces> scratch(team.size());
    each_class(team, classes(), [&](int thread, std::int32_t k) {
      const Some owned = between(samples, k, true), active = between(samples, k, false);
      if (owned.empty() && active.empty()) return;
      FeaturePlaces& places = scratch[thread];
      layout_.open(places, X.cols, k);
      const auto list = [&](std::int32_t i, T coefficient) {
        if (coefficient == 0) return;
        for (std::int64_t t = X.begin(i); t < X.end(i); ++t)
          if (places[X.indices[t]] == 0)
            lone_[k].push_back({static_cast<std::int32_t>(X.indices[t]), coefficient * X.data[t]});
      };
      owned.each([&](std::int32_t i, std::int64_t e) {
        own[i] = score(state, k, places, i, state.sum[e]);
        list(i, state.sum[e]);
      });
      active.each([&](std::int32_t i, std::int64_t p) {
        margin_[p] = static_cast<T>(score(state, k, places, i, -alpha_[p]));
        list(i, -alpha_[p]);
      });
      places.close();
    });
  }
}

#define MM_MEMBERS(T, I)                                                           \
  template void Bundle<T, I>::number(const SampleRange&, bool, Team&);             \
  template void Bundle<T, I>::end_layout();                                        \
  template void Bundle<T, I>::add(const SampleRange&, bool, const double*, Team&); \
  template MadeWeights Bundle<T, I>::end_weights(const double*, BundleState<T>&);  \
  template void Bundle<T, I>::score(const BundleState<T>&, const SampleRange&, double*, Team&);
MM_FOR_TYPES(MM_MEMBERS)
#undef MM_MEMBERS

}  // namespace multimargin
