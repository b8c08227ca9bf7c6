#include "intercept/intercept.hpp"

#include <cmath>

#include "intercept/class_sums.hpp"
#include "intercept/responses.hpp"

namespace multimargin {

namespace {

// More steps, and more exact ones, take as many passes (12,582 and 1,139 classes) and a sixth more
// time.
constexpr int kMostSteps = 2;
constexpr double kEnough = 0.3;  // of the first gradient, at which steps end

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
std::vector<double> move_intercept(const InterceptView<T>& view, const SolverKernels<T>& kernels,
                                   const InterceptTerm& term, std::vector<T>& v, T* gap,
                                   T* violation, Team& team) {
  const std::size_t classes = v.size();
  Responses responses(view, team);
  std::vector<std::vector<T>> work(kParts);
  std::vector<double> b(classes), rest(classes);
  for (std::size_t c = 0; c < classes; ++c) b[c] = term.bias * static_cast<double>(v[c]);
  const std::vector<double> centre = term.free ? b : std::vector<double>(classes, 0.0);
  const auto set_rest = [&](const std::vector<double>& at) {
    const auto respond = [&](std::int64_t part, std::int64_t i, FreeClasses& free, double* out) {
      const std::int64_t own = view.slot_begin[i], slots = view.slot_begin[i + 1] - own;
      if (slots < 2 || !(view.norm2[i] > 0)) return;
      ResponseBlock<T> block(work[part], slots, view.cls[own], view.box[i], view.norm2[i]);
      for (std::int64_t p = own + 1; p < own + slots; ++p) {
        const T m = view.margin(p, own, at[view.cls[p]] - at[block.own], block.k);
        if (view.resting[p] && !(m > 0)) continue;
        view.resting[p] = 0;  // or its next visit would not do what is expected of it here
        block.add(view.cls[p], m, view.alpha[p]);
      }
      if (block.size == 0) return;
      const Report<T> report = block.solve(kernels, free, out);
      gap[i] = report.gap;
      violation[i] = report.violation;
    };
    const std::vector<double> s = responses.all(respond);
    for (std::size_t c = 0; c < classes; ++c) rest[c] = term.square * s[c] - (at[c] - centre[c]);
  };
  set_rest(b);
  const double enough = kEnough * kEnough * dot(rest, rest);
  responses.minimise(b, rest, term.square, kMostSteps, set_rest,
                     [&] { return !(dot(rest, rest) > enough); });
  double mean = 0;
  if (term.free)
    for (const double each : b) mean += each / static_cast<double>(classes);
  for (std::size_t c = 0; c < classes; ++c) v[c] = static_cast<T>((b[c] - mean) / term.bias);
  return term.free ? responses.diagonal() : std::vector<double>();
}

#define MM_INTERCEPT(T)                                                                            \
  template std::vector<double> intercept_of<T>(const InterceptView<T>&, double, Team&);            \
  template std::vector<double> move_intercept<T>(const InterceptView<T>&, const SolverKernels<T>&, \
                                                 const InterceptTerm&, std::vector<T>&, T*, T*,    \
                                                 Team&);
MM_INTERCEPT(float)
MM_INTERCEPT(double)
#undef MM_INTERCEPT

}  // namespace multimargin
