// The state of a bundle of classes, which moves from meeting to meeting.
//
// Messages hold only what is not zero; one bit per number says which they are.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "common/buffer.hpp"
#include "round_robin/packing.hpp"

namespace multimargin {

template <class T>
struct BundleState {
  Buffer<T> w;            // weights of its classes, one class after the other
  std::vector<T> w_bias;  // [classes] weight of the constant feature
  std::vector<T> sum;     // [own samples] sum of their dual variables over all classes
  std::vector<T> alpha;   // [pairs] dual variables of its classes; zero: some stay in meetings

  // For the way to the owner, where the rest is made anew.
  void keep_alpha_only() {
    w.reset(0);
    w_bias.clear();
    sum.clear();
  }
};

template <class T>
struct Packed {
  std::vector<std::int64_t> sizes;  // of w, w_bias, sum, alpha
  std::vector<std::uint64_t> mask;  // of each of them, in whole words
  std::vector<T> values;
};

inline std::int64_t mask_words(std::int64_t count) { return (count + 63) / 64; }

template <class T>
Packed<T> pack(const BundleState<T>& state, const PackingKernels<T>& kernels) {
  Packed<T> packed;
  packed.sizes = {
      static_cast<std::int64_t>(state.w.size()), static_cast<std::int64_t>(state.w_bias.size()),
      static_cast<std::int64_t>(state.sum.size()), static_cast<std::int64_t>(state.alpha.size())};
  const T* parts[4] = {state.w.data(), state.w_bias.data(), state.sum.data(), state.alpha.data()};
  std::int64_t words = 0, nonzero = 0;
  for (int p = 0; p < 4; ++p) {
    words += mask_words(packed.sizes[p]);
    for (std::int64_t k = 0; k < packed.sizes[p]; ++k) nonzero += parts[p][k] != 0;
  }
  packed.mask.resize(words);
  packed.values.resize(nonzero + kPackingSlack);
  std::uint64_t* mask = packed.mask.data();
  T* out = packed.values.data();
  for (int p = 0; p < 4; ++p) {
    out += kernels.compress(parts[p], packed.sizes[p], mask, out);
    mask += mask_words(packed.sizes[p]);
  }
  packed.values.resize(nonzero);
  return packed;
}

// The arrays of a packed state are borrowed. Throws where they do not fit together.
template <class T>
BundleState<T> unpack(const std::int64_t* sizes, const std::uint64_t* mask, std::size_t words,
                      const T* values, std::size_t count, const PackingKernels<T>& kernels) {
  std::int64_t expected = 0, bits = 0;
  for (int p = 0; p < 4; ++p) {
    if (sizes[p] < 0 || sizes[p] > (std::int64_t{1} << 56))
      throw std::invalid_argument("unpack: no such size");
    expected += mask_words(sizes[p]);
  }
  if (words != static_cast<std::size_t>(expected))
    throw std::invalid_argument("unpack: the mask does not fit the sizes");
  const std::uint64_t* word = mask;
  for (int p = 0; p < 4; ++p)
    for (std::int64_t left = sizes[p]; left > 0; left -= 64, ++word) {
      const std::uint64_t valid = left < 64 ? (std::uint64_t{1} << left) - 1 : ~std::uint64_t{0};
      if ((*word & ~valid) != 0) throw std::invalid_argument("unpack: bits beyond the end");
      bits += __builtin_popcountll(*word);
    }
  if (bits != static_cast<std::int64_t>(count))
    throw std::invalid_argument("unpack: the mask does not fit the values");
  BundleState<T> state;
  state.w.reset(sizes[0]);
  state.w_bias.resize(sizes[1]);
  state.sum.resize(sizes[2]);
  state.alpha.resize(sizes[3]);
  T* parts[4] = {state.w.data(), state.w_bias.data(), state.sum.data(), state.alpha.data()};
  for (int p = 0; p < 4; ++p) {
    values += kernels.expand(mask, sizes[p], values, parts[p]);
    mask += mask_words(sizes[p]);
  }
  return state;
}

}  // namespace multimargin
