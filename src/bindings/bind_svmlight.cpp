// multimargin._core.parse_svmlight: text in a buffer to sparse rows and labels.
#include <nanobind/ndarray.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "bindings.hpp"
#include "io/svmlight.hpp"

namespace nb = nanobind;

namespace multimargin::bindings {
namespace {

// Holds the bytes of a Python object (bytes, mmap, memoryview) for a scope.
class ByteView {
 public:
  explicit ByteView(nb::handle source) {
    if (PyObject_GetBuffer(source.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~ByteView() { PyBuffer_Release(&view_); }
  ByteView(const ByteView&) = delete;
  ByteView& operator=(const ByteView&) = delete;
  const char* data() const { return static_cast<const char*>(view_.buf); }
  std::size_t size() const { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

// A NumPy array that owns `values`; no copy.
template <typename T>
nb::object to_numpy(std::unique_ptr<T[]> values, std::initializer_list<std::size_t> shape) {
  T* pointer = values.get();
  nb::capsule owner(pointer, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  values.release();
  return nb::cast(nb::ndarray<nb::numpy, T>(pointer, shape, owner));
}

// scipy wants row pointers of 32 bits wherever they suffice.
nb::object row_pointers(std::unique_ptr<std::int64_t[]> indptr, std::int64_t n_rows,
                        std::int64_t nnz) {
  const auto n = static_cast<std::size_t>(n_rows) + 1;
  if (nnz > std::numeric_limits<std::int32_t>::max()) return to_numpy(std::move(indptr), {n});
  std::unique_ptr<std::int32_t[]> narrow(new std::int32_t[n]);
  std::transform(indptr.get(), indptr.get() + n, narrow.get(),
                 [](std::int64_t v) { return static_cast<std::int32_t>(v); });
  return to_numpy(std::move(narrow), {n});
}

template <typename Real>
nb::tuple parse_as(nb::handle source, const svmlight::Options& options) {
  const ByteView bytes(source);
  svmlight::Dataset<Real> parsed;
  {
    nb::gil_scoped_release unlocked;
    parsed = svmlight::parse<Real>(bytes.data(), bytes.size(), options);
  }
  const auto n_rows = static_cast<std::size_t>(parsed.n_rows);
  const auto nnz = static_cast<std::size_t>(parsed.nnz);
  nb::object labels = parsed.labels_are_integers
                          ? to_numpy(std::move(parsed.integer_labels), {n_rows})
                          : to_numpy(std::move(parsed.text_labels), {n_rows, parsed.text_width});
  return nb::make_tuple(
      to_numpy(std::move(parsed.data), {nnz}), to_numpy(std::move(parsed.indices), {nnz}),
      row_pointers(std::move(parsed.indptr), parsed.n_rows, parsed.nnz), parsed.n_columns, labels);
}

nb::tuple parse_svmlight(nb::handle source, std::int64_t n_features, bool double_precision,
                         bool zero_based, bool ignore_extra_features, int n_threads,
                         std::size_t block_bytes) {
  svmlight::Options options;
  options.zero_based = zero_based;
  options.n_features = n_features;
  options.ignore_extra_features = ignore_extra_features;
  options.n_threads = n_threads;
  options.block_bytes = block_bytes;
  return double_precision ? parse_as<double>(source, options) : parse_as<float>(source, options);
}

// Raises SvmlightParseError(line, column, message): the caller knows the file
// name and words the final message.
void translate(const std::exception_ptr& thrown, void* type) {
  try {
    std::rethrow_exception(thrown);
  } catch (const svmlight::ParseError& error) {
    PyObject* args = Py_BuildValue("(LLs)", static_cast<long long>(error.line),
                                   static_cast<long long>(error.column), error.what());
    if (args == nullptr) return;
    PyErr_SetObject(static_cast<PyObject*>(type), args);
    Py_DECREF(args);
  }
}

}  // namespace

void bind_svmlight(nb::module_& m) {
  using namespace nb::literals;
  PyObject* type =
      PyErr_NewException("multimargin._core.SvmlightParseError", PyExc_ValueError, nullptr);
  if (type == nullptr) throw nb::python_error();
  m.attr("SvmlightParseError") = nb::steal(type);
  // The module keeps the type alive for as long as the translator can run.
  nb::register_exception_translator(translate, type);
  m.def("parse_svmlight", &parse_svmlight, "source"_a, nb::kw_only(), "n_features"_a = -1,
        "double_precision"_a = false, "zero_based"_a = false, "ignore_extra_features"_a = false,
        "n_threads"_a = 1, "block_bytes"_a = std::size_t{1} << 20,
        "Parse LIBSVM text in a bytes-like object.\n\n"
        "Returns (data, indices, indptr, n_columns, labels); labels are int64 of shape (n,), or "
        "code points of shape (n, width) as uint32 when some label is not an integer. Raises "
        "SvmlightParseError(line, column, message).");
}

}  // namespace multimargin::bindings
