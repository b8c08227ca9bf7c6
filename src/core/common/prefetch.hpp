// Arrays that are read from places that the processor cannot guess.
#pragma once

#include <cstddef>

namespace multimargin {

constexpr int kMembersAhead = 3;  // members of a class that are fetched before their turn

// Always inlined: kernels of all instruction sets use it, and must not share a compiled copy.
template <class U>
__attribute__((always_inline)) inline void prefetch(const U* from, std::ptrdiff_t count) {
  const char* begin = reinterpret_cast<const char*>(from);
  const char* end = reinterpret_cast<const char*>(from + count);
  for (const char* line = begin; line < end; line += 64) __builtin_prefetch(line);
}

}  // namespace multimargin
