#define MM_ISA baseline
#include "simd/kernels_table.hpp"
