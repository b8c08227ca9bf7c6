// The types that the core is compiled for: values of X and of the weights, and indices of X.
#pragma once

#include <cstdint>

#include "common/csr.hpp"

#define MM_FOR_TYPES(MACRO)   \
  MACRO(float, std::int32_t)  \
  MACRO(float, std::int64_t)  \
  MACRO(float, Dense)         \
  MACRO(double, std::int32_t) \
  MACRO(double, std::int64_t) \
  MACRO(double, Dense)
