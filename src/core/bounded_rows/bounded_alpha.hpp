// Dual variables of samples x classes, most of which are at a bound: a bit per variable, and a list
// of the free ones per sample.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "bounded_rows/bounded_row.hpp"
#include "common/buffer.hpp"

namespace multimargin {

template <class T>
class BoundedAlpha {
 public:
  BoundedAlpha(std::int64_t samples, std::int64_t width)
      : words_(width / kWordClasses),
        free_(static_cast<std::size_t>(samples)),
        count_(static_cast<std::size_t>(samples), 0) {
    bits_.reset(static_cast<std::size_t>(samples * words_));
    std::fill_n(bits_.data(), samples * words_, std::uint16_t{0});
  }

  std::uint16_t* bits(std::int64_t i) { return bits_.data() + i * words_; }
  const std::uint16_t* bits(std::int64_t i) const { return bits_.data() + i * words_; }
  const FreeVariable<T>* free(std::int64_t i) const { return free_[i].get(); }
  std::int32_t free_count(std::int64_t i) const { return count_[i]; }
  bool at_bound(std::int64_t i, std::int32_t c) const {
    return (bits(i)[c / kWordClasses] >> (c % kWordClasses) & 1) != 0;
  }
  void set_bound(std::int64_t i, std::int32_t c) {
    bits(i)[c / kWordClasses] |= static_cast<std::uint16_t>(1u << (c % kWordClasses));
  }

  // Replaces the free variables of a sample.
  void set_free(std::int64_t i, const FreeVariable<T>* some, std::int64_t count) {
    if (count != count_[i]) {
      free_[i].reset(count == 0 ? nullptr : new FreeVariable<T>[static_cast<std::size_t>(count)]);
      count_[i] = static_cast<std::int32_t>(count);
    }
    std::copy_n(some, count, free_[i].get());
  }

  std::int64_t bound_count(std::int64_t i) const {
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < words_; ++k) count += __builtin_popcount(bits(i)[k]);
    return count;
  }
  // The sum of a sample's variables.
  double sum(std::int64_t i, T box) const {
    double sum = static_cast<double>(bound_count(i)) * static_cast<double>(box);
    for (std::int32_t k = 0; k < count_[i]; ++k) sum += static_cast<double>(free_[i][k].value);
    return sum;
  }

  void clear() {
    std::fill_n(bits_.data(), bits_.size(), std::uint16_t{0});
    for (std::size_t i = 0; i < free_.size(); ++i)
      set_free(static_cast<std::int64_t>(i), nullptr, 0);
  }

  std::int64_t bytes() const {
    std::int64_t count = 0;
    for (const std::int32_t each : count_) count += each;
    return static_cast<std::int64_t>(2 * bits_.size() + sizeof(FreeVariable<T>) * count);
  }

 private:
  std::int64_t words_;  // of a sample
  Buffer<std::uint16_t> bits_;
  std::vector<std::unique_ptr<FreeVariable<T>[]>> free_;
  std::vector<std::int32_t> count_;
};

}  // namespace multimargin
