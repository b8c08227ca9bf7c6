#define MM_ISA avx2
#include "simd/kernels_table.hpp"
