// Formulations, losses and instruction sets by the names and numbers that Python uses.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <utility>

#include "formulations/formulation.hpp"
#include "rows/losses.hpp"
#include "simd/isa.hpp"

namespace multimargin::bindings {

inline Formulation formulation_of(const std::string& name) {
  if (name == "ww") return Formulation::weston_watkins;
  if (name == "cs") return Formulation::crammer_singer;
  throw nanobind::value_error(("unknown formulation: " + name).c_str());
}

inline BinaryLoss loss_of(const std::string& name) {
  if (name == "hinge") return BinaryLoss::hinge;
  if (name == "squared_hinge") return BinaryLoss::squared_hinge;
  throw nanobind::value_error(("unknown loss: " + name).c_str());
}

inline RowLoss row_loss_of(const std::string& formulation, const std::string& loss) {
  if (formulation == "ovr" && loss == "squared_hinge") return RowLoss::one_vs_rest_squared;
  const std::pair<const char*, RowLoss> all[] = {
      {"ww", RowLoss::weston_watkins},      {"cs", RowLoss::crammer_singer},
      {"llw", RowLoss::lee_lin_wahba},      {"ovr", RowLoss::one_vs_rest},
      {"adm", RowLoss::discriminative_max}, {"ats", RowLoss::total_sum},
      {"atm", RowLoss::total_max},          {"mmr", RowLoss::max_margin_regression},
      {"rm", RowLoss::reinforced}};
  for (const auto& [name, kind] : all)
    if (formulation == name && loss == "hinge") return kind;
  throw nanobind::value_error(("unknown formulation: " + formulation + ", " + loss).c_str());
}

// Without a number: the best instruction set that the processor has.
inline Isa isa_of(std::optional<int> isa) { return isa ? static_cast<Isa>(*isa) : best_isa(); }

}  // namespace multimargin::bindings
