// The weights of some classes, made ready for products with many rows: blocks of classes that are
// dense in the frequent features, and a list of weights for each rare feature.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/buffer.hpp"
#include "common/team.hpp"
#include "scoring/split_rows.hpp"
#include "scoring/views.hpp"

namespace multimargin {

// Classes whose rare weights are listed together. A row looks up each of its rare features once
// for all of them.
constexpr std::int32_t kGroupClasses = 512;

template <class S>
class ClassGroup {
 public:
  // Begins a group. Next come write() for each block, and then sort().
  template <class T>
  void start(const SplitRows<T>& rows, std::int32_t first_class, std::int32_t classes) {
    first_class_ = first_class;
    classes_ = classes;
    frequent_ = rows.frequent();
    rare_ = rows.rare();
    const std::int32_t blocks = this->blocks();
    dense_.reset(static_cast<std::size_t>(blocks) * frequent_ * lanes<S>());
    intercept_.reset(static_cast<std::size_t>(blocks) * lanes<S>());
    parts_.resize(blocks);
  }

  std::int32_t blocks() const { return (classes_ + lanes<S>() - 1) / lanes<S>(); }

  // Writes block b: fill(c, put) calls put(number of a feature, weight) for the weights of class c
  // and returns its intercept. Blocks may be written at the same time.
  template <class Fill>
  void write(std::int32_t b, const Fill& fill) {
    S* dense = dense_.data() + static_cast<std::size_t>(b) * frequent_ * lanes<S>();
    std::fill(dense, dense + frequent_ * lanes<S>(), S(0));
    Part& part = parts_[b];
    part.resize(buckets());
    for (auto& bucket : part) bucket.clear();
    const std::int32_t begin = b * lanes<S>();
    for (std::int32_t k = 0; k < lanes<S>(); ++k) {
      intercept_[begin + k] = 0;
      if (begin + k >= classes_) continue;
      intercept_[begin + k] = fill(first_class_ + begin + k, [&](std::int32_t number, S weight) {
        if (weight == 0) return;
        if (number < frequent_) {
          dense[static_cast<std::int64_t>(number) * lanes<S>() + k] = weight;
        } else {
          const std::int32_t rare = number - frequent_;
          part[rare / kBucket].push_back({rare % kBucket, {weight, begin + k}});
        }
      });
    }
  }

  // Makes the lists of the rare features: for each one its classes in order.
  void sort(Team& team) {
    std::vector<std::int64_t> start(buckets() + 1, 0);
    for (const Part& part : parts_)
      for (std::int64_t k = 0; k < buckets(); ++k)
        start[k + 1] += static_cast<std::int64_t>(part[k].size());
    for (std::int64_t k = 0; k < buckets(); ++k) start[k + 1] += start[k];
    // Products fetch ahead by the numbers of frequent features, too.
    list_begin_.resize(std::max(rare_, frequent_) + 1);
    list_begin_[rare_] = start.back();
    // With room for a larger group, so that most groups need no new memory.
    const auto need = static_cast<std::size_t>(start.back());
    if (need > list_.size()) list_.reset(need + need / 4);
    team.for_each(buckets(), [&](int, std::int64_t k) {
      std::int64_t next[kBucket] = {};
      for (const Part& part : parts_)
        for (const Entry& e : part[k]) ++next[e.number];
      const std::int64_t count = std::min<std::int64_t>(kBucket, rare_ - k * kBucket);
      for (std::int64_t r = 0, at = start[k]; r < count; ++r) {
        list_begin_[k * kBucket + r] = at;
        at += next[r];
        next[r] = list_begin_[k * kBucket + r];
      }
      for (const Part& part : parts_)
        for (const Entry& e : part[k]) list_[next[e.number]++] = e.weight;
    });
  }

  GroupView<S> view() const {
    return {dense_.data(), list_begin_.data(), list_.data(), intercept_.data(),
            frequent_,     first_class_,       classes_};
  }

 private:
  struct Entry {
    std::int32_t number;  // of a rare feature
    ListedWeight<S> weight;
  };
  // The rare weights of one block, class by class, in buckets of features: a bucket is sorted
  // within a cache.
  using Part = std::vector<std::vector<Entry>>;
  static constexpr std::int32_t kBucket = 4096;
  std::int64_t buckets() const { return (rare_ + kBucket - 1) / kBucket; }

  Buffer<S> dense_, intercept_;
  std::vector<Part> parts_;
  std::vector<std::int64_t> list_begin_;
  Buffer<ListedWeight<S>> list_;
  std::int32_t frequent_ = 0, rare_ = 0;
  std::int32_t first_class_ = 0, classes_ = 0;
};

}  // namespace multimargin
