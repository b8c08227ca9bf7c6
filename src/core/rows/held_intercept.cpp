// The intercept held in passes: the terms are at the head of intercept/intercept.hpp.
//
// As a constant feature it makes all samples alike, and passes take twice as many visits (20 to 150
// classes). Held, a pass moves the dual variables and with them B s, what they make of the
// intercept's weights v, but not v itself. Before the next pass
//   B v <- B v + length * step,   (I + B^2 L) step = B^2 s - B v,
// with L from intercept/responses.hpp, of the variables that are free now.
//
// With length 1 a fifth of B^2 s - B v was made up for by a pass, in nearly the same direction each
// time, so the length is that of intercept/steps.hpp. A fixed length of 4 diverged. After a
// certificate it is 1 again, and nothing has to be kept in checkpoints.
//
// Nothing bounds how far samples at their bounds may follow a step: the caller ends holding where
// the gap does not fall.
#include <algorithm>
#include <vector>

#include "common/norms.hpp"
#include "common/types.hpp"
#include "intercept/responses.hpp"
#include "rows/row_engine.hpp"

namespace multimargin {

namespace {

constexpr double kLeastFeatures = 0.1;  // mean of |x_i|^2, over B^2
constexpr double kLongest = 8;          // step, in steps of Newton's method

}  // namespace

// For margins of differences, whose responses are known, and unless features are far smaller than
// the constant one: then nearly all of a visit is about the intercept, and passes that move it are
// few (news20 with rows of length 0.01: 4 instead of 37).
template <class T, class I>
bool RowEngine<T, I>::can_hold() const {
  double sum = 0;
  for (const double k : norm2_) sum += k - bias_ * bias_;
  const double least = kLeastFeatures * bias_ * bias_ * static_cast<double>(X_.rows);
  return loss_.relative && bias_ != 0 && rows_ == n_classes_ && sum > least;
}

// What the dual variables make of the intercept is in the weights, until they move.
template <class T, class I>
void RowEngine<T, I>::begin_holding() {
  if (holds_) return;
  holds_ = true;
  steps_.forget();
  made_intercept_.reset(static_cast<std::size_t>(width_));
  std::copy_n(constant(), width_, made_intercept_.data());
  if (!curvature_.empty()) return;
  for (const T k : held_curvatures(X_, static_cast<T>(bias_)))
    curvature_.push_back(static_cast<double>(k));
}

template <class T, class I>
void RowEngine<T, I>::end_holding() {
  if (holds_) std::copy_n(made_intercept_.data(), width_, constant());
  holds_ = false;
}

template <class T, class I>
void RowEngine<T, I>::move_intercept() {
  begin_holding();
  InterceptView<double> samples{};
  samples.samples = X_.rows;
  samples.n_classes = rows_;
  Responses responses(samples, team_);
  std::vector<std::vector<std::int32_t>> cls(
      kParts, std::vector<std::int32_t>(static_cast<std::size_t>(width_) + 1));
  responses.all([&](std::int64_t part, std::int64_t i, FreeClasses& free, double*) {
    if (!(norm2_[i] > 0)) return;
    const int size = loss_.free_classes(sample(i), row(alpha_, i), cls[part].data());
    free.add(size, cls[part].data(), curvature_[i]);
  });
  std::vector<double> rest(static_cast<std::size_t>(rows_));
  double* v = constant();
  for (std::int32_t c = 0; c < rows_; ++c) rest[c] = bias_ * (made_intercept_[c] - v[c]);
  const double length = steps_.length(rest, kLongest);
  std::vector<double> step = responses.newton_step(rest, bias_ * bias_);
  for (std::int32_t c = 0; c < rows_; ++c) v[c] += length * step[c] / bias_;
  const double slope = multimargin::dot(rest, step);
  steps_.took(std::move(step), slope, length);
}

// What the held intercept adds to primal - dual.
template <class T, class I>
double RowEngine<T, I>::intercept_gap() {
  double sum = 0;
  for (std::int32_t c = 0; c < rows_; ++c) {
    const double rest = constant()[c] - made_intercept_[c];
    sum += rest * rest;
  }
  return sum / 2;
}

#define MM_MEMBERS(T, I)                           \
  template bool RowEngine<T, I>::can_hold() const; \
  template void RowEngine<T, I>::begin_holding();  \
  template void RowEngine<T, I>::end_holding();    \
  template void RowEngine<T, I>::move_intercept(); \
  template double RowEngine<T, I>::intercept_gap();
MM_FOR_TYPES(MM_MEMBERS)
#undef MM_MEMBERS

}  // namespace multimargin
