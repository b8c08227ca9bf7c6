// rows() and samples(): one Python class each per value and index type, chosen by the arrays.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "samples.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace multimargin::bindings {

namespace {

template <class T, class I>
void bind_one(nb::module_& m) {
  using R = PyRows<T, I>;
  nb::class_<R>(m, type_name<T, I>("Rows").c_str());
  if constexpr (is_dense<I>)
    m.def("rows", [](Matrix<const T> matrix) { return new R(matrix); }, "matrix"_a.noconvert());
  else
    m.def(
        "rows",
        [](In<T> data, In<I> indices, In<I> indptr, std::int64_t cols) {
          return new R(data, indices, indptr, cols);
        },
        "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "cols"_a);
  using S = PySamples<T, I>;
  nb::class_<S>(m, type_name<T, I>("Samples").c_str());
  m.def(
      "samples",
      [](const PyRows<T, I>& rows, In<std::int32_t> y, In<T> box, std::int32_t n_classes,
         double bias, std::shared_ptr<const PyLabelCosts> costs,
         std::optional<In<std::int64_t>> label_begin) {
        return new S(rows, y, box, n_classes, bias, std::move(costs), std::move(label_begin));
      },
      "rows"_a, "y"_a.noconvert(), "box"_a.noconvert(), "n_classes"_a, "bias"_a,
      "costs"_a = nb::none(), "label_begin"_a.noconvert() = nb::none());
}

}  // namespace

void bind_samples(nb::module_& m) {
#define MM_BIND(T, I) bind_one<T, I>(m);
  MM_FOR_TYPES(MM_BIND)
#undef MM_BIND
}

}  // namespace multimargin::bindings
