#include "round_robin/rank_workspace.hpp"

#include <atomic>

namespace multimargin {

template <class T, class I>
League<T, I>::League(const Csr<T, I>& X, const std::int32_t* y, const T* box,
                     std::int32_t n_classes, T bias, Formulation formulation, Isa isa, int threads)
    : field_(X, y, box, n_classes, bias),
      kernels_(solver_kernels<T>(formulation, isa)),
      shared_(!kernels_.separable),
      product_(product_kernels<T, I>(formulation, isa)),
      parcels_(parcel_kernels<T>(isa)),
      team_(threads) {}

template <class T, class I>
PairLists League<T, I>::candidates(std::int32_t count, std::int64_t budget, std::int64_t from,
                                   std::int64_t to) {
  return nearest_centroids(field_.X, field_.y, field_.n_classes, count, budget, from, to, team_);
}

template <class T, class I>
void League<T, I>::divide(std::vector<std::int32_t> bundle_of, std::int32_t bundles) {
  homes_.clear();
  found_.clear();
  luggage_.clear();
  fixtures_.clear();
  field_.divide(std::move(bundle_of), bundles);
}

template <class T, class I>
double League<T, I>::empty_value() const {
  double value = 0;
  for (std::int64_t i = 0; i < field_.X.rows; ++i)
    if (!(field_.norm2[i] > 0))
      value += static_cast<double>(field_.box[i]) * kernels_.empty_loss(field_.n_classes);
  return value;
}

// ---------------------------------------------------------------- at home

template <class T, class I>
Columns<T, I>& League<T, I>::found_home(std::int32_t bundle) {
  return homes_.try_emplace(bundle, field_, bundle).first->second;
}

template <class T, class I>
Columns<T, I>& League<T, I>::home(std::int32_t bundle) {
  return homes_.at(bundle);
}

template <class T, class I>
std::vector<double> League<T, I>::make_luggage(std::int32_t bundle, const double* sums) {
  Luggage<T>& l = luggage_[bundle];
  std::vector<double> norm = home(bundle).make_luggage(sums, l, team_);
  home(bundle).pack_alpha(shared_, l.alpha);
  return norm;
}

template <class T, class I>
void League<T, I>::own_scores(std::int32_t bundle, double* own) {
  home(bundle).own_scores(luggage(bundle), own, team_);
}

template <class T, class I>
void League<T, I>::look(std::int32_t bundle, const double* own, T* most, T* least, T* violation) {
  home(bundle).look(luggage(bundle), own, kernels_, most, least, violation, team_);
}

template <class T, class I>
void League<T, I>::scan(std::int32_t bundle, const ScanRequest<T>& request, bool exact) {
  const auto stop = [this] { return stop_(); };
  const Columns<T, I>& columns = home(bundle);
  const Luggage<T>& l = luggage(bundle);
  found_[bundle] = exact ? columns.template scan<double>(l, request, product_, team_, stop)
                         : columns.template scan<T>(l, request, product_, team_, stop);
}

template <class T, class I>
void League<T, I>::merge(std::int32_t bundle, const T* least, const T* threshold) {
  home(bundle).merge(found_.at(bundle), least, threshold);
  found_.erase(bundle);
}

template <class T, class I>
SparseRows<T> League<T, I>::weights(std::int32_t bundle) {
  return home(bundle).weights(luggage(bundle), team_);
}

// ---------------------------------------------------------------- fixtures

template <class T, class I>
void League<T, I>::build(const Side<T>& a, const Side<T>& b, bool home) {
  const Pairing pairing{a.bundle, b.bundle};
  fixtures_.erase(pairing);
  fixtures_.try_emplace(pairing, field_, a, b, home, shared_, team_);
}

template <class T, class I>
std::vector<PassReport> League<T, I>::play(const std::vector<Pairing>& meetings,
                                           const Play<T>& play) {
  std::vector<PassReport> reports(meetings.size());
  const auto seeded = [&](const Pairing& p) {
    Play<T> own = play;
    own.seed += static_cast<std::uint64_t>(p.first) * field_.classes.size() + p.second;
    return own;
  };
  if (play.batch > 1) {
    for (std::size_t k = 0; k < meetings.size(); ++k)
      reports[k] = fixture(meetings[k])
                       .together(luggage(meetings[k].first), luggage(meetings[k].second),
                                 seeded(meetings[k]), kernels_, team_, crowding_, stop_);
    return reports;
  }
  std::atomic<bool> ending{false};
  team_.for_each(static_cast<std::int64_t>(meetings.size()), [&](int member, std::int64_t k) {
    const auto stop = [&] {
      if (member == 0 && stop_()) ending = true;
      return ending.load();
    };
    reports[k] = fixture(meetings[k])
                     .alone(luggage(meetings[k].first), luggage(meetings[k].second),
                            seeded(meetings[k]), kernels_, stop);
  });
  return reports;
}

template class League<float, std::int32_t>;
template class League<float, std::int64_t>;
template class League<double, std::int32_t>;
template class League<double, std::int64_t>;

}  // namespace multimargin
