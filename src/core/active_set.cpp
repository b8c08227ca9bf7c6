#include "active_set.hpp"

#include <algorithm>
#include <cstring>

namespace multimargin {

namespace {

constexpr std::int32_t kClassesPerTask = 64;
constexpr std::int64_t kWeightsPerTask = std::int64_t{1} << 18;

// The members of each class: samples that have it in some slot, in sample order.
struct Members {
  std::vector<std::int64_t> begin;   // [K+1]
  std::vector<std::int32_t> sample;
  std::vector<std::int32_t> slot;
};

Members members_of(const std::vector<std::int64_t>& pair, const std::vector<std::int32_t>& cls,
                   std::int32_t n_classes) {
  Members m;
  m.begin.assign(n_classes + 1, 0);
  for (std::int32_t c : cls) ++m.begin[c + 1];
  for (std::int32_t c = 0; c < n_classes; ++c) m.begin[c + 1] += m.begin[c];
  m.sample.resize(cls.size());
  m.slot.resize(cls.size());
  std::vector<std::int64_t> next(m.begin.begin(), m.begin.end() - 1);
  const std::int64_t n = static_cast<std::int64_t>(pair.size()) - 1;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t p = pair[i]; p < pair[i + 1]; ++p) {
      const std::int64_t at = next[cls[p]]++;
      m.sample[at] = static_cast<std::int32_t>(i);
      m.slot[at] = static_cast<std::int32_t>(p - pair[i]);
    }
  return m;
}

// What one thread needs to lay out a class.
struct Layout {
  std::vector<std::int32_t> slot_of;  // [features] -> position in the class, or -1
  std::vector<double> value;
};

}  // namespace

template <class T>
void ActiveSet<T>::assign(std::vector<std::int64_t> pair, std::vector<std::int32_t> cls,
                          std::vector<T> alpha) {
  pair_ = std::move(pair);
  cls_ = std::move(cls);
  alpha_ = std::move(alpha);
  resting_.assign(cls_.size(), 0);
  widest_ = 1;
  for (std::int64_t i = 0; i < samples(); ++i)
    widest_ = std::max(widest_, static_cast<std::int32_t>(pair_[i + 1] - pair_[i]));
}

template <class T>
template <class I>
void ActiveSet<T>::rebuild(const Csr<T, I>& X, std::int32_t n_classes, T bias, Team& team) {
  const std::int64_t n = samples();
  place_.resize(n + 1);
  place_[0] = 0;
  for (std::int64_t i = 0; i < n; ++i)
    place_[i + 1] = place_[i] + (pair_[i + 1] - pair_[i]) * (X.end(i) - X.begin(i));
  position_.reset(static_cast<std::size_t>(place_[n]));
  w_bias_.assign(n_classes, T(0));
  weight_.assign(n_classes + 1, 0);

  const Members members = members_of(pair_, cls_, n_classes);
  const std::int64_t tasks = (n_classes + kClassesPerTask - 1) / kClassesPerTask;
  std::vector<Layout> layouts(team.size());
  std::vector<std::vector<std::int32_t>> features(tasks);
  std::vector<std::vector<T>> values(tasks);

  team.for_each(tasks, [&](int thread, std::int64_t task) {
    Layout& layout = layouts[thread];
    if (layout.slot_of.empty()) layout.slot_of.assign(X.cols, -1);
    const std::int32_t first = static_cast<std::int32_t>(task) * kClassesPerTask;
    const std::int32_t last = std::min(n_classes, first + kClassesPerTask);
    std::vector<std::int32_t>& list = features[task];
    for (std::int32_t c = first; c < last; ++c) {
      const std::size_t start = list.size();
      layout.value.clear();
      double constant = 0;
      for (std::int64_t e = members.begin[c]; e < members.begin[c + 1]; ++e) {
        const std::int64_t i = members.sample[e], slot = members.slot[e];
        double coefficient = 0;  // of x_i in w_c: the sum of alpha at home, -alpha abroad
        if (slot == 0) {
          for (std::int64_t p = pair_[i] + 1; p < pair_[i + 1]; ++p) coefficient += alpha_[p];
        } else {
          coefficient = -static_cast<double>(alpha_[pair_[i] + slot]);
        }
        constant += coefficient * static_cast<double>(bias);
        const std::int64_t begin = X.begin(i), len = X.end(i) - begin;
        std::uint32_t* at = position_.data() + place_[i] + slot * len;
        for (std::int64_t t = 0; t < len; ++t) {
          const I j = X.indices[begin + t];
          std::int32_t& known = layout.slot_of[j];
          if (known < 0) {
            known = static_cast<std::int32_t>(list.size() - start);
            list.push_back(static_cast<std::int32_t>(j));
            layout.value.push_back(0);
          }
          at[t] = static_cast<std::uint32_t>(known);
          layout.value[known] += coefficient * static_cast<double>(X.data[begin + t]);
        }
      }
      w_bias_[c] = static_cast<T>(constant);
      for (std::size_t k = start; k < list.size(); ++k) {
        layout.slot_of[list[k]] = -1;
        values[task].push_back(static_cast<T>(layout.value[k - start]));
      }
      weight_[c + 1] = static_cast<std::int64_t>(list.size() - start);
    }
  });

  for (std::int32_t c = 0; c < n_classes; ++c) weight_[c + 1] += weight_[c];
  feature_.resize(weight_[n_classes]);
  w_.reset(static_cast<std::size_t>(weight_[n_classes]));
  team.for_each(tasks, [&](int, std::int64_t task) {
    const std::int64_t at = weight_[task * kClassesPerTask];
    if (features[task].empty()) return;
    std::memcpy(feature_.data() + at, features[task].data(),
                features[task].size() * sizeof(std::int32_t));
    std::memcpy(w_.data() + at, values[task].data(), values[task].size() * sizeof(T));
  });
}

template <class T>
double ActiveSet<T>::alpha_sum() const {
  double sum = 0;
  for (T a : alpha_) sum += static_cast<double>(a);
  return sum;
}

template <class T>
double ActiveSet<T>::squared_norm(Team& team) const {
  const std::int64_t count = weight_.back();
  const std::int64_t tasks = (count + kWeightsPerTask - 1) / kWeightsPerTask;
  std::vector<double> part(tasks, 0.0);
  team.for_each(tasks, [&](int, std::int64_t task) {
    double sum = 0;
    const std::int64_t end = std::min(count, (task + 1) * kWeightsPerTask);
    for (std::int64_t k = task * kWeightsPerTask; k < end; ++k)
      sum += static_cast<double>(w_[k]) * static_cast<double>(w_[k]);
    part[task] = sum;
  });
  double sum = 0;
  for (double p : part) sum += p;
  for (T b : w_bias_) sum += static_cast<double>(b) * static_cast<double>(b);
  return sum;
}

template <class T>
void ActiveSet<T>::fill(WorkView<T>& view) {
  view.pair = pair_.data();
  view.cls = cls_.data();
  view.alpha = alpha_.data();
  view.resting = resting_.data();
  view.place = place_.data();
  view.position = position_.data();
  view.weight = weight_.data();
  view.w = w_.data();
  view.w_bias = w_bias_.data();
}

template class ActiveSet<float>;
template class ActiveSet<double>;
#define MM_REBUILD(T, I) \
  template void ActiveSet<T>::rebuild<I>(const Csr<T, I>&, std::int32_t, T, Team&);
MM_REBUILD(float, std::int32_t)
MM_REBUILD(float, std::int64_t)
MM_REBUILD(double, std::int32_t)
MM_REBUILD(double, std::int64_t)
#undef MM_REBUILD

}  // namespace multimargin
