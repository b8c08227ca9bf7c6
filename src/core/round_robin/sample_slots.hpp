// The slots of some samples with all their classes, gathered from bundles and meetings, wherever
// these are: what the intercept is moved by.
//
// Which pairs there are is told once in a phase; after each pass come their numbers alone, in the
// same order. A meeting where the sample's own class is at hand notes the height of a pair, once in
// a pass; the dual variable is there or in the state of its class's bundle.
//
// Memory: 21 bytes a pair (29 in double precision), at one rank.
#pragma once

#include <cstdint>
#include <vector>

#include "common/team.hpp"
#include "intercept/intercept.hpp"

namespace multimargin {

// What one rank tells another of its samples: first pairs whose heights meetings note, then those
// whose variables move with bundles.
struct ToldPairs {
  std::vector<std::int32_t> sample, cls;
  std::int64_t noted = 0;
};
template <class T>
struct ToldValues {
  std::vector<T> alpha, height;
  std::vector<std::uint8_t> resting;
};

// The same, borrowed.
struct SlotPairs {
  const std::int32_t* sample;
  const std::int32_t* cls;
  std::int64_t noted, count;
};

template <class T>
struct SlotValues {
  const T* alpha;               // [count]
  const T* height;              // [noted]
  const std::uint8_t* resting;  // [noted]
  std::size_t noted, count;
};

template <class T>
class SampleSlots {
 public:
  // Of samples [first, last), whose classes are y.
  void assign(const std::int32_t* y, std::int64_t samples, std::int64_t first, std::int64_t last,
              const std::vector<SlotPairs>& messages, Team& team);
  // The numbers of the same messages. Throws std::invalid_argument for others.
  void put(const std::vector<SlotValues<T>>& messages, Team& team);

  std::int64_t first() const { return first_; }
  std::int64_t last() const { return last_; }
  InterceptView<T> view(const T* box, const T* curvature, std::int32_t n_classes,
                        const PartSums& sums);

 private:
  std::int64_t first_ = 0, last_ = 0;
  std::vector<std::int64_t> begin_;  // [samples+1]
  std::vector<std::int32_t> cls_;    // the own class first, then ascending
  std::vector<T> alpha_, height_;
  std::vector<std::uint8_t> resting_;
  struct Places {
    std::vector<std::uint32_t> slot;  // of each pair of a message
    std::size_t noted;
  };
  std::vector<Places> places_;
};

}  // namespace multimargin
