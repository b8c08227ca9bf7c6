// How samples respond to numbers b that are added to the scores of the classes, each sample by
// itself, and Newton's method for a b that some condition on the responses determines.
//
// A sample whose classes with free variables, own class included, are G responds to a small change
// of b by -(1/k_i) (I - 11'/|G|) on G, k_i = x_i.x_i. L is the sum of these over all samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "active_set/kernels.hpp"
#include "common/team.hpp"
#include "intercept/class_sums.hpp"
#include "intercept/steps.hpp"

namespace multimargin {

// The classes G of some samples, one sample after the other.
class FreeClasses {
 public:
  void clear();
  // Takes the sample that has responded with the variables a of some classes other than its own.
  template <class S>
  void take(int size, const std::int32_t* cls, const S* a, std::int32_t own, S box, S k,
            bool separable);
  // Takes a sample by its classes G, none if there is only one.
  void add(int size, const std::int32_t* cls, double k);
  // out += L x
  void multiply(const double* x, double* out) const;
  void add_diagonal(double* out) const;

 private:
  std::vector<std::int64_t> begin_;
  std::vector<std::int32_t> cls_;
  std::vector<double> inverse_;  // 1 / k_i
};

// One sample's block: its classes but the own one, and room to solve it.
template <class S>
struct ResponseBlock {
  int size;
  std::int32_t own;
  S box, k;
  std::int32_t* cls;
  S *margin, *alpha, *fresh, *scratch;

  // In `work`, for up to `most` classes.
  ResponseBlock(std::vector<S>& work, std::int64_t most, std::int32_t own_class, S box, S k)
      : size(0), own(own_class), box(box), k(k) {
    if (work.size() < static_cast<std::size_t>(most) * 6) work.resize(most * 6);
    margin = work.data();
    alpha = margin + most;
    fresh = alpha + most;
    scratch = fresh + most;
    cls = reinterpret_cast<std::int32_t*>(scratch + 2 * most);
  }

  void add(std::int32_t c, S m, S a) {
    margin[size] = m;
    alpha[size] = a;
    cls[size++] = c;
  }

  // Solves the block.
  Report<S> solve(const SolverKernels<S>& kernels) const {
    return kernels.solve_block({size, margin, alpha, box, box, k, nullptr}, fresh, scratch);
  }

  // Solves the block, adds what its variables make of s, and notes its free classes.
  void solve(const SolverKernels<S>& kernels, FreeClasses& free, double* s) const {
    solve(kernels);
    add_to_sums(size, cls, fresh, own, s);
    free.take(size, cls, fresh, own, box, k, kernels.separable);
  }

  // Adds how the solution changes s.
  void add_change(double* s) const {
    for (int c = 0; c < size; ++c) fresh[c] -= alpha[c];
    double sum = 0;
    for (int c = 0; c < size; ++c) {
      sum += static_cast<double>(fresh[c]);
      s[cls[c]] -= static_cast<double>(fresh[c]);
    }
    s[own] += sum;
  }
};

class Responses {
 public:
  template <class T>
  Responses(const InterceptView<T>& view, Team& team) : free_(kParts), sums_(view, team) {}

  // s of all responses. respond(part, i, free, sums) does one sample.
  template <class Respond>
  std::vector<double> all(const Respond& respond) {
    return sums_([&](std::int64_t p, std::int64_t first, std::int64_t last, double* out) {
      free_[p].clear();
      for (std::int64_t i = first; i < last; ++i) respond(p, i, free_[p], out);
    });
  }

  std::vector<double> diagonal();
  // Solves (I + square L) x = r by conjugate gradients from x = 0, preconditioned by the diagonal.
  std::vector<double> newton_step(std::vector<double> r, double square);

  // Newton's method for a convex function of b. set_rest(b) sets `rest` to minus its gradient,
  // times square; its matrix is I + square L. enough() says whether to end.
  template <class SetRest, class Enough>
  void minimise(std::vector<double>& b, std::vector<double>& rest, double square, int most,
                const SetRest& set_rest, const Enough& enough) {
    std::vector<double> next(b.size());
    for (int k = 0; k < most && !enough(); ++k) {
      const std::vector<double> step = newton_step(rest, square);
      const double slope = dot(rest, step);
      double length = 1;
      for (int tries = 0; tries < 4; ++tries) {
        for (std::size_t c = 0; c < b.size(); ++c) next[c] = b[c] + length * step[c];
        set_rest(next);
        const double here = dot(rest, step);
        if (here >= -0.3 * slope) break;  // not far beyond the minimum
        // Between the two slopes, of which one is positive and one negative.
        length = std::max(length * slope / (slope - here), 0.1 * length);
      }
      b.swap(next);
    }
  }

 private:
  std::vector<FreeClasses> free_;
  ClassSums sums_;
};

}  // namespace multimargin
