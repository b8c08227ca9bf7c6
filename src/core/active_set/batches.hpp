// How a pass shares out its samples: to batches by lot, and each batch to the members of the team.
//
// A batch is known before the pass begins, so members lay batches out independently. Which batch a
// sample gets and in which order it is applied there do not depend on the number of members; who
// does what does. The shares of members are equal by work: at the two barriers of a batch all wait
// for the last.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "active_set/kernels.hpp"
#include "active_set/visits.hpp"
#include "common/buffer.hpp"
#include "common/random.hpp"
#include "common/team.hpp"

namespace multimargin {

template <class T>
class Batches {
 public:
  // Puts the samples that are due into batches, and lays these out. The view has so many classes.
  void choose(const WorkView<T>& v, std::int32_t classes, Visits& visits, const VisitRule<T>& rule,
              Random random, Team& team) {
    share_out(v, visits, rule, random, team);
    lay_out(v, classes, rule.everything, team);
  }

  std::int64_t count() const { return static_cast<std::int64_t>(begin_.size()) - 1; }
  std::int64_t begin(std::int64_t b) const { return begin_[b].sample; }
  std::int32_t sample(std::int64_t k) const { return sample_[k]; }
  T gap(std::int64_t k) const { return gap_[k]; }
  T violation(std::int64_t k) const { return violation_[k]; }

  // What a member sees of batch b.
  BatchView<T> view(std::int64_t b, int member, T* work) {
    const Range turns = range(turn_end_, b, member), shared = range(shared_end_, b, member);
    return {sample_.data(),
            slot_at_.data(),
            begin_[b].slot,
            touch_.data(),
            turn_.data() + begin(b) + turns.first,
            turns.count,
            shared_[b].data() + shared.first,
            shared.count,
            step_.data(),
            gap_.data(),
            violation_.data(),
            work};
  }

 private:
  struct Range {
    std::int64_t first, count;
  };

  // In the samples of a pass, and in their slots.
  struct Place {
    std::int64_t sample, slot;
  };

  static constexpr std::int32_t kNone = -1;

  // A class while a batch is laid out.
  struct Touched {
    T norms = 0;                 // sum of |x_i| over the samples that touch it
    std::int32_t samples = 0;    // how many these are; then how many are left
    std::int32_t place = kNone;  // where its next shared slot goes
  };

  // Of a thread.
  struct Scratch {
    std::vector<Touched> touched;     // [K]
    std::vector<std::int64_t> work;   // of each sample
    std::vector<std::int32_t> order;  // of samples
    std::vector<std::int32_t> group;  // where the shared slots of a class begin
    std::vector<std::int64_t> load;   // of each member
    std::vector<std::int32_t> owner;  // of each sample
    std::vector<std::int32_t> next;   // of each member, where its next turn goes
  };

  // What a sample takes for itself, in features of a slot, and what a slot takes beside its own.
  static constexpr std::int64_t kSampleWork = 64, kSlotWork = 12;

  Range range(const std::vector<std::int32_t>& end, std::int64_t b, int member) const {
    const std::int64_t first = member == 0 ? 0 : end[b * members_ + member - 1];
    return {first, end[b * members_ + member] - first};
  }

