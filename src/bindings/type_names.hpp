// Names of the Python classes that exist once per value and index type.
#pragma once

#include <string>

#include "common/types.hpp"

namespace multimargin::bindings {

template <class T>
std::string type_name(const char* kind) {
  return std::string(kind) + (sizeof(T) == 4 ? "F32" : "F64");
}

template <class T, class I>
std::string type_name(const char* kind) {
  return type_name<T>(kind) + (is_dense<I> ? "Dense" : sizeof(I) == 4 ? "I32" : "I64");
}

}  // namespace multimargin::bindings
