// All rows of X times all classes, a few blocks of classes at a time.
//
// Blocks are filled in parallel, then rows are handed out in chunks. A chunk takes
// the blocks in order, whatever the number of threads, so that what is summed per
// row is summed in the same order every time.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "common/team.hpp"
#include "scoring/class_block.hpp"

namespace multimargin {

constexpr std::int64_t kRowsPerChunk = 1024;
constexpr int kBlocksAtOnce = 8;

// fill(block, first_class, classes) writes a block; use(view, begin, end) takes rows.
// stop() is asked by the calling thread before each chunk; true ends the product early.
// Returns whether it went to the end.
template <class T, class Fill, class Use>
bool block_product(Team& team, std::int64_t rows, std::int64_t features, std::int32_t n_classes,
                   const Fill& fill, const Use& use, const std::function<bool()>& stop) {
  const std::int32_t width = lanes<T>();
  const std::int64_t blocks = (n_classes + width - 1) / width;
  const std::int64_t chunks = (rows + kRowsPerChunk - 1) / kRowsPerChunk;
  const int at_once = static_cast<int>(
      std::min<std::int64_t>(blocks, std::max(1, std::min(kBlocksAtOnce, team.size()))));
  std::vector<ClassBlock<T>> held(at_once);
  std::unique_ptr<std::atomic<int>[]> met(new std::atomic<int>[static_cast<std::size_t>(chunks)]);
  std::atomic<bool> ending{false};

  for (std::int64_t base = 0; base < blocks; base += at_once) {
    const int count = static_cast<int>(std::min<std::int64_t>(at_once, blocks - base));
    team.for_each(count, [&](int, std::int64_t b) {
      const std::int32_t first = static_cast<std::int32_t>((base + b) * width);
      const std::int32_t classes = std::min(width, n_classes - first);
      held[b].start(features, first, classes);
      fill(held[b], first, classes);
    });
    for (std::int64_t k = 0; k < chunks; ++k) met[k].store(0, std::memory_order_relaxed);
    team.for_each(chunks * count, [&](int thread, std::int64_t task) {
      const std::int64_t b = task / chunks, k = task % chunks;
      Backoff backoff;
      while (met[k].load(std::memory_order_acquire) != b) backoff.wait();
      if (thread == 0 && stop && stop()) ending = true;
      if (!ending) use(held[b].view(), k * kRowsPerChunk, std::min(rows, (k + 1) * kRowsPerChunk));
      met[k].store(static_cast<int>(b) + 1, std::memory_order_release);
    });
    if (ending) return false;
  }
  return true;
}

}  // namespace multimargin
