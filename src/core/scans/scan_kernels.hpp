// Scans: the classes of a block that add to a sample's loss, or violate its constraints.
// Included once per instruction set, like visit_kernels.hpp.
#pragma once

#include "dense_rows/tile_kernels.hpp"
#include "scans/scan.hpp"
#include "scoring/group_kernels.hpp"

namespace multimargin {
namespace MM_ISA {

template <class T>
inline bool is_active(const ScanView<T>& scan, std::int64_t i, std::int32_t c) {
  bool found = false;
  for (std::int64_t p = scan.slot_begin[i]; p < scan.slot_begin[i + 1]; ++p)
    found |= scan.cls[p] == c;
  return found;
}

// The classes of a block.
struct ClassRange {
  std::int32_t first_class, classes;
};

// The margin 1 that is asked of every class without label costs; with them, an array.
template <class S>
struct One {
  S operator[](int) const { return S(1); }
};

// Loss and bound of a sample with the classes of the mask taken into account.
template <class F, class T, class S, class Asked>
inline void add_few(const ScanView<T>& scan, const ClassRange& block, const Scores<S>& s, S own,
                    const Asked& asked, std::int64_t i, std::uint64_t mask) {
  const S* score = reinterpret_cast<const S*>(s.v);
  const double* norm = scan.norm + block.first_class;
  double loss = scan.loss[i], bound = scan.bound[i];
  for (; mask != 0; mask &= mask - 1) {
    const int k = __builtin_ctzll(mask);
    const double m = static_cast<double>(F::margin(own, score[k], asked[k]));
    const double raised = m + scan.own_rounding[i] + scan.rounding[i] * norm[k];
    loss = F::add_loss(loss, m > 0 ? m : 0.0);
    bound = F::add_loss(bound, raised > 0 ? raised : 0.0);
  }
  scan.loss[i] = loss;
  scan.bound[i] = bound;
}

// The same for a whole block, all of whose classes are others: `count` of them are in the mask.
template <class F, class T, class S, class Asked>
inline void add_many(const ScanView<T>& scan, const Scores<S>& s, S own, const Asked& asked,
                     std::int64_t i, int count, double largest_norm) {
  const S* score = reinterpret_cast<const S*>(s.v);
  constexpr int wide = 16;  // sums side by side, which vector units take together
  S losses[wide] = {};
  for (int k = 0; k < lanes<S>(); k += wide)
    for (int j = 0; j < wide; ++j) {
      const S m = F::margin(own, score[k + j], asked[k + j]);
      losses[j] = F::add_loss(losses[j], m > 0 ? m : S(0));
    }
  double part = 0;
  for (int j = 0; j < wide; ++j) part = F::add_loss(part, static_cast<double>(losses[j]));
  const double more = scan.own_rounding[i] + scan.rounding[i] * largest_norm;
  const double added =
      part * (1 + 8 * (sizeof(S) == 4 ? 6e-8 : 1.2e-16));  // with what the sums have lost
  scan.loss[i] = F::add_loss(scan.loss[i], part);
  scan.bound[i] = F::add_loss(scan.bound[i], F::raised(added, count, more));
}

constexpr int kFewClasses = 8;  // of a block, that are looked at one by one

// Classes of the mask whose margins exceed the floor.
template <class F, class S>
inline std::uint64_t exceeding(const Scores<S>& s, S own, S floor, One<S> asked,
                               std::uint64_t mask) {
  return mask & above(s, F::threshold(own, floor, asked[0]));
}
template <class F, class S>
inline std::uint64_t exceeding(const Scores<S>& s, S own, S floor, const S* asked,
                               std::uint64_t mask) {
  const S* score = reinterpret_cast<const S*>(s.v);
  std::uint64_t kept = 0;
  for (; mask != 0; mask &= mask - 1) {
    const int k = __builtin_ctzll(mask);
    if (score[k] > F::threshold(own, floor, asked[k])) kept |= mask & -mask;
  }
  return kept;
}

// The classes of the mask, which may add to the loss of sample i. Not inlined: a scan comes here
// for few rows of a block, and its loop needs the registers.
template <class F, class T, class S, class Asked>
__attribute__((noinline)) void take_classes(const ScanView<T>& scan, const ClassRange& block,
                                            const Scores<S>& s, const Asked asked, std::int64_t i,
                                            std::uint64_t mask, bool holds_own,
                                            double largest_norm) {
  const S own = static_cast<S>(scan.own[i]);
  const int count = __builtin_popcountll(mask);
  if (count > kFewClasses && block.classes == lanes<S>() && !holds_own)
    add_many<F>(scan, s, own, asked, i, count, largest_norm);
  else
    add_few<F>(scan, block, s, own, asked, i, mask);

  // Only those that the list of violators may want are looked at one by one.
  const T least = scan.least[i];
  const T* worst = scan.found.value + i * scan.found.capacity;
  const bool full = scan.found.count[i] == scan.found.capacity;
  const T wanted_from = full && worst[0] > least + scan.idle ? worst[0] : least + scan.idle;
  const T from = least + scan.violation[i] < wanted_from ? least + scan.violation[i] : wanted_from;
  mask = exceeding<F>(s, own, static_cast<S>(from > 0 ? from : T(0)), asked, mask);
  const S* score = reinterpret_cast<const S*>(s.v);
  for (; mask != 0; mask &= mask - 1) {
    const int k = __builtin_ctzll(mask);
    const T margin = static_cast<T>(F::margin(own, score[k], asked[k]));
    const T violation = margin - least;
    if (!(margin > 0)) continue;
    const bool wanted =
        violation > scan.idle && (scan.found.count[i] < scan.found.capacity || margin > worst[0]);
    const std::int32_t c = block.first_class + k;
    if ((wanted || violation > scan.violation[i]) && !is_active(scan, i, c)) {
      if (violation > scan.violation[i]) scan.violation[i] = violation;
      if (wanted) keep_best(scan.found, i, margin, c);
    }
  }
}

// The same with label costs. The mask was made for the largest cost of the sample: classes that
// have a smaller one, and score too little for that, are left out.
template <class F, class T, class S>
__attribute__((noinline)) void take_costly_classes(const ScanView<T>& scan, const ClassRange& block,
                                                   const Scores<S>& s, std::int64_t i,
                                                   std::uint64_t mask, bool holds_own,
                                                   double largest_norm) {
  S asked[lanes<S>()];  // 0 outside the mask, where no margin is positive with any cost
  costs_of(*scan.costs, scan.label[i], scan.class_of + block.first_class, mask, asked);
  const S* score = reinterpret_cast<const S*>(s.v);
  const double threshold = scan.threshold[i] + scan.most_asked[i];
  std::uint64_t kept = 0;
  for (; mask != 0; mask &= mask - 1) {
    const int k = __builtin_ctzll(mask);
    const double asked_here = static_cast<double>(asked[k]);
    if (static_cast<double>(score[k]) > threshold - asked_here) kept |= mask & -mask;
  }
  if (kept != 0)
    take_classes<F, T, S, const S*>(scan, block, s, asked, i, kept, holds_own, largest_norm);
}

// A block of classes as the rows that meet it see it. F is the formulation for scores of type S.
template <class F, class T, class S>
struct BlockScan {
  const ScanView<T>& scan;
  const std::int32_t* y;
  ClassRange block;
  std::uint64_t classes;
  double largest = 0;  // of the classes' norms

