#define MM_ISA avx512
#include "simd/kernels_table.hpp"
