// Registration functions, one per file in this folder. Only this folder sees
// Python; src/core does not.
#pragma once

#include <nanobind/nanobind.h>

namespace multimargin::bindings {

void bind_label_costs(nanobind::module_& m);
void bind_samples(nanobind::module_& m);
void bind_engine(nanobind::module_& m);
void bind_rank_workspace(nanobind::module_& m);
void bind_one_vs_rest(nanobind::module_& m);
void bind_lee_lin_wahba(nanobind::module_& m);
void bind_predict(nanobind::module_& m);
void bind_row_engine(nanobind::module_& m);
void bind_svmlight(nanobind::module_& m);

}  // namespace multimargin::bindings
