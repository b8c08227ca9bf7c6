// Chooses kernels for the processor that runs the program.
#include "simd/kernels.hpp"

namespace multimargin {

#define MM_DECLARE(isa)                              \
  namespace isa {                                    \
  template <class T>                                 \
  SolverKernels<T> solver_kernels(Formulation);      \
  template <class T, class I>                        \
  ProductKernels<T, I> product_kernels(Formulation); \
  template <class T, class I>                        \
  LineKernels<T, I> line_kernels(LineLoss);          \
  template <class T, class I>                        \
  RowKernels<T, I> row_kernels();                    \
  template <class T>                                 \
  PackingKernels<T> packing_kernels();               \
  }
MM_DECLARE(baseline)
#if defined(MM_X86)
MM_DECLARE(avx2)
MM_DECLARE(avx512)
#endif

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

template <class T>
SolverKernels<T> solver_kernels(Formulation formulation, Isa isa) {
#if defined(MM_X86)
  if (isa == Isa::avx512) return avx512::solver_kernels<T>(formulation);
  if (isa == Isa::avx2) return avx2::solver_kernels<T>(formulation);
#endif
  (void)isa;
  return baseline::solver_kernels<T>(formulation);
}

template <class T, class I>
ProductKernels<T, I> product_kernels(Formulation formulation, Isa isa) {
#if defined(MM_X86)
  if (isa == Isa::avx512) return avx512::product_kernels<T, I>(formulation);
  if (isa == Isa::avx2) return avx2::product_kernels<T, I>(formulation);
#endif
  (void)isa;
  return baseline::product_kernels<T, I>(formulation);
}

template <class T, class I>
LineKernels<T, I> line_kernels(LineLoss loss, Isa isa) {
#if defined(MM_X86)
  if (isa == Isa::avx512) return avx512::line_kernels<T, I>(loss);
  if (isa == Isa::avx2) return avx2::line_kernels<T, I>(loss);
#endif
  (void)isa;
  return baseline::line_kernels<T, I>(loss);
}

template <class T, class I>
RowKernels<T, I> row_kernels(Isa isa) {
#if defined(MM_X86)
  if (isa == Isa::avx512) return avx512::row_kernels<T, I>();
  if (isa == Isa::avx2) return avx2::row_kernels<T, I>();
#endif
  (void)isa;
  return baseline::row_kernels<T, I>();
}

template <class T>
PackingKernels<T> packing_kernels(Isa isa) {
#if defined(MM_X86)
  if (isa == Isa::avx512) return avx512::packing_kernels<T>();
  if (isa == Isa::avx2) return avx2::packing_kernels<T>();
#endif
  (void)isa;
  return baseline::packing_kernels<T>();
}

template PackingKernels<float> packing_kernels<float>(Isa);
template PackingKernels<double> packing_kernels<double>(Isa);

template SolverKernels<float> solver_kernels<float>(Formulation, Isa);
template SolverKernels<double> solver_kernels<double>(Formulation, Isa);
template ProductKernels<float, std::int32_t> product_kernels(Formulation, Isa);
template ProductKernels<float, std::int64_t> product_kernels(Formulation, Isa);
template ProductKernels<double, std::int32_t> product_kernels(Formulation, Isa);
template ProductKernels<double, std::int64_t> product_kernels(Formulation, Isa);

template LineKernels<float, std::int32_t> line_kernels(LineLoss, Isa);
template RowKernels<float, std::int32_t> row_kernels(Isa);
template LineKernels<float, std::int64_t> line_kernels(LineLoss, Isa);
template RowKernels<float, std::int64_t> row_kernels(Isa);
template LineKernels<double, std::int32_t> line_kernels(LineLoss, Isa);
template RowKernels<double, std::int32_t> row_kernels(Isa);
template LineKernels<double, std::int64_t> line_kernels(LineLoss, Isa);
template RowKernels<double, std::int64_t> row_kernels(Isa);

}  // namespace multimargin
