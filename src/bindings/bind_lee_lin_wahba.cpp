// LeeLinWahba: one Python class per value and index type.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "bindings.hpp"
#include "borrowed.hpp"
#include "lee_lin_wahba.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace multimargin::bindings {

namespace {

template <class T>
using Values = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T, class I>
class PyLeeLinWahba {
 public:
  PyLeeLinWahba(In<T> data, In<I> indices, In<I> indptr, std::int64_t cols, In<std::int32_t> y,
                In<T> box, std::int32_t n_classes, double bias, int isa, int threads,
                std::uint64_t seed)
      : borrowed_{data, indices, indptr, y, box, cols} {
    const Csr<T, I> X = borrowed_.csr();
    nb::gil_scoped_release unlock;
    solver_ = std::make_unique<LeeLinWahba<T, I>>(X, y.data(), box.data(), n_classes,
                                                  static_cast<T>(bias), static_cast<Isa>(isa),
                                                  threads, seed);
    solver_->set_stop([this] { return interrupt_.stop(); });
    solver_->set_abort([this] { return interrupt_.interrupted(); });
  }

  void set_time_limit(double seconds) { interrupt_.set_limit(seconds); }

  void set_least_shared(double lines) { solver_->set_least_shared(lines); }

  void assign(Matrix<const T> alpha) {
    check_alpha(alpha.shape(0), alpha.shape(1));
    unlocked(interrupt_, [&] { solver_->assign(alpha.data()); });
  }

  void alpha(Matrix<T> out) const {
    check_alpha(out.shape(0), out.shape(1));
    solver_->alpha(out.data());
  }

  void weights(Matrix<T> out, Values<T> constant) {
    if (static_cast<std::int32_t>(out.shape(0)) != solver_->n_classes() ||
        static_cast<std::int64_t>(out.shape(1)) != solver_->X().cols ||
        constant.size() != out.shape(0))
      throw nb::value_error("weights: out must be of classes x features");
    unlocked(interrupt_, [&] { solver_->weights(out.data(), constant.data()); });
  }

  void recompute() {
    unlocked(interrupt_, [&] { solver_->recompute(); });
  }

  FullReport look() {
    FullReport report;
    unlocked(interrupt_, [&] { report = solver_->look(); });
    return report;
  }

  PassReport pass_rows(double leave_below, double idle) {
    PassReport report;
    unlocked(interrupt_, [&] {
      report = solver_->pass_rows(static_cast<T>(leave_below), static_cast<T>(idle));
    });
    return report;
  }

  FaceReport polish(std::int32_t iterations, double reduction) {
    FaceReport report;
    unlocked(interrupt_, [&] { report = solver_->polish(iterations, reduction); });
    return report;
  }

  nb::object hold_mean(std::optional<Values<const T>> shift) {
    if (shift && static_cast<std::int64_t>(shift->size()) != solver_->X().cols + 1)
      throw nb::value_error("hold_mean: one number per feature and one for the constant");
    const T* const values = shift ? shift->data() : nullptr;
    std::vector<T> mean;
    unlocked(interrupt_, [&] { mean = solver_->hold_mean(values); });
    return nb::cast(to_numpy(std::move(mean)));
  }

  PassReport pass_lines(std::int32_t part, std::int32_t parts, bool everything, double idle) {
    if (parts < 1 || part < 0 || part >= parts)
      throw nb::value_error("pass_lines: part out of range");
    PassReport report;
    unlocked(interrupt_,
             [&] { report = solver_->pass_lines(part, parts, everything, static_cast<T>(idle)); });
    return report;
  }

 private:
  void check_alpha(std::size_t samples, std::size_t classes) const {
    if (static_cast<std::int64_t>(samples) != solver_->X().rows ||
        static_cast<std::int32_t>(classes) != solver_->n_classes())
      throw nb::value_error("alpha must be of samples x classes");
  }

