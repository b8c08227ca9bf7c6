#define MM_ISA baseline
#include "kernels_table.hpp"
