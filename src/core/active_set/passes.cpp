#include "active_set/passes.hpp"

#include <algorithm>
#include <atomic>

#include "common/buffer.hpp"

namespace multimargin {

namespace {

constexpr std::int64_t kSamplesAtOnce = 256;  // between two looks at the clock

}  // namespace

template <class T>
PassReport Pass<T>::alone(const WorkView<T>& v, const std::vector<std::int32_t>& due,
                          Visits& visits, const VisitRule<T>& rule,
                          const std::function<bool()>& stop) {
  gap_.resize(visits.size());
  violation_.resize(visits.size());
  std::vector<T> work(work_);
  const std::int64_t count = static_cast<std::int64_t>(due.size());
  std::int64_t done = 0;
  while (done < count) {
    const std::int64_t part = std::min(kSamplesAtOnce, count - done);
    kernels_.visit_samples(v, due.data() + done, part, rule, gap_.data(), violation_.data(),
                           work.data());
    done += part;
    if (stop()) break;
  }
  return summary(due, done, visits, rule);
}

template <class T>
PassReport Pass<T>::together(const WorkView<T>& v, const std::vector<std::int32_t>& due,
                             Visits& visits, const VisitRule<T>& rule, Team& team,
                             SharedClasses<T>& shared_classes, Periodically& stop) {
  const std::int32_t batch = rule.batch;
  gap_.resize(visits.size());
  violation_.resize(visits.size());
  const std::int64_t count = static_cast<std::int64_t>(due.size());
  shared_classes.find(v, due, batch, classes_, rule.everything, team);
  const std::vector<std::int64_t>& slot_at = shared_classes.slot_at();
  std::int64_t most = 0;
  for (std::int64_t begin = 0; begin < count; begin += batch)
    most = std::max(most, slot_at[std::min<std::int64_t>(count, begin + batch)] - slot_at[begin]);
  Buffer<T> step;
  step.reset(static_cast<std::size_t>(most));
  const int members = team.size();
  std::vector<std::vector<T>> work(members, std::vector<T>(work_));
  std::atomic<bool> ending{false};
  std::int64_t reached = count;
  team.run([&](int member) {
    BatchView<T> b{due.data(),  slot_at.data(),    shared_classes.touch(), 0, 0, step.data(),
                   gap_.data(), violation_.data(), work[member].data()};
    for (std::int64_t k = 0; b.end < count; ++k) {
      b.begin = k * batch;
      b.end = std::min<std::int64_t>(count, b.begin + batch);
      kernels_.solve_batch(v, b, rule, member, members);
      if (member == 0 && stop()) {
        reached = b.end;
        ending.store(true, std::memory_order_relaxed);
      }
      team.barrier();
      // Read between the barriers: after the second one member 0 may already be in the next
      // batch and ask again, and members that disagree would wait for each other for ever.
      const bool last = ending.load(std::memory_order_relaxed);
      const std::vector<SharedSlot>& shared = shared_classes.shared(k);
      kernels_.apply_batch(v, b, shared.data(), static_cast<std::int64_t>(shared.size()), member,
                           members);
      team.barrier();
      if (last) return;
    }
  });
  return summary(due, reached, visits, rule);
}

template <class T>
PassReport Pass<T>::summary(const std::vector<std::int32_t>& due, std::int64_t done, Visits& visits,
                            const VisitRule<T>& rule) const {
  PassReport report;
  report.visits = done;
  report.complete = done == static_cast<std::int64_t>(due.size());
  for (std::int64_t k = 0; k < done; ++k) {
    const std::int32_t i = due[k];
    report.gap += static_cast<double>(gap_[i]);
    report.violation = std::max(report.violation, static_cast<double>(violation_[i]));
    visits.seen(i, is_quiet(rule, gap_[i], violation_[i]));
  }
  return report;
}

template class Pass<float>;
template class Pass<double>;

}  // namespace multimargin
