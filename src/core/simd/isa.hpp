// Instruction sets. Kernels are compiled once for each; dispatch.cpp chooses at run time.
#pragma once

namespace multimargin {

enum class Isa : int { baseline = 0, avx2 = 1, avx512 = 2 };

// The best instruction set that this processor and this build have.
Isa best_isa();
const char* isa_name(Isa isa);
bool isa_available(Isa isa);

}  // namespace multimargin
