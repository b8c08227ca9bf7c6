// Loops over the samples of a row engine. Part of row_engine.hpp for the files that define its
// members.
#pragma once

#include <algorithm>

#include "rows/row_engine.hpp"

namespace multimargin {

constexpr std::int64_t kRowsPerTask = 128;

template <class T, class I>
template <class Each>
void RowEngine<T, I>::each_sample(const Each& each) {
  team_.for_each((X_.rows + kRowsPerTask - 1) / kRowsPerTask, [&](int member, std::int64_t task) {
    const std::int64_t end = std::min(X_.rows, (task + 1) * kRowsPerTask);
    for (std::int64_t i = task * kRowsPerTask; i < end; ++i) each(member, i);
  });
}

template <class T, class I>
template <class Each>
void RowEngine<T, I>::accumulate(const std::vector<std::int32_t>& samples, Buffer<double>& w,
                                 const Each& each) {
  const std::int64_t numbers = weight_numbers(), count = static_cast<std::int64_t>(samples.size());
  w.reset(static_cast<std::size_t>(numbers));
  parts_.resize(static_cast<std::size_t>(chunks_ - 1));
  // The chunks, and the order in which they are added up, do not depend on the number of threads.
  team_.for_each(chunks_, [&](int member, std::int64_t chunk) {
    Buffer<double>& part = chunk == 0 ? w : parts_[chunk - 1];
    part.reset(static_cast<std::size_t>(numbers));
    std::fill_n(part.data(), numbers, 0.0);
    const RowWeights out = view(part);
    for (std::int64_t k = count * chunk / chunks_; k < count * (chunk + 1) / chunks_; ++k)
      each(member, samples[k], out);
  });
  if (chunks_ == 1) return;
  constexpr std::int64_t some = 4096;
  team_.for_each((numbers + some - 1) / some, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(numbers, (task + 1) * some);
    for (const Buffer<double>& part : parts_)
      for (std::int64_t j = task * some; j < end; ++j) w[j] += part[j];
  });
}

}  // namespace multimargin
