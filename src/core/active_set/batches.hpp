// How a pass shares out its samples: to batches by lot, and each batch to the members of the team.
//
// A batch is known before the pass begins, so members lay batches out independently. Which batch a
// sample gets and in which order it is applied there do not depend on the number of members; who
// does what does. At the two barriers of a batch all wait for the last: what takes long comes
// first.
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
  const Found<T>& found(std::int64_t k) const { return found_[k]; }

  BatchView<T> view(std::int64_t b, T* work) {
    return {sample_.data(),          slot_at_.data(),
            begin_[b].slot,          touch_.data(),
            turn_.data() + begin(b), static_cast<std::int32_t>(begin(b + 1) - begin(b)),
            next_turn_.data() + b,   shared_[b].data(),
            piece_end_[b].data(),    static_cast<std::int32_t>(piece_end_[b].size()),
            next_piece_.data() + b,  step_.data(),
            found_.data(),           work};
  }

 private:
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
    std::vector<std::int32_t> group;  // where the shared slots of a class begin
  };

  // What a sample takes for itself, in features of a slot, and what a slot takes beside its own.
  static constexpr std::int64_t kSampleWork = 64, kSlotWork = 12;
  static constexpr std::int64_t kPieces = 4;  // of shared slots, for each member

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
    found_.reset(samples);
    touch_.reset(begin_[batches].slot);
    shared_.resize(batches);
    piece_end_.resize(batches);
    next_turn_.assign(batches, 0);
    next_piece_.assign(batches, 0);
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
    order_samples(b, s);
    cut_pieces(b, s, length);
  }

  // The longest first, where there are others to wait for.
  void order_samples(std::int64_t b, const Scratch& s) {
    const std::int64_t begin = this->begin(b);
    std::int32_t* turn = turn_.data() + begin;
    std::int32_t* end = turn_.data() + this->begin(b + 1);
    std::iota(turn, end, static_cast<std::int32_t>(begin));
    if (members_ == 1) return;
    std::sort(turn, end, [&](std::int32_t i, std::int32_t j) {
      const std::int64_t here = s.work[i - begin], there = s.work[j - begin];
      return here != there ? here > there : i < j;
    });
  }

  // Whole classes that follow each other.
  template <class Length>
  void cut_pieces(std::int64_t b, const Scratch& s, const Length& length) {
    const std::vector<SharedSlot>& shared = shared_[b];
    std::vector<std::int32_t>& ends = piece_end_[b];
    ends.clear();
    if (members_ > 1) {
      std::int64_t whole = 0, sum = 0;
      for (const SharedSlot& slot : shared) whole += length(slot.k);
      const std::int64_t least = whole / (kPieces * members_);
      for (std::size_t group = 1; group < s.group.size(); ++group) {
        for (std::int32_t e = s.group[group - 1]; e < s.group[group]; ++e)
          sum += length(shared[e].k);
        if (sum < least) continue;
        ends.push_back(s.group[group]);
        sum = 0;
      }
    }
    ends.push_back(static_cast<std::int32_t>(shared.size()));
  }

  int members_ = 1;
  std::vector<std::vector<std::int32_t>> due_;  // of each part of the samples
  std::vector<std::vector<Place>> next_;        // where these go in each batch
  std::vector<Place> begin_{{0, 0}};            // [batches+1]
  Buffer<std::int32_t> sample_;                 // batch by batch
  Buffer<std::int64_t> slot_at_;                // where a sample's slots begin in touch
  Buffer<Found<T>> found_;                      // of each sample
  Buffer<T> touch_;                             // per slot of the pass, see BatchView
  Buffer<std::int32_t> turn_;                   // samples of a batch, the longest first
  std::vector<std::vector<SharedSlot>> shared_;
  std::vector<std::vector<std::int32_t>> piece_end_;
  std::vector<std::int32_t> next_turn_, next_piece_;  // [batches] that nobody has taken
  Buffer<T> step_;                                    // of the batch at hand
  std::vector<Scratch> scratch_;
};

}  // namespace multimargin
