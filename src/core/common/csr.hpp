// A borrowed view of a matrix in compressed sparse rows. Nothing is copied: the
// arrays belong to the caller and may be memory-mapped and read-only.
#pragma once

#include <cstdint>

namespace multimargin {

template <class T, class I>
struct Csr {
  const T* data = nullptr;
  const I* indices = nullptr;
  const I* indptr = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  std::int64_t begin(std::int64_t i) const { return static_cast<std::int64_t>(indptr[i]); }
  std::int64_t end(std::int64_t i) const { return static_cast<std::int64_t>(indptr[i + 1]); }
};

}  // namespace multimargin
