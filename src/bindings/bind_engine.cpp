// engine(): one Python class per value and index type.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>

#include "active_set/engine.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "choices.hpp"
#include "formulations/sample_block.hpp"
#include "interrupt.hpp"
#include "samples.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace multimargin::bindings {

namespace {

template <class T, class I>
class PyEngine {
 public:
  PyEngine(const PySamples<T, I>& samples, Formulation formulation, Isa isa, int threads,
           std::uint64_t seed, Intercept intercept)
      : samples_(samples) {
    nb::gil_scoped_release unlock;
    engine_ =
        std::make_unique<Engine<T, I>>(samples_.view(), formulation, isa, threads, seed, intercept);
    engine_->set_stop([this] { return interrupt_.stop(); });
    engine_->set_abort([this] { return interrupt_.interrupted(); });
  }

  void set_time_limit(double seconds) { interrupt_.set_limit(seconds); }

  void start_from_centroids(std::int32_t candidates, std::int64_t budget) {
    unlocked(interrupt_, [&] { engine_->start_from_centroids(candidates, budget); });
  }

  void assign(In<std::int64_t> slot_begin, In<std::int32_t> cls, In<T> alpha,
              std::optional<In<T>> w_bias) {
    if (static_cast<std::int64_t>(slot_begin.size()) != engine_->X().rows + 1 ||
        cls.size() != alpha.size() ||
        slot_begin.data()[slot_begin.size() - 1] != static_cast<std::int64_t>(cls.size()))
      throw nb::value_error("assign: slot_begin, cls and alpha do not fit each other");
    if (w_bias && static_cast<std::int32_t>(w_bias->size()) != engine_->n_classes())
      throw nb::value_error("assign: w_bias must have one entry per class");
    std::vector<T> held;
    if (w_bias) held.assign(w_bias->data(), w_bias->data() + w_bias->size());
    unlocked(interrupt_, [&] {
      engine_->assign({slot_begin.data(), slot_begin.data() + slot_begin.size()},
                      {cls.data(), cls.data() + cls.size()},
                      {alpha.data(), alpha.data() + alpha.size()}, std::move(held));
    });
  }

  void merge_found(std::int32_t drawn) {
    unlocked(interrupt_, [&] { engine_->merge_found(drawn); });
  }

  void recompute() {
    unlocked(interrupt_, [&] { engine_->recompute(); });
  }

  PassReport run_pass(const VisitRule<double>& rule, double reach) {
    PassReport report;
    unlocked(interrupt_, [&] { report = engine_->run_pass(rule_in<T>(rule), reach); });
    return report;
  }

  FocusReport focus(const VisitRule<double>& rule) {
    FocusReport report;
    unlocked(interrupt_, [&] { report = engine_->focus(rule_in<T>(rule)); });
    return report;
  }

  ScanReport scan(std::int32_t capacity, std::int64_t most, double idle, bool exact,
                  std::int32_t some) {
    ScanReport report;
    unlocked(interrupt_,
             [&] { report = engine_->scan(capacity, most, static_cast<T>(idle), exact, some); });
    return report;
  }

  // alpha as rows of (class, value); slot 0, the own class, included.
  Tuple<Out<std::int64_t>, Out<std::int32_t>, Out<T>> alpha() const {
    const ActiveSet<T>& a = engine_->active();
    return nb::make_tuple(to_numpy(a.slot_begin()), to_numpy(a.cls()), to_numpy(a.alpha()));
  }

  // Variables of the certified dual point, where these are not alpha; else empty.
  Out<T> balanced() const { return to_numpy(engine_->balanced()); }

  // Weights of the constant feature.
  Out<T> w_bias() const { return to_numpy(engine_->active().w_bias()); }

  // The weights as CSR parts with sorted features and no zeros, and the constant's weights.
  Rows<T> weights() {
    SparseRows<T> rows;
    unlocked(interrupt_, [&] { rows = engine_->weights(); });
    return nb::make_tuple(to_numpy(std::move(rows.value)), to_numpy(std::move(rows.index)),
                          to_numpy(std::move(rows.begin)), to_numpy(engine_->active().w_bias()));
  }

  std::int64_t active_pairs() const { return engine_->active().pairs(); }

