// Squared norms of the rows of X, constant feature included, added up in double precision.
#pragma once

#include <vector>

#include "common/csr.hpp"

namespace multimargin {

template <class T, class I>
std::vector<T> row_norms(const Csr<T, I>& X, T bias) {
  std::vector<T> norm2(static_cast<std::size_t>(X.rows));
  const double constant = static_cast<double>(bias) * static_cast<double>(bias);
  for (std::int64_t i = 0; i < X.rows; ++i) {
    double sum = constant;
    for (std::int64_t t = X.begin(i); t < X.end(i); ++t)
      sum += static_cast<double>(X.data[t]) * static_cast<double>(X.data[t]);
    norm2[i] = static_cast<T>(sum);
  }
  return norm2;
}

}  // namespace multimargin
