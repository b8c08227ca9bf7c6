#include "active_set/engine.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "common/norms.hpp"
#include "common/rounding.hpp"
#include "scoring/block_product.hpp"

namespace multimargin {

namespace {

constexpr std::int64_t kSamplesPerTask = 512;
constexpr std::int32_t kClassesPerTask = 64;

}  // namespace

template <class T, class I>
Engine<T, I>::Engine(const Csr<T, I>& X, const std::int32_t* y, const T* box,
                     std::int32_t n_classes, T bias, Formulation formulation, Isa isa, int threads,
                     std::uint64_t seed)
    : X_(X),
      y_(y),
      box_(box),
      n_classes_(n_classes),
      bias_(bias),
      seed_(seed),
      solver_(solver_kernels<T>(formulation, isa)),
      scan_kernels_(scan_kernels<T, I>(formulation, isa)),
      team_(threads),
      norm2_(row_norms(X, bias)) {
  row_.resize(X.rows + 1);
  for (std::int64_t i = 0; i <= X.rows; ++i) row_[i] = static_cast<std::int64_t>(X.indptr[i]);
  for (std::int64_t i = 0; i < X.rows; ++i)
    if (!(norm2_[i] > 0))
      empty_value_ += static_cast<double>(box[i]) * solver_.empty_loss(n_classes);
}

template <class T, class I>
WorkView<T> Engine<T, I>::view() {
  WorkView<T> v{};
  v.x = X_.data;
  v.row = row_.data();
  v.row_end = row_.data() + 1;
  v.norm2 = norm2_.data();
  v.box = box_;
  v.bias = bias_;
  active_.fill(v);
  return v;
}

// ---------------------------------------------------------------- active set

template <class T, class I>
void Engine<T, I>::start_from_centroids(std::int32_t candidates, std::int64_t budget) {
  PairLists lists = nearest_centroids(X_, y_, n_classes_, candidates, budget, 0, X_.rows, team_);
  std::vector<T> alpha(lists.cls.size(), T(0));
  assign(std::move(lists.pair), std::move(lists.cls), std::move(alpha));
}

template <class T, class I>
void Engine<T, I>::assign(std::vector<std::int64_t> pair, std::vector<std::int32_t> cls,
                          std::vector<T> alpha) {
  active_.assign(std::move(pair), std::move(cls), std::move(alpha));
  visits_.reset(static_cast<std::size_t>(X_.rows));
  scanned_ = false;
  active_.lay_out(X_, n_classes_, team_);
  recompute();
}

template <class T, class I>
void Engine<T, I>::recompute() {
  active_.recompute(X_, bias_, team_);
}

template <class T, class I>
void Engine<T, I>::merge_found() {
  if (!scanned_) throw std::logic_error("merge_found: there was no scan of this active set");
  const std::vector<std::int64_t>& pair = active_.pair();
  const std::vector<std::int32_t>& cls = active_.cls();
  const std::vector<T>& alpha = active_.alpha();
  const auto stays = [&](std::int64_t i, std::int64_t p) {
    return alpha[p] > 0 || margin_[p] > std::max(T(0), report_[i].least);
  };

  std::vector<std::int64_t> new_pair(X_.rows + 1, 0);
  team_.for_each((X_.rows + kSamplesPerTask - 1) / kSamplesPerTask, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(X_.rows, (task + 1) * kSamplesPerTask);
    for (std::int64_t i = task * kSamplesPerTask; i < end; ++i) {
      std::int64_t slots = 1 + found_count_[i];
      for (std::int64_t p = pair[i] + 1; p < pair[i + 1]; ++p) slots += stays(i, p);
      new_pair[i + 1] = slots;
    }
  });
  for (std::int64_t i = 0; i < X_.rows; ++i) new_pair[i + 1] += new_pair[i];
  std::vector<std::int32_t> new_cls(new_pair[X_.rows]);
  std::vector<T> new_alpha(new_pair[X_.rows], T(0));
  team_.for_each((X_.rows + kSamplesPerTask - 1) / kSamplesPerTask, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(X_.rows, (task + 1) * kSamplesPerTask);
    for (std::int64_t i = task * kSamplesPerTask; i < end; ++i) {
      std::int64_t to = new_pair[i];
      new_cls[to++] = y_[i];
      for (std::int64_t p = pair[i] + 1; p < pair[i + 1]; ++p)
        if (stays(i, p)) {
          new_cls[to] = cls[p];
          new_alpha[to++] = alpha[p];
        }
      const std::int32_t* found = found_cls_.data() + i * found_capacity_;
      for (std::int32_t k = 0; k < found_count_[i]; ++k) new_cls[to++] = found[k];
    }
  });
  // What the scan kept is samples x capacity: not needed until the next one.
  found_cls_ = {};
  found_count_ = {};
  margin_ = {};
  report_ = {};
  assign(std::move(new_pair), std::move(new_cls), std::move(new_alpha));
}

