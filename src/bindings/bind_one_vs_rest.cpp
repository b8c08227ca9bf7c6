// OneVsRest: one Python class per value and index type.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>

#include "bindings.hpp"
#include "borrowed.hpp"
#include "lines/one_vs_rest.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace multimargin::bindings {

namespace {

LineLoss loss_of(const std::string& name) {
  if (name == "hinge") return LineLoss::hinge;
  if (name == "squared_hinge") return LineLoss::squared_hinge;
  throw nb::value_error(("unknown loss: " + name).c_str());
}

template <class T, class I>
class PyOneVsRest {
 public:
  PyOneVsRest(In<T> data, In<I> indices, In<I> indptr, std::int64_t cols, In<std::int32_t> y,
              In<T> box, std::int32_t machines, std::int32_t first_class, double bias,
              const std::string& loss, int isa, int threads, std::uint64_t seed)
      : borrowed_{data, indices, indptr, y, box, cols}, machines_(machines) {
    const Csr<T, I> X = borrowed_.csr();
    const LineLoss kind = loss_of(loss);
    nb::gil_scoped_release unlock;
    solver_ = std::make_unique<OneVsRest<T, I>>(X, y.data(), box.data(), machines, first_class,
                                                static_cast<T>(bias), kind, static_cast<Isa>(isa),
                                                threads, seed);
    solver_->set_stop([this] { return interrupt_.stop(); });
  }

  void set_time_limit(double seconds) { interrupt_.set_limit(seconds); }

  bool solve(std::int32_t begin, std::int32_t end, double tol, bool by_gap, std::int32_t max_passes,
             std::optional<Matrix<T>> alpha, std::int64_t column, bool shrinking) {
    check_range(begin, end);
    const std::int64_t stride = alpha ? static_cast<std::int64_t>(alpha->shape(1)) : 0;
    if (alpha &&
        (column < 0 || column + end - begin > stride || alpha->shape(0) != borrowed_.y.size()))
      throw nb::value_error("solve: alpha must be of samples x machines");
    T* const values = alpha ? alpha->data() + column : nullptr;
    bool all = false;
    unlocked(interrupt_, [&] {
      all = solver_->solve(begin, end, {tol, by_gap, max_passes, shrinking}, values, stride);
    });
    return all;
  }

  const std::vector<MachineReport>& reports() const { return solver_->reports(); }

  nb::tuple weights(std::int32_t begin, std::int32_t end) {
    check_range(begin, end);
    SparseRows<T> rows;
    unlocked(interrupt_, [&] { rows = solver_->weights(begin, end); });
    const std::vector<T>& constant = solver_->w_bias();
    return nb::make_tuple(
        to_numpy(std::move(rows.value)), to_numpy(std::move(rows.index)),
        to_numpy(std::move(rows.begin)),
        to_numpy(std::vector<T>(constant.begin() + begin, constant.begin() + end)));
  }

  void put_weights(std::int32_t begin, In<T> value, In<std::int32_t> index,
                   In<std::int64_t> row_begin, In<T> constant, In<double> primal) {
    const std::int64_t rows = static_cast<std::int64_t>(constant.size());
    check_range(begin, begin + static_cast<std::int32_t>(rows));
    bool fits = primal.size() == constant.size() &&
                static_cast<std::int64_t>(row_begin.size()) == rows + 1 &&
                value.size() == index.size() && row_begin.data()[0] == 0 &&
                row_begin.data()[rows] == static_cast<std::int64_t>(value.size());
    for (std::int64_t k = 0; fits && k < rows; ++k)
      fits = row_begin.data()[k] <= row_begin.data()[k + 1];
    if (!fits) throw nb::value_error("put_weights: these are not rows of weights");
    solver_->put_weights(begin, row_begin.data(), index.data(), value.data(), constant.data(),
                         primal.data(), rows);
  }

  std::int64_t bytes() const { return solver_->bytes(); }

 private:
  void check_range(std::int32_t begin, std::int32_t end) const {
    if (begin < 0 || begin % line_lanes<T>() != 0 || end < begin || end > machines_)
      throw nb::value_error("machines out of range");
  }

  Borrowed<T, I> borrowed_;
  std::int32_t machines_;
  Interrupt interrupt_;
  std::unique_ptr<OneVsRest<T, I>> solver_;
};

template <class T, class I>
void bind_one(nb::module_& m, const char* name) {
  using S = PyOneVsRest<T, I>;
  nb::class_<S>(m, name)
      .def(nb::init<In<T>, In<I>, In<I>, std::int64_t, In<std::int32_t>, In<T>, std::int32_t,
                    std::int32_t, double, const std::string&, int, int, std::uint64_t>(),
           "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "cols"_a,
           "y"_a.noconvert(), "box"_a.noconvert(), "machines"_a, "first_class"_a, "bias"_a,
           "loss"_a, "isa"_a, "threads"_a, "seed"_a)
      .def("set_time_limit", &S::set_time_limit, "seconds"_a)
      .def("solve", &S::solve, "begin"_a, "end"_a, "tol"_a, "by_gap"_a, "max_passes"_a,
           "alpha"_a.noconvert().none(), "column"_a, "shrinking"_a = true)
      .def("reports", &S::reports)
      .def("weights", &S::weights, "begin"_a, "end"_a)
      .def("put_weights", &S::put_weights, "begin"_a, "value"_a.noconvert(), "index"_a.noconvert(),
           "row_begin"_a.noconvert(), "constant"_a.noconvert(), "primal"_a.noconvert())
      .def_prop_ro("bytes", &S::bytes)
      .def_prop_ro_static("lanes", [](nb::handle) { return line_lanes<T>(); });
}

}  // namespace

void bind_one_vs_rest(nb::module_& m) {
  nb::class_<MachineReport>(m, "MachineReport")
      .def_ro("primal", &MachineReport::primal)
      .def_ro("dual", &MachineReport::dual)
      .def_ro("violation", &MachineReport::violation)
      .def_ro("passes", &MachineReport::passes)
      .def_ro("reached", &MachineReport::reached)
      .def_ro("precision", &MachineReport::precision);
  bind_one<float, std::int32_t>(m, "OneVsRestF32I32");
  bind_one<float, std::int64_t>(m, "OneVsRestF32I64");
  bind_one<double, std::int32_t>(m, "OneVsRestF64I32");
  bind_one<double, std::int64_t>(m, "OneVsRestF64I64");
}

}  // namespace multimargin::bindings
