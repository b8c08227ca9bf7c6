#define MM_ISA avx2
#include "kernels_table.hpp"
