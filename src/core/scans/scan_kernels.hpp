// Scans: the classes of a block that add to a sample's loss, or violate its constraints.
// Included once per instruction set, like visit_kernels.hpp.
#pragma once

#include <type_traits>

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

// Scores as the product has added them up.
struct AsTheyAre {};

// Scores added up once more in double precision: the k-th class of a block with split rows.
template <class T>
struct ExactScore {
  const SplitView<T>& X;
  const GroupView<T>& group;
  std::int32_t first;  // class of the block, in the group

  double operator()(std::int64_t i, int k) const {
    double sum = static_cast<double>(group.intercept[first + k]);
    const T* dense = group.dense + first * group.frequent + k;
    for (std::int64_t t = X.begin[i]; t < X.rare[i]; ++t)
      sum += static_cast<double>(X.value[t]) *
             static_cast<double>(dense[static_cast<std::int64_t>(X.number[t]) * lanes<T>()]);
    for (std::int64_t t = X.rare[i]; t < X.begin[i + 1]; ++t)
      sum += static_cast<double>(X.value[t]) * listed(X.number[t], first + k);
    return sum;
  }

 private:
  // The weight of a rare feature in a class of the group; its list is in the order of classes.
  double listed(std::int32_t number, std::int32_t cls) const {
    std::int64_t low = group.list_begin[number], high = group.list_begin[number + 1];
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (group.list[middle].cls == cls) return static_cast<double>(group.list[middle].value);
      if (group.list[middle].cls < cls)
        low = middle + 1;
      else
        high = middle;
    }
    return 0;
  }
};

// The same with dense rows.
template <class T>
struct ExactDenseScore {
  const Csr<T, Dense>& X;
  const BlockView<T>& block;

  double operator()(std::int64_t i, int k) const {
    constexpr int width = panel_width<T>();
    const T* x = X.data + X.begin(i);
    const T* w = block.rows + k / width * X.cols * width + k % width;
    double sum = static_cast<double>(block.intercept[k]);
    for (std::int64_t t = 0; t < X.cols; ++t)
      sum += static_cast<double>(x[t]) * static_cast<double>(w[t * width]);
    return sum;
  }
};

// The score of an active class in double precision, if it is known.
template <class T>
inline const double* known_score(const ScanView<T>& scan, std::int64_t i, std::int32_t c) {
  if (scan.exact == nullptr) return nullptr;
  std::int64_t at = -1;
  for (std::int64_t p = scan.slot_begin[i]; p < scan.slot_begin[i + 1]; ++p)
    at = scan.cls[p] == c ? p : at;
  return at < 0 ? nullptr : scan.exact + at;
}

// Loss and bound of a sample with the classes of the mask taken into account, by exact scores.
template <class F, class T, class Exact>
inline void add_exact(const ScanView<T>& scan, const ClassRange& block, const Exact& exact,
                      std::int64_t i, std::uint64_t mask) {
  const double* norm = scan.norm + block.first_class;
  double asked[64];
  if (scan.costs != nullptr)
    costs_of(*scan.costs, scan.label[i], scan.class_of + block.first_class, mask, asked);
  double loss = scan.loss[i], bound = scan.bound[i];
  for (; mask != 0; mask &= mask - 1) {
    const int k = __builtin_ctzll(mask);
    const double* known = known_score(scan, i, block.first_class + k);
    const double score = known != nullptr ? *known : exact(i, k);
    const double m = F::margin(scan.own[i], score, scan.costs == nullptr ? 1.0 : asked[k]);
    const double raised = m + scan.own_rounding[i] + scan.rounding[i] * norm[k];
    loss = F::add_loss(loss, m > 0 ? m : 0.0);
    bound = F::add_loss(bound, raised > 0 ? raised : 0.0);
  }
  scan.loss[i] = loss;
  scan.bound[i] = bound;
}