  Borrowed<T, I> borrowed_;
  Interrupt interrupt_;
  std::unique_ptr<LeeLinWahba<T, I>> solver_;
};

template <class T, class I>
void bind_one(nb::module_& m, const char* name) {
  using S = PyLeeLinWahba<T, I>;
  nb::class_<S>(m, name)
      .def(nb::init<In<T>, In<I>, In<I>, std::int64_t, In<std::int32_t>, In<T>, std::int32_t,
                    double, int, int, std::uint64_t>(),
           "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "cols"_a,
           "y"_a.noconvert(), "box"_a.noconvert(), "n_classes"_a, "bias"_a, "isa"_a, "threads"_a,
           "seed"_a)
      .def("set_time_limit", &S::set_time_limit, "seconds"_a)
      .def("set_least_shared", &S::set_least_shared, "lines"_a)
      .def("assign", &S::assign, "alpha"_a.noconvert())
      .def("alpha", &S::alpha, "out"_a.noconvert())
      .def("weights", &S::weights, "out"_a.noconvert(), "constant"_a.noconvert())
      .def("recompute", &S::recompute)
      .def("look", &S::look)
      .def("pass_rows", &S::pass_rows, "leave_below"_a, "idle"_a)
      .def("polish", &S::polish, "iterations"_a, "reduction"_a)
      .def("hold_mean", &S::hold_mean, "shift"_a.noconvert().none())
      .def("pass_lines", &S::pass_lines, "part"_a, "parts"_a, "everything"_a, "idle"_a);
}

// One sample solved by the kernel of a given instruction set, to compare with its NumPy twin.
template <class T>
void bind_solve_row(nb::module_& m) {
  m.def(
      "solve_row",
      [](int isa, In<T> margin, In<T> alpha, std::int32_t own, double box, double norm2) {
        const std::int32_t classes = static_cast<std::int32_t>(margin.size());
        if (alpha.size() != margin.size() || own < 0 || own >= classes)
          throw nb::value_error("solve_row: margin and alpha of one length, own one of them");
        const std::int64_t lanes = line_lanes<T>(), width = (classes + lanes - 1) / lanes * lanes;
        Buffer<T> rows;  // score, alpha, step, work
        rows.reset(static_cast<std::size_t>(4 * width));
        std::fill(rows.data(), rows.data() + rows.size(), T(0));
        for (std::int32_t c = 0; c < classes; ++c) {
          rows[c] = margin.data()[c] - T(1);
          rows[width + c] = alpha.data()[c];
        }
        T* const row = rows.data();
        const T price = std::isinf(box) ? T(0) : static_cast<T>(box);
        RowReport<T> seen;
        const bool moved =
            row_kernels<T, std::int32_t>(static_cast<Isa>(isa))
                .block({width, classes, own, static_cast<T>(box), price, static_cast<T>(norm2)},
                       row, row + width, row + 2 * width, row + 3 * width,
                       -std::numeric_limits<T>::max(), T(-1), &seen);
        if (!moved) std::fill(row + 2 * width, row + 3 * width, T(0));
        return nb::make_tuple(to_numpy(std::vector<T>(row + width, row + width + classes)),
                              to_numpy(std::vector<T>(row + 2 * width, row + 2 * width + classes)));
      },
      "isa"_a, "margin"_a.noconvert(), "alpha"_a.noconvert(), "own"_a, "box"_a, "norm2"_a);
}

}  // namespace

void bind_lee_lin_wahba(nb::module_& m) {
  nb::class_<FullReport>(m, "FullReport")
      .def_ro("half_norm", &FullReport::half_norm)
      .def_ro("loss", &FullReport::loss)
      .def_ro("alpha", &FullReport::alpha)
      .def_ro("violation", &FullReport::violation)
      .def_ro("margin", &FullReport::margin)
      .def_ro("free", &FullReport::free);
  nb::class_<FaceReport>(m, "FaceReport")
      .def_ro("iterations", &FaceReport::iterations)
      .def_ro("step", &FaceReport::step)
      .def_ro("gain", &FaceReport::gain);
  bind_one<float, std::int32_t>(m, "LeeLinWahbaF32I32");
  bind_one<float, std::int64_t>(m, "LeeLinWahbaF32I64");
  bind_one<double, std::int32_t>(m, "LeeLinWahbaF64I32");
  bind_one<double, std::int64_t>(m, "LeeLinWahbaF64I64");
  bind_solve_row<float>(m);
  bind_solve_row<double>(m);
}

}  // namespace multimargin::bindings
