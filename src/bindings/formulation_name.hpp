// Formulations by the names that Python uses.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "formulations/formulation.hpp"

namespace multimargin::bindings {

inline Formulation formulation_of(const std::string& name) {
  if (name == "ww") return Formulation::weston_watkins;
  if (name == "cs") return Formulation::crammer_singer;
  throw nanobind::value_error(("unknown formulation: " + name).c_str());
}

}  // namespace multimargin::bindings
