// What a bundle of classes takes along from meeting to meeting.
//
// On the wire only what is not zero travels: one bit per number says which they are.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "buffer.hpp"

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
  std::vector<std::uint64_t> mask;  // of all of them, one after the other
  std::vector<T> values;
};

template <class T>
Parcel<T> pack(const Luggage<T>& luggage) {
  Parcel<T> parcel;
  parcel.sizes = {static_cast<std::int64_t>(luggage.w.size()),
                  static_cast<std::int64_t>(luggage.w_bias.size()),
                  static_cast<std::int64_t>(luggage.sum.size()),
                  static_cast<std::int64_t>(luggage.alpha.size())};
  const T* parts[4] = {luggage.w.data(), luggage.w_bias.data(), luggage.sum.data(),
                       luggage.alpha.data()};
  std::int64_t total = 0, nonzero = 0, at = 0;
  for (int p = 0; p < 4; ++p) {
    total += parcel.sizes[p];
    for (std::int64_t k = 0; k < parcel.sizes[p]; ++k) nonzero += parts[p][k] != 0;
  }
  parcel.mask.assign((total + 63) / 64, 0);
  // Every number is written, and the next one over it unless it counts: no branch to mispredict.
  parcel.values.resize(nonzero + 1);
  T* out = parcel.values.data();
  for (int p = 0; p < 4; ++p)
    for (std::int64_t k = 0; k < parcel.sizes[p]; ++k, ++at) {
      const T value = parts[p][k];
      const std::uint64_t counts = value != 0;
      parcel.mask[at / 64] |= counts << (at % 64);
      *out = value;
      out += counts;
    }
  parcel.values.resize(nonzero);
  return parcel;
}

// The arrays are borrowed: a parcel that has just arrived. Throws where they do not fit together.
template <class T>
Luggage<T> unpack(const std::int64_t* sizes, const std::uint64_t* mask, std::size_t words,
                  const T* values, std::size_t count) {
  std::int64_t total = 0;
  for (int p = 0; p < 4; ++p) {
    if (sizes[p] < 0) throw std::invalid_argument("unpack: negative size");
    total += sizes[p];
  }
  std::size_t bits = 0;
  for (std::size_t k = 0; k < words; ++k) bits += __builtin_popcountll(mask[k]);
  if (words != static_cast<std::size_t>((total + 63) / 64) || bits != count)
    throw std::invalid_argument("unpack: the parts of the parcel do not fit together");
  Luggage<T> luggage;
  luggage.w.reset(sizes[0]);
  luggage.w_bias.resize(sizes[1]);
  luggage.sum.resize(sizes[2]);
  luggage.alpha.resize(sizes[3]);
  T* parts[4] = {luggage.w.data(), luggage.w_bias.data(), luggage.sum.data(), luggage.alpha.data()};
  const T none[1] = {T(0)};
  const T* const end = values + count;
  std::int64_t at = 0;
  for (int p = 0; p < 4; ++p)
    for (std::int64_t k = 0; k < sizes[p]; ++k, ++at) {
      const std::uint64_t counts = mask[at / 64] >> (at % 64) & 1;
      const T* from = counts != 0 ? values : none;
      parts[p][k] = *from;
      values += counts;
    }
  if (values != end) throw std::logic_error("unpack: values are left over");
  return luggage;
}

}  // namespace multimargin
