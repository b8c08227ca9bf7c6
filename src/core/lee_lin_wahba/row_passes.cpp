// Passes of exact steps, all classes of a sample at once.
#include <algorithm>

#include "common/random.hpp"
#include "lee_lin_wahba/lee_lin_wahba.hpp"
#include "lee_lin_wahba/sample_loops.hpp"

namespace multimargin {

template <class T, class I>
std::vector<std::int32_t> LeeLinWahba<T, I>::shuffled_samples(std::uint64_t epoch) const {
  std::vector<std::int32_t> order;
  for (std::int64_t i = 0; i < X_.rows; ++i)
    if (norm2_[i] > 0) order.push_back(static_cast<std::int32_t>(i));
  Random(seed_, epoch).shuffle(order.data(), static_cast<std::int64_t>(order.size()));
  return order;
}

template <class T, class I>
PassReport LeeLinWahba<T, I>::pass_rows(T leave_below, T idle) {
  PassReport report;
  Buffer<T> work;
  work.reset(static_cast<std::size_t>(width_));
  const std::vector<std::int32_t> order = shuffled_samples(passes_++);
  report.complete = sweep(order, weights_in(w_), [&](std::int32_t i, T* score, T* step) {
    WideReport<T> seen;
    const bool moved =
        rows_.block(block(i), score, alpha_row(i), step, work.data(), leave_below, idle, &seen);
    report.gap += static_cast<double>(seen.gap);
    report.violation = std::max(report.violation, static_cast<double>(seen.violation));
    ++report.visits;
    return moved;
  });
  return report;
}

#define MM_MEMBERS(T, I)                                                                       \
  template std::vector<std::int32_t> LeeLinWahba<T, I>::shuffled_samples(std::uint64_t) const; \
  template PassReport LeeLinWahba<T, I>::pass_rows(T, T);
MM_FOR_TYPES(MM_MEMBERS)
#undef MM_MEMBERS

}  // namespace multimargin
