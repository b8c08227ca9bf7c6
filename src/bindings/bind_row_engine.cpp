// row_engine() and bounded_engine(): one Python class per value and index type.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "bounded_rows/bounded_engine.hpp"
#include "choices.hpp"
#include "interrupt.hpp"
#include "rows/row_engine.hpp"
#include "samples.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace multimargin::bindings {

namespace {

template <class T, class I>
class PyRowEngine {
 public:
  PyRowEngine(const PySamples<T, I>& samples, RowLoss loss, std::int32_t rows, Isa isa, int threads,
              std::uint64_t seed)
      : samples_(samples) {
    if (rows != samples.view().n_classes && !(rows == 1 && samples.view().n_classes == 2))
      throw nb::value_error("row_engine: one weight vector per class, or one for two classes");
    nb::gil_scoped_release unlock;
    engine_ = std::make_unique<RowEngine<T, I>>(samples_.view(), loss, rows, isa, threads, seed);
    engine_->set_stop([this] { return interrupt_.stop(); });
    engine_->set_abort([this] { return interrupt_.interrupted(); });
  }

  void set_time_limit(double seconds) { interrupt_.set_limit(seconds); }

  void assign(Matrix<const double> alpha) {
    check(alpha.shape(0), alpha.shape(1), engine_->n_samples(), engine_->n_rows());
    unlocked(interrupt_, [&] { engine_->assign(alpha.data()); });
  }

  void alpha(Matrix<double> out) const {
    check(out.shape(0), out.shape(1), engine_->n_samples(), engine_->n_rows());
    engine_->alpha(out.data());
  }

  void weights(Matrix<T> out, nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu> constant) {
    check(out.shape(0), out.shape(1), engine_->n_rows(), engine_->n_features());
    check(constant.size(), 1, engine_->n_rows(), 1);
    unlocked(interrupt_, [&] { engine_->weights(out.data(), constant.data()); });
  }

  void copy_weights(Matrix<double> out) const {
    check(out.shape(0), out.shape(1), engine_->n_features() + 1, engine_->n_rows());
    engine_->copy_weights(out.data());
  }

  void put_weights(Matrix<const double> weights) {
    check(weights.shape(0), weights.shape(1), engine_->n_features() + 1, engine_->n_rows());
    engine_->put_weights(weights.data());
  }

  nb::typed<nb::dict, nb::str, Out<double>> save() const {
    const std::int64_t n = engine_->n_samples(), rows = engine_->n_rows();
    const std::int64_t features = engine_->n_features() + 1;
    auto made = [](std::int64_t a) { return std::vector<double>(static_cast<std::size_t>(a)); };
    auto alpha = made(n * rows), weights = made(features * rows), scores = made(n * rows);
    auto state = made(2 * n + RowEngine<T, I>::kRunNumbers);
    engine_->save(alpha.data(), weights.data(), scores.data(), state.data());
    nb::typed<nb::dict, nb::str, Out<double>> out;
    out["alpha"] = to_numpy(std::move(alpha));
    out["weights"] = to_numpy(std::move(weights));
    out["scores"] = to_numpy(std::move(scores));
    out["state"] = to_numpy(std::move(state));
    return out;
  }

  void load(In<double> alpha, In<double> weights, In<double> scores, In<double> state) {
    const std::int64_t n = engine_->n_samples(), rows = engine_->n_rows();
    check(alpha.size(), 1, n * rows, 1);
    check(weights.size(), 1, (engine_->n_features() + 1) * rows, 1);
    check(scores.size(), 1, n * rows, 1);
    check(state.size(), 1, 2 * n + RowEngine<T, I>::kRunNumbers, 1);
    unlocked(interrupt_,
             [&] { engine_->load(alpha.data(), weights.data(), scores.data(), state.data()); });
  }

  void end_newton() {
    unlocked(interrupt_, [&] { engine_->end_newton(); });
  }

  PassReport run_pass(bool everything, double leave_below, double quiet, double idle, bool hold) {
    PassReport report;
    unlocked(interrupt_,
             [&] { report = engine_->pass(everything, leave_below, quiet, idle, hold); });
    return report;
  }

  void recompute() {
    unlocked(interrupt_, [&] { engine_->recompute(); });
  }

  RowCertificate certify() {
    RowCertificate seen;
    unlocked(interrupt_, [&] { seen = engine_->certify(); });
    return seen;
  }

  NewtonReport begin_newton(double strength) {
    NewtonReport report;
    unlocked(interrupt_, [&] { report = engine_->begin_newton(strength); });
    return report;
  }

  NewtonReport next_point(double strength) {
    NewtonReport report;
    unlocked(interrupt_, [&] { report = engine_->next_point(strength); });
    return report;
  }