// ---------------------------------------------------------------- moving

template <class T, class I>
PassReport Engine<T, I>::pass_batches(std::int32_t batch, const VisitRule<T>& rule,
                                      const Quiet<T>& quiet) {
  std::vector<std::int32_t> due;
  visits_.due(rule.everything, Random(seed_, passes_++), due);
  due.erase(std::remove_if(due.begin(), due.end(),
                           [&](std::int32_t i) {
                             return !(norm2_[i] > 0) ||
                                    active_.pair()[i + 1] - active_.pair()[i] < 2;
                           }),
            due.end());
  const WorkView<T> v = view();
  Pass<T> pass(solver_, n_classes_, active_.widest());
  if (batch > 1)
    return pass.together(v, due, visits_, batch, rule, quiet, team_, shared_classes_, stop_);
  return pass.alone(v, due, visits_, rule, quiet, [this] { return stop_(); });
}

// ---------------------------------------------------------------- looking

template <class T, class I>
void Engine<T, I>::look_at_active() {
  own_.resize(X_.rows);
  margin_.resize(active_.cls().size());
  report_.resize(X_.rows);
  const WorkView<T> v = view();
  team_.for_each((X_.rows + kSamplesPerTask - 1) / kSamplesPerTask, [&](int, std::int64_t task) {
    solver_.evaluate(v, task * kSamplesPerTask, std::min(X_.rows, (task + 1) * kSamplesPerTask),
                     own_.data(), margin_.data(), report_.data());
  });
}

template <class T, class I>
ScanReport Engine<T, I>::scan(std::int32_t capacity, T idle, bool exact) {
  if (capacity < 1) throw std::invalid_argument("scan: capacity must be at least 1");
  return exact ? scan_in<double>(capacity, idle) : scan_in<T>(capacity, idle);
}