  // A lot for every sample: in which batch it is does not depend on the others.
  void share_out(const WorkView<T>& v, Visits& visits, const VisitRule<T>& rule, Random random,
                 Team& team) {
    const std::int64_t n = static_cast<std::int64_t>(visits.size()), parts = team.size();
    due_.resize(parts);
    next_.resize(parts);
    team.for_each(parts, [&](int, std::int64_t part) {
      visits.due(rule.everything, n * part / parts, n * (part + 1) / parts, due_[part]);
    });
    std::int64_t due_samples = 0;
    for (const auto& due : due_) due_samples += static_cast<std::int64_t>(due.size());
    const std::int64_t batches = (due_samples + rule.batch - 1) / rule.batch;
    const std::uint64_t seed = random.next();
    const auto lot = [&](std::int32_t i) {
      return Random(seed, static_cast<std::uint64_t>(i)).below(static_cast<std::uint32_t>(batches));
    };
    const auto slots_of = [&](std::int32_t i) { return v.slot_begin[i + 1] - v.slot_begin[i]; };
    team.for_each(parts, [&](int, std::int64_t part) {
      next_[part].assign(batches, {0, 0});
      for (const std::int32_t i : due_[part]) {
        Place& next = next_[part][lot(i)];
        ++next.sample;
        next.slot += slots_of(i);
      }
    });
    begin_.assign(batches + 1, {0, 0});
    for (std::int64_t b = 0; b < batches; ++b) {
      Place at = begin_[b];
      for (auto& next : next_) {
        const Place here = next[b];
        next[b] = at;
        at.sample += here.sample;
        at.slot += here.slot;
      }
      begin_[b + 1] = at;
    }
    sample_.reset(due_samples);
    slot_at_.reset(due_samples);
    team.for_each(parts, [&](int, std::int64_t part) {
      for (const std::int32_t i : due_[part]) {
        Place& next = next_[part][lot(i)];
        sample_[next.sample] = i;
        slot_at_[next.sample] = next.slot;
        ++next.sample;
        next.slot += slots_of(i);
      }
    });
  }

  void lay_out(const WorkView<T>& v, std::int32_t classes, bool everything, Team& team) {
    const std::int64_t batches = count(), samples = begin(batches);
    members_ = team.size();
    turn_.reset(samples);
    gap_.reset(samples);
    violation_.reset(samples);
    touch_.reset(begin_[batches].slot);
    shared_.resize(batches);
    turn_end_.resize(batches * members_);
    shared_end_.resize(batches * members_);
    scratch_.resize(members_);
    std::int64_t most = 0;
    for (std::int64_t b = 0; b < batches; ++b)
      most = std::max(most, begin_[b + 1].slot - begin_[b].slot);
    step_.reset(most);
    team.for_each(batches, [&](int member, std::int64_t b) {
      lay_out_batch(v, classes, everything, b, scratch_[member]);
    });
  }

  void lay_out_batch(const WorkView<T>& v, std::int32_t classes, bool everything, std::int64_t b,
                     Scratch& s) {
    s.touched.resize(classes);
    const std::int64_t begin = this->begin(b), end = this->begin(b + 1);
    for (std::int64_t k = begin; k < end; ++k) {  // they come in random order
      __builtin_prefetch(v.cls + v.slot_begin[sample_[k]]);
      __builtin_prefetch(v.resting + v.slot_begin[sample_[k]]);
    }
    const auto each = [&](const auto& use) {
      for (std::int64_t k = begin; k < end; ++k) {
        const std::int64_t first = v.slot_begin[sample_[k]], last = v.slot_begin[sample_[k] + 1];
        for (std::int64_t p = first; p < last; ++p)
          if (v.cls[p] >= 0 && (everything || !v.resting[p]))
            use(k, static_cast<std::int32_t>(p - first), v.cls[p]);
      }
    };
    const auto length = [&](std::int64_t k) {
      return v.row_end[sample_[k]] - v.row[sample_[k]] + kSlotWork;
    };

    s.work.assign(end - begin, kSampleWork);
    std::int64_t last_seen = -1, len = 0;
    std::int32_t shared_slots = 0;
    T norm = 0;
    each([&](std::int64_t k, std::int32_t, std::int32_t c) {
      if (k != last_seen) {
        norm = std::sqrt(v.norm2[sample_[k]]);
        len = length(k);
        last_seen = k;
      }
      Touched& touched = s.touched[c];
      touched.norms += norm;
      const std::int32_t samples = ++touched.samples;
      shared_slots += samples == 1 ? 0 : samples == 2 ? 2 : 1;
      s.work[k - begin] += len;
    });
    // Shared slots, class by class and in the order of samples.
    std::vector<SharedSlot>& shared = shared_[b];
    shared.resize(shared_slots);
    s.group.clear();
    std::int32_t room = 0;
    each([&](std::int64_t k, std::int32_t slot, std::int32_t c) {
      Touched& touched = s.touched[c];
      if (touched.place == kNone) {
        if (touched.samples == 1) {
          touch_[slot_at_[k] + slot] = touched.norms;
          touched = {};
          return;
        }
        touched.place = room;
        s.group.push_back(room);
        room += touched.samples;
      }
      touch_[slot_at_[k] + slot] = -touched.norms;
      shared[touched.place++] = {static_cast<std::int32_t>(k), slot};
      if (--touched.samples == 0) touched = {};
    });
    share_samples(b, s);
    share_classes(b, s, length);
  }

