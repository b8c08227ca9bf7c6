// lee_lin_wahba(): one Python class per value and index type.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "choices.hpp"
#include "interrupt.hpp"
#include "lee_lin_wahba/lee_lin_wahba.hpp"
#include "samples.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace multimargin::bindings {

namespace {

template <class T>
using Values = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T, class I>
class PyLeeLinWahba {
 public:
  PyLeeLinWahba(const PySamples<T, I>& samples, Isa isa, int threads, std::uint64_t seed,
                const std::vector<std::int32_t>& cuts)
      : samples_(samples) {
    nb::gil_scoped_release unlock;
    solver_ = std::make_unique<LeeLinWahba<T, I>>(samples_.view(), isa, threads, seed, cuts);
    solver_->set_stop([this] { return interrupt_.stop(); });
    solver_->set_abort([this] { return interrupt_.interrupted(); });
  }

  void set_time_limit(double seconds) { interrupt_.set_limit(seconds); }

  void set_alpha(Matrix<const T> alpha) {
    check_alpha(alpha.shape(0), alpha.shape(1));
    unlocked(interrupt_, [&] { solver_->set_alpha(alpha.data()); });
  }

  void alpha(Matrix<T> out) const {
    check_alpha(out.shape(0), out.shape(1));
    solver_->alpha(out.data());
  }

  void weights(Matrix<T> out, Values<T> constant) {
    if (static_cast<std::int32_t>(out.shape(0)) != solver_->held() ||
        static_cast<std::int64_t>(out.shape(1)) != features() || constant.size() != out.shape(0))
      throw nb::value_error("weights: out must be of classes x features");
    unlocked(interrupt_, [&] { solver_->weights(out.data(), constant.data()); });
  }

  // ---------------------------------------------------------- bundles of classes

  void alpha_sums(In<std::int32_t> samples, Matrix<double> out) {
    check_samples(samples);
    check_rows(out.shape(0), out.shape(1), samples.size());
    unlocked(interrupt_, [&] {
      solver_->alpha_sums(samples.data(), static_cast<std::int64_t>(samples.size()), out.data());
    });
  }

  void recompute_from(In<double> sums) {
    check_length(sums.size(), solver_->X().rows);
    unlocked(interrupt_, [&] { solver_->recompute(sums.data()); });
  }

  void weight_sums(Matrix<double> out) {
    check_rows(out.shape(0), out.shape(1), static_cast<std::size_t>(features() + 1));
    unlocked(interrupt_, [&] { solver_->weight_sums(out.data()); });
  }

  void centre(In<double> sums) {
    check_length(sums.size(), features() + 1);
    unlocked(interrupt_, [&] { solver_->centre(sums.data()); });
  }

  std::vector<FullReport> certify_bundles(In<double> weight_sums) {
    check_length(weight_sums.size(), features() + 1);
    std::vector<FullReport> reports;
    unlocked(interrupt_, [&] { reports = solver_->certify_bundles(weight_sums.data()); });
    return reports;
  }

  Out<std::int32_t> shuffled_samples(std::uint64_t epoch) const {
    return to_numpy(solver_->shuffled_samples(epoch));
  }

  Out<double> mean() const { return to_numpy(solver_->mean()); }

  void move_mean(In<std::int32_t> samples, In<double> sums) {
    check_samples(samples);
    check_length(sums.size(), static_cast<std::int64_t>(samples.size()));
    unlocked(interrupt_, [&] {
      solver_->move_mean(samples.data(), static_cast<std::int64_t>(samples.size()), sums.data());
    });
  }

  void hold_mean(In<double> mean, In<std::int32_t> samples) {
    check_samples(samples);
    check_length(mean.size(), features() + 1);
    unlocked(interrupt_, [&] {
      solver_->hold_mean(mean.data(), samples.data(), static_cast<std::int64_t>(samples.size()));
    });
  }

  std::vector<PassReport> pass_lines(In<std::int32_t> samples, bool everything, double idle) {
    check_samples(samples);
    std::vector<PassReport> reports;
    unlocked(interrupt_, [&] {
      reports = solver_->pass_lines(samples.data(), static_cast<std::int64_t>(samples.size()),
                                    everything, static_cast<T>(idle));
    });
    return reports;
  }

  void save(std::int64_t bundle, Matrix<T> alpha, Matrix<T> w, Matrix<std::uint16_t> drops) {
    check_bundle(bundle, alpha, w, drops);
    unlocked(interrupt_, [&] { solver_->save(bundle, alpha.data(), w.data(), drops.data()); });
  }

  void load(std::int64_t bundle, Matrix<const T> alpha, Matrix<const T> w,
            Matrix<const std::uint16_t> drops) {
    check_bundle(bundle, alpha, w, drops);
    unlocked(interrupt_, [&] { solver_->load(bundle, alpha.data(), w.data(), drops.data()); });
  }

