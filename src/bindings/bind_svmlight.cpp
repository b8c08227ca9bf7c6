#include "bindings.hpp"

namespace multimargin::bindings {

void bind_svmlight(nanobind::module_& m) { (void)m; }

}  // namespace multimargin::bindings
