// rank_workspace(): one Python class per value and index type.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "bindings.hpp"
#include "rank_workspace/py_rank_workspace.hpp"
#include "thresholds.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace multimargin::bindings {

using namespace nb::literals;

namespace {

template <class T, class I>
void bind_one(nb::module_& m) {
  using L = PyRankWorkspace<T, I>;
  nb::class_<L>(m, type_name<T, I>("RankWorkspace").c_str())
      .def("set_time_limit", &L::set_time_limit, "seconds"_a)
      .def("candidates", &L::candidates, "count"_a, "budget"_a, "begin"_a, "end"_a)
      .def("divide", &L::divide, "bundle_of"_a.noconvert(), "bundles"_a)
      .def("take", &L::take, "bundle"_a, "slot_begin"_a.noconvert(), "cls"_a.noconvert(),
           "alpha"_a.noconvert())
      .def("set_columns", &L::set_columns, "bundle"_a, "begin"_a.noconvert(),
           "sample"_a.noconvert(), "alpha"_a.noconvert())
      .def("columns", &L::columns, "bundle"_a)
      .def("structure", &L::structure, "bundle"_a)
      .def("put_alpha", &L::put_alpha, "bundle"_a, "pair"_a.noconvert(), "value"_a.noconvert())
      .def("unpack_alpha", &L::unpack_alpha, "bundle"_a)
      .def("add_sums", &L::add_sums, "bundle"_a, "sums"_a.noconvert())
      .def("value", &L::value, "bundle"_a)
      .def("scale", &L::scale, "bundle"_a, "factor"_a.noconvert())
      .def("lay_out", &L::lay_out, "bundle"_a)
      .def("make_bundle_state", &L::make_bundle_state, "bundle"_a, "sums"_a.noconvert())
      .def("put_bias", &L::put_bias, "bundle"_a, "w_bias"_a.noconvert())
      .def("own_scores", &L::own_scores, "bundle"_a, "own"_a.noconvert(), "samples"_a = nb::none())
      .def("look", &L::look, "bundle"_a, "own"_a.noconvert(), "most"_a.noconvert(),
           "least"_a.noconvert(), "violation"_a.noconvert())
      .def("judge", &L::judge, "most"_a.noconvert(), "least"_a.noconvert(),
           "violation"_a.noconvert(), "sums"_a.noconvert())
      .def("scan", &L::scan, "bundle"_a, "own"_a.noconvert(), "least"_a.noconvert(),
           "loss"_a.noconvert(), "norm"_a.noconvert(), "capacity"_a, "idle"_a, "exact"_a,
           "samples"_a = nb::none())
      .def("found", &L::found, "bundle"_a)
      .def("norms", &L::norms)
      .def("let_rows_come", &L::let_rows_come, "lengths"_a.noconvert(), "norms"_a.noconvert(),
           "featured"_a.noconvert(), "feature_rows"_a.noconvert())
      .def("set_rows", &L::set_rows, "data"_a.noconvert(), "indices"_a.noconvert().none(),
           "indptr"_a.noconvert())
      .def("make_centroids", &L::make_centroids, "samples"_a.noconvert())
      .def("near_centroids", &L::near_centroids, "lengths"_a.noconvert(), "count"_a, "budget"_a,
           "samples"_a)
      .def("number", &L::number, "bundle"_a, "samples"_a, "own"_a)
      .def("end_layout", &L::end_layout, "bundle"_a)
      .def("add", &L::add, "bundle"_a, "samples"_a, "own"_a, "sums"_a.noconvert())
      .def("end_weights", &L::end_weights, "bundle"_a, "sums"_a.noconvert())
      .def("best_candidates", &L::best_candidates, "found"_a, "samples"_a, "count"_a)
      .def("due_samples", &L::due_samples, "a"_a, "b"_a, "everything"_a)
      .def("place", &L::place, "a"_a, "b"_a, "of_a"_a, "of_b"_a)
      .def("merge", &L::merge, "bundle"_a, "least"_a.noconvert(), "threshold"_a.noconvert(),
           "drawn"_a, "seed"_a)
      .def("weights", &L::weights, "bundle"_a)
      .def("pack", &L::pack, "bundle"_a)
      .def("unpack", &L::unpack, "bundle"_a, "sizes"_a.noconvert(), "mask"_a.noconvert(),
           "values"_a.noconvert())
      .def("keep_alpha_only", &L::keep_alpha_only, "bundle"_a)
      .def("drop", &L::drop, "bundle"_a)
      .def("build", &L::build, "a"_a, "b"_a, "of_a"_a, "of_b"_a, "within"_a)
      .def("drop_meetings", &L::drop_meetings)
      .def("run_meetings", &L::run_meetings, "meetings"_a, "rule"_a, "seed"_a)
      .def("collect", &L::collect, "a"_a, "b"_a, "which"_a)
      .def("meeting_state", &L::meeting_state, "a"_a, "b"_a)
      .def("restore_meeting", &L::restore_meeting, "a"_a, "b"_a, "alpha"_a.noconvert(),
           "resting"_a.noconvert(), "pauses"_a.noconvert(), "waits"_a.noconvert(),
           "height"_a.noconvert() = nb::none())
      .def("told_pairs", &L::told_pairs, "range"_a)
      .def("gather_pairs", &L::gather_pairs, "range"_a, "messages"_a)
      .def("told_values", &L::told_values, "range"_a)
      .def("gather_values", &L::gather_values, "messages"_a)
      .def("made_intercept", &L::made_intercept, "range"_a, "add_up"_a.none())
      .def("move_intercept", &L::move_intercept, "rule"_a, "reach"_a, "v"_a.noconvert(), "range"_a,
           "add_up"_a.none())
      .def_prop_rw("intercept_steps", &L::intercept_steps, &L::set_intercept_steps)
      .def("wake", &L::wake, "samples"_a.noconvert())
      .def_prop_ro_static("parts", [](nb::handle) { return kParts; })
      .def_static("thresholds", &thresholds<T>, "found"_a, "samples"_a, "capacity"_a)
      .def_prop_ro("empty_value", &L::empty_value)
      .def_prop_ro("budget_is_shared", &L::budget_is_shared)
      .def_prop_ro("holds_bias", &L::holds_bias);
  m.def(
      "rank_workspace",
      [](const PySamples<T, I>& samples, const std::string& formulation, int threads,
         std::optional<int> isa, bool hold_intercept) {
        return new L(samples, formulation_of(formulation), isa_of(isa), threads, hold_intercept);
      },
      "samples"_a, "formulation"_a, "threads"_a, "isa"_a = nb::none(), "hold_intercept"_a = false);
}

}  // namespace

void bind_rank_workspace(nb::module_& m) {
  m.def(
      "give_memory_back",
      [] {
#if defined(__GLIBC__)
        mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
      },
      "From now on, large blocks that are freed go back to the system at once. By default the C "
      "library comes to keep those of up to 32 MB, and a heap with holes grew by half (1,139 "
      "classes on four ranks with divided samples).");
#define MM_BIND(T, I) bind_one<T, I>(m);
  MM_FOR_TYPES(MM_BIND)
#undef MM_BIND
}

}  // namespace multimargin::bindings
