// The losses of the row engine by name.
#pragma once

namespace multimargin {

enum class RowLoss : int {
  weston_watkins = 0,
  crammer_singer = 1,
  lee_lin_wahba = 2,
  one_vs_rest = 3,
  one_vs_rest_squared = 4,
  discriminative_max = 5,
  total_sum = 6,
  total_max = 7,
  max_margin_regression = 8,
  reinforced = 9,
};

}  // namespace multimargin
