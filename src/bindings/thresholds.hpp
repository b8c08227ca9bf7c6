// The margins from which on violators of all bundles become active: see round_robin/violators.hpp.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "round_robin/violators.hpp"

namespace multimargin::bindings {

template <class T>
Out<T> thresholds(const std::vector<std::pair<In<std::int64_t>, In<T>>>& found,
                  std::int64_t samples, std::int64_t capacity) {
  std::vector<Violators<T>> bundles;
  for (const auto& [begin, margin] : found) {
    if (static_cast<std::int64_t>(begin.size()) != samples + 1 ||
        begin.data()[samples] - begin.data()[0] != static_cast<std::int64_t>(margin.size()))
      throw nanobind::value_error("thresholds: begin and margin do not fit each other");
    bundles.push_back({begin.data(), margin.data()});
  }
  return to_numpy(multimargin::thresholds(bundles, samples, capacity));
}

}  // namespace multimargin::bindings
