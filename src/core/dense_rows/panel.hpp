// How the weights of a block of classes lie for products with dense rows: in panels of a cache line
// of classes, each of them feature-major. A panel of 256 features, 16 KB, stays in the first cache
// while rows go by.
#pragma once

namespace multimargin {

// Classes of a panel.
template <class T>
constexpr int panel_width() {
  return 64 / static_cast<int>(sizeof(T));
}

}  // namespace multimargin
