// Body of kernels_<isa>.cpp: hands out this instruction set's kernels.
// A new formulation adds its header and one line to each switch.
#include "active_set/visit_kernels.hpp"
#include "bounded_rows/bounded_kernels.hpp"
#include "common/types.hpp"
#include "dense_rows/tile_kernels.hpp"
#include "formulations/crammer_singer.hpp"
#include "formulations/discriminative_max.hpp"
#include "formulations/lee_lin_wahba.hpp"
#include "formulations/max_margin_regression.hpp"
#include "formulations/one_vs_rest.hpp"
#include "formulations/reinforced.hpp"
#include "formulations/total_max.hpp"
#include "formulations/total_sum.hpp"
#include "formulations/weston_watkins.hpp"
#include "lee_lin_wahba/wide_kernels.hpp"
#include "lines/line_kernels.hpp"
#include "round_robin/zero_packing.hpp"
#include "rows/block_kernels.hpp"
#include "rows/data_kernels.hpp"
#include "rows/dense_kernels.hpp"
#include "scans/scan_kernels.hpp"
#include "scoring/score_kernels.hpp"
#include "scoring/softmax_kernels.hpp"

namespace multimargin {
namespace MM_ISA {

template <class T>
SolverKernels<T> solver_kernels(Formulation formulation, bool dense) {
  switch (formulation) {
    case Formulation::weston_watkins:
      return dense ? make_solver_kernels<WestonWatkins<T>, DenseVisit, T>()
                   : make_solver_kernels<WestonWatkins<T>, Visit, T>();
    case Formulation::crammer_singer:
      return dense ? make_solver_kernels<CrammerSinger<T>, DenseVisit, T>()
                   : make_solver_kernels<CrammerSinger<T>, Visit, T>();
  }
  return {};
}

template <class T>
ScanKernels<T> scan_kernels(Formulation formulation) {
  switch (formulation) {
    case Formulation::weston_watkins:
      return make_scan_kernels<WestonWatkins, T>();
    case Formulation::crammer_singer:
      return make_scan_kernels<CrammerSinger, T>();
  }
  return {};
}

RowLossKernels row_loss_kernels(RowLoss loss) {
  switch (loss) {
    case RowLoss::weston_watkins:
      return make_row_loss_kernels<RowWestonWatkins>();
    case RowLoss::crammer_singer:
      return make_row_loss_kernels<RowCrammerSinger>();
    case RowLoss::lee_lin_wahba:
      return make_row_loss_kernels<RowLeeLinWahba>();
    case RowLoss::one_vs_rest:
      return make_row_loss_kernels<RowOneVsRest>();
    case RowLoss::one_vs_rest_squared:
      return make_row_loss_kernels<RowOneVsRestSquared>();
    case RowLoss::discriminative_max:
      return make_row_loss_kernels<RowDiscriminativeMax>();
    case RowLoss::total_sum:
      return make_row_loss_kernels<RowTotalSum>();
    case RowLoss::total_max:
      return make_row_loss_kernels<RowTotalMax>();
    case RowLoss::max_margin_regression:
      return make_row_loss_kernels<RowMaxMarginRegression>();
    case RowLoss::reinforced:
      return make_row_loss_kernels<RowReinforced>();
  }
  return {};
}

DenseKernels dense_kernels() { return {&dense_add_products, &dense_factor, &dense_solve}; }

#define MM_INSTANTIATE(T, I)                           \
  template ScoreKernels<T, I> score_kernels();         \
  template SoftmaxKernels<T, I> softmax_kernels();     \
  template LineKernels<T, I> line_kernels(BinaryLoss); \
  template WideKernels<T, I> wide_kernels();           \
  template RowDataKernels<T, I> row_data_kernels();    \
  template BoundedKernels<T, I> bounded_kernels();
MM_FOR_TYPES(MM_INSTANTIATE)
template SolverKernels<float> solver_kernels(Formulation, bool);
template SolverKernels<double> solver_kernels(Formulation, bool);
template ScanKernels<float> scan_kernels(Formulation);
template ScanKernels<double> scan_kernels(Formulation);
template PackingKernels<float> packing_kernels();
template PackingKernels<double> packing_kernels();

}  // namespace MM_ISA
}  // namespace multimargin
