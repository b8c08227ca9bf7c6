#include "active_set/focus.hpp"

#include <algorithm>

namespace multimargin {

namespace {

constexpr double kShare = 0.5;     // of the gap; with 0.9 ten times as many samples, and slower
constexpr double kLeft = 0.1;      // of their gap, where enough has been done
constexpr double kMostVisits = 2;  // for each sample of the whole set
constexpr int kMostPasses = 1000;  // each has its own price, which few samples do not pay back

}  // namespace

template <class T>
std::vector<std::int32_t> samples_with_most(const Report<T>* report, std::int64_t samples) {
  std::vector<std::int32_t> chosen;
  double whole = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    if (!(report[i].gap > 0)) continue;
    chosen.push_back(static_cast<std::int32_t>(i));
    whole += static_cast<double>(report[i].gap);
  }
  std::sort(chosen.begin(), chosen.end(), [&](std::int32_t a, std::int32_t b) {
    return report[a].gap != report[b].gap ? report[a].gap > report[b].gap : a < b;
  });
  double sum = 0;
  std::size_t count = 0;
  while (count < chosen.size() && sum < kShare * whole)
    sum += static_cast<double>(report[chosen[count++]].gap);
  chosen.resize(count);
  return chosen;
}

template <class T>
FocusReport focus_on(std::vector<std::int32_t> chosen, const Report<T>* report,
                     const WorkView<T>& view, Pass<T>& pass, Visits& visits,
                     const VisitRule<T>& rule, Random random, const std::function<bool()>& stop) {
  FocusReport all;
  all.samples = static_cast<std::int64_t>(chosen.size());
  for (const std::int32_t i : chosen) all.gap += static_cast<double>(report[i].gap);
  all.left = all.gap;
  const double most = kMostVisits * static_cast<double>(visits.size());
  double visited = 0;
  for (int k = 0; k < kMostPasses && visited < most && all.left > kLeft * all.gap; ++k) {
    random.shuffle(chosen.data(), all.samples);
    const PassReport seen = pass.alone(view, chosen, visits, rule, stop);
    if (!seen.complete) break;
    visited += static_cast<double>(all.samples);
    all.left = seen.gap;
  }
  return all;
}

#define MM_FOCUS(T)                                                                            \
  template std::vector<std::int32_t> samples_with_most<T>(const Report<T>*, std::int64_t);     \
  template FocusReport focus_on<T>(std::vector<std::int32_t>, const Report<T>*,                \
                                   const WorkView<T>&, Pass<T>&, Visits&, const VisitRule<T>&, \
                                   Random, const std::function<bool()>&);
MM_FOCUS(float)
MM_FOCUS(double)
#undef MM_FOCUS

}  // namespace multimargin
