#include "intercept/intercept.hpp"

#include <algorithm>
#include <cmath>

namespace multimargin {

namespace {

constexpr int kMostGradients = 15;  // of a linear system
constexpr double kAccuracy = 0.03;  // of its solution
constexpr int kMostSteps = 6;
constexpr double kEnough = 0.1;  // of the first gradient, at which steps end

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

// Adds up K numbers over the samples: add(part, first, last, sums) does so for a part of them.
class ClassSums {
 public:
  template <class T>
  ClassSums(const InterceptView<T>& view, Team& team)
      : samples_(view.samples),
        classes_(view.n_classes),
        shared_(view.sums),
        team_(team),
        parts_(shared_.last - shared_.first) {}

  template <class Add>
  std::vector<double> operator()(const Add& add) {
    team_.for_each(static_cast<std::int64_t>(parts_.size()), [&](int, std::int64_t k) {
      const std::int64_t p = shared_.first + k;
      parts_[k].assign(classes_, 0.0);
      add(p, part_begin(samples_, p), part_begin(samples_, p + 1), parts_[k].data());
    });
    if (shared_.add_up) return shared_.add_up(parts_);
    std::vector<double> sum(classes_, 0.0);
    for (const std::vector<double>& part : parts_)
      for (std::int32_t c = 0; c < classes_; ++c) sum[c] += part[c];
    return sum;
  }

 private:
  std::int64_t samples_;
  std::int32_t classes_;
  const PartSums& shared_;
  Team& team_;
  std::vector<std::vector<double>> parts_;
};

// The classes G of some samples, one sample after the other.
struct Groups {
  std::vector<std::int64_t> begin;
  std::vector<std::int32_t> cls;
  std::vector<double> inverse;  // 1 / k_i

  void clear() {
    begin.assign(1, 0);
    cls.clear();
    inverse.clear();
  }

  // out += L x
  void multiply(const double* x, double* out) const {
    for (std::size_t g = 0; g < inverse.size(); ++g) {
      double mean = 0;
      for (std::int64_t p = begin[g]; p < begin[g + 1]; ++p) mean += x[cls[p]];
      mean /= static_cast<double>(begin[g + 1] - begin[g]);
      for (std::int64_t p = begin[g]; p < begin[g + 1]; ++p)
        out[cls[p]] += inverse[g] * (x[cls[p]] - mean);
    }
  }

  void add_diagonal(double* out) const {
    for (std::size_t g = 0; g < inverse.size(); ++g) {
      const double each = inverse[g] * (1 - 1 / static_cast<double>(begin[g + 1] - begin[g]));
      for (std::int64_t p = begin[g]; p < begin[g + 1]; ++p) out[cls[p]] += each;
    }
  }
};

// The answers of all samples to an intercept.
template <class T>
class Answers {
 public:
  Answers(const InterceptView<T>& view, const SolverKernels<T>& kernels, T* gap, T* violation,
          Team& team)
      : v_(view),
        kernels_(kernels),
        gap_(gap),
        violation_(violation),
        groups_(kParts),
        work_(kParts),
        sums_(view, team) {}

  // s(alpha(b)); also finds the classes with free variables.
  std::vector<double> to(const std::vector<double>& b) {
    return sums_([&](std::int64_t p, std::int64_t first, std::int64_t last, double* out) {
      groups_[p].clear();
      for (std::int64_t i = first; i < last; ++i) answer(i, b, work_[p], groups_[p], out);
    });
  }