  // The longest first, each to the member that has least.
  void share_samples(std::int64_t b, Scratch& s) {
    const std::int64_t begin = this->begin(b);
    const auto count = static_cast<std::int32_t>(this->begin(b + 1) - begin);
    s.order.resize(count);
    std::iota(s.order.begin(), s.order.end(), 0);
    s.owner.assign(count, 0);
    std::int32_t* ends = turn_end_.data() + b * members_;
    std::fill(ends, ends + members_, 0);
    if (members_ > 1) {
      std::sort(s.order.begin(), s.order.end(), [&](std::int32_t i, std::int32_t j) {
        return s.work[i] != s.work[j] ? s.work[i] > s.work[j] : i < j;
      });
      s.load.assign(members_, 0);
    }
    for (const std::int32_t k : s.order) {
      if (members_ > 1) {
        const auto least = std::min_element(s.load.begin(), s.load.end());
        *least += s.work[k];
        s.owner[k] = static_cast<std::int32_t>(least - s.load.begin());
      }
      ++ends[s.owner[k]];
    }
    s.next.assign(members_, 0);
    for (std::int32_t m = 1; m < members_; ++m) {
      s.next[m] = ends[m - 1];
      ends[m] += ends[m - 1];
    }
    for (std::int32_t k = 0; k < count; ++k)
      turn_[begin + s.next[s.owner[k]]++] = static_cast<std::int32_t>(begin + k);
  }

  // Whole classes that follow each other.
  template <class Length>
  void share_classes(std::int64_t b, Scratch& s, const Length& length) {
    const std::vector<SharedSlot>& shared = shared_[b];
    std::int32_t* ends = shared_end_.data() + b * members_;
    std::fill(ends, ends + members_, static_cast<std::int32_t>(shared.size()));
    if (members_ == 1) return;
    std::int64_t whole = 0, sum = 0;
    for (const SharedSlot& slot : shared) whole += length(slot.k);
    std::size_t group = 0;
    std::int32_t m = 0;
    for (std::size_t e = 0; e < shared.size(); ++e) {
      if (group < s.group.size() && s.group[group] == static_cast<std::int32_t>(e)) {
        ++group;
        while (m < members_ - 1 && sum * members_ >= whole * (m + 1))
          ends[m++] = static_cast<std::int32_t>(e);
      }
      sum += length(shared[e].k);
    }
  }

  int members_ = 1;
  std::vector<std::vector<std::int32_t>> due_;  // of each part of the samples
  std::vector<std::vector<Place>> next_;        // where these go in each batch
  std::vector<Place> begin_{{0, 0}};            // [batches+1]
  Buffer<std::int32_t> sample_;                 // batch by batch
  Buffer<std::int64_t> slot_at_;                // where a sample's slots begin in touch
  Buffer<T> gap_, violation_;                   // of each sample, as its visit found it
  Buffer<T> touch_;                             // per slot of the pass, see BatchView
  Buffer<std::int32_t> turn_;                   // samples of a batch, member by member
  std::vector<std::int32_t> turn_end_;          // [batches][members]
  std::vector<std::vector<SharedSlot>> shared_;
  std::vector<std::int32_t> shared_end_;  // [batches][members]
  Buffer<T> step_;                        // of the batch at hand
  std::vector<Scratch> scratch_;
};

}  // namespace multimargin