// Loss and bound of a sample with the classes of the mask taken into account.
template <class F, class T, class Asked>
inline void add_few(const ScanView<T>& scan, const ClassRange& block, const Scores<T>& s, T own,
                    const Asked& asked, std::int64_t i, std::uint64_t mask) {
  const T* score = reinterpret_cast<const T*>(s.v);
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
template <class F, class T, class Asked>
inline void add_many(const ScanView<T>& scan, const Scores<T>& s, T own, const Asked& asked,
                     std::int64_t i, int count, double largest_norm) {
  const T* score = reinterpret_cast<const T*>(s.v);
  constexpr int wide = 16;  // sums side by side, which vector units take together
  T losses[wide] = {};
  for (int k = 0; k < lanes<T>(); k += wide)
    for (int j = 0; j < wide; ++j) {
      const T m = F::margin(own, score[k + j], asked[k + j]);
      losses[j] = F::add_loss(losses[j], m > 0 ? m : T(0));
    }
  double part = 0;
  for (int j = 0; j < wide; ++j) part = F::add_loss(part, static_cast<double>(losses[j]));
  const double more = scan.own_rounding[i] + scan.rounding[i] * largest_norm;
  const double added =
      part * (1 + 8 * (sizeof(T) == 4 ? 6e-8 : 1.2e-16));  // with what the sums have lost
  scan.loss[i] = F::add_loss(scan.loss[i], part);
  scan.bound[i] = F::add_loss(scan.bound[i], F::raised(added, count, more));
}

constexpr int kFewClasses = 8;  // of a block, that are looked at one by one

// Classes of the mask whose margins exceed the floor.
template <class F, class T>
inline std::uint64_t exceeding(const Scores<T>& s, T own, T floor, One<T> asked,
                               std::uint64_t mask) {
  return mask & above(s, F::threshold(own, floor, asked[0]));
}
template <class F, class T>
inline std::uint64_t exceeding(const Scores<T>& s, T own, T floor, const T* asked,
                               std::uint64_t mask) {
  const T* score = reinterpret_cast<const T*>(s.v);
  std::uint64_t kept = 0;
  for (; mask != 0; mask &= mask - 1) {
    const int k = __builtin_ctzll(mask);
    if (score[k] > F::threshold(own, floor, asked[k])) kept |= mask & -mask;
  }
  return kept;
}

// The classes of the mask, which may add to the loss of sample i. Not inlined: a scan comes here
// for few rows of a block, and its loop needs the registers.
template <template <class> class Form, class T, class Exact, class Asked>
__attribute__((noinline)) void take_classes(const ScanView<T>& scan, const ClassRange& block,
                                            const Scores<T>& s, const Exact& exact,
                                            const Asked asked, std::int64_t i, std::uint64_t mask,
                                            bool holds_own, double largest_norm) {
  using F = Form<T>;
  const T own = static_cast<T>(scan.own[i]);
  const int count = __builtin_popcountll(mask);
  if constexpr (!std::is_same_v<Exact, AsTheyAre>)
    add_exact<Form<double>>(scan, block, exact, i, mask);
  else if (count > kFewClasses && block.classes == lanes<T>() && !holds_own)
    add_many<F>(scan, s, own, asked, i, count, largest_norm);
  else
    add_few<F>(scan, block, s, own, asked, i, mask);

  // Only those that the list of violators may want are looked at one by one.
  const T least = scan.least[i];
  const BestView<T> found = scan.found(i);
  const T* worst = found.value;
  const bool full = *found.count == found.capacity;
  const T wanted_from = full && worst[0] > least + scan.idle ? worst[0] : least + scan.idle;
  const T from = least + scan.violation[i] < wanted_from ? least + scan.violation[i] : wanted_from;
  mask = exceeding<F>(s, own, from > 0 ? from : T(0), asked, mask);
  const T* score = reinterpret_cast<const T*>(s.v);
  for (; mask != 0; mask &= mask - 1) {
    const int k = __builtin_ctzll(mask);
    const T margin = F::margin(own, score[k], asked[k]);
    const T violation = margin - least;
    if (!(margin > 0)) continue;
    const bool wanted =
        violation > scan.idle && (*found.count < found.capacity || margin > worst[0]);
    const std::int32_t c = block.first_class + k;
    if ((wanted || violation > scan.violation[i]) && !is_active(scan, i, c)) {
      if (violation > scan.violation[i]) scan.violation[i] = violation;
      if (wanted) keep_best(found, 0, margin, c);
    }
  }
}

// The same with label costs. The mask was made for the largest cost of the sample: classes that
// have a smaller one, and score too little for that, are left out.
template <template <class> class Form, class T, class Exact>
__attribute__((noinline)) void take_costly_classes(const ScanView<T>& scan, const ClassRange& block,
                                                   const Scores<T>& s, const Exact& exact,
                                                   std::int64_t i, std::uint64_t mask,
                                                   bool holds_own, double largest_norm) {
  T asked[lanes<T>()];  // 0 outside the mask, where no margin is positive with any cost
  costs_of(*scan.costs, scan.label[i], scan.class_of + block.first_class, mask, asked);
  const T* score = reinterpret_cast<const T*>(s.v);
  const double threshold = scan.threshold[i] + scan.most_asked[i];
  std::uint64_t kept = 0;
  for (; mask != 0; mask &= mask - 1) {
    const int k = __builtin_ctzll(mask);
    const double asked_here = static_cast<double>(asked[k]);
    if (static_cast<double>(score[k]) > threshold - asked_here) kept |= mask & -mask;
  }
  if (kept != 0)
    take_classes<Form, T, Exact, const T*>(scan, block, s, exact, asked, i, kept, holds_own,
                                           largest_norm);
}

// A block of classes as the rows that meet it see it.
template <template <class> class Form, class T>
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

  template <class Exact>
  void take(std::int64_t i, const Scores<T>& s, const Exact& exact) const {
    std::uint64_t mask = above(s, static_cast<T>(scan.threshold[i])) & classes;
    if (mask == 0) return;
    const std::int32_t mine = y[i] - block.first_class;
    const bool holds_own = mine >= 0 && mine < block.classes;
    if (holds_own) mask &= ~(std::uint64_t{1} << mine);
    if (mask == 0) return;
    if (scan.costs == nullptr)
      take_classes<Form>(scan, block, s, exact, One<T>{}, i, mask, holds_own, largest);
    else
      take_costly_classes<Form>(scan, block, s, exact, i, mask, holds_own, largest);
  }
};

