// A small seeded generator whose output is the same with every compiler and
// library (std::shuffle is not), so that models can be compared bit by bit.
#pragma once

#include <cstdint>
#include <utility>

namespace multimargin {

class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(mix(seed + 0x9e3779b97f4a7c15ULL * (stream + 1))) {}

  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15ULL); }

  // Uniform in [0, bound), bound < 2^32; the bias of at most 2^-32 is harmless here.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

  template <class U>
  void shuffle(U* items, std::int64_t count) {
    for (std::int64_t k = count - 1; k > 0; --k)
      std::swap(items[k], items[below(static_cast<std::uint32_t>(k + 1))]);
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {  // splitmix64's finaliser
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace multimargin
