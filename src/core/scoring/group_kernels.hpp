// Products of split rows with a group of classes. Included once per instruction set; uses no
// library template.
#pragma once

#include "scoring/score_kernels.hpp"

namespace multimargin {
namespace MM_ISA {

// The intercepts and the rare features of rows [begin, end): scores of whole blocks, `width` a row.
template <class T, class S>
inline void add_rare(const SplitView<T>& X, const GroupView<S>& group, std::int64_t begin,
                     std::int64_t end, int width, S* __restrict score) {
  constexpr std::int64_t ahead = 6;  // entries
  const std::int64_t last = X.begin[end];
  for (std::int64_t i = begin; i < end; ++i, score += width) {
    for (int k = 0; k < width; ++k) score[k] = group.intercept[k];
    for (std::int64_t t = X.rare[i]; t < X.begin[i + 1]; ++t) {
      if (t + 2 * ahead < last) {
        // In the next row this may be a frequent feature's number and a list of another feature,
        // which does no harm: list_begin has a place for each of both.
        __builtin_prefetch(group.list_begin + X.number[t + 2 * ahead]);
        const char* soon =
            reinterpret_cast<const char*>(group.list + group.list_begin[X.number[t + ahead]]);
        __builtin_prefetch(soon);
        __builtin_prefetch(soon + 64);
        __builtin_prefetch(soon + 128);
      }
      const S x = X.value[t];
      const ListedWeight<S>* w = group.list + group.list_begin[X.number[t]];
      const ListedWeight<S>* stop = group.list + group.list_begin[X.number[t] + 1];
      for (; w < stop; ++w) score[w->cls] += x * w->value;
    }
  }
}

// The scores of row i with one block: those of its rare features, and the frequent ones added.
template <class T, class S>
inline Scores<S> block_scores(const SplitView<T>& X, const S* block, const S* rare,
                              std::int64_t i) {
  return add_products(rare, X.value, X.begin[i], X.rare[i], [&](std::int64_t t) {
    return block + static_cast<std::int64_t>(X.number[t]) * lanes<S>();
  });
}

}  // namespace MM_ISA
}  // namespace multimargin
