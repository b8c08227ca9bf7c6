// multimargin._core.parse_svmlight: text in a buffer to sparse rows and labels.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
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
template <typename Real>
nb::object row_pointers(svmlight::Dataset<Real>& parsed) {
  const auto n = static_cast<std::size_t>(parsed.n_rows) + 1;
  if (auto narrow = svmlight::narrow_indptr(parsed)) return to_numpy(std::move(narrow), {n});
  return to_numpy(std::move(parsed.indptr), {n});
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
  const auto n_labels = static_cast<std::size_t>(parsed.n_labels);
  const auto nnz = static_cast<std::size_t>(parsed.nnz);
  nb::object labels = parsed.labels_are_integers
                          ? to_numpy(std::move(parsed.integer_labels), {n_labels})
                          : to_numpy(std::move(parsed.text_labels), {n_labels, parsed.text_width});
  if (!options.multilabel) parsed.label_begin.reset(new std::int64_t[1]);
  nb::object begin =
      to_numpy(std::move(parsed.label_begin), {options.multilabel ? n_rows + 1 : std::size_t{0}});
  return nb::make_tuple(to_numpy(std::move(parsed.data), {nnz}),
                        to_numpy(std::move(parsed.indices), {nnz}), row_pointers(parsed),
                        parsed.n_columns, begin, labels);
}

nb::tuple parse_svmlight(nb::handle source, std::int64_t n_features, bool double_precision,
                         bool zero_based, bool ignore_extra_features, bool multilabel,
                         int n_threads, std::size_t chunk_bytes) {
  svmlight::Options options;
  options.zero_based = zero_based;
  options.n_features = n_features;
  options.ignore_extra_features = ignore_extra_features;
  options.multilabel = multilabel;
  options.n_threads = n_threads;
  options.chunk_bytes = chunk_bytes;
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
  const std::string name = nb::cast<std::string>(m.attr("__name__")) + ".SvmlightParseError";
  PyObject* type = PyErr_NewException(name.c_str(), PyExc_ValueError, nullptr);
  if (type == nullptr) throw nb::python_error();
  m.attr("SvmlightParseError") = nb::steal(type);
  // The module keeps the type alive for as long as the translator can run.
  nb::register_exception_translator(translate, type);
  m.def("parse_svmlight", &parse_svmlight,
        nb::sig("def parse_svmlight(source: typing_extensions.Buffer, *, n_features: int = -1, "
                "double_precision: bool = False, zero_based: bool = False, "
                "ignore_extra_features: bool = False, "
                "multilabel: bool = False, n_threads: int = 1, chunk_bytes: int = 1048576) -> "
                "tuple[numpy.typing.NDArray[typing.Any], numpy.typing.NDArray[numpy.int32], "
                "numpy.typing.NDArray[typing.Any], int, "
                "numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[typing.Any]]"),
        "source"_a, nb::kw_only(), "n_features"_a = -1, "double_precision"_a = false,
        "zero_based"_a = false, "ignore_extra_features"_a = false, "multilabel"_a = false,
        "n_threads"_a = 1, "chunk_bytes"_a = std::size_t{1} << 20,
        "Parse LIBSVM text in a bytes-like object.\n\n"
        "Returns (data, indices, indptr, n_columns, label_begin, labels); labels are int64 of "
        "shape (n,), or code points of shape (n, width) as uint32 when some label is not an "
        "integer; label_begin says where those of each row begin, if it is multilabel. Raises "
        "SvmlightParseError(line, column, message).");
}

}  // namespace multimargin::bindings
