// NumPy arrays in and out, without copies.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <vector>

#include "common/buffer.hpp"
#include "common/csr.hpp"
#include "common/types.hpp"

namespace multimargin::bindings {

template <class U>
using In = nanobind::ndarray<const U, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

template <class U>
using Matrix = nanobind::ndarray<U, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

template <class U>
using Out = nanobind::ndarray<nanobind::numpy, U, nanobind::ndim<1>>;

// An array that stays with its owner.
template <class U>
using View = nanobind::ndarray<nanobind::numpy, const U, nanobind::ndim<1>>;

template <class U>
using InOut = nanobind::ndarray<U, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

template <class U>
std::vector<U> copy(const In<U>& array) {
  return {array.data(), array.data() + array.size()};
}

// A Python tuple with these entries, for the stubs.
template <class... Entry>
using Tuple = nanobind::typed<nanobind::tuple, Entry...>;

// Values of sparse rows, their indices, where rows begin, and a value per row.
template <class T>
using Rows = Tuple<Out<T>, Out<std::int32_t>, Out<std::int64_t>, Out<T>>;

template <class U>
Out<U> to_numpy(std::vector<U> values) {
  auto* kept = new std::vector<U>(std::move(values));
  nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<U>*>(p); });
  return Out<U>(kept->data(), {kept->size()}, owner);
}

template <class U>
Out<U> to_numpy(Buffer<U> values) {
  auto* kept = new Buffer<U>(std::move(values));
  nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<Buffer<U>*>(p); });
  return Out<U>(kept->data(), {kept->size()}, owner);
}

template <class T, class I>
Csr<T, I> csr_view(const In<T>& data, const In<I>& indices, const In<I>& indptr,
                   std::int64_t cols) {
  if (indptr.size() < 1) throw nanobind::value_error("indptr must have at least one entry");
  return {data.data(), indices.data(), indptr.data(), static_cast<std::int64_t>(indptr.size()) - 1,
          cols};
}

template <class T>
std::string type_name(const char* kind) {
  return std::string(kind) + (sizeof(T) == 4 ? "F32" : "F64");
}

template <class T, class I>
std::string type_name(const char* kind) {
  return type_name<T>(kind) + (is_dense<I> ? "Dense" : sizeof(I) == 4 ? "I32" : "I64");
}

}  // namespace multimargin::bindings
