#include "active_set/active_set.hpp"

#include <utility>

#include "common/types.hpp"

namespace multimargin {

template <class T>
void ActiveSet<T>::assign(std::vector<std::int64_t> slot_begin, std::vector<std::int32_t> cls,
                          std::vector<T> alpha, const LabelCosts* costs, Team& team) {
  slots_.begin = std::move(slot_begin);
  slots_.cls = std::move(cls);
  slots_.resting.assign(slots_.cls.size(), 0);
  set_alpha(std::move(alpha), team);
  slots_.ask(
      costs, [&](std::int64_t i) { return slots_.cls[slots_.begin[i]]; },
      [&](std::int64_t p) { return slots_.cls[p]; });
}

template <class T>
void ActiveSet<T>::set_alpha(std::vector<T> alpha, Team& team) {
  slots_.alpha = std::move(alpha);
  const std::int64_t n = samples(), parts = team.size();
  team.for_each(parts, [&](int, std::int64_t part) {
    for (std::int64_t i = n * part / parts; i < n * (part + 1) / parts; ++i) {
      T sum = 0;
      for (std::int64_t p = slots_.begin[i] + 1; p < slots_.begin[i + 1]; ++p)
        sum += slots_.alpha[p];
      slots_.alpha[slots_.begin[i]] = sum;
    }
  });
}

template <class T>
template <class I>
void ActiveSet<T>::lay_out(const Csr<T, I>& X, std::int32_t n_classes, Team& team) {
  slots_.reserve_positions([&](std::int64_t i) { return is_dense<I> ? 0 : X.end(i) - X.begin(i); });
  members_ = slots_.members(0, n_classes, team);
  if constexpr (is_dense<I>)
    layout_.lay_out_dense<T>(X.cols, n_classes);
  else
    place_features(X, n_classes, team);
  // Where the size stays the weights do, of dense rows they are then still right.
  const auto size = static_cast<std::size_t>(layout_.begin.back());
  if (!is_dense<I> || w_.size() != size) w_.reset(size);
  w_of_.resize(n_classes);
  for (std::int32_t c = 0; c < n_classes; ++c) w_of_[c] = w_.data() + layout_.begin[c];
  w_bias_.resize(n_classes);
}

template <class T>
template <class I>
void ActiveSet<T>::place_features(const Csr<T, I>& X, std::int32_t n_classes, Team& team) {
  const auto rows = [&](std::int32_t c, const auto& use) {
    members_.each(
        c, [&](std::int64_t i, std::int64_t) { use(i); },
        [&](std::int64_t i, std::int64_t) {
          prefetch(X.indices + X.begin(i), X.end(i) - X.begin(i));
        });
  };
  const auto placed = [&](std::int32_t c, const FeaturePlaces& places) {
    members_.each(
        c,
        [&](std::int64_t i, std::int64_t slot) {
          slots_.put_places(X, i, slot, X.begin(i), X.end(i) - X.begin(i), places);
        },
        [&](std::int64_t i, std::int64_t slot) {
          const std::int64_t len = X.end(i) - X.begin(i);
          prefetch(X.data + X.begin(i), len);
          prefetch(slots_.position.data() + slots_.place[i] + slot * len, len);
        });
  };
  layout_.lay_out(X, n_classes, team, rows, placed);
}

template <class T>
double ActiveSet<T>::exact_coefficient(std::int64_t i, std::int64_t slot) const {
  const std::int64_t first = slots_.begin[i];
  if (slot > 0) return -static_cast<double>(slots_.alpha[first + slot]);
  double sum = 0;
  for (std::int64_t p = first + 1; p < slots_.begin[i + 1]; ++p)
    sum += static_cast<double>(slots_.alpha[p]);
  return sum;
}

template <class T>
template <class I>
void ActiveSet<T>::recompute(const Csr<T, I>& X, const SolverKernels<T>& kernels, Team& team) {
  std::vector<std::vector<double>> sums(team.size());
  each_class(team, n_classes(), [&](int thread, std::int32_t c) {
    const auto members = [&](const auto& take) {
      each_member(X, c, [&](std::int64_t i, std::int64_t slot, const auto& place) {
        take(i, exact_coefficient(i, slot), place);
      });
    };
    add_up_weights(
        X, T(0), layout_.count(c), members, [](double) {}, kernels.add_exact_row, sums[thread],
        w_of_[c]);
  });
}

template <class T>
InterceptView<T> ActiveSet<T>::intercept_view(const T* box, const T* curvature) {
  return {samples(),
          slots_.begin.data(),
          slots_.cls.data(),
          slots_.alpha.data(),
          slots_.height.data(),
          slots_.resting.data(),
          box,
          curvature,
          n_classes()};
}

template <class T>
double ActiveSet<T>::alpha_sum(const LabelCosts* costs) const {
  double sum = 0;
  for (std::int64_t i = 0; i < samples(); ++i) {
    const std::int64_t first = slots_.begin[i];
    for (std::int64_t p = first + 1; p < slots_.begin[i + 1]; ++p) {
      // Not slots_.asked, which is rounded.
      const double asked = costs == nullptr ? 1.0 : costs->at(slots_.cls[first], slots_.cls[p]);
      sum += asked * static_cast<double>(slots_.alpha[p]);
    }
  }
  return sum;
}

template <class T>
std::vector<double> ActiveSet<T>::squared_norms(Team& team) const {
  std::vector<double> norms(w_bias_.size());
  each_class(team, n_classes(), [&](int, std::int32_t c) {
    double sum = 0;
    for (std::int64_t k = layout_.begin[c]; k < layout_.begin[c + 1]; ++k)
      sum += static_cast<double>(w_[k]) * static_cast<double>(w_[k]);
    members_.each(c, [&](std::int64_t i, std::int64_t slot) {
      const double step = static_cast<double>(coefficient(i, slot));
      sum += step * step * static_cast<double>(slots_.lone[slots_.begin[i] + slot]);
    });
    norms[c] = sum;
  });
  return norms;
}

template <class T>
void ActiveSet<T>::fill(WorkView<T>& view) {
  slots_.fill(view);
  view.w = w_of_.data();
  view.w_bias = w_bias_.data();
}

template class ActiveSet<float>;
template class ActiveSet<double>;
#define MM_INSTANTIATE(T, I)                                                     \
  template void ActiveSet<T>::lay_out<I>(const Csr<T, I>&, std::int32_t, Team&); \
  template void ActiveSet<T>::recompute<I>(const Csr<T, I>&, const SolverKernels<T>&, Team&);
MM_FOR_TYPES(MM_INSTANTIATE)
#undef MM_INSTANTIATE

}  // namespace multimargin
