// Which classes of a batch are touched by more than one of its samples.
//
// Known before a pass begins, batch by batch, so threads find it out independently.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "active_set/kernels.hpp"
#include "common/team.hpp"

namespace multimargin {

template <class T>
class SharedClasses {
 public:
  // Slots of sample k of the pass begin at slot_at()[k].
  const std::vector<std::int64_t>& slot_at() const { return slot_at_; }
  // Per slot: sum of |x_j| over the batch's samples j that touch its class; negative if there are
  // others than the sample itself.
  const T* touch() const { return touch_.data(); }
  const std::vector<SharedSlot>& shared(std::int64_t batch) const { return shared_[batch]; }

  void find(const WorkView<T>& v, const std::vector<std::int32_t>& samples, std::int32_t batch,
            std::int32_t n_classes, bool everything, Team& team) {
    const std::int64_t count = static_cast<std::int64_t>(samples.size());
    const std::int64_t batches = (count + batch - 1) / batch;
    slot_at_.resize(count + 1);
    slot_at_[0] = 0;
    for (std::int64_t k = 0; k < count; ++k)
      slot_at_[k + 1] = slot_at_[k] + v.slot_begin[samples[k] + 1] - v.slot_begin[samples[k]];
    touch_.resize(slot_at_[count]);
    shared_.resize(batches);
    std::vector<Counter> counters(team.size());
    team.for_each(batches, [&](int thread, std::int64_t b) {
      Counter& counter = counters[thread];
      counter.norms.resize(n_classes, T(0));
      counter.samples.resize(n_classes, 0);
      const std::int64_t begin = b * batch, end = std::min(count, begin + batch);
      for (std::int64_t k = begin; k < end; ++k) {  // they come in random order
        __builtin_prefetch(v.cls + v.slot_begin[samples[k]]);
        __builtin_prefetch(v.resting + v.slot_begin[samples[k]]);
      }
      const auto each = [&](const auto& use) {
        for (std::int64_t k = begin; k < end; ++k) {
          const std::int64_t first = v.slot_begin[samples[k]], last = v.slot_begin[samples[k] + 1];
          for (std::int64_t p = first; p < last; ++p)
            if (v.cls[p] >= 0 && (everything || !v.resting[p])) use(k, p - first, v.cls[p]);
        }
      };
      std::int64_t last_seen = -1;
      T norm = 0;
      each([&](std::int64_t k, std::int64_t, std::int32_t c) {
        if (k != last_seen) norm = std::sqrt(v.norm2[samples[k]]);
        last_seen = k;
        counter.norms[c] += norm;
        ++counter.samples[c];
      });
      shared_[b].clear();
      each([&](std::int64_t k, std::int64_t slot, std::int32_t c) {
        const bool many = counter.samples[c] > 1;
        touch_[slot_at_[k] + slot] = many ? -counter.norms[c] : counter.norms[c];
        if (many)
          shared_[b].push_back({static_cast<std::int32_t>(k), static_cast<std::int32_t>(slot)});
      });
      each([&](std::int64_t, std::int64_t, std::int32_t c) {
        counter.norms[c] = 0;
        counter.samples[c] = 0;
      });
    });
  }

 private:
  struct Counter {
    std::vector<T> norms;               // [K]
    std::vector<std::int32_t> samples;  // [K]
  };
  std::vector<std::int64_t> slot_at_;
  std::vector<T> touch_;
  std::vector<std::vector<SharedSlot>> shared_;
};

}  // namespace multimargin
