// Formulations and losses by name.
#pragma once

namespace multimargin {

// Of the active set.
enum class Formulation : int { weston_watkins = 0, crammer_singer = 1 };

// Of a line of classes, each class by itself.
enum class BinaryLoss : int {
  hinge = 0,          // class against the rest
  squared_hinge = 1,  // the same, squared
  others_hinge = 2,   // the rest only: samples of the class itself have no part (Lee-Lin-Wahba)
};

}  // namespace multimargin
