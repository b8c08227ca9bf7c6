// The formulations that the active set solves.
#pragma once

namespace multimargin {

enum class Formulation : int { weston_watkins = 0, crammer_singer = 1 };

}  // namespace multimargin
