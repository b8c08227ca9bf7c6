// Formulations, losses and instruction sets by the names and numbers that Python uses.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "formulations/formulation.hpp"
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

// Without a number: the best instruction set that the processor has.
inline Isa isa_of(std::optional<int> isa) { return isa ? static_cast<Isa>(*isa) : best_isa(); }

}  // namespace multimargin::bindings
