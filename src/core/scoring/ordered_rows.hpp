// X with its features numbered by their frequency, as the active set and scans know them. Dense
// rows have no numbers but their order, and scans read them as they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/csr.hpp"
#include "common/team.hpp"
#include "scoring/feature_order.hpp"
#include "scoring/split_rows.hpp"

namespace multimargin {

template <class T, class I>
class OrderedRows {
 public:
  // A feature is frequent if at least `least` rows have it.
  OrderedRows(const Csr<T, I>& X, std::int64_t least) : X_(X), numbered_(X), order_(X, least) {}
  // In an order that other rows have, too.
  OrderedRows(const Csr<T, I>& X, const FeatureOrder& order) : X_(X), numbered_(X), order_(order) {}

  std::int32_t number(std::int64_t feature) const { return order_.number(feature); }
  std::int32_t feature(std::int64_t number) const { return order_.feature(number); }

  // Rows whose indices are numbers; made when they are first asked for.
  const Csr<T, I>& numbered(Team& team) {
    if (!number_.empty() || X_.rows == 0) return numbered_;
    number_.resize(static_cast<std::size_t>(X_.end(X_.rows - 1)));
    numbered_.indices = number_.data();
    constexpr std::int64_t at_once = 512;
    team.for_each((X_.rows + at_once - 1) / at_once, [&](int, std::int64_t task) {
      const std::int64_t last = std::min(X_.rows, (task + 1) * at_once) - 1;
      for (std::int64_t t = X_.begin(task * at_once); t < X_.end(last); ++t)
        number_[t] = static_cast<I>(order_.number(X_.indices[t]));
    });
    return numbered_;
  }

  // Rows for scans, likewise; they can be given back.
  const SplitRows<T>& for_scans(Team& team) {
    const auto number = [this](std::int64_t t) {
      return number_.empty() ? order_.number(X_.indices[t]) : static_cast<std::int32_t>(number_[t]);
    };
    if (split_ == nullptr) split_ = std::make_unique<SplitRows<T>>(X_, order_, number, team);
    return *split_;
  }
  void give_back_scans() { split_ = nullptr; }

 private:
  Csr<T, I> X_, numbered_;
  FeatureOrder order_;
  std::vector<I> number_;  // of the feature of each entry of X
  std::unique_ptr<SplitRows<T>> split_;
};

template <class T>
class OrderedRows<T, Dense> {
 public:
  OrderedRows(const Csr<T, Dense>& X, std::int64_t) : X_(X) {}
  OrderedRows(const Csr<T, Dense>& X, const FeatureOrder&) : X_(X) {}

  std::int32_t feature(std::int64_t number) const { return static_cast<std::int32_t>(number); }
  std::int32_t number(std::int64_t feature) const { return static_cast<std::int32_t>(feature); }
  const Csr<T, Dense>& numbered(Team&) const { return X_; }
  const Csr<T, Dense>& for_scans(Team&) const { return X_; }
  void give_back_scans() {}

 private:
  Csr<T, Dense> X_;
};

}  // namespace multimargin