  void loaded(In<double> sums, In<double> mean) {
    check_length(sums.size(), solver_->X().rows);
    check_length(mean.size(), features() + 1);
    solver_->loaded(sums.data(), mean.data());
  }

  std::int32_t held() const { return solver_->held(); }
  std::int64_t bytes() const { return solver_->bytes(); }

 private:
  std::int64_t features() const { return solver_->X().cols; }

  void check_alpha(std::size_t samples, std::size_t classes) const {
    if (static_cast<std::int64_t>(samples) != solver_->X().rows ||
        static_cast<std::int32_t>(classes) != solver_->held())
      throw nb::value_error("alpha must be of samples x classes");
  }

  void check_samples(const In<std::int32_t>& samples) const {
    solver_->check_samples(samples.data(), static_cast<std::int64_t>(samples.size()));
  }

  void check_rows(std::size_t rows, std::size_t length, std::size_t wanted) const {
    if (static_cast<std::int64_t>(rows) != solver_->bundles() || length != wanted)
      throw nb::value_error("out must have a row per bundle, of the right length");
  }

  static void check_length(std::size_t length, std::int64_t wanted) {
    if (static_cast<std::int64_t>(length) != wanted)
      throw nb::value_error("an array is not of the length that the problem has");
  }

  template <class A, class W, class D>
  void check_bundle(std::int64_t bundle, const A& alpha, const W& w, const D& drops) const {
    if (bundle < 0 || bundle >= solver_->bundles())
      throw nb::value_error("there is no such bundle");
    const std::int64_t classes = solver_->classes_of(bundle), n = solver_->X().rows;
    const std::int64_t lines = (classes + line_lanes<T>() - 1) / line_lanes<T>();
    const auto fits = [](const auto& array, std::int64_t rows, std::int64_t columns) {
      return static_cast<std::int64_t>(array.shape(0)) == rows &&
             static_cast<std::int64_t>(array.shape(1)) == columns;
    };
    if (!fits(alpha, n, classes) || !fits(w, features() + 1, classes) || !fits(drops, 3 * lines, n))
      throw nb::value_error("a bundle's arrays are not of the shapes that the problem has");
  }

  PySamples<T, I> samples_;
  Interrupt interrupt_;
  std::unique_ptr<LeeLinWahba<T, I>> solver_;
};

template <class T, class I>
void bind_one(nb::module_& m) {
  using S = PyLeeLinWahba<T, I>;
  nb::class_<S>(m, type_name<T, I>("LeeLinWahba").c_str())
      .def("set_time_limit", &S::set_time_limit, "seconds"_a)
      .def("set_alpha", &S::set_alpha, "alpha"_a.noconvert())
      .def("alpha", &S::alpha, "out"_a.noconvert())
      .def("weights", &S::weights, "out"_a.noconvert(), "constant"_a.noconvert())
      .def("alpha_sums", &S::alpha_sums, "samples"_a.noconvert(), "out"_a.noconvert())
      .def("recompute_from", &S::recompute_from, "sums"_a.noconvert())
      .def("weight_sums", &S::weight_sums, "out"_a.noconvert())
      .def("centre", &S::centre, "sums"_a.noconvert())
      .def("certify_bundles", &S::certify_bundles, "weight_sums"_a.noconvert())
      .def("shuffled_samples", &S::shuffled_samples, "epoch"_a)
      .def("mean", &S::mean)
      .def("move_mean", &S::move_mean, "samples"_a.noconvert(), "sums"_a.noconvert())
      .def("hold_mean", &S::hold_mean, "mean"_a.noconvert(), "samples"_a.noconvert())
      .def("pass_lines", &S::pass_lines, "samples"_a.noconvert(), "everything"_a, "idle"_a)
      .def("save", &S::save, "bundle"_a, "alpha"_a.noconvert(), "w"_a.noconvert(),
           "drops"_a.noconvert())
      .def("load", &S::load, "bundle"_a, "alpha"_a.noconvert(), "w"_a.noconvert(),
           "drops"_a.noconvert())
      .def("loaded", &S::loaded, "sums"_a.noconvert(), "mean"_a.noconvert())
      .def_prop_ro("held", &S::held)
      .def_prop_ro("bytes", &S::bytes)
      .def_prop_ro_static("lanes", [](nb::handle) { return line_lanes<T>(); });
  m.def(
      "lee_lin_wahba",
      [](const PySamples<T, I>& samples, int threads, std::uint64_t seed,
         const std::vector<std::int32_t>& cuts,
         std::optional<int> isa) { return new S(samples, isa_of(isa), threads, seed, cuts); },
      "samples"_a, "threads"_a, "seed"_a, "cuts"_a = std::vector<std::int32_t>{},
      "isa"_a = nb::none());
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
#define MM_BIND(T, I) bind_one<T, I>(m);
  MM_FOR_TYPES(MM_BIND)
#undef MM_BIND
}

}  // namespace multimargin::bindings
