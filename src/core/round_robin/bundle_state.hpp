// What a bundle of classes takes along from meeting to meeting.
//
// On the wire only what is not zero travels: one bit per number says which they are.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "common/buffer.hpp"
#include "simd/kernels.hpp"

namespace multimargin {

template <class T>
struct Luggage {
  Buffer<T> w;            // weights of its classes, one class after the other
  std::vector<T> w_bias;  // [classes] weight of the constant feature
  std::vector<T> sum;     // [own samples] sum of their dual variables over all classes
  std::vector<T> alpha;   // [pairs] dual variables of its classes; zero: some stay elsewhere

  // For the way home, where the rest is made anew.
  void keep_alpha_only() {
    w.reset(0);
    w_bias.clear();
    sum.clear();
  }
};

template <class T>
struct Parcel {
  std::vector<std::int64_t> sizes;  // of w, w_bias, sum, alpha
  std::vector<std::uint64_t> mask;  // of each of them, in whole words
  std::vector<T> values;
};

inline std::int64_t mask_words(std::int64_t count) { return (count + 63) / 64; }

template <class T>
Parcel<T> pack(const Luggage<T>& luggage, const ParcelKernels<T>& kernels) {
  Parcel<T> parcel;
  parcel.sizes = {static_cast<std::int64_t>(luggage.w.size()),
                  static_cast<std::int64_t>(luggage.w_bias.size()),
                  static_cast<std::int64_t>(luggage.sum.size()),
                  static_cast<std::int64_t>(luggage.alpha.size())};
  const T* parts[4] = {luggage.w.data(), luggage.w_bias.data(), luggage.sum.data(),
                       luggage.alpha.data()};
  std::int64_t words = 0, nonzero = 0;
  for (int p = 0; p < 4; ++p) {
    words += mask_words(parcel.sizes[p]);
    for (std::int64_t k = 0; k < parcel.sizes[p]; ++k) nonzero += parts[p][k] != 0;
  }
  parcel.mask.resize(words);
  parcel.values.resize(nonzero + kParcelSlack);
  std::uint64_t* mask = parcel.mask.data();
  T* out = parcel.values.data();
  for (int p = 0; p < 4; ++p) {
    out += kernels.compress(parts[p], parcel.sizes[p], mask, out);
    mask += mask_words(parcel.sizes[p]);
  }
  parcel.values.resize(nonzero);
  return parcel;
}

// The arrays are borrowed: a parcel that has just arrived. Throws where they do not fit together.
template <class T>
Luggage<T> unpack(const std::int64_t* sizes, const std::uint64_t* mask, std::size_t words,
                  const T* values, std::size_t count, const ParcelKernels<T>& kernels) {
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
  Luggage<T> luggage;
  luggage.w.reset(sizes[0]);
  luggage.w_bias.resize(sizes[1]);
  luggage.sum.resize(sizes[2]);
  luggage.alpha.resize(sizes[3]);
  T* parts[4] = {luggage.w.data(), luggage.w_bias.data(), luggage.sum.data(), luggage.alpha.data()};
  for (int p = 0; p < 4; ++p) {
    values += kernels.expand(mask, sizes[p], values, parts[p]);
    mask += mask_words(sizes[p]);
  }
  return luggage;
}

}  // namespace multimargin