// One block with rows [begin, end); `rare` are the scores of the rare features, `width` numbers a
// row.
template <template <class> class Form, class T, class Exact>
void scan_block(const SplitView<T>& X, const std::int32_t* y, const T* weights,
                const ClassRange& block, const ScanView<T>& scan, std::int64_t begin,
                std::int64_t end, const T* rare, int width, const Exact& exact) {
  const BlockScan<Form, T> rows(scan, y, block);
  for (std::int64_t i = begin; i < end; ++i, rare += width)
    if (scan.norm2[i] > 0) rows.take(i, block_scores(X, weights, rare, i), exact);
}

// The same with dense rows.
template <template <class> class Form, class T, bool exact>
void scan_dense_block(const Csr<T, Dense>& X, const std::int32_t* y, const BlockView<T>& block,
                      const ScanView<T>& scan, std::int64_t begin, std::int64_t end) {
  const BlockScan<Form, T> rows(scan, y, {block.first_class, block.classes});
  each_tile(X, block, begin, end, [&](std::int64_t i, const Scores<T>& s) {
    if (!(scan.norm2[i] > 0)) return;
    if constexpr (exact)
      rows.take(i, s, ExactDenseScore<T>{X, block});
    else
      rows.take(i, s, AsTheyAre{});
  });
}

// A group with rows [begin, end), whose scores have room in `scratch`.
template <template <class> class Form, class T, bool exact>
void scan_group(const SplitView<T>& X, const std::int32_t* y, const GroupView<T>& group,
                const ScanView<T>& scan, std::int64_t begin, std::int64_t end, T* scratch) {
  const int blocks = (group.classes + lanes<T>() - 1) / lanes<T>(), width = blocks * lanes<T>();
  add_rare(X, group, begin, end, width, scratch);
  for (int b = 0; b < blocks; ++b) {
    const std::int32_t first = b * lanes<T>();
    const std::int32_t left = group.classes - first;
    const ClassRange block{group.first_class + first, left < lanes<T>() ? left : lanes<T>()};
    const T* weights = group.dense + first * group.frequent;
    const auto scan_with = [&](const auto& score) {
      scan_block<Form>(X, y, weights, block, scan, begin, end, scratch + first, width, score);
    };
    if constexpr (exact)
      scan_with(ExactScore<T>{X, group, first});
    else
      scan_with(AsTheyAre{});
  }
}

template <template <class> class Form, class T>
ScanKernels<T> make_scan_kernels() {
  constexpr bool again = sizeof(T) < sizeof(double);  // otherwise scores are exact as they are
  return {&scan_group<Form, T, false>, &scan_group<Form, T, again>,
          &scan_dense_block<Form, T, false>, &scan_dense_block<Form, T, again>};
}

}  // namespace MM_ISA
}  // namespace multimargin