  NewtonReport newton_step(double reduction, std::int32_t iterations) {
    NewtonReport report;
    unlocked(interrupt_, [&] { report = engine_->newton_step(reduction, iterations); });
    return report;
  }

  bool may_hold() const { return engine_->may_hold(); }
  std::int64_t bytes() const { return engine_->bytes(); }
  std::int64_t newton_bytes() const { return engine_->newton_bytes(); }
  double matrix_work() const { return engine_->matrix_work(); }

 private:
  static void check(std::size_t a, std::size_t b, std::int64_t rows, std::int64_t columns) {
    if (static_cast<std::int64_t>(a) != rows || static_cast<std::int64_t>(b) != columns)
      throw nb::value_error("row_engine: an array of another shape was expected");
  }

  PySamples<T, I> samples_;
  Interrupt interrupt_;
  std::unique_ptr<RowEngine<T, I>> engine_;
};

template <class T, class I>
void bind_one(nb::module_& m) {
  using S = PyRowEngine<T, I>;
  nb::class_<S>(m, type_name<T, I>("RowEngine").c_str())
      .def("set_time_limit", &S::set_time_limit, "seconds"_a)
      .def("assign", &S::assign, "alpha"_a.noconvert())
      .def("alpha", &S::alpha, "out"_a.noconvert())
      .def("weights", &S::weights, "out"_a.noconvert(), "constant"_a.noconvert())
      .def("copy_weights", &S::copy_weights, "out"_a.noconvert())
      .def("put_weights", &S::put_weights, "weights"_a.noconvert())
      .def("end_newton", &S::end_newton)
      .def("save", &S::save)
      .def("load", &S::load, "alpha"_a.noconvert(), "weights"_a.noconvert(), "scores"_a.noconvert(),
           "state"_a.noconvert())
      .def("run_pass", &S::run_pass, "everything"_a, "leave_below"_a, "quiet"_a, "idle"_a,
           "hold"_a = false)
      .def("recompute", &S::recompute)
      .def("certify", &S::certify)
      .def("begin_newton", &S::begin_newton, "strength"_a)
      .def("next_point", &S::next_point, "strength"_a)
      .def("newton_step", &S::newton_step, "reduction"_a, "iterations"_a)
      .def_prop_ro("may_hold", &S::may_hold)
      .def_prop_ro("bytes", &S::bytes)
      .def_prop_ro("newton_bytes", &S::newton_bytes)
      .def_prop_ro("matrix_work", &S::matrix_work);
  m.def(
      "row_engine",
      [](const PySamples<T, I>& samples, const std::string& formulation, const std::string& loss,
         std::int32_t rows, int threads, std::uint64_t seed, std::optional<int> isa) {
        return new S(samples, row_loss_of(formulation, loss), rows, isa_of(isa), threads, seed);
      },
      "samples"_a, "formulation"_a, "loss"_a, "rows"_a, "threads"_a, "seed"_a,
      "isa"_a = nb::none());
}

template <class T, class I>
class PyBoundedEngine {
 public:
  PyBoundedEngine(const PySamples<T, I>& samples, Isa isa, int threads, std::uint64_t seed)
      : samples_(samples) {
    nb::gil_scoped_release unlock;
    engine_ = std::make_unique<BoundedEngine<T, I>>(samples_.view(), isa, threads, seed);
    engine_->set_stop([this] { return interrupt_.stop(); });
    engine_->set_abort([this] { return interrupt_.interrupted(); });
  }

  void set_time_limit(double seconds) { interrupt_.set_limit(seconds); }

  void assign(In<std::int64_t> slot_begin, In<std::int32_t> cls, In<T> value) {
    const std::size_t n = static_cast<std::size_t>(engine_->n_samples());
    if (slot_begin.size() != n + 1 || cls.size() != value.size() || slot_begin(0) != 0 ||
        slot_begin(n) != static_cast<std::int64_t>(cls.size()))
      throw nb::value_error("bounded_engine: ragged rows of another shape were expected");
    unlocked(interrupt_, [&] { engine_->assign(slot_begin.data(), cls.data(), value.data()); });
  }

  Tuple<Out<std::int64_t>, Out<std::int32_t>, Out<T>> lists() const {
    std::vector<std::int64_t> begin = engine_->slot_begin();
    Buffer<std::int32_t> cls;
    Buffer<T> value;
    cls.reset(static_cast<std::size_t>(begin.back()));
    value.reset(static_cast<std::size_t>(begin.back()));
    engine_->lists(begin.data(), cls.data(), value.data());
    return Tuple<Out<std::int64_t>, Out<std::int32_t>, Out<T>>(nb::make_tuple(
        to_numpy(std::move(begin)), to_numpy(std::move(cls)), to_numpy(std::move(value))));
  }

