#include "common/label_costs.hpp"

#include <algorithm>
#include <stdexcept>

#include "scoring/views.hpp"

namespace multimargin {

LabelCosts LabelCosts::dense(const double* cost, std::int32_t n_classes) {
  LabelCosts costs;
  costs.dense_ = cost;
  costs.largest_.assign(n_classes, 0.0);
  costs.total_.assign(n_classes, 0.0);
  for (std::int64_t y = 0; y < n_classes; ++y)
    for (std::int64_t c = 0; c < n_classes; ++c) {
      const double cost_here = cost[y * n_classes + c];
      costs.largest_[y] = std::max(costs.largest_[y], cost_here);
      costs.total_[y] += cost_here;
    }
  return costs;
}

LabelCosts LabelCosts::exceptions(const Csr<double, std::int64_t>& cost) {
  LabelCosts costs;
  costs.exceptions_ = cost;
  costs.largest_.assign(cost.rows, 0.0);
  costs.total_.assign(cost.rows, 0.0);
  for (std::int64_t y = 0; y < cost.rows; ++y) {
    std::int64_t ordinary = cost.rows - 1;  // other classes without an entry
    for (std::int64_t e = cost.begin(y); e < cost.end(y); ++e) {
      ordinary -= cost.indices[e] != y;
      costs.largest_[y] = std::max(costs.largest_[y], cost.data[e]);
      costs.total_[y] += cost.data[e];
    }
    costs.total_[y] += static_cast<double>(ordinary);
    if (ordinary > 0) costs.largest_[y] = std::max(costs.largest_[y], 1.0);
  }
  return costs;
}

LabelCosts LabelCosts::tree(const std::vector<std::int32_t>& order, std::vector<std::int32_t> depth,
                            std::vector<std::int32_t> shared, std::vector<double> length) {
  const std::size_t n_classes = order.size();
  const auto in_range = [](const std::vector<std::int32_t>& values, std::size_t end) {
    return std::all_of(values.begin(), values.end(),
                       [&](std::int32_t v) { return v >= 0 && static_cast<std::size_t>(v) < end; });
  };
  if (n_classes == 0 || depth.size() != n_classes || shared.size() + 1 != n_classes ||
      !in_range(order, n_classes) || !in_range(depth, length.size()) ||
      !in_range(shared, length.size()))
    throw std::invalid_argument("tree: order, depth, shared and length do not fit each other");
  LabelCosts costs;
  costs.depth_ = std::move(depth);
  costs.length_ = std::move(length);
  costs.place_.resize(n_classes);
  for (std::size_t k = 0; k < n_classes; ++k) costs.place_[order[k]] = static_cast<std::int32_t>(k);
  costs.shallowest_.push_back(std::move(shared));
  for (std::size_t run = 1; 2 * run < n_classes; run *= 2) {
    const std::vector<std::int32_t>& half = costs.shallowest_.back();
    std::vector<std::int32_t> whole(half.size() - run);
    for (std::size_t k = 0; k < whole.size(); ++k) whole[k] = std::min(half[k], half[k + run]);
    costs.shallowest_.push_back(std::move(whole));
  }
  costs.total_.resize(n_classes);
  costs.largest_.resize(n_classes);
  costs.sum_tree(order);
  costs.bound_tree();
  return costs;
}

// For all classes at once, in O(K): sum_c (l_y + l_c - 2 l_yc), with l_yc the shortest shared
// length between the two in the order. The sum of those to the left of place p is that of place
// `last`, behind the last shared length that is shorter than the one before p, and that one for the
// rest.
void LabelCosts::sum_tree(const std::vector<std::int32_t>& order) {
  const std::int32_t n = static_cast<std::int32_t>(order.size());
  double lengths = 0;
  for (const std::int32_t d : depth_) lengths += length_[d];
  for (std::int32_t y = 0; y < n; ++y) total_[y] = lengths + (n - 2.0) * length_[depth_[y]];
  std::vector<double> sum(n, 0.0);
  for (const bool forward : {true, false}) {
    const auto before = [&](std::int32_t p) {
      return length_[shallowest_[0][forward ? p - 1 : n - 1 - p]];
    };
    std::vector<std::int32_t> places{0};  // whose shared lengths grow from one to the next
    for (std::int32_t p = 1; p < n; ++p) {
      while (places.back() > 0 && before(places.back()) >= before(p)) places.pop_back();
      const std::int32_t last = places.back();
      sum[p] = sum[last] + (p - last) * before(p);
      places.push_back(p);
      total_[order[forward ? p : n - 1 - p]] -= 2 * sum[p];
    }
  }
}

// The class that is farthest from any other is one of the two that are farthest from each other.
void LabelCosts::bound_tree() {
  const auto farthest = [&](std::int32_t from) {
    std::int32_t best = from;
    for (std::int32_t c = 0; c < n_classes(); ++c)
      if (at(from, c) > at(from, best)) best = c;
    return best;
  };
  const std::int32_t one = farthest(0), other = farthest(one);
  for (std::int32_t y = 0; y < n_classes(); ++y) largest_[y] = std::max(at(y, one), at(y, other));
}

double LabelCosts::shared_length(std::int32_t a, std::int32_t b) const {
  const std::int32_t from = std::min(place_[a], place_[b]);
  const std::int32_t to = std::max(place_[a], place_[b]);
  const int level = 31 - __builtin_clz(static_cast<unsigned>(to - from));
  const std::vector<std::int32_t>& runs = shallowest_[level];
  return length_[std::min(runs[from], runs[to - (std::int32_t{1} << level)])];
}

double LabelCosts::at(std::int32_t own, std::int32_t other) const {
  if (own == other) return 0;
  if (dense_ != nullptr) return dense_[static_cast<std::int64_t>(own) * n_classes() + other];
  if (!place_.empty())
    return length_[depth_[own]] + length_[depth_[other]] - 2 * shared_length(own, other);
  const std::int64_t* first = exceptions_.indices + exceptions_.begin(own);
  const std::int64_t* last = exceptions_.indices + exceptions_.end(own);
  const std::int64_t* found = std::lower_bound(first, last, other);
  return found < last && *found == other ? exceptions_.data[found - exceptions_.indices] : 1.0;
}

template <class T>
void LabelCosts::row(std::int32_t own, std::int32_t first, std::int32_t count, T* out) const {
  for (std::int32_t k = 0; k < count; ++k) out[k] = static_cast<T>(at(own, first + k));
}
template void LabelCosts::row(std::int32_t, std::int32_t, std::int32_t, float*) const;
template void LabelCosts::row(std::int32_t, std::int32_t, std::int32_t, double*) const;

double LabelCosts::largest() const { return *std::max_element(largest_.begin(), largest_.end()); }

namespace {

template <class S>
void costs_in(const LabelCosts& costs, std::int32_t own, const std::int32_t* classes,
              std::uint64_t mask, S* out) {
  std::fill(out, out + lanes<S>(), S(0));
  for (; mask != 0; mask &= mask - 1) {
    const int k = __builtin_ctzll(mask);
    out[k] = static_cast<S>(costs.at(own, classes[k]));
  }
}

}  // namespace

void costs_of(const LabelCosts& costs, std::int32_t own, const std::int32_t* classes,
              std::uint64_t mask, float* out) {
  costs_in(costs, own, classes, mask, out);
}
void costs_of(const LabelCosts& costs, std::int32_t own, const std::int32_t* classes,
              std::uint64_t mask, double* out) {
  costs_in(costs, own, classes, mask, out);
}

}  // namespace multimargin