  BlockScan(const ScanView<T>& scan, const std::int32_t* y, const ClassRange& block)
      : scan(scan), y(y), block(block), classes(first_bits(block.classes)) {
    const double* norm = scan.norm + block.first_class;
    for (int k = 0; k < block.classes; ++k) largest = norm[k] > largest ? norm[k] : largest;
  }

  void take(std::int64_t i, const Scores<S>& s) const {
    std::uint64_t mask = above(s, static_cast<S>(scan.threshold[i])) & classes;
    if (mask == 0) return;
    const std::int32_t mine = y[i] - block.first_class;
    const bool holds_own = mine >= 0 && mine < block.classes;
    if (holds_own) mask &= ~(std::uint64_t{1} << mine);
    if (mask == 0) return;
    if (scan.costs == nullptr)
      take_classes<F>(scan, block, s, One<S>{}, i, mask, holds_own, largest);
    else
      take_costly_classes<F>(scan, block, s, i, mask, holds_own, largest);
  }
};

// One block with rows [begin, end); `rare` are the scores of the rare features, `width` numbers a
// row.
template <class F, class T, class S>
void scan_block(const SplitView<T>& X, const std::int32_t* y, const S* weights,
                const ClassRange& block, const ScanView<T>& scan, std::int64_t begin,
                std::int64_t end, const S* rare, int width) {
  const BlockScan<F, T, S> rows(scan, y, block);
  for (std::int64_t i = begin; i < end; ++i, rare += width)
    if (scan.norm2[i] > 0) rows.take(i, block_scores(X, weights, rare, i));
}

// The same with dense rows.
template <class F, class T, class S>
void scan_dense_block(const Csr<T, Dense>& X, const std::int32_t* y, const BlockView<S>& block,
                      const ScanView<T>& scan, std::int64_t begin, std::int64_t end) {
  const BlockScan<F, T, S> rows(scan, y, {block.first_class, block.classes});
  each_tile(X, block, begin, end, [&](std::int64_t i, const Scores<S>& s) {
    if (scan.norm2[i] > 0) rows.take(i, s);
  });
}

// A group with rows [begin, end), whose scores have room in `scratch`.
template <class F, class T, class S>
void scan_group(const SplitView<T>& X, const std::int32_t* y, const GroupView<S>& group,
                const ScanView<T>& scan, std::int64_t begin, std::int64_t end, S* scratch) {
  const int blocks = (group.classes + lanes<S>() - 1) / lanes<S>(), width = blocks * lanes<S>();
  add_rare(X, group, begin, end, width, scratch);
  for (int b = 0; b < blocks; ++b) {
    const std::int32_t first = b * lanes<S>();
    const std::int32_t left = group.classes - first;
    const ClassRange block{group.first_class + first, left < lanes<S>() ? left : lanes<S>()};
    scan_block<F>(X, y, group.dense + first * group.frequent, block, scan, begin, end,
                  scratch + first, width);
  }
}

template <template <class> class F, class T>
ScanKernels<T> make_scan_kernels() {
  return {&scan_group<F<T>, T, T>, &scan_group<F<double>, T, double>, &scan_dense_block<F<T>, T, T>,
          &scan_dense_block<F<double>, T, double>};
}

}  // namespace MM_ISA
}  // namespace multimargin
