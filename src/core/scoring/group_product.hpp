// All rows of X times all classes, a few groups of classes at a time.
//
// Groups are filled in parallel, then rows are handed out in chunks. A chunk takes the groups in
// order, whatever the number of threads, so that what is summed per row is summed in the same order
// every time. The product of a row with a class does not depend on the group the class is in.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "common/buffer.hpp"
#include "common/team.hpp"
#include "scoring/class_group.hpp"
#include "scoring/split_rows.hpp"

namespace multimargin {

// fill(thread, c, put) calls put(number of a feature, weight) for the weights of class c and
// returns its intercept; use(view, begin, end, scratch) takes rows, with scratch for their scores.
// stop() is asked by the calling thread before each chunk; true ends the product early. Returns
// whether it went to the end.
template <class S, class T, class Fill, class Use>
bool group_product(Team& team, const SplitRows<T>& rows, std::int32_t n_classes, const Fill& fill,
                   const Use& use, const std::function<bool()>& stop) {
  const std::int64_t n = rows.rows();
  const std::int64_t share = n / (4 * team.size());  // few rows: work for everybody
  const std::int64_t at_once = std::clamp<std::int64_t>(share, 64, 1024);
  const std::int64_t chunks = (n + at_once - 1) / at_once;
  const std::int64_t groups = (n_classes + kGroupClasses - 1) / kGroupClasses;
  constexpr std::int32_t kBlocks = kGroupClasses / lanes<S>();
  std::vector<ClassGroup<S>> held(std::min<std::int64_t>(groups, 1 + (team.size() - 1) / kBlocks));
  // Allocated here: a job that threw would leave others waiting for its chunk.
  std::vector<Buffer<S>> scratch(team.size());
  for (Buffer<S>& scores : scratch) scores.reset(static_cast<std::size_t>(at_once) * kGroupClasses);
  std::unique_ptr<std::atomic<int>[]> met(new std::atomic<int>[static_cast<std::size_t>(chunks)]);
  std::atomic<bool> ending{false};

  const auto size = static_cast<std::int64_t>(held.size());
  for (std::int64_t base = 0; base < groups; base += size) {
    const std::int64_t count = std::min(size, groups - base);
    for (std::int64_t g = 0; g < count; ++g) {
      const auto first = static_cast<std::int32_t>((base + g) * kGroupClasses);
      held[g].start(rows, first, std::min(kGroupClasses, n_classes - first));
    }
    team.for_each(count * kBlocks, [&](int thread, std::int64_t task) {
      const auto b = static_cast<std::int32_t>(task % kBlocks);
      ClassGroup<S>& group = held[task / kBlocks];
      if (b < group.blocks())
        group.write(b, [&](std::int32_t c, const auto& put) { return fill(thread, c, put); });
    });
    for (std::int64_t g = 0; g < count; ++g) held[g].sort(team);
    for (std::int64_t k = 0; k < chunks; ++k) met[k].store(0, std::memory_order_relaxed);
    team.for_each(chunks * count, [&](int thread, std::int64_t task) {
      const std::int64_t g = task / chunks, k = task % chunks;
      Backoff backoff;
      while (met[k].load(std::memory_order_acquire) != g) backoff.wait();
      if (thread == 0 && stop && stop()) ending = true;
      if (!ending)
        use(held[g].view(), k * at_once, std::min(n, (k + 1) * at_once), scratch[thread].data());
      met[k].store(static_cast<int>(g) + 1, std::memory_order_release);
    });
    if (ending) return false;
  }
  return true;
}

}  // namespace multimargin
