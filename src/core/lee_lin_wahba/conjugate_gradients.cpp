// Conjugate gradients on the face of free variables. The matrix and its preconditioner are at the
// head of wide_kernels.hpp.
#include <algorithm>
#include <memory>
#include <numeric>

#include "lee_lin_wahba/lee_lin_wahba.hpp"
#include "lee_lin_wahba/sample_loops.hpp"

namespace multimargin {

namespace {

// Curvature of a direction, of 1 at most, that counts as none.
template <class T>
constexpr double kFlat = sizeof(T) == 4 ? 1e-5 : 1e-10;
constexpr double kShortest = 1e-4;  // fraction of a step that is still tried

}  // namespace

template <class T, class I>
FaceReport LeeLinWahba<T, I>::polish(std::int32_t iterations, double reduction) {
  FaceReport report;
  // Kept from one call to the next: fresh pages cost more than the memory is worth.
  if (!face_) face_ = std::make_unique<Face>();
  Face& f = *face_;
  for (Buffer<T>* rows : {&f.r, &f.z, &f.p, &f.q, &f.e}) {
    rows->reset(static_cast<std::size_t>(X_.rows * width_));
    fill_zero(*rows, X_.rows);
  }
  f.u.reset(static_cast<std::size_t>((X_.cols + 1) * width_));
  std::vector<Buffer<T>> score(static_cast<std::size_t>(team_.size()));
  for (Buffer<T>& s : score) s.reset(static_cast<std::size_t>(width_));
  Buffer<T> work;
  work.reset(static_cast<std::size_t>(width_));
  const WideWeights<T> W = weights_in(w_), U = weights_in(f.u);
  const auto row = [&](Buffer<T>& b, std::int64_t i) { return b.data() + i * width_; };
  const std::vector<std::int32_t> order = shuffled_samples(passes_++);
  const std::vector<std::int32_t> backward(order.rbegin(), order.rend());

  const double first = sum_samples([&](int member, std::int64_t i) {
    if (!(norm2_[i] > 0)) return 0.0;
    rows_.gather(X_, W, i, 0, width_, score[member].data());
    return rows_.face_gradient(block(i), score[member].data(), alpha_row(i), row(f.r, i));
  });
  double left = first, rz = 0;
  bool flat = false;
  while (report.iterations < iterations && left > reduction * reduction * first) {
    fill_zero(f.u, X_.cols + 1);
    if (!sweep(order, U, [&](std::int32_t i, T* s, T* step) {
          rows_.face_forward(block(i), s, alpha_row(i), row(f.r, i), row(f.z, i), step);
          return true;
        }))
      break;
    fill_zero(f.u, X_.cols + 1);
    if (!sweep(backward, U, [&](std::int32_t i, T* s, T* step) {
          rows_.face_backward(block(i), s, alpha_row(i), row(f.z, i), step, work.data());
          return true;
        }))
      break;
    const double before = rz;
    rz = sum_samples(
        [&](int, std::int64_t i) { return rows_.dot(row(f.r, i), row(f.z, i), width_); });
    const T beta = before > 0 ? static_cast<T>(rz / before) : T(0);
    const double curvature = sum_samples([&](int member, std::int64_t i) {
      if (!(norm2_[i] > 0)) return 0.0;
      rows_.gather(X_, U, i, 0, width_, score[member].data());
      return rows_.face_direction(block(i), score[member].data(), alpha_row(i), row(f.z, i), beta,
                                  row(f.p, i), row(f.q, i));
    });
    if (!(rz > 0)) break;
    // The preconditioned matrix has eigenvalues up to 1. Next to none: the dual grows along p
    // until bounds are met, which no conjugate gradient will find.
    flat = !(curvature > kFlat<T> * rz);
    if (flat) break;
    const T length = static_cast<T>(rz / curvature);
    left = sum_samples([&](int, std::int64_t i) {
      return rows_.face_advance(block(i), length, row(f.p, i), row(f.q, i), row(f.e, i),
                                row(f.r, i));
    });
    ++report.iterations;
    if (stop_()) break;
  }

  report.step = take_step(f, 1, kShortest, report);
  if (flat && !stop_()) {
    f.e.swap(f.p);
    take_step(f, 1 / kFlat<T>, kFlat<T> * kShortest, report);
  }
  return report;
}

template <class T, class I>
typename LeeLinWahba<T, I>::Bent LeeLinWahba<T, I>::bend(Face& f, T length) {
  Bent bent;
  const auto row = [&](Buffer<T>& b, std::int64_t i) { return b.data() + i * width_; };
  bent.slope = sum_samples([&](int, std::int64_t i) {
    return rows_.face_project(block(i), length, row(f.e, i), alpha_row(i), row(f.z, i));
  });
  fill_zero(f.u, X_.cols + 1);
  scatter_all(f.z.data(), weights_in(f.u));
  std::vector<double> along(static_cast<std::size_t>(X_.cols + 1)), squares(along.size());
  each_feature([&](std::int64_t j) {
    along[j] = rows_.dot(w_.data() + j * width_, row(f.u, j), width_);
    squares[j] = rows_.dot(row(f.u, j), row(f.u, j), width_);
  });
  bent.slope += std::accumulate(along.begin(), along.end(), 0.0);
  bent.curvature = std::accumulate(squares.begin(), squares.end(), 0.0);
  return bent;
}

template <class T, class I>
double LeeLinWahba<T, I>::take_step(Face& f, double longest, double shortest_fraction,
                                    FaceReport& report) {
  // Along the step, bent to the bounds, to the best of a few lengths: what reaches a bound stays
  // there, which is how the face changes.
  double best = 0, taken = 0, shortest = longest;
  for (double length = longest; length > shortest_fraction * longest; length /= 2) {
    const double gain = bend(f, static_cast<T>(length)).gain(1);
    shortest = length;
    if (gain > best) {
      best = gain;
      taken = length;
    } else if (best > 0) {
      break;
    }
  }
  // If all of these are too far: straight to the last bent point, as far as the dual grows.
  const Bent bent = bend(f, static_cast<T>(best > 0 ? taken : shortest));
  double fraction = 1;
  if (!(best > 0)) {
    if (!(bent.slope > 0)) return 0;
    fraction = std::min(1.0, bent.slope / bent.curvature);
    taken = shortest * fraction;
  }
  report.gain += bent.gain(fraction);
  const T length = static_cast<T>(fraction);
  const auto row = [&](Buffer<T>& b, std::int64_t i) { return b.data() + i * width_; };
  sum_samples([&](int, std::int64_t i) {
    rows_.face_move(block(i), length, row(f.z, i), alpha_row(i));
    return 0.0;
  });
  each_feature(
      [&](std::int64_t j) { rows_.add(-length, row(f.u, j), w_.data() + j * width_, width_); });
  return taken / longest;
}

#define MM_MEMBERS(T, I) template FaceReport LeeLinWahba<T, I>::polish(std::int32_t, double);
MM_FOR_TYPES(MM_MEMBERS)
#undef MM_MEMBERS

}  // namespace multimargin
