// Chooses kernels for the processor that runs the program.
#include "active_set/kernels.hpp"
#include "bounded_rows/bounded_row.hpp"
#include "common/types.hpp"
#include "lee_lin_wahba/wide_row.hpp"
#include "lines/line.hpp"
#include "round_robin/packing.hpp"
#include "rows/row.hpp"
#include "scans/scan.hpp"
#include "scoring/kernels.hpp"
#include "simd/isa.hpp"

namespace multimargin {

#define MM_DECLARE(isa)                               \
  namespace isa {                                     \
  template <class T>                                  \
  SolverKernels<T> solver_kernels(Formulation, bool); \
  template <class T>                                  \
  ScanKernels<T> scan_kernels(Formulation);           \
  template <class T, class I>                         \
  ScoreKernels<T, I> score_kernels();                 \
  template <class T, class I>                         \
  SoftmaxKernels<T, I> softmax_kernels();             \
  template <class T, class I>                         \
  LineKernels<T, I> line_kernels(BinaryLoss);         \
  template <class T, class I>                         \
  WideKernels<T, I> wide_kernels();                   \
  template <class T, class I>                         \
  RowDataKernels<T, I> row_data_kernels();            \
  template <class T, class I>                         \
  BoundedKernels<T, I> bounded_kernels();             \
  RowLossKernels row_loss_kernels(RowLoss);           \
  DenseKernels dense_kernels();                       \
  template <class T>                                  \
  PackingKernels<T> packing_kernels();                \
  }
MM_DECLARE(baseline)
#if defined(MM_X86)
MM_DECLARE(avx2)
MM_DECLARE(avx512)
#endif
#undef MM_DECLARE

bool isa_available(Isa isa) {
#if defined(MM_X86)
  switch (isa) {
    case Isa::baseline:
      return true;
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("fma");
  }
  return false;
#else
  return isa == Isa::baseline;
#endif
}

Isa best_isa() {
  if (isa_available(Isa::avx512)) return Isa::avx512;
  if (isa_available(Isa::avx2)) return Isa::avx2;
  return Isa::baseline;
}

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "unknown";
}

// Calls a function in the namespace of an instruction set.
#if defined(MM_X86)
#define MM_CALL(isa, ...)                  \
  isa == Isa::avx512 ? avx512::__VA_ARGS__ \
  : isa == Isa::avx2 ? avx2::__VA_ARGS__   \
                     : baseline::__VA_ARGS__
#else
#define MM_CALL(isa, ...) (static_cast<void>(isa), baseline::__VA_ARGS__)
#endif

template <class T>
SolverKernels<T> solver_kernels(Formulation formulation, Isa isa, bool dense) {
  return MM_CALL(isa, solver_kernels<T>(formulation, dense));
}

template <class T>
ScanKernels<T> scan_kernels(Formulation formulation, Isa isa) {
  return MM_CALL(isa, scan_kernels<T>(formulation));
}

template <class T, class I>
ScoreKernels<T, I> score_kernels(Isa isa) {
  return MM_CALL(isa, score_kernels<T, I>());
}

template <class T, class I>
SoftmaxKernels<T, I> softmax_kernels(Isa isa) {
  return MM_CALL(isa, softmax_kernels<T, I>());
}

template <class T, class I>
LineKernels<T, I> line_kernels(BinaryLoss loss, Isa isa) {
  return MM_CALL(isa, line_kernels<T, I>(loss));
}

template <class T, class I>
WideKernels<T, I> wide_kernels(Isa isa) {
  return MM_CALL(isa, wide_kernels<T, I>());
}

template <class T, class I>
RowDataKernels<T, I> row_data_kernels(Isa isa) {
  return MM_CALL(isa, row_data_kernels<T, I>());
}

template <class T, class I>
BoundedKernels<T, I> bounded_kernels(Isa isa) {
  return MM_CALL(isa, bounded_kernels<T, I>());
}

RowLossKernels row_loss_kernels(RowLoss loss, Isa isa) {
  return MM_CALL(isa, row_loss_kernels(loss));
}

DenseKernels dense_kernels(Isa isa) { return MM_CALL(isa, dense_kernels()); }

template <class T>
PackingKernels<T> packing_kernels(Isa isa) {
  return MM_CALL(isa, packing_kernels<T>());
}

#define MM_INSTANTIATE(T, I)                                \
  template ScoreKernels<T, I> score_kernels(Isa);           \
  template SoftmaxKernels<T, I> softmax_kernels(Isa);       \
  template LineKernels<T, I> line_kernels(BinaryLoss, Isa); \
  template WideKernels<T, I> wide_kernels(Isa);             \
  template RowDataKernels<T, I> row_data_kernels(Isa);      \
  template BoundedKernels<T, I> bounded_kernels(Isa);
MM_FOR_TYPES(MM_INSTANTIATE)
template SolverKernels<float> solver_kernels(Formulation, Isa, bool);
template SolverKernels<double> solver_kernels(Formulation, Isa, bool);
template ScanKernels<float> scan_kernels(Formulation, Isa);
template ScanKernels<double> scan_kernels(Formulation, Isa);
template PackingKernels<float> packing_kernels(Isa);
template PackingKernels<double> packing_kernels(Isa);

}  // namespace multimargin
