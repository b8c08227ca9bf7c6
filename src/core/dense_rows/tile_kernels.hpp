// Dense rows times a block of classes: a few rows at a time with a cache line of classes, whose
// sums stay in registers. Included once per instruction set; no library template.
//
// A block lies in panels. Each score is added up over the features in their
// order, as row_scores() does for sparse rows: the bits are the same.
#pragma once

#include "dense_rows/panel.hpp"
#include "scoring/score_kernels.hpp"

namespace multimargin {
namespace MM_ISA {

// Of 16 registers 12 hold sums, of 32 registers 24.
#if defined(__AVX512F__)
constexpr int kTileRows = 12, kTilePanels = 2;
#elif defined(__AVX2__)
constexpr int kTileRows = 6, kTilePanels = 1;
#else
constexpr int kTileRows = 3, kTilePanels = 1;
#endif

// The scores of kTileRows rows, which begin at row[0], row[1], ...
template <class T, class S>
inline void tile_scores(const T* const* row, std::int64_t features, const BlockView<S>& block,
                        Scores<S>* out) {
  using R = typename Register<S>::type;
  constexpr int width = kTilePanels * panel_width<S>(), each = width / Register<S>::lanes;
  constexpr int per_panel = panel_width<S>() / Register<S>::lanes;
  const std::int64_t panel = features * panel_width<S>();
  for (int from = 0; from < lanes<S>(); from += width) {
    const S* w = block.rows + features * from;
    R sum[kTileRows][each];
    for (int r = 0; r < kTileRows; ++r)
      for (int k = 0; k < each; ++k)
        sum[r][k] = reinterpret_cast<const R*>(block.intercept + from)[k];
    for (std::int64_t t = 0; t < features; ++t, w += panel_width<S>()) {
      R weight[each];
      for (int k = 0; k < each; ++k)
        weight[k] = reinterpret_cast<const R*>(w + (k / per_panel) * panel)[k % per_panel];
      for (int r = 0; r < kTileRows; ++r) {
        const S x = static_cast<S>(row[r][t]);
        for (int k = 0; k < each; ++k) sum[r][k] += x * weight[k];
      }
    }
    for (int r = 0; r < kTileRows; ++r) {
      R* to = reinterpret_cast<R*>(reinterpret_cast<S*>(out[r].v) + from);
      for (int k = 0; k < each; ++k) to[k] = sum[r][k];
    }
  }
}

// Calls use(i, scores) for rows [begin, end).
template <class T, class S, class Use>
inline void each_tile(const Csr<T, Dense>& X, const BlockView<S>& block, std::int64_t begin,
                      std::int64_t end, const Use& use) {
  Scores<S> scores[kTileRows];
  for (std::int64_t i = begin; i < end; i += kTileRows) {
    const T* row[kTileRows];
    for (int r = 0; r < kTileRows; ++r) row[r] = X.data + X.begin(i + r < end ? i + r : end - 1);
    tile_scores(row, X.cols, block, scores);
    for (int r = 0; r < kTileRows && i + r < end; ++r) use(i + r, scores[r]);
  }
}

}  // namespace MM_ISA
}  // namespace multimargin
