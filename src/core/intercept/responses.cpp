#include "intercept/responses.hpp"

namespace multimargin {

namespace {

constexpr int kMostGradients = 15;  // of a linear system
constexpr double kAccuracy = 0.1;   // of its solution

}  // namespace

void FreeClasses::clear() {
  begin_.assign(1, 0);
  cls_.clear();
  inverse_.clear();
}

template <class S>
void FreeClasses::take(int size, const std::int32_t* cls, const S* a, std::int32_t own, S box, S k,
                       bool separable) {
  const std::size_t start = cls_.size();
  double sum = 0;
  for (int c = 0; c < size; ++c) {
    if (!(a[c] > 0)) continue;
    sum += static_cast<double>(a[c]);
    if (!separable || a[c] < box) cls_.push_back(cls[c]);
  }
  // Where variables share a bound, and use it up, the own class stays.
  if (separable || sum < static_cast<double>(box) * (1 - 1e-5)) cls_.push_back(own);
  if (cls_.size() < start + 2) {
    cls_.resize(start);
    return;
  }
  begin_.push_back(static_cast<std::int64_t>(cls_.size()));
  inverse_.push_back(1 / static_cast<double>(k));
}

void FreeClasses::add(int size, const std::int32_t* cls, double k) {
  if (size < 2) return;
  cls_.insert(cls_.end(), cls, cls + size);
  begin_.push_back(static_cast<std::int64_t>(cls_.size()));
  inverse_.push_back(1 / k);
}

void FreeClasses::multiply(const double* x, double* out) const {
  for (std::size_t g = 0; g < inverse_.size(); ++g) {
    double mean = 0;
    for (std::int64_t p = begin_[g]; p < begin_[g + 1]; ++p) mean += x[cls_[p]];
    mean /= static_cast<double>(begin_[g + 1] - begin_[g]);
    for (std::int64_t p = begin_[g]; p < begin_[g + 1]; ++p)
      out[cls_[p]] += inverse_[g] * (x[cls_[p]] - mean);
  }
}

void FreeClasses::add_diagonal(double* out) const {
  for (std::size_t g = 0; g < inverse_.size(); ++g) {
    const double each = inverse_[g] * (1 - 1 / static_cast<double>(begin_[g + 1] - begin_[g]));
    for (std::int64_t p = begin_[g]; p < begin_[g + 1]; ++p) out[cls_[p]] += each;
  }
}

std::vector<double> Responses::diagonal() {
  return sums_(
      [&](std::int64_t p, std::int64_t, std::int64_t, double* out) { free_[p].add_diagonal(out); });
}

std::vector<double> Responses::newton_step(std::vector<double> r, double square) {
  const std::vector<double> diagonal = this->diagonal();
  const std::size_t classes = r.size();
  std::vector<double> x(classes, 0.0), z(classes), p(classes, 0.0);
  double before = 1, enough = 0;
  for (int k = 0; k < kMostGradients; ++k) {
    for (std::size_t c = 0; c < classes; ++c) z[c] = r[c] / (1 + square * diagonal[c]);
    const double now = dot(r, z);
    if (k == 0) enough = kAccuracy * kAccuracy * now;
    if (!(now > enough)) break;
    const double keep = k == 0 ? 0.0 : now / before;
    for (std::size_t c = 0; c < classes; ++c) p[c] = z[c] + keep * p[c];
    std::vector<double> q = sums_([&](std::int64_t part, std::int64_t, std::int64_t, double* out) {
      free_[part].multiply(p.data(), out);
    });
    for (std::size_t c = 0; c < classes; ++c) q[c] = p[c] + square * q[c];
    const double along = now / dot(p, q);
    for (std::size_t c = 0; c < classes; ++c) {
      x[c] += along * p[c];
      r[c] -= along * q[c];
    }
    before = now;
  }
  return x;
}

template void FreeClasses::take<float>(int, const std::int32_t*, const float*, std::int32_t, float,
                                       float, bool);
template void FreeClasses::take<double>(int, const std::int32_t*, const double*, std::int32_t,
                                        double, double, bool);

}  // namespace multimargin
