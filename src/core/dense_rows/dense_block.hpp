// A block of classes for products with dense rows, in panels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/buffer.hpp"
#include "dense_rows/panel.hpp"
#include "scoring/views.hpp"

namespace multimargin {

template <class T>
class DenseBlock {
 public:
  // Begins a block of up to lanes<T>() classes over `features` features; all weights are zero.
  void start(std::int64_t features, std::int32_t first_class, std::int32_t classes) {
    features_ = features;
    first_class_ = first_class;
    classes_ = classes;
    panels_.reset(static_cast<std::size_t>(features) * lanes<T>());
    intercept_.reset(lanes<T>());
    std::fill_n(panels_.data(), panels_.size(), T(0));
    std::fill_n(intercept_.data(), lanes<T>(), T(0));
  }

  // Sets a weight of class first_class + lane.
  void add(int lane, std::int64_t feature, T value) {
    constexpr int width = panel_width<T>();
    panels_[(lane / width * features_ + feature) * width + lane % width] = value;
  }
  void set_intercept(int lane, T value) { intercept_[lane] = value; }

  // Its rows are the panels; it has no row_of.
  BlockView<T> view() const {
    return {panels_.data(), nullptr, intercept_.data(), first_class_, classes_};
  }

 private:
  Buffer<T> panels_, intercept_;
  std::int64_t features_ = 0;
  std::int32_t first_class_ = 0, classes_ = 0;
};

}  // namespace multimargin
