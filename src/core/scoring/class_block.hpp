// A block of classes made dense for products with many rows.
//
// Only features with a non-zero weight in the block get a row; all others share
// one row of zeros, which stays in the first cache.
#pragma once

#include <cstdint>
#include <vector>

#include "common/buffer.hpp"
#include "scoring/views.hpp"

namespace multimargin {

template <class T>
class ClassBlock {
 public:
  // Begins a block of up to lanes<T>() classes over `features` features.
  void start(std::int64_t features, std::int32_t first_class, std::int32_t classes) {
    if (static_cast<std::int64_t>(row_of_.size()) != features) {
      row_of_.assign(features, 0);
    } else {
      for (std::int32_t j : used_) row_of_[j] = 0;
    }
    used_.clear();
    first_class_ = first_class;
    classes_ = classes;
    reserve(1);
    intercept_.reset(lanes<T>());
    for (int k = 0; k < lanes<T>(); ++k) rows_[k] = intercept_[k] = 0;
  }

  // Adds a weight of class first_class + lane.
  void add(int lane, std::int64_t feature, T value) {
    if (value == 0) return;
    std::int32_t row = row_of_[feature];
    if (row == 0) row = new_row(feature);
    rows_[static_cast<std::size_t>(row) * lanes<T>() + lane] = value;
  }

  // Room for the weights of these features, one row each in their order, from row 1 on; what is
  // in it has to be written. Used in place of add().
  T* rows_for(const std::vector<std::int32_t>& features) {
    reserve(features.size() + 1);
    for (int l = 0; l < lanes<T>(); ++l) rows_[l] = 0;
    used_ = features;
    std::int32_t row = 0;
    for (const std::int32_t j : features) row_of_[j] = ++row;
    return rows_.data() + lanes<T>();
  }

  void set_intercept(int lane, T value) { intercept_[lane] = value; }

  BlockView<T> view() const {
    return {rows_.data(), row_of_.data(), intercept_.data(), first_class_, classes_};
  }

 private:
  std::int32_t new_row(std::int64_t feature) {
    used_.push_back(static_cast<std::int32_t>(feature));
    const auto row = static_cast<std::int32_t>(used_.size());
    row_of_[feature] = row;
    reserve(used_.size() + 1);
    T* fresh = rows_.data() + static_cast<std::size_t>(row) * lanes<T>();
    for (int l = 0; l < lanes<T>(); ++l) fresh[l] = 0;
    return row;
  }

  void reserve(std::size_t rows) {
    const std::size_t need = rows * lanes<T>();
    if (need <= rows_.size()) return;
    Buffer<T> larger;
    larger.reset(need < 4096 ? 65536 : need * 2);
    for (std::size_t k = 0; k < rows_.size(); ++k) larger[k] = rows_[k];
    rows_.swap(larger);
  }

  Buffer<T> rows_;
  Buffer<T> intercept_;
  std::vector<std::int32_t> row_of_;
  std::vector<std::int32_t> used_;
  std::int32_t first_class_ = 0;
  std::int32_t classes_ = 0;
};

}  // namespace multimargin
