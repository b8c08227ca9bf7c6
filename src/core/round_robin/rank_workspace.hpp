// The league of one rank: the bundles that live here, the luggage that is here, the fixtures that
// are played here. Python sends luggage from rank to rank and says who plays when.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "active_set/centroids.hpp"
#include "round_robin/bundle.hpp"
#include "round_robin/meeting.hpp"

namespace multimargin {

template <class T, class I>
class League {
 public:
  // X, y and box are borrowed. y holds classes 0 .. n_classes-1.
  League(const Csr<T, I>& X, const std::int32_t* y, const T* box, std::int32_t n_classes, T bias,
         Formulation formulation, Isa isa, int threads);

  void set_stop(std::function<bool()> stop) { stop_ = Periodically(std::move(stop)); }
  void set_abort(std::function<bool()> abort) { team_.set_abort(Periodically(std::move(abort))); }

  // Nearest centroids of samples [from, to): pairs by sample, slot 0 the own class.
  PairLists candidates(std::int32_t count, std::int64_t budget, std::int64_t from, std::int64_t to);

  // Forgets everything and begins with these bundles.
  void divide(std::vector<std::int32_t> bundle_of, std::int32_t bundles);

  // --- at home
  Columns<T, I>& found_home(std::int32_t bundle);  // makes it, empty, if it is not there
  Columns<T, I>& home(std::int32_t bundle);
  std::vector<double> make_luggage(std::int32_t bundle, const double* sums);
  void own_scores(std::int32_t bundle, double* own);
  void look(std::int32_t bundle, const double* own, T* most, T* least, T* violation);
  // `exact`: scores in double precision, for about twice the time.
  void scan(std::int32_t bundle, const ScanRequest<T>& request, bool exact);
  const BundleScan<T>& found(std::int32_t bundle) const { return found_.at(bundle); }
  void merge(std::int32_t bundle, const T* least, const T* threshold);
  SparseRows<T> weights(std::int32_t bundle);

  // --- on the road
  Luggage<T>& luggage(std::int32_t bundle) { return luggage_.at(bundle); }
  void put_luggage(std::int32_t bundle, Luggage<T> l) { luggage_[bundle] = std::move(l); }
  const ParcelKernels<T>& parcels() const { return parcels_; }
  void drop_luggage(std::int32_t bundle) { luggage_.erase(bundle); }

  // --- fixtures
  using Pairing = std::pair<std::int32_t, std::int32_t>;
  void build(const Side<T>& a, const Side<T>& b, bool home);
  Fixture<T, I>& fixture(const Pairing& p) { return fixtures_.at(p); }
  void drop_fixtures() { fixtures_.clear(); }
  // Meetings that share no bundle. Reports are in their order.
  std::vector<PassReport> play(const std::vector<Pairing>& meetings, const Play<T>& play);

  // What the active pairs of a sample say, from their accounts over all bundles.
  Report<T> judge(std::int64_t i, const Account<T>& account, T sum) const {
    return kernels_.close_account(account, sum, field_.box[i]);
  }
  // Primal and dual value of samples without entries.
  double empty_value() const;

  bool budget_is_shared() const { return shared_; }
  const Field<T, I>& field() const { return field_; }
  Team& team() { return team_; }

 private:
  Field<T, I> field_;
  SolverKernels<T> kernels_;
  bool shared_;  // a sample's variables share a budget
  ProductKernels<T, I> product_;
  ParcelKernels<T> parcels_;
  Team team_;
  Periodically stop_;
  Crowding<T> crowding_;
  std::map<std::int32_t, Columns<T, I>> homes_;
  std::map<std::int32_t, BundleScan<T>> found_;
  std::map<std::int32_t, Luggage<T>> luggage_;
  std::map<Pairing, Fixture<T, I>> fixtures_;
};

}  // namespace multimargin
