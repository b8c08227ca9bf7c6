// Kernels that leave out zeros. See zero_packing.hpp.
#pragma once

#include <cstdint>

#include "simd/isa.hpp"

namespace multimargin {

// Masks have a whole word for every 64 numbers, or part of them.
template <class T>
struct PackingKernels {
  // Returns how many numbers were kept; `out` has room for them and kPackingSlack more.
  std::int64_t (*compress)(const T* in, std::int64_t count, std::uint64_t* mask, T* out);
  // Returns how many numbers were taken from `in`: as many as the mask has bits below `count`.
  std::int64_t (*expand)(const std::uint64_t* mask, std::int64_t count, const T* in, T* out);
};
constexpr int kPackingSlack = 16;

template <class T>
PackingKernels<T> packing_kernels(Isa isa);

}  // namespace multimargin
