// The linear system of a Newton step: conjugate gradients, preconditioned by what one class has to
// do with itself. With few features that is a dense matrix per class, which also takes care of
// badly scaled features; otherwise its diagonal.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/types.hpp"
#include "rows/row_engine.hpp"
#include "rows/sample_loops.hpp"

namespace multimargin {

namespace {

constexpr std::int64_t kMostFeatures = 1024;    // of a dense matrix per class
constexpr double kMostEntries = 3e7;            // of all such matrices
constexpr std::int64_t kSamplesPerFeature = 4;  // that a matrix is made of; more add no accuracy
constexpr std::int64_t kTogether = 8;           // samples added to a matrix at a time
constexpr std::int64_t kNumbersPerTask = 4096;

}  // namespace

template <class T, class I>
double RowEngine<T, I>::dot(const Buffer<double>& a, const Buffer<double>& b) {
  const std::int64_t numbers = weight_numbers();
  const std::int64_t tasks = (numbers + kNumbersPerTask - 1) / kNumbersPerTask;
  std::vector<double> parts(static_cast<std::size_t>(tasks));
  team_.for_each(tasks, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(numbers, (task + 1) * kNumbersPerTask);
    double sums[4] = {};
    for (std::int64_t k = task * kNumbersPerTask; k < end; k += 4)
      for (int l = 0; l < 4; ++l) sums[l] += a[k + l] * b[k + l];
    parts[task] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

// Takes the mean over the classes off each feature's weights.
template <class T, class I>
void RowEngine<T, I>::centre(Buffer<double>& w) const {
  if (loss_.independent) return;  // otherwise they sum to zero
  for (std::int64_t j = 0; j <= X_.cols; ++j) {
    double* r = w.data() + j * width_;
    const double mean = std::accumulate(r, r + rows_, 0.0) / rows_;
    for (std::int32_t c = 0; c < rows_; ++c) r[c] -= mean;
  }
}

template <class T, class I>
void RowEngine<T, I>::precondition() {
  has_preconditioner_ = true;
  const std::int64_t count = static_cast<std::int64_t>(free_.size());
  diagonal_.reset(static_cast<std::size_t>(std::max<std::int64_t>(1, count) * width_));
  team_.for_each((count + kRowsPerTask - 1) / kRowsPerTask, [&](int, std::int64_t task) {
    for (std::int64_t k = task * kRowsPerTask; k < std::min(count, (task + 1) * kRowsPerTask);
         ++k) {
      const std::int64_t i = free_[k];
      loss_.diagonal(sample(i), sigma_[i], tight_[i] != 0, row(alpha_, i), row(diagonal_, k));
    }
  });
  if (matrix_size() > 0)
    dense_preconditioner(matrix_size());
  else
    diagonal_preconditioner();
}

template <class T, class I>
std::int64_t RowEngine<T, I>::matrix_size() const {
  const std::int64_t size = X_.cols + (bias_ != 0 ? 1 : 0);
  const double entries = static_cast<double>(size) * static_cast<double>(size) * rows_;
  return size <= kMostFeatures && entries <= kMostEntries ? size : 0;
}

template <class T, class I>
double RowEngine<T, I>::matrix_work() const {
  const double size = static_cast<double>(matrix_size());
  const double samples =
      std::min(static_cast<double>(X_.rows), static_cast<double>(kSamplesPerFeature) * size);
  return rows_ * size * size * (samples / 2 + size / 6);  // products, then the factor
}

template <class T, class I>
std::int64_t RowEngine<T, I>::newton_bytes() const {
  const std::int64_t size = matrix_size(), numbers = weight_numbers();
  const std::int64_t matrices = size > 0 ? rows_ * size * (size + loss_.lanes) : numbers;
  // before_, score_, change_, diagonal_; made_, step_, r_, z_, p_, q_ and the parts of sums.
  const std::int64_t all = 4 * X_.rows * width_ + (6 + chunks_) * numbers + matrices;
  return static_cast<std::int64_t>(sizeof(double)) * all;
}

template <class T, class I>
void RowEngine<T, I>::diagonal_preconditioner() {
  std::vector<std::int32_t> places(free_.size());
  std::iota(places.begin(), places.end(), 0);
  accumulate(places, jacobi_, [&](int, std::int32_t k, const RowWeights& out) {
    const double* d = row(diagonal_, k);
    const std::int64_t i = free_[k];
    const auto feature = X_.features(i);
    for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t) {
      const double x = static_cast<double>(X_.data[t]);
      double* w = out.w + static_cast<std::int64_t>(feature[t]) * width_;
      for (std::int64_t c = 0; c < width_; ++c) w[c] += x * x * d[c];
    }
    for (std::int64_t c = 0; c < width_; ++c) out.w_bias[c] += bias_ * bias_ * d[c];
  });
}

template <class T, class I>
void RowEngine<T, I>::dense_preconditioner(std::int64_t size) {
  const std::int64_t wide = (size + loss_.lanes - 1) / loss_.lanes * loss_.lanes;
  factor_.resize(static_cast<std::size_t>(rows_));
  const std::int64_t count = static_cast<std::int64_t>(free_.size());
  std::vector<Buffer<double>> batch(static_cast<std::size_t>(team_.size()));
  team_.for_each(rows_, [&](int member, std::int64_t c) {
    Buffer<double>& A = factor_[c];
    A.reset(static_cast<std::size_t>(size * wide));
    std::fill_n(A.data(), size * wide, 0.0);
    Buffer<double>& x = batch[member];
    x.reset(static_cast<std::size_t>(kTogether * wide));
    std::int64_t pairs = 0, seen = 0, held = 0;
    for (std::int64_t k = 0; k < count; ++k) pairs += diagonal_[k * width_ + c] > 0;
    const std::int64_t stride = std::max<std::int64_t>(1, pairs / (kSamplesPerFeature * size));
    for (std::int64_t k = 0; k < count; ++k) {
      const double d = diagonal_[k * width_ + c];
      if (!(d > 0) || seen++ % stride != 0) continue;
      const double factor = std::sqrt(d * static_cast<double>(stride));
      double* out = x.data() + held * wide;
      std::fill_n(out, wide, 0.0);
      const std::int64_t i = free_[k];
      const auto feature = X_.features(i);
      for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t)
        out[feature[t]] = factor * static_cast<double>(X_.data[t]);
      if (bias_ != 0) out[X_.cols] = factor * bias_;
      if (++held == kTogether) {
        dense_.add_products(x.data(), held, wide, size, A.data());
        held = 0;
      }
    }
    dense_.add_products(x.data(), held, wide, size, A.data());
    double largest = 1;
    for (std::int64_t j = 0; j < size; ++j) largest = std::max(largest, A[j * wide + j]);
    // What rounding may have taken from the smallest eigenvalue is given back.
    const double added = 1 + 1e-14 * static_cast<double>(size) * largest;
    for (std::int64_t j = 0; j < size; ++j) A[j * wide + j] += added;
    if (!dense_.factor(A.data(), size)) {
      std::fill_n(A.data(), size * wide, 0.0);
      for (std::int64_t j = 0; j < size; ++j) A[j * wide + j] = 1 / std::sqrt(largest);
    }
  });
}

template <class T, class I>
void RowEngine<T, I>::apply_preconditioner(const Buffer<double>& r, Buffer<double>& z) {
  const std::int64_t numbers = weight_numbers();
  z.reset(static_cast<std::size_t>(numbers));
  const std::int64_t size = matrix_size();
  if (size == 0) {
    for (std::int64_t k = 0; k < numbers; ++k) z[k] = r[k] / (1 + jacobi_[k]);
    return centre(z);
  }
  std::fill_n(z.data(), numbers, 0.0);
  const std::int64_t wide = (size + loss_.lanes - 1) / loss_.lanes * loss_.lanes;
  std::vector<Buffer<double>> columns(static_cast<std::size_t>(team_.size()));
  team_.for_each(rows_, [&](int member, std::int64_t c) {
    Buffer<double>& x = columns[member];
    x.reset(static_cast<std::size_t>(wide));
    for (std::int64_t j = 0; j < size; ++j) x[j] = r[j * width_ + c];
    dense_.solve(factor_[c].data(), size, x.data());
    for (std::int64_t j = 0; j < size; ++j) z[j * width_ + c] = x[j];
  });
  centre(z);
}

// out = (I + sum_i sigma_i (B_i J_i B_i') (x) x_i x_i') v
template <class T, class I>
void RowEngine<T, I>::multiply(Buffer<double>& v, Buffer<double>& out) {
  const RowWeights V = view(v);
  accumulate(free_, out, [&](int member, std::int32_t i, const RowWeights& sums) {
    double *score = scratch(member, 0), *step = scratch(member, 1);
    data_.gather(X_, V, i, score);
    loss_.jacobian(sample(i), sigma_[i], tight_[i] != 0, row(alpha_, i), score, step);
    data_.scatter(X_, sums, i, step);
  });
  for (std::int64_t k = 0; k < weight_numbers(); ++k) out[k] += v[k];
}

// Newton's direction in step_, down to a fraction of the first residual; returns the iterations, or
// -1 when stop() said so.
template <class T, class I>
std::int32_t RowEngine<T, I>::direction(double reduction, std::int32_t iterations) {
  const std::int64_t numbers = weight_numbers();
  for (Buffer<double>* b : {&step_, &r_, &p_}) b->reset(static_cast<std::size_t>(numbers));
  for (std::int64_t k = 0; k < numbers; ++k) r_[k] = made_[k] - w_[k];
  std::fill_n(step_.data(), numbers, 0.0);
  // One of an earlier step serves as long as conjugate gradients find it good.
  const bool fresh = !has_preconditioner_ || last_iterations_ > 2 * fresh_iterations_ + 4;
  if (fresh) precondition();
  apply_preconditioner(r_, z_);
  std::copy_n(z_.data(), numbers, p_.data());
  double rz = dot(r_, z_);
  const double first = rz;
  std::int32_t taken = 0;
  while (taken < iterations && rz > 0) {
    if (stop_()) return -1;
    multiply(p_, q_);
    const double curvature = dot(p_, q_);
    if (!(curvature > 0)) break;
    const double length = rz / curvature;
    for (std::int64_t k = 0; k < numbers; ++k) {
      step_[k] += length * p_[k];
      r_[k] -= length * q_[k];
    }
    ++taken;
    apply_preconditioner(r_, z_);
    const double next = dot(r_, z_);
    if (!(next > reduction * reduction * first)) break;
    const double beta = next / rz;
    for (std::int64_t k = 0; k < numbers; ++k) p_[k] = z_[k] + beta * p_[k];
    rz = next;
  }
  last_iterations_ = taken;
  if (fresh) fresh_iterations_ = taken;
  return taken;
}

#define MM_MEMBERS(T, I)                                                  \
  template std::int32_t RowEngine<T, I>::direction(double, std::int32_t); \
  template void RowEngine<T, I>::centre(Buffer<double>&) const;           \
  template std::int64_t RowEngine<T, I>::newton_bytes() const;            \
  template double RowEngine<T, I>::matrix_work() const;
MM_FOR_TYPES(MM_MEMBERS)
#undef MM_MEMBERS

}  // namespace multimargin
