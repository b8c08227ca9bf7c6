// Scores of new rows, a block of classes at a time: no rows x classes array is
// needed for the best few classes. All forms of the coefficients give the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "common/csr.hpp"
#include "common/team.hpp"
#include "scoring/views.hpp"
#include "simd/isa.hpp"

namespace multimargin {

// Thrown when sparse coefficients point outside of themselves: a model file that was opened
// without verification may hold anything.
struct DamagedWeights : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Coefficients: sparse by class (csr), dense by class (row-major), or by feature, which is fast
// for few rows.
template <class T>
struct Coefficients {
  Csr<T, std::int32_t> csr;  // used when the others are not there
  const T* dense = nullptr;
  FeatureView<T> by_feature;  // used when it is there
  std::int64_t stored = 0;    // entries of csr
  std::int64_t classes = 0;
  std::int64_t features = 0;
  const T* intercept = nullptr;  // [classes]
};

// The k best classes of each row, best first; of equal scores the lower class first.
// Returns whether it went to the end (stop() can end it). The sums of `softmax` come from the same
// products; none without it.
template <class T, class I>
bool predict_top(const Csr<T, I>& X, const Coefficients<T>& coef, std::int32_t k, int threads,
                 Isa isa, const std::function<bool()>& stop, std::int32_t* class_out, T* score_out,
                 const SoftmaxView<T>* softmax = nullptr);

// The sums alone.
template <class T, class I>
bool softmax_sums(const Csr<T, I>& X, const Coefficients<T>& coef, const SoftmaxView<T>& softmax,
                  int threads, Isa isa, const std::function<bool()>& stop);

// All scores, row-major (rows x classes).
template <class T, class I>
bool predict_scores(const Csr<T, I>& X, const Coefficients<T>& coef, int threads, Isa isa,
                    const std::function<bool()>& stop, T* score_out);

}  // namespace multimargin
