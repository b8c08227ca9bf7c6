#include "intercept/intercept.hpp"

#include <algorithm>

#include "intercept/class_sums.hpp"
#include "intercept/responses.hpp"

namespace multimargin {

namespace {

// Answers along a step, over those of L, from which on the step is shortened, and how often. With
// 1.5, 2 and 3 a fit took as long; with none the gap rose a thousandfold now and then, and twice
// as many passes were needed (2,000 classes, labels hard to tell).
constexpr double kMostAnswered = 2;
// Where the intercept is in no term of the primal nothing pulls it back: with 2 small dense
// problems did not come to an end.
constexpr double kMostAnsweredFree = 1.3;
constexpr int kMostTries = 3;
// Of many samples one in four is asked. All of them: as many passes, which took 10 % longer (cs,
// 12,582 classes).
constexpr std::int64_t kAskedApart = 4, kLeastAsked = 1000;

std::int64_t asked_apart(std::int64_t samples) {
  return std::clamp<std::int64_t>(samples / kLeastAsked, 1, kAskedApart);
}

}  // namespace

template <class T>
std::vector<double> intercept_of(const InterceptView<T>& v, double bias, Team& team) {
  ClassSums sums(v, team);
  std::vector<double> made =
      sums([&](std::int64_t, std::int64_t first, std::int64_t last, double* out) {
        for (std::int64_t i = first; i < last; ++i) {
          const std::int64_t own = v.slot_begin[i], others = v.slot_begin[i + 1] - own - 1;
          add_to_sums(others, v.cls + own + 1, v.alpha + own + 1, v.cls[own], out);
        }
      });
  for (double& c : made) c *= bias;
  return made;
}

template <class T>
std::vector<double> move_intercept(const InterceptView<T>& view, const SolverKernels<T>& kernels,
                                   const InterceptTerm& term, InterceptSteps& steps, double longest,
                                   std::vector<T>& v, T* gap, T* violation, Team& team) {
  const std::size_t classes = v.size();
  Responses responses(view, team);
  std::vector<double> start(classes);
  for (std::size_t c = 0; c < classes; ++c) start[c] = term.bias * static_cast<double>(v[c]);
  std::vector<double> b = start;
  // Minus the gradient at b, of variables that make s.
  const auto rest_of = [&](std::vector<double> s) {
    for (std::size_t c = 0; c < classes; ++c)
      s[c] = term.square * s[c] - (term.free ? b[c] - start[c] : b[c]);
    return s;
  };
  const auto as_they_are = [&](std::int64_t, std::int64_t i, FreeClasses& free, double* s) {
    const std::int64_t own = view.slot_begin[i], others = view.slot_begin[i + 1] - own - 1;
    if (others < 1 || !(view.norm2[i] > 0)) return;
    add_to_sums(others, view.cls + own + 1, view.alpha + own + 1, view.cls[own], s);
    free.take(static_cast<int>(others), view.cls + own + 1, view.alpha + own + 1, view.cls[own],
              view.box[i], view.norm2[i], kernels.separable);
  };
  const std::vector<double> s = responses.all(as_they_are);
  const std::vector<double> rest = rest_of(s);
  const std::vector<double> step = responses.newton_step(rest, term.square);
  std::vector<double> diagonal = term.free ? responses.diagonal() : std::vector<double>();

  std::vector<std::vector<T>> work(kParts);
  // Of every `apart`-th sample: by how much its answer changes s.
  const std::int64_t apart = term.free ? 1 : asked_apart(view.samples);
  const std::int64_t offset = steps.moves() % apart;
  const auto answer = [&](std::int64_t part, std::int64_t i, FreeClasses&, double* change) {
    const std::int64_t own = view.slot_begin[i], slots = view.slot_begin[i + 1] - own;
    if (i % apart != offset || slots < 2 || !(view.norm2[i] > 0)) return;
    ResponseBlock<T> block(work[part], slots, view.cls[own], view.box[i], view.norm2[i]);
    for (std::int64_t p = own + 1; p < own + slots; ++p) {
      const T m = view.margin(p, own, b[view.cls[p]] - b[block.own], block.k);
      if (view.resting[p] && !(m > 0)) continue;
      view.resting[p] = 0;  // or its next visit would not do what is expected of it here
      block.add(view.cls[p], m, view.alpha[p]);
    }
    if (block.size == 0) return;
    const Report<T> report = block.solve(kernels);
    block.add_change(change);
    gap[i] = report.gap;
    violation[i] = report.violation;
  };
  const double slope = dot(rest, step);
  double length = steps.length(rest, longest);
  for (int tries = 1;; ++tries) {
    for (std::size_t c = 0; c < classes; ++c) b[c] = start[c] + length * step[c];
    std::vector<double> answered_s = responses.all(answer);
    for (std::size_t c = 0; c < classes; ++c)
      answered_s[c] = s[c] + static_cast<double>(apart) * answered_s[c];
    const double answered = 1 - dot(rest_of(std::move(answered_s)), step) / slope;
    const double most = (term.free ? kMostAnsweredFree : kMostAnswered) * std::max(1.0, length);
    if (tries == kMostTries || !(answered > most)) break;
    length *= std::max(InterceptSteps::kShortest, 0.5 * most / answered);
  }
  steps.took(step, slope, length);

  double mean = 0;
  if (term.free)
    for (const double each : b) mean += each / static_cast<double>(classes);
  for (std::size_t c = 0; c < classes; ++c) v[c] = static_cast<T>((b[c] - mean) / term.bias);
  return diagonal;
}

#define MM_INTERCEPT(T)                                                                            \
  template std::vector<double> intercept_of<T>(const InterceptView<T>&, double, Team&);            \
  template std::vector<double> move_intercept<T>(const InterceptView<T>&, const SolverKernels<T>&, \
                                                 const InterceptTerm&, InterceptSteps&, double,    \
                                                 std::vector<T>&, T*, T*, Team&);
MM_INTERCEPT(float)
MM_INTERCEPT(double)
#undef MM_INTERCEPT

}  // namespace multimargin