  // Solves (I + square L) x = r by conjugate gradients from x = 0, preconditioned by the diagonal.
  std::vector<double> newton_step(std::vector<double> r, double square) {
    const std::vector<double> diagonal = sums_([&](std::int64_t p, std::int64_t, std::int64_t,
                                                   double* out) { groups_[p].add_diagonal(out); });
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
      std::vector<double> q = sums_([&](std::int64_t part, std::int64_t, std::int64_t,
                                        double* out) { groups_[part].multiply(p.data(), out); });
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

 private:
  // Solves sample i's block, adds what it does to s, and notes its classes with free variables.
  void answer(std::int64_t i, const std::vector<double>& b, std::vector<T>& work, Groups& groups,
              double* out) {
    const std::int64_t own = v_.slot_begin[i], slots = v_.slot_begin[i + 1] - own;
    if (slots < 2 || !(v_.norm2[i] > 0)) return;
    if (work.size() < static_cast<std::size_t>(slots) * 6) work.resize(slots * 6);
    T* margin = work.data();
    T* alpha = margin + slots;
    T* fresh = alpha + slots;
    T* scratch = fresh + slots;
    std::int32_t* slot = reinterpret_cast<std::int32_t*>(scratch + 2 * slots);
    const T k = v_.norm2[i], box = v_.box[i], total = v_.alpha[own];
    const double b_own = b[v_.cls[own]];
    int size = 0;
    for (std::int64_t s = 1; s < slots; ++s) {
      const std::int64_t p = own + s;
      const T a = v_.alpha[p];
      const T m = v_.height[p] + static_cast<T>(b[v_.cls[p]] - b_own) - k * (total + a);
      if (v_.resting[p] && !(m > 0)) continue;
      v_.resting[p] = 0;  // or its next visit would not do what is expected of it here
      margin[size] = m;
      alpha[size] = a;
      slot[size++] = static_cast<std::int32_t>(s);
    }
    if (size == 0) return;
    const Report<T> report =
        kernels_.solve_block({size, margin, alpha, box, box, k, nullptr}, fresh, scratch);
    gap_[i] = report.gap;
    violation_[i] = report.violation;
    const std::size_t start = groups.cls.size();
    double sum = 0;
    for (int c = 0; c < size; ++c) {
      if (!(fresh[c] > 0)) continue;
      const std::int32_t cls = v_.cls[own + slot[c]];
      sum += static_cast<double>(fresh[c]);
      out[cls] -= static_cast<double>(fresh[c]);
      if (!kernels_.separable || fresh[c] < box) groups.cls.push_back(cls);
    }
    out[v_.cls[own]] += sum;
    // Where variables share a bound, and use it up, the own class stays.
    if (kernels_.separable || sum < static_cast<double>(box) * (1 - 1e-5))
      groups.cls.push_back(v_.cls[own]);
    if (groups.cls.size() < start + 2) {
      groups.cls.resize(start);
      return;
    }
    groups.begin.push_back(static_cast<std::int64_t>(groups.cls.size()));
    groups.inverse.push_back(1 / static_cast<double>(k));
  }

  const InterceptView<T>& v_;
  const SolverKernels<T>& kernels_;
  T* gap_;
  T* violation_;
  std::vector<Groups> groups_;        // [kParts]
  std::vector<std::vector<T>> work_;  // [kParts]
  ClassSums sums_;
};

}  // namespace

template <class T>
std::vector<double> intercept_of(const InterceptView<T>& v, double bias, Team& team) {
  ClassSums sums(v, team);
  std::vector<double> made =
      sums([&](std::int64_t, std::int64_t first, std::int64_t last, double* out) {
        for (std::int64_t i = first; i < last; ++i) {
          const std::int64_t own = v.slot_begin[i];
          double all = 0;
          for (std::int64_t p = own + 1; p < v.slot_begin[i + 1]; ++p) {
            const double a = static_cast<double>(v.alpha[p]);
            all += a;
            out[v.cls[p]] -= a;
          }
          out[v.cls[own]] += all;
        }
      });
  for (double& c : made) c *= bias;
  return made;
}

template <class T>
void move_intercept(const InterceptView<T>& view, const SolverKernels<T>& kernels, double bias,
                    std::vector<T>& v, T* gap, T* violation, Team& team) {
  const double square = bias * bias;
  const std::size_t classes = v.size();
  Answers<T> answers(view, kernels, gap, violation, team);
  std::vector<double> b(classes), rest(classes), next(classes);
  for (std::size_t c = 0; c < classes; ++c) b[c] = bias * static_cast<double>(v[c]);
  const auto set_rest = [&](const std::vector<double>& at) {
    const std::vector<double> s = answers.to(at);
    for (std::size_t c = 0; c < classes; ++c) rest[c] = square * s[c] - at[c];
  };
  set_rest(b);
  const double enough = kEnough * kEnough * dot(rest, rest);
  for (int k = 0; k < kMostSteps && dot(rest, rest) > enough; ++k) {
    const std::vector<double> step = answers.newton_step(rest, square);
    const double slope = dot(rest, step);  // of -psi, times B^2
    double low = 0, length = 1, at_low = slope;
    for (int tries = 0; tries < 4; ++tries) {
      for (std::size_t c = 0; c < classes; ++c) next[c] = b[c] + length * step[c];
      set_rest(next);
      const double here = dot(rest, step);
      if (here >= -0.3 * slope) break;  // not far beyond the minimum
      // Between the two slopes, of which one is positive and one negative.
      const double to = low + (length - low) * at_low / (at_low - here);
      length = std::max(to, low + 0.1 * (length - low));
    }
    b.swap(next);
  }
  for (std::size_t c = 0; c < classes; ++c) v[c] = static_cast<T>(b[c] / bias);
}

#define MM_INTERCEPT(T)                                                                     \
  template std::vector<double> intercept_of<T>(const InterceptView<T>&, double, Team&);     \
  template void move_intercept<T>(const InterceptView<T>&, const SolverKernels<T>&, double, \
                                  std::vector<T>&, T*, T*, Team&);
MM_INTERCEPT(float)
MM_INTERCEPT(double)
#undef MM_INTERCEPT

}  // namespace multimargin
