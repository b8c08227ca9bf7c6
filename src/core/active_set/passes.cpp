#include "active_set/passes.hpp"

#include <algorithm>
#include <atomic>

#include "common/buffer.hpp"

namespace multimargin {

namespace {

constexpr std::int64_t kSamplesAtOnce = 256;  // between two looks at the clock

}  // namespace

template <class T>
PassReport Pass<T>::alone(const WorkView<T>& v, const std::vector<std::int32_t>& samples,
                          Visits& visits, const VisitRule<T>& rule,
                          const std::function<bool()>& stop) {
  gap_.resize(visits.size());
  violation_.resize(visits.size());
  std::vector<T> work(work_);
  const std::int64_t count = static_cast<std::int64_t>(samples.size());
  std::int64_t done = 0;
  while (done < count) {
    const std::int64_t part = std::min(kSamplesAtOnce, count - done);
    kernels_.visit_samples(v, samples.data() + done, part, rule, gap_.data(), violation_.data(),
                           work.data());
    done += part;
    if (stop()) break;
  }
  PassReport report;
  report.visits = done;
  report.complete = done == count;
  for (std::int64_t k = 0; k < done; ++k) {
    const std::int32_t i = samples[k];
    report.gap += static_cast<double>(gap_[i]);
    report.violation = std::max(report.violation, static_cast<double>(violation_[i]));
    visits.seen(i, is_quiet(rule, gap_[i], violation_[i]));
  }
  return report;
}

template <class T>
PassReport Pass<T>::together(const WorkView<T>& v, Visits& visits, const VisitRule<T>& rule,
                             Random random, Team& team, Batches<T>& batches, Periodically& stop) {
  batches.choose(v, classes_, visits, rule, random, team);
  const std::int64_t count = batches.count();
  const int members = team.size();
  std::vector<std::vector<T>> work(members, std::vector<T>(work_));
  std::vector<PassReport> reports(count);  // added up in the order of batches
  std::atomic<bool> ending{false};
  std::int64_t reached = count;
  team.run([&](int member) {
    for (std::int64_t k = 0; k < count; ++k) {
      const BatchView<T> batch = batches.view(k, work[member].data());
      kernels_.solve_batch(v, batch, rule);
      if (member == 0 && stop()) {
        reached = k + 1;
        ending.store(true, std::memory_order_relaxed);
      }
      team.barrier();
      // Read between the barriers: after the second one member 0 may already be in the next
      // batch and ask again, and members that disagree would wait for each other for ever.
      const bool last = ending.load(std::memory_order_relaxed);
      kernels_.apply_batch(v, batch);
      team.barrier();
      if (last) break;
    }
    for (std::int64_t k = member; k < reached; k += members) {
      PassReport& report = reports[k];
      for (std::int64_t at = batches.begin(k); at < batches.begin(k + 1); ++at) {
        const Found<T>& found = batches.found(at);
        report.gap += static_cast<double>(found.gap);
        report.violation = std::max(report.violation, static_cast<double>(found.violation));
        visits.seen(batches.sample(at), is_quiet(rule, found.gap, found.violation));
      }
    }
  });
  PassReport report;
  report.visits = batches.begin(reached);
  report.complete = reached == count;
  for (std::int64_t k = 0; k < reached; ++k) {
    report.gap += reports[k].gap;
    report.violation = std::max(report.violation, reports[k].violation);
  }
  return report;
}

template class Pass<float>;
template class Pass<double>;

}  // namespace multimargin
