// LabelCosts: made from a matrix, from exceptions, or from a tree.
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.hpp"
#include "samples.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace multimargin::bindings {

namespace {

void check_classes(const In<std::int32_t>& classes, std::int32_t n_classes) {
  if (!std::all_of(classes.data(), classes.data() + classes.size(),
                   [&](std::int32_t c) { return c >= 0 && c < n_classes; }))
    throw nb::value_error("there is no such class");
}

template <class Number>
Out<double> for_each_class(const LabelCosts& costs, const Number& number) {
  std::vector<double> out(costs.n_classes());
  for (std::int32_t y = 0; y < costs.n_classes(); ++y) out[y] = number(y);
  return to_numpy(std::move(out));
}

}  // namespace

void bind_label_costs(nb::module_& m) {
  using P = PyLabelCosts;
  nb::class_<P>(m, "LabelCosts")
      .def("largest",
           [](const P& self) {
             const LabelCosts& costs = self.costs();
             return for_each_class(costs, [&](auto y) { return costs.largest(y); });
           })
      .def("total",
           [](const P& self) {
             const LabelCosts& costs = self.costs();
             return for_each_class(costs, [&](auto y) { return costs.total(y); });
           })
      .def(
          "between",
          [](const P& self, In<std::int32_t> own, In<std::int32_t> other) {
            if (own.size() != other.size()) throw nb::value_error("lengths differ");
            check_classes(own, self.costs().n_classes());
            check_classes(other, self.costs().n_classes());
            std::vector<double> out(own.size());
            for (std::size_t k = 0; k < own.size(); ++k)
              out[k] = self.costs().at(own.data()[k], other.data()[k]);
            return to_numpy(std::move(out));
          },
          "own"_a.noconvert(), "other"_a.noconvert());
  m.def(
      "dense_costs", [](Matrix<const double> cost) { return new P(std::move(cost)); },
      "cost"_a.noconvert());
  m.def(
      "cost_exceptions",
      [](In<double> data, In<std::int64_t> indices, In<std::int64_t> indptr) {
        return new P(std::move(data), std::move(indices), std::move(indptr));
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert());
  m.def(
      "tree_costs",
      [](In<std::int32_t> order, In<std::int32_t> depth, In<std::int32_t> shared,
         In<double> length) {
        return new P(LabelCosts::tree(copy(order), copy(depth), copy(shared), copy(length)));
      },
      "order"_a.noconvert(), "depth"_a.noconvert(), "shared"_a.noconvert(), "length"_a.noconvert());
}

}  // namespace multimargin::bindings
