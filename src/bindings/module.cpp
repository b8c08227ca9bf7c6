// The compiled module multimargin._core.
#include "bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() = "Compiled core of multimargin: arrays in, arrays out, no decisions.";
  multimargin::bindings::bind_label_costs(m);
  multimargin::bindings::bind_samples(m);
  multimargin::bindings::bind_engine(m);
  multimargin::bindings::bind_rank_workspace(m);
  multimargin::bindings::bind_one_vs_rest(m);
  multimargin::bindings::bind_lee_lin_wahba(m);
  multimargin::bindings::bind_predict(m);
  multimargin::bindings::bind_row_engine(m);
  multimargin::bindings::bind_svmlight(m);
}
