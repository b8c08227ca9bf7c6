// Body of kernels_<isa>.cpp: hands out this instruction set's kernels.
// A new formulation adds its header and one line to each switch.
#include "active_set/visit_kernels.hpp"
#include "formulations/crammer_singer.hpp"
#include "formulations/weston_watkins.hpp"
#include "lines/line_kernels.hpp"
#include "round_robin/zero_packing.hpp"
#include "rows/row_kernels.hpp"
#include "scoring/product_kernels.hpp"

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
ProductKernels<T, I> product_kernels(Formulation formulation) {
  switch (formulation) {
    case Formulation::weston_watkins:
      return make_product_kernels<WestonWatkins, T, I>();
    case Formulation::crammer_singer:
      return make_product_kernels<CrammerSinger, T, I>();
  }
  return {};
}

template SolverKernels<float> solver_kernels<float>(Formulation);
template SolverKernels<double> solver_kernels<double>(Formulation);
template ProductKernels<float, std::int32_t> product_kernels<float, std::int32_t>(Formulation);
template ProductKernels<float, std::int64_t> product_kernels<float, std::int64_t>(Formulation);
template ProductKernels<double, std::int32_t> product_kernels<double, std::int32_t>(Formulation);
template ProductKernels<double, std::int64_t> product_kernels<double, std::int64_t>(Formulation);

template PackingKernels<float> packing_kernels<float>();
template PackingKernels<double> packing_kernels<double>();

template LineKernels<float, std::int32_t> line_kernels<float, std::int32_t>(LineLoss);
template RowKernels<float, std::int32_t> row_kernels<float, std::int32_t>();
template LineKernels<float, std::int64_t> line_kernels<float, std::int64_t>(LineLoss);
template RowKernels<float, std::int64_t> row_kernels<float, std::int64_t>();
template LineKernels<double, std::int32_t> line_kernels<double, std::int32_t>(LineLoss);
template RowKernels<double, std::int32_t> row_kernels<double, std::int32_t>();
template LineKernels<double, std::int64_t> line_kernels<double, std::int64_t>(LineLoss);
template RowKernels<double, std::int64_t> row_kernels<double, std::int64_t>();

}  // namespace MM_ISA
}  // namespace multimargin
