#include "active_set/active_set.hpp"

#include <algorithm>

namespace multimargin {

namespace {

constexpr std::int32_t kClassesPerTask = 64;

constexpr std::int32_t kUnseen = -1;  // no member of the class has the feature, so far
constexpr std::int32_t kOnce = 0;     // one has it: lone, unless another comes

}  // namespace

template <class T>
void ActiveSet<T>::assign(std::vector<std::int64_t> pair, std::vector<std::int32_t> cls,
                          std::vector<T> alpha) {
  pair_ = std::move(pair);
  cls_ = std::move(cls);
  alpha_ = std::move(alpha);
  resting_.assign(cls_.size(), 0);
  widest_ = 1;
  for (std::int64_t i = 0; i < samples(); ++i) {
    widest_ = std::max(widest_, static_cast<std::int32_t>(pair_[i + 1] - pair_[i]));
    T sum = 0;
    for (std::int64_t p = pair_[i] + 1; p < pair_[i + 1]; ++p) sum += alpha_[p];
    alpha_[pair_[i]] = sum;
  }
}

template <class T>
void ActiveSet<T>::list_members(std::int32_t n_classes) {
  members_.begin.assign(n_classes + 1, 0);
  for (std::int32_t c : cls_) ++members_.begin[c + 1];
  for (std::int32_t c = 0; c < n_classes; ++c) members_.begin[c + 1] += members_.begin[c];
  members_.sample.resize(cls_.size());
  members_.slot.resize(cls_.size());
  std::vector<std::int64_t> next(members_.begin.begin(), members_.begin.end() - 1);
  for (std::int64_t i = 0; i < samples(); ++i)
    for (std::int64_t p = pair_[i]; p < pair_[i + 1]; ++p) {
      const std::int64_t at = next[cls_[p]]++;
      members_.sample[at] = static_cast<std::int32_t>(i);
      members_.slot[at] = static_cast<std::int32_t>(p - pair_[i]);
    }
}

template <class T>
template <class I>
void ActiveSet<T>::lay_out_class(const Csr<T, I>& X, std::int32_t c, Layout& layout) {
  layout.seen.clear();
  layout.feature.assign(1, 0);
  const std::int64_t begin = members_.begin[c], end = members_.begin[c + 1];
  for (std::int64_t e = begin; e < end; ++e) {
    const std::int64_t i = members_.sample[e];
    for (std::int64_t t = X.begin(i); t < X.end(i); ++t) {
      std::int32_t& state = layout.slot_of[X.indices[t]];
      if (state == kUnseen) {
        state = kOnce;
        layout.seen.push_back(static_cast<std::int32_t>(X.indices[t]));
      } else if (state == kOnce) {
        state = static_cast<std::int32_t>(layout.feature.size());
        layout.feature.push_back(static_cast<std::int32_t>(X.indices[t]));
      }
    }
  }
  for (std::int64_t e = begin; e < end; ++e) {
    const std::int64_t i = members_.sample[e], slot = members_.slot[e];
    const std::int64_t first = X.begin(i), len = X.end(i) - first;
    std::uint32_t* at = position_.data() + place_[i] + slot * len;
    double lone = 0;
    for (std::int64_t t = 0; t < len; ++t) {
      const std::int32_t known = layout.slot_of[X.indices[first + t]];
      at[t] = static_cast<std::uint32_t>(known);
      if (known == kOnce) {
        const double x = static_cast<double>(X.data[first + t]);
        lone += x * x;
      }
    }
    lone_[pair_[i] + slot] = static_cast<T>(lone);
  }
  for (std::int32_t j : layout.seen) layout.slot_of[j] = kUnseen;
}

template <class T>
template <class I>
void ActiveSet<T>::lay_out(const Csr<T, I>& X, std::int32_t n_classes, Team& team) {
  const std::int64_t n = samples();
  place_.resize(n + 1);
  place_[0] = 0;
  for (std::int64_t i = 0; i < n; ++i)
    place_[i + 1] = place_[i] + (pair_[i + 1] - pair_[i]) * (X.end(i) - X.begin(i));
  position_.reset(static_cast<std::size_t>(place_[n]));
  lone_.resize(cls_.size());
  weight_.assign(n_classes + 1, 0);
  list_members(n_classes);

  const std::int64_t tasks = (n_classes + kClassesPerTask - 1) / kClassesPerTask;
  std::vector<Layout> layouts(team.size());
  std::vector<std::vector<std::int32_t>> features(tasks);
  team.for_each(tasks, [&](int thread, std::int64_t task) {
    Layout& layout = layouts[thread];
    if (layout.slot_of.empty()) layout.slot_of.assign(X.cols, kUnseen);
    const std::int32_t first = static_cast<std::int32_t>(task) * kClassesPerTask;
    const std::int32_t last = std::min(n_classes, first + kClassesPerTask);
    for (std::int32_t c = first; c < last; ++c) {
      lay_out_class(X, c, layout);
      weight_[c + 1] = static_cast<std::int64_t>(layout.feature.size());
      features[task].insert(features[task].end(), layout.feature.begin(), layout.feature.end());
    }
  });
  for (std::int32_t c = 0; c < n_classes; ++c) weight_[c + 1] += weight_[c];
  feature_.resize(weight_[n_classes]);
  w_.reset(static_cast<std::size_t>(weight_[n_classes]));
  w_of_.resize(n_classes);
  for (std::int32_t c = 0; c < n_classes; ++c) w_of_[c] = w_.data() + weight_[c];
  w_bias_.resize(n_classes);
  team.for_each(tasks, [&](int, std::int64_t task) {
    std::copy(features[task].begin(), features[task].end(),
              feature_.begin() + weight_[task * kClassesPerTask]);
  });
}

template <class T>
template <class I>
void ActiveSet<T>::recompute(const Csr<T, I>& X, T bias, Team& team) {
  const std::int32_t n_classes = static_cast<std::int32_t>(w_bias_.size());
  std::vector<std::vector<double>> sums(team.size());
  const std::int64_t tasks = (n_classes + kClassesPerTask - 1) / kClassesPerTask;
  team.for_each(tasks, [&](int thread, std::int64_t task) {
    std::vector<double>& sum = sums[thread];
    const std::int32_t first = static_cast<std::int32_t>(task) * kClassesPerTask;
    const std::int32_t last = std::min(n_classes, first + kClassesPerTask);
    for (std::int32_t c = first; c < last; ++c) {
      sum.assign(weight_[c + 1] - weight_[c], 0.0);
      double constant = 0;
      const std::int64_t stop = members_.begin[c + 1];
      for (std::int64_t e = members_.begin[c]; e < stop; ++e) {
        const std::int64_t i = members_.sample[e], slot = members_.slot[e];
        const double step = exact_coefficient(i, slot);
        if (step == 0) continue;
        constant += step * static_cast<double>(bias);
        const std::int64_t begin = X.begin(i), len = X.end(i) - begin;
        const std::uint32_t* at = position_.data() + place_[i] + slot * len;
        for (std::int64_t t = 0; t < len; ++t)
          sum[at[t]] += step * static_cast<double>(X.data[begin + t]);
      }
      sum[0] = 0;  // where the lone features went
      T* w = w_.data() + weight_[c];
      for (std::size_t k = 0; k < sum.size(); ++k) w[k] = static_cast<T>(sum[k]);
      w_bias_[c] = static_cast<T>(constant);
    }
  });
}

template <class T>
double ActiveSet<T>::alpha_sum() const {
  double sum = 0;
  for (std::int64_t i = 0; i < samples(); ++i)
    for (std::int64_t p = pair_[i] + 1; p < pair_[i + 1]; ++p)
      sum += static_cast<double>(alpha_[p]);
  return sum;
}

template <class T>
std::vector<double> ActiveSet<T>::squared_norms(Team& team) const {
  const std::int32_t n_classes = static_cast<std::int32_t>(w_bias_.size());
  std::vector<double> norms(w_bias_.size());
  const std::int64_t tasks = (n_classes + kClassesPerTask - 1) / kClassesPerTask;
  team.for_each(tasks, [&](int, std::int64_t task) {
    const std::int32_t first = static_cast<std::int32_t>(task) * kClassesPerTask;
    for (std::int32_t c = first; c < std::min(n_classes, first + kClassesPerTask); ++c) {
      double sum = static_cast<double>(w_bias_[c]) * static_cast<double>(w_bias_[c]);
      for (std::int64_t k = weight_[c]; k < weight_[c + 1]; ++k)
        sum += static_cast<double>(w_[k]) * static_cast<double>(w_[k]);
      for (std::int64_t e = members_.begin[c]; e < members_.begin[c + 1]; ++e) {
        const std::int64_t i = members_.sample[e], slot = members_.slot[e];
        const double step = static_cast<double>(coefficient(i, slot));
        sum += step * step * static_cast<double>(lone_[pair_[i] + slot]);
      }
      norms[c] = sum;
    }
  });
  return norms;
}

template <class T>
void ActiveSet<T>::fill(WorkView<T>& view) {
  view.pair = pair_.data();
  view.cls = cls_.data();
  view.alpha = alpha_.data();
  view.resting = resting_.data();
  view.place = place_.data();
  view.position = position_.data();
  view.lone = lone_.data();
  view.w = w_of_.data();
  view.w_bias = w_bias_.data();
}

template class ActiveSet<float>;
template class ActiveSet<double>;
#define MM_INSTANTIATE(T, I)                                                     \
  template void ActiveSet<T>::lay_out<I>(const Csr<T, I>&, std::int32_t, Team&); \
  template void ActiveSet<T>::recompute<I>(const Csr<T, I>&, T, Team&);
MM_INSTANTIATE(float, std::int32_t)
MM_INSTANTIATE(float, std::int64_t)
MM_INSTANTIATE(double, std::int32_t)
MM_INSTANTIATE(double, std::int64_t)
#undef MM_INSTANTIATE

}  // namespace multimargin