 private:
  PySamples<T, I> samples_;
  Interrupt interrupt_;
  std::unique_ptr<Engine<T, I>> engine_;
};

template <class T, class I>
void bind_one(nb::module_& m) {
  using E = PyEngine<T, I>;
  nb::class_<E>(m, type_name<T, I>("Engine").c_str())
      .def("set_time_limit", &E::set_time_limit, "seconds"_a)
      .def("start_from_centroids", &E::start_from_centroids, "candidates"_a, "budget"_a)
      .def("assign", &E::assign, "slot_begin"_a.noconvert(), "cls"_a.noconvert(),
           "alpha"_a.noconvert(), "w_bias"_a.noconvert() = nb::none())
      .def("merge_found", &E::merge_found, "drawn"_a = 0)
      .def("recompute", &E::recompute)
      .def("run_pass", &E::run_pass, "rule"_a, "reach"_a = 1.0)
      .def("focus", &E::focus, "rule"_a)
      .def("scan", &E::scan, "capacity"_a, "most"_a, "idle"_a, "exact"_a = false, "some"_a = 0)
      .def("alpha", &E::alpha)
      .def("balanced", &E::balanced)
      .def("w_bias", &E::w_bias)
      .def("weights", &E::weights)
      .def_prop_ro("active_pairs", &E::active_pairs);
  m.def(
      "engine",
      [](const PySamples<T, I>& samples, const std::string& formulation, int threads,
         std::uint64_t seed, std::optional<int> isa, bool hold_intercept, bool free_intercept) {
        const Intercept held = hold_intercept ? Intercept::held : Intercept::moves;
        return new E(samples, formulation_of(formulation), isa_of(isa), threads, seed,
                     free_intercept ? Intercept::free : held);
      },
      "samples"_a, "formulation"_a, "threads"_a, "seed"_a, "isa"_a = nb::none(),
      "hold_intercept"_a = false, "free_intercept"_a = false);
}

void bind_visit_rule(nb::module_& m) {
  using Rule = VisitRule<double>;
  nb::class_<Rule>(m, "VisitRule")
      .def(
          "__init__",
          [](Rule* self, bool everything, double leave_below, double idle, double quiet_gap,
             double quiet_violation, std::int32_t batch, double coupling, double spare) {
            new (self) Rule{batch,    everything, leave_below,     idle,
                            coupling, quiet_gap,  quiet_violation, spare};
          },
          nb::kw_only(), "everything"_a, "leave_below"_a, "idle"_a, "quiet_gap"_a,
          "quiet_violation"_a, "batch"_a = 1, "coupling"_a = 0.0, "spare"_a = -1.0)
      .def_ro("batch", &Rule::batch)
      .def_ro("everything", &Rule::everything)
      // For visits that see but a share of a sample's gap.
      .def(
          "with_gaps_times",
          [](Rule rule, double share) {
            rule.leave_below *= share;
            rule.quiet_gap *= share;
            return rule;
          },
          "share"_a);
}

// One block solve by the kernel of a given instruction set, to compare with its NumPy twin.
template <class T>
void bind_solve_block(nb::module_& m) {
  m.def(
      "solve_block",
      [](const std::string& formulation, int isa, In<T> margin, In<T> alpha, double box,
         double curvature_own, In<T> curvature, double outside,
         bool exchange) -> Tuple<Out<T>, T, T> {
        if (margin.size() != alpha.size() || margin.size() != curvature.size())
          throw nb::value_error("margin, alpha and curvature must have the same length");
        const Block<T> block{static_cast<int>(margin.size()),
                             margin.data(),
                             alpha.data(),
                             static_cast<T>(box),
                             static_cast<T>(box - outside),
                             static_cast<T>(curvature_own),
                             curvature.data()};
        std::vector<T> out(margin.size()), work(2 * margin.size());
        const auto kernels = solver_kernels<T>(formulation_of(formulation), static_cast<Isa>(isa));
        if (exchange && kernels.separable)
          throw nb::value_error("variables that share no budget have nothing to exchange");
        const auto solve = exchange ? kernels.solve_exchange : kernels.solve_block;
        const Report<T> report = solve(block, out.data(), work.data());
        return nb::make_tuple(to_numpy(std::move(out)), report.gap, report.violation);
      },
      "formulation"_a, "isa"_a, "margin"_a.noconvert(), "alpha"_a.noconvert(), "box"_a,
      "curvature_own"_a, "curvature"_a.noconvert(), "outside"_a = 0.0, "exchange"_a = false);
}

}  // namespace

void bind_engine(nb::module_& m) {
  bind_visit_rule(m);
  nb::class_<PassReport>(m, "PassReport")
      .def_ro("gap", &PassReport::gap)
      .def_ro("violation", &PassReport::violation)
      .def_ro("visits", &PassReport::visits)
      .def_ro("complete", &PassReport::complete);
  nb::class_<FocusReport>(m, "FocusReport")
      .def_ro("samples", &FocusReport::samples)
      .def_ro("gap", &FocusReport::gap)
      .def_ro("left", &FocusReport::left);
  nb::class_<ScanReport>(m, "ScanReport")
      .def_ro("primal", &ScanReport::primal)
      .def_ro("dual", &ScanReport::dual)
      .def_ro("half_norm", &ScanReport::half_norm)
      .def_ro("rounding", &ScanReport::rounding)
      .def_ro("violation", &ScanReport::violation)
      .def_ro("found", &ScanReport::found)
      .def_ro("complete", &ScanReport::complete);
#define MM_BIND(T, I) bind_one<T, I>(m);
  MM_FOR_TYPES(MM_BIND)
#undef MM_BIND
  bind_solve_block<float>(m);
  bind_solve_block<double>(m);
  m.def("best_isa", [] { return static_cast<int>(best_isa()); });
  m.def("isa_available", [](int isa) { return isa_available(static_cast<Isa>(isa)); }, "isa"_a);
  m.def("isa_name", [](int isa) { return std::string(isa_name(static_cast<Isa>(isa))); }, "isa"_a);
}

}  // namespace multimargin::bindings