template <class T, class I>
template <class S>
ScanReport Engine<T, I>::scan_in(std::int32_t capacity, T idle) {
  look_at_active();
  found_capacity_ = capacity;
  scanned_ = true;
  found_count_.assign(X_.rows, 0);
  found_cls_.resize(static_cast<std::size_t>(X_.rows) * capacity);
  std::vector<double> norm = active_.squared_norms(team_);
  const double half_norm = std::accumulate(norm.begin(), norm.end(), 0.0) / 2;
  for (double& n : norm) n = std::sqrt(n);
  const double largest = *std::max_element(norm.begin(), norm.end());
  std::vector<T> least(X_.rows), outside(X_.rows, T(0)), found_margin(found_cls_.size());
  std::vector<double> threshold(X_.rows), own_part(X_.rows), rounding(X_.rows);
  std::vector<double> loss(X_.rows, 0.0), bound(X_.rows, 0.0);
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    const Report<T>& r = report_[i];
    const double norm2 = static_cast<double>(norm2_[i]);
    const std::int64_t entries = X_.end(i) - X_.begin(i);
    least[i] = r.least;
    rounding[i] = score_rounding<S>(entries, norm2);
    own_part[i] = own_rounding<S>(rounding[i], norm[y_[i]]);
    threshold[i] =
        loss_threshold(own_[i], r, own_rounding<T>(score_rounding<T>(entries, norm2), 2 * largest));
  }
  const ScanView<T> scan{own_.data(),
                         norm2_.data(),
                         least.data(),
                         threshold.data(),
                         own_part.data(),
                         rounding.data(),
                         norm.data(),
                         active_.pair().data(),
                         active_.cls().data(),
                         idle > 0 ? idle : T(0),
                         loss.data(),
                         bound.data(),
                         outside.data(),
                         {found_margin.data(), found_cls_.data(), found_count_.data(), capacity}};
  const auto fill = [&](ClassBlock<S>& block, std::int32_t first, std::int32_t classes) {
    for (std::int32_t k = 0; k < classes; ++k) {
      active_.each_weight(X_, first + k, [&](std::int32_t j, T w) { block.add(k, j, w); });
      block.set_intercept(k, static_cast<T>(bias_ * active_.w_bias()[first + k]));
    }
  };
  const auto use = [&](const BlockView<S>& block, std::int64_t begin, std::int64_t end) {
    if constexpr (std::is_same_v<S, T>)
      scan_kernels_.scan(X_, y_, block, scan, begin, end);
    else
      scan_kernels_.exact_scan(X_, y_, block, scan, begin, end);
  };
  ScanReport report;
  report.complete =
      block_product<S>(team_, X_.rows, X_.cols, n_classes_, fill, use, [this] { return stop_(); });
  double total = 0;
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    total += static_cast<double>(box_[i]) * bound[i];
    report.rounding += static_cast<double>(box_[i]) * (bound[i] - loss[i]);
    report.found += found_count_[i];
    if (!(norm2_[i] > 0)) continue;
    report.violation = std::max(report.violation, static_cast<double>(report_[i].violation));
    report.violation = std::max(report.violation, static_cast<double>(outside[i]));
  }
  const double norm_error = norm_rounding<T>() * half_norm;
  report.primal = half_norm + norm_error + total + empty_value_;
  report.dual = active_.alpha_sum() - half_norm - norm_error + empty_value_;
  report.rounding += 2 * norm_error;
  return report;
}

template <class T, class I>
SparseRows<T> Engine<T, I>::weights() {
  const std::int64_t tasks = (n_classes_ + kClassesPerTask - 1) / kClassesPerTask;
  const auto each_class = [&](const auto& use) {
    team_.for_each(tasks, [&](int, std::int64_t task) {
      const std::int32_t first = static_cast<std::int32_t>(task) * kClassesPerTask;
      for (std::int32_t c = first; c < std::min(n_classes_, first + kClassesPerTask); ++c) use(c);
    });
  };
  // Counted first: a copy of all of them, to be moved to where they belong, would be gigabytes.
  SparseRows<T> rows;
  rows.begin.assign(n_classes_ + 1, 0);
  each_class([&](std::int32_t c) {
    active_.each_weight(X_, c, [&](std::int32_t, T w) { rows.begin[c + 1] += w != 0; });
  });
  for (std::int32_t c = 0; c < n_classes_; ++c) rows.begin[c + 1] += rows.begin[c];
  rows.index.resize(rows.begin[n_classes_]);
  rows.value.resize(rows.begin[n_classes_]);
  each_class([&](std::int32_t c) {
    std::vector<std::pair<std::int32_t, T>> part;
    part.reserve(static_cast<std::size_t>(rows.begin[c + 1] - rows.begin[c]));
    active_.each_weight(X_, c, [&](std::int32_t j, T w) {
      if (w != 0) part.emplace_back(j, w);
    });
    std::sort(part.begin(), part.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::int64_t at = rows.begin[c];
    for (const auto& [j, w] : part) {
      rows.index[at] = j;
      rows.value[at++] = w;
    }
  });
  return rows;
}

template class Engine<float, std::int32_t>;
template class Engine<float, std::int64_t>;
template class Engine<double, std::int32_t>;
template class Engine<double, std::int64_t>;

}  // namespace multimargin
