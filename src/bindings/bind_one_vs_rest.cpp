// one_vs_rest(): one Python class per value and index type.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "choices.hpp"
#include "interrupt.hpp"
#include "lines/one_vs_rest.hpp"
#include "samples.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace multimargin::bindings {

namespace {

template <class T, class I>
class PyOneVsRest {
 public:
  PyOneVsRest(const PySamples<T, I>& samples, std::int32_t problems, std::int32_t first_class,
              BinaryLoss loss, Isa isa, int threads, std::uint64_t seed)
      : samples_(samples), problems_(problems) {
    nb::gil_scoped_release unlock;
    solver_ = std::make_unique<OneVsRest<T, I>>(samples_.view(), problems, first_class, loss, isa,
                                                threads, seed);
    solver_->set_stop([this] { return interrupt_.stop(); });
  }

  void set_time_limit(double seconds) { interrupt_.set_limit(seconds); }

  bool solve(std::int32_t begin, std::int32_t end, double tol, bool by_gap, std::int32_t max_passes,
             std::optional<Matrix<T>> alpha, std::int64_t column, bool shrinking) {
    check_range(begin, end);
    const std::int64_t stride = alpha ? static_cast<std::int64_t>(alpha->shape(1)) : 0;
    if (alpha && (column < 0 || column + end - begin > stride ||
                  static_cast<std::int64_t>(alpha->shape(0)) != samples_.rows()))
      throw nb::value_error("solve: alpha must be of samples x problems");
    T* const values = alpha ? alpha->data() + column : nullptr;
    bool all = false;
    unlocked(interrupt_, [&] {
      all = solver_->solve(begin, end, {tol, by_gap, max_passes, shrinking}, values, stride);
    });
    return all;
  }

  const std::vector<BinaryReport>& reports() const { return solver_->reports(); }

  Rows<T> weights(std::int32_t begin, std::int32_t end) {
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
    if (primal.size() != constant.size() ||
        static_cast<std::int64_t>(row_begin.size()) != rows + 1 || value.size() != index.size() ||
        row_begin.data()[0] != 0 ||
        row_begin.data()[rows] != static_cast<std::int64_t>(value.size()))
      throw nb::value_error("put_weights: these are not rows of weights");
    solver_->put_weights(begin, row_begin.data(), index.data(), value.data(), constant.data(),
                         primal.data(), rows);
  }

  std::int64_t bytes() const { return solver_->bytes(); }

 private:
  void check_range(std::int32_t begin, std::int32_t end) const {
    if (begin < 0 || begin % line_lanes<T>() != 0 || end < begin || end > problems_)
      throw nb::value_error("problems out of range");
  }

  PySamples<T, I> samples_;
  std::int32_t problems_;
  Interrupt interrupt_;
  std::unique_ptr<OneVsRest<T, I>> solver_;
};

template <class T, class I>
void bind_one(nb::module_& m) {
  using S = PyOneVsRest<T, I>;
  nb::class_<S>(m, type_name<T, I>("OneVsRest").c_str())
      .def("set_time_limit", &S::set_time_limit, "seconds"_a)
      .def("solve", &S::solve, "begin"_a, "end"_a, "tol"_a, "by_gap"_a, "max_passes"_a,
           "alpha"_a.noconvert().none(), "column"_a, "shrinking"_a = true)
      .def("reports", &S::reports)
      .def("weights", &S::weights, "begin"_a, "end"_a)
      .def("put_weights", &S::put_weights, "begin"_a, "value"_a.noconvert(), "index"_a.noconvert(),
           "row_begin"_a.noconvert(), "constant"_a.noconvert(), "primal"_a.noconvert())
      .def_prop_ro("bytes", &S::bytes)
      .def_prop_ro_static("lanes", [](nb::handle) { return line_lanes<T>(); });
  m.def(
      "one_vs_rest",
      [](const PySamples<T, I>& samples, std::int32_t problems, std::int32_t first_class,
         const std::string& loss, int threads, std::uint64_t seed, std::optional<int> isa) {
        return new S(samples, problems, first_class, loss_of(loss), isa_of(isa), threads, seed);
      },
      "samples"_a, "problems"_a, "first_class"_a, "loss"_a, "threads"_a, "seed"_a,
      "isa"_a = nb::none());
}

}  // namespace

void bind_one_vs_rest(nb::module_& m) {
  nb::class_<BinaryReport>(m, "BinaryReport")
      .def_ro("primal", &BinaryReport::primal)
      .def_ro("dual", &BinaryReport::dual)
      .def_ro("violation", &BinaryReport::violation)
      .def_ro("passes", &BinaryReport::passes)
      .def_ro("reached", &BinaryReport::reached)
      .def_ro("precision", &BinaryReport::precision);
#define MM_BIND(T, I) bind_one<T, I>(m);
  MM_FOR_TYPES(MM_BIND)
#undef MM_BIND
}

}  // namespace multimargin::bindings
