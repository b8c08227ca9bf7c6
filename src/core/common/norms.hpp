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

// The curvatures of visits while the intercept is held: squared norms without the constant feature.
// A row with next to nothing else would jump from bound to bound: it gets the mean of all.
template <class T>
std::vector<T> held_curvatures(std::vector<T> norm2, T bias) {
  double sum = 0;
  for (const T k : norm2) sum += static_cast<double>(k);
  const T mean = static_cast<T>(sum / static_cast<double>(norm2.size()));
  for (T& k : norm2)
    if (!(k > mean / 16)) k = mean > 0 ? mean : bias * bias;
  return norm2;
}

template <class T, class I>
std::vector<T> held_curvatures(const Csr<T, I>& X, T bias) {
  return held_curvatures(row_norms(X, T(0)), bias);
}

}  // namespace multimargin
