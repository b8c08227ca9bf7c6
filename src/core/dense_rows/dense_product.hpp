// All dense rows times all classes: a matrix product that is never stored. Some blocks of classes
// are made ready at a time; then chunks of rows, handed out to the team, take them in order.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <vector>

#include "common/team.hpp"
#include "dense_rows/dense_block.hpp"

namespace multimargin {

// With 256 features a chunk and the blocks are 256 KB and 1 MB: both stay in the second cache or
// near it while they meet.
constexpr std::int64_t kDenseChunk = 252;  // a multiple of the rows of a tile
constexpr std::int64_t kDenseBlocks = 16;

// fill(thread, block, first_class, classes) writes a block; use(view, begin, end) takes rows.
// stop() is asked by the calling thread before each chunk; true ends the product early.
// Returns whether it went to the end.
template <class T, class Fill, class Use>
bool dense_product(Team& team, std::int64_t rows, std::int64_t features, std::int32_t n_classes,
                   const Fill& fill, const Use& use, const std::function<bool()>& stop) {
  const std::int32_t width = lanes<T>();
  const std::int64_t blocks = (n_classes + width - 1) / width;
  const std::int64_t chunks = (rows + kDenseChunk - 1) / kDenseChunk;
  std::vector<DenseBlock<T>> held(static_cast<std::size_t>(std::min(blocks, kDenseBlocks)));
  std::atomic<bool> ending{false};
  for (std::int64_t base = 0; base < blocks; base += kDenseBlocks) {
    const std::int64_t count = std::min(kDenseBlocks, blocks - base);
    team.for_each(count, [&](int thread, std::int64_t b) {
      const auto first = static_cast<std::int32_t>((base + b) * width);
      const std::int32_t classes = std::min(width, n_classes - first);
      held[b].start(features, first, classes);
      fill(thread, held[b], first, classes);
    });
    team.for_each(chunks, [&](int thread, std::int64_t k) {
      if (thread == 0 && stop && stop()) ending = true;
      for (std::int64_t b = 0; b < count && !ending; ++b)
        use(held[b].view(), k * kDenseChunk, std::min(rows, (k + 1) * kDenseChunk));
    });
    if (ending) return false;
  }
  return true;
}

}  // namespace multimargin
