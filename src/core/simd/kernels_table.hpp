// Body of kernels_<isa>.cpp: hands out this instruction set's kernels.
// A new formulation adds its header and one line to each switch.
#include "active_set/scan_kernels.hpp"
#include "active_set/visit_kernels.hpp"
#include "common/types.hpp"
#include "formulations/crammer_singer.hpp"
#include "formulations/weston_watkins.hpp"
#include "lines/line_kernels.hpp"
#include "round_robin/zero_packing.hpp"
#include "rows/row_kernels.hpp"
#include "scoring/score_kernels.hpp"

namespace multimargin {
namespace MM_ISA {

template <class T>
SolverKernels<T> solver_kernels(Formulation formulation) {
  switch (formulation) {
    case Formulation::weston_watkins:
      return make_solver_kernels<WestonWatkins<T>, T>();
    case Formulation::crammer_singer:
      return make_solver_kernels<CrammerSinger<T>, T>();
  }
  return {};
}

template <class T, class I>
ScanKernels<T, I> scan_kernels(Formulation formulation) {
  switch (formulation) {
    case Formulation::weston_watkins:
      return make_scan_kernels<WestonWatkins, T, I>();
    case Formulation::crammer_singer:
      return make_scan_kernels<CrammerSinger, T, I>();
  }
  return {};
}

#define MM_INSTANTIATE(T, I)                            \
  template ScanKernels<T, I> scan_kernels(Formulation); \
  template ScoreKernels<T, I> score_kernels();          \
  template LineKernels<T, I> line_kernels(BinaryLoss);  \
  template RowKernels<T, I> row_kernels();
MM_FOR_TYPES(MM_INSTANTIATE)
template SolverKernels<float> solver_kernels(Formulation);
template SolverKernels<double> solver_kernels(Formulation);
template PackingKernels<float> packing_kernels();
template PackingKernels<double> packing_kernels();

}  // namespace MM_ISA
}  // namespace multimargin