  PassReport run_pass(bool everything, double leave_below, double quiet, double idle) {
    PassReport report;
    unlocked(interrupt_, [&] { report = engine_->pass(everything, leave_below, quiet, idle); });
    return report;
  }

  void recompute() {
    unlocked(interrupt_, [&] { engine_->recompute(); });
  }

  RowCertificate certify() {
    RowCertificate seen;
    unlocked(interrupt_, [&] { seen = engine_->certify(); });
    return seen;
  }

  void weights(Matrix<T> out, nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu> constant) {
    if (static_cast<std::int64_t>(out.shape(0)) != engine_->n_classes() ||
        static_cast<std::int64_t>(out.shape(1)) != engine_->n_features() ||
        static_cast<std::int64_t>(constant.size()) != engine_->n_classes())
      throw nb::value_error("bounded_engine: an array of another shape was expected");
    unlocked(interrupt_, [&] { engine_->weights(out.data(), constant.data()); });
  }

  Rows<T> sparse_weights() {
    std::vector<std::int64_t> indptr = engine_->sparse_begin();
    Buffer<std::int32_t> indices;
    Buffer<T> data;
    std::vector<T> constant(static_cast<std::size_t>(engine_->n_classes()));
    indices.reset(static_cast<std::size_t>(indptr.back()));
    data.reset(static_cast<std::size_t>(indptr.back()));
    engine_->sparse_weights(indptr.data(), indices.data(), data.data(), constant.data());
    return Rows<T>(nb::make_tuple(to_numpy(std::move(data)), to_numpy(std::move(indices)),
                                  to_numpy(std::move(indptr)), to_numpy(std::move(constant))));
  }

  void forget_weights() { engine_->forget_weights(); }
  double total() const { return engine_->total(); }
  std::int64_t nonzeros() const { return engine_->nonzeros(); }
  std::int64_t bytes() const { return engine_->bytes(); }

 private:
  PySamples<T, I> samples_;
  Interrupt interrupt_;
  std::unique_ptr<BoundedEngine<T, I>> engine_;
};

template <class T, class I>
void bind_bounded(nb::module_& m) {
  using S = PyBoundedEngine<T, I>;
  nb::class_<S>(m, type_name<T, I>("BoundedEngine").c_str())
      .def("set_time_limit", &S::set_time_limit, "seconds"_a)
      .def("assign", &S::assign, "slot_begin"_a.noconvert(), "cls"_a.noconvert(),
           "value"_a.noconvert())
      .def("lists", &S::lists)
      .def("run_pass", &S::run_pass, "everything"_a, "leave_below"_a, "quiet"_a, "idle"_a)
      .def("recompute", &S::recompute)
      .def("certify", &S::certify)
      .def("weights", &S::weights, "out"_a.noconvert(), "constant"_a.noconvert())
      .def("sparse_weights", &S::sparse_weights)
      .def("forget_weights", &S::forget_weights)
      .def_prop_ro("total", &S::total)
      .def_prop_ro("nonzeros", &S::nonzeros)
      .def_prop_ro("bytes", &S::bytes);
  m.def(
      "bounded_engine",
      [](const PySamples<T, I>& samples, int threads, std::uint64_t seed, std::optional<int> isa) {
        return new S(samples, isa_of(isa), threads, seed);
      },
      "samples"_a, "threads"_a, "seed"_a, "isa"_a = nb::none());
}

}  // namespace

void bind_row_engine(nb::module_& m) {
  nb::class_<RowCertificate>(m, "RowCertificate")
      .def_ro("half_norm", &RowCertificate::half_norm)
      .def_ro("loss", &RowCertificate::loss)
      .def_ro("gain", &RowCertificate::gain)
      .def_ro("dual_half_norm", &RowCertificate::dual_half_norm)
      .def_ro("violation", &RowCertificate::violation)
      .def_ro("margin", &RowCertificate::margin)
      .def_ro("free", &RowCertificate::free);
  nb::class_<NewtonReport>(m, "NewtonReport")
      .def_ro("primal", &NewtonReport::primal)
      .def_ro("dual", &NewtonReport::dual)
      .def_ro("residual", &NewtonReport::residual)
      .def_ro("moved", &NewtonReport::moved)
      .def_ro("length", &NewtonReport::length)
      .def_ro("iterations", &NewtonReport::iterations)
      .def_ro("free", &NewtonReport::free)
      .def_ro("complete", &NewtonReport::complete);
#define MM_BIND(T, I) \
  bind_one<T, I>(m);  \
  bind_bounded<T, I>(m);
  MM_FOR_TYPES(MM_BIND)
#undef MM_BIND
}

}  // namespace multimargin::bindings
