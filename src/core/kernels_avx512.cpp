#define MM_ISA avx512
#include "kernels_table.hpp"
