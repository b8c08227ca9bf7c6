// A scan of some classes at fixed weights: what each sample loses in them, and which of them
// violate. Used for all classes at once and for those of a bundle alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "active_set/kernels.hpp"
#include "common/csr.hpp"
#include "common/rounding.hpp"
#include "common/samples.hpp"
#include "common/team.hpp"
#include "dense_rows/dense_product.hpp"
#include "scans/scan.hpp"
#include "scoring/group_product.hpp"
#include "scoring/ordered_rows.hpp"

namespace multimargin {

// What is known of all classes together before some of them are scanned.
template <class T>
struct ScanRequest {
  const double* own;   // [n] score of the own class, exact
  const T* least;      // [n] see Report
  const T* loss;       // [n] see Report
  const double* norm;  // [K] |w_c| of all classes
  std::int32_t capacity;
  T idle;
  bool exact;  // losses by scores that are added up in double precision
  // Samples, in order, whose lists have room for violators in all classes.
  std::vector<std::int32_t> wide = {};
};

// The classes that are scanned, counted from 0 on.
struct ScannedClasses {
  std::int32_t count;
  const std::int32_t* own;         // [n] own class of each sample, < 0: not among them
  const std::int32_t* class_of;    // [count] which of all classes; needed with label costs alone
  const double* norm;              // [count] |w_c|
  const std::int64_t* slot_begin;  // [n+1] classes that are active already, by sample
  const std::int32_t* cls;
  const double* exact = nullptr;  // their scores in double precision, if they are known
};

template <class T>
struct ClassScan {
  std::vector<double> loss;         // [n] in these classes
  std::vector<double> bound;        // [n] with margins raised by what rounding may have taken
  std::vector<T> violation;         // [n] largest of a class that is not active
  std::vector<std::int64_t> begin;  // [n+1] room for the violators of a sample
  std::vector<T> margin;
  std::vector<std::int32_t> cls;
  std::vector<std::int32_t> count;  // [n]
  bool complete = true;             // false: ended early by stop()
};

// Scans read a feature's weights one by one where they are few: of K classes about
// (rows that have it) x (active classes of a row) / K. Products alone were fastest with dense
// blocks from 160 rows on (of 20, 40, ... 640) for 12,582 classes, and from 80 on (of 20 ... 160)
// for 2,976, with little difference from half to twice as many; 1,139 classes, not used to choose:
// 16 or 32.
inline std::int64_t frequent_from(std::int32_t n_classes) { return 1 + n_classes / 48; }

// Dense rows times all classes. use(block, begin, end) takes rows; fill: see scan_classes().
// Returns whether the product went to the end.
template <class T, class Fill, class Use>
bool dense_classes(Team& team, const Csr<T, Dense>& X, std::int32_t classes, const Fill& fill,
                   const Use& use, const std::function<bool()>& stop) {
  const auto fill_block = [&](int thread, DenseBlock<T>& block, std::int32_t first,
                              std::int32_t some) {
    for (std::int32_t k = 0; k < some; ++k) {
      const auto put = [&](std::int32_t j, T w) { block.add(k, j, w); };
      block.set_intercept(k, fill(thread, first + k, put));
    }
  };
  return dense_product<T>(team, X.rows, X.cols, classes, fill_block, use, stop);
}

// fill(thread, c, put) calls put(number of a feature, weight) for the weights of the c-th class and
// returns its intercept.
template <class T, class I, class Fill>
ClassScan<T> scan_classes(const Samples<T, I>& samples, OrderedRows<T, I>& rows, const T* norm2,
                          const ScanRequest<T>& request, const ScannedClasses& classes,
                          const ScanKernels<T>& kernels, Team& team, const Fill& fill,
                          const std::function<bool()>& stop) {
  const Csr<T, I>& X = samples.X;
  const std::int32_t* y = samples.y;
  const std::int64_t n = X.rows;
  const double largest = *std::max_element(request.norm, request.norm + samples.n_classes);
  std::vector<double> threshold(n), own_part(n), rounding(n), most_asked(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t entries = X.end(i) - X.begin(i);
    const double squares = static_cast<double>(norm2[i]);
    most_asked[i] = samples.most_asked(i);
    rounding[i] = request.exact ? score_rounding<double>(entries, squares)
                                : score_rounding<T>(entries, squares);
    own_part[i] = request.exact
                      ? own_rounding<double>(rounding[i], request.norm[y[i]], most_asked[i])
                      : own_rounding<T>(rounding[i], request.norm[y[i]], most_asked[i]);
    threshold[i] = loss_threshold(
        request.own[i], Report<T>{0, 0, request.least[i], request.loss[i]},
        own_rounding<T>(score_rounding<T>(entries, squares), 2 * largest, most_asked[i]),
        most_asked[i]);
  }
  ClassScan<T> found;
  found.loss.assign(n, 0.0);
  found.bound.assign(n, 0.0);
  found.violation.assign(n, T(0));
  found.begin.assign(n + 1, request.capacity);
  found.begin[0] = 0;
  for (const std::int32_t i : request.wide) found.begin[i + 1] = classes.count;
  for (std::int64_t i = 0; i < n; ++i) found.begin[i + 1] += found.begin[i];
  found.margin.resize(static_cast<std::size_t>(found.begin[n]));
  found.cls.resize(found.margin.size());
  found.count.assign(n, 0);
  const ScanView<T> view{request.own,
                         norm2,
                         request.least,
                         threshold.data(),
                         own_part.data(),
                         rounding.data(),
                         classes.norm,
                         classes.slot_begin,
                         classes.cls,
                         classes.exact,
                         samples.costs,
                         y,
                         classes.class_of,
                         most_asked.data(),
                         request.idle > 0 ? request.idle : T(0),
                         found.loss.data(),
                         found.bound.data(),
                         found.violation.data(),
                         found.begin.data(),
                         found.margin.data(),
                         found.cls.data(),
                         found.count.data()};
  if constexpr (is_dense<I>) {
    const auto scan = request.exact ? kernels.exact_scan_dense : kernels.scan_dense;
    const auto use = [&](const BlockView<T>& block, std::int64_t begin, std::int64_t end) {
      scan(X, classes.own, block, view, begin, end);
    };
    found.complete = dense_classes(team, X, classes.count, fill, use, stop);
  } else {
    const SplitRows<T>& split = rows.for_scans(team);
    const auto scan = request.exact ? kernels.exact_scan : kernels.scan;
    const auto use = [&](const GroupView<T>& group, std::int64_t begin, std::int64_t end,
                         T* scratch) {
      scan(split.view(), classes.own, group, view, begin, end, scratch);
    };
    found.complete = group_product<T>(team, split, classes.count, fill, use, stop);
  }
  return found;
}

// Primal and dual value of samples without entries.
template <class T, class I>
double empty_value(const SolverKernels<T>& kernels, const Samples<T, I>& samples,
                   const std::vector<T>& norm2) {
  double value = 0;
  for (std::int64_t i = 0; i < samples.X.rows; ++i)
    if (!(norm2[i] > 0))
      value += static_cast<double>(samples.box[i]) *
               kernels.empty_loss(samples.most_asked(i), samples.total_asked(i));
  return value;
}

}  // namespace multimargin
