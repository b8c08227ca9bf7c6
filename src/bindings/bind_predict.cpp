// Prediction: weights in one of three forms, and rows of X with them. One Python class of weights
// per value type, one function per value and index type, chosen by the arrays.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "common/clock.hpp"
#include "interrupt.hpp"
#include "samples.hpp"
#include "scoring/predict.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace multimargin::bindings {

namespace {

// Weights and intercepts of a model; the arrays are borrowed and kept alive.
template <class T>
struct PyCoefficients {
  Coefficients<T> view;
  In<T> intercept;
  In<T> values;
  In<std::int32_t> indices, indptr, slot;
  Matrix<const T> matrix;
};

template <class T>
PyCoefficients<T> with_intercept(const In<T>& intercept) {
  PyCoefficients<T> c;
  c.intercept = intercept;
  c.view.intercept = intercept.data();
  c.view.classes = static_cast<std::int64_t>(intercept.size());
  return c;
}

// CSR, one row per class.
template <class T>
PyCoefficients<T> sparse_weights(In<T> coef, In<std::int32_t> indices, In<std::int32_t> indptr,
                                 std::int64_t cols, In<T> intercept) {
  PyCoefficients<T> c = with_intercept(intercept);
  c.view.csr = csr_view(coef, indices, indptr, cols);
  c.view.stored = static_cast<std::int64_t>(std::min(coef.size(), indices.size()));
  c.view.features = cols;
  if (c.view.csr.rows != c.view.classes) throw nb::value_error("one intercept per class is needed");
  c.values = std::move(coef);
  c.indices = std::move(indices);
  c.indptr = std::move(indptr);
  return c;
}

template <class T>
PyCoefficients<T> dense_weights(Matrix<const T> coef, In<T> intercept) {
  PyCoefficients<T> c = with_intercept(intercept);
  c.view.dense = coef.data();
  c.view.features = static_cast<std::int64_t>(coef.shape(1));
  if (static_cast<std::int64_t>(coef.shape(0)) != c.view.classes)
    throw nb::value_error("one intercept per class is needed");
  c.matrix = std::move(coef);
  return c;
}

// By feature, as multimargin.models._feature_major makes them.
template <class T>
PyCoefficients<T> weights_by_feature(In<T> coef, In<std::int32_t> classes, In<std::int32_t> indptr,
                                     In<std::int32_t> slot, Matrix<const T> matrix,
                                     In<T> intercept) {
  PyCoefficients<T> c = with_intercept(intercept);
  FeatureView<T>& view = c.view.by_feature;
  view.lists = csr_view(coef, classes, indptr, c.view.classes);
  view.slot = slot.data();
  view.matrix = matrix.data();
  view.rows = static_cast<std::int64_t>(matrix.shape(0)) - 1;
  c.view.features = view.lists.rows;
  if (static_cast<std::int64_t>(slot.size()) != c.view.features ||
      static_cast<std::int64_t>(matrix.shape(1)) != c.view.classes || matrix.shape(0) < 1)
    throw nb::value_error("one slot per feature and one column per class are needed");
  c.values = std::move(coef);
  c.indices = std::move(classes);
  c.indptr = std::move(indptr);
  c.slot = std::move(slot);
  c.matrix = std::move(matrix);
  return c;
}

template <class Work>
void interruptible(const Work& work) {
  Interrupt interrupt;
  {
    nb::gil_scoped_release unlock;
    work(Periodically([&] { return interrupt.stop(); }));
  }
  interrupt.rethrow();
}

template <class T, class I>
const Csr<T, I>& checked(const PyRows<T, I>& rows, const PyCoefficients<T>& weights) {
  if (rows.view().cols != weights.view.features)
    throw nb::value_error("rows have other features than the weights");
  return rows.view();
}

template <class T>
SoftmaxView<T> softmax_of(const Matrix<double>& sums, double beta, double curvature, double origin,
                          std::int64_t rows) {
  if (static_cast<std::int64_t>(sums.shape(0)) != rows || sums.shape(1) != kSoftmaxSums)
    throw nb::value_error("sums must be (rows, SOFTMAX_SUMS)");
  return {sums.data(), beta, curvature, origin, false};
}

template <class T>
void check_top(const Matrix<std::int32_t>& cls_out, const Matrix<T>& score_out, std::int64_t rows,
               std::int64_t classes) {
  if (static_cast<std::int64_t>(cls_out.shape(0)) != rows ||
      cls_out.shape(0) != score_out.shape(0) || cls_out.shape(1) != score_out.shape(1) ||
      static_cast<std::int64_t>(cls_out.shape(1)) > classes)
    throw nb::value_error("outputs must be (rows, k) with k <= classes");
}

template <class T, class I>
void top(const PyRows<T, I>& rows, const PyCoefficients<T>& weights, int isa, int threads,
         Matrix<std::int32_t> cls_out, Matrix<T> score_out) {
  const Csr<T, I>& X = checked(rows, weights);
  check_top(cls_out, score_out, X.rows, weights.view.classes);
  interruptible([&](const auto& stop) {
    predict_top(X, weights.view, static_cast<std::int32_t>(cls_out.shape(1)), threads,
                static_cast<Isa>(isa), stop, cls_out.data(), score_out.data());
  });
}

// The best classes and the sums of a softmax, in one product.
template <class T, class I>
void top_with_sums(const PyRows<T, I>& rows, const PyCoefficients<T>& weights, int isa, int threads,
                   Matrix<std::int32_t> cls_out, Matrix<T> score_out, Matrix<double> sums_out,
                   double beta, double curvature, double origin) {
  const Csr<T, I>& X = checked(rows, weights);
  check_top(cls_out, score_out, X.rows, weights.view.classes);
  const auto softmax = softmax_of<T>(sums_out, beta, curvature, origin, X.rows);
  interruptible([&](const auto& stop) {
    predict_top(X, weights.view, static_cast<std::int32_t>(cls_out.shape(1)), threads,
                static_cast<Isa>(isa), stop, cls_out.data(), score_out.data(), &softmax);
  });
}

// With a class of each row: finds its score; or, with `below_own`, the classes ranked above it.
template <class T, class I>
void sums_of(const PyRows<T, I>& rows, const PyCoefficients<T>& weights, int isa, int threads,
             Matrix<double> sums_out, double beta, double curvature, double origin, bool moments,
             In<std::int32_t> own, InOut<T> own_score, std::optional<In<T>> below_own) {
  const Csr<T, I>& X = checked(rows, weights);
  auto softmax = softmax_of<T>(sums_out, beta, curvature, origin, X.rows);
  const auto count = static_cast<std::size_t>(X.rows);
  if (own.size() != count || own_score.size() != count || (below_own && below_own->size() != count))
    throw nb::value_error("a class and a score for each of the rows are needed");
  softmax.moments = moments;
  softmax.own = own.data();
  softmax.own_score = own_score.data();
  if (below_own) softmax.below_own = below_own->data();
  interruptible([&](const auto& stop) {
    softmax_sums(X, weights.view, softmax, threads, static_cast<Isa>(isa), stop);
  });
}

template <class T, class I>
void scores(const PyRows<T, I>& rows, const PyCoefficients<T>& weights, int isa, int threads,
            Matrix<T> out) {
  const Csr<T, I>& X = checked(rows, weights);
  if (static_cast<std::int64_t>(out.shape(0)) != X.rows ||
      static_cast<std::int64_t>(out.shape(1)) != weights.view.classes)
    throw nb::value_error("output must be (rows, classes)");
  interruptible([&](const auto& stop) {
    predict_scores(X, weights.view, threads, static_cast<Isa>(isa), stop, out.data());
  });
}

template <class T>
void bind_weights(nb::module_& m) {
  nb::class_<PyCoefficients<T>>(m, type_name<T>("Coefficients").c_str());
  m.def("sparse_weights", &sparse_weights<T>, "coef"_a.noconvert(), "coef_indices"_a.noconvert(),
        "coef_indptr"_a.noconvert(), "cols"_a, "intercept"_a.noconvert());
  m.def("dense_weights", &dense_weights<T>, "coef"_a.noconvert(), "intercept"_a.noconvert());
  m.def("weights_by_feature", &weights_by_feature<T>, "coef"_a.noconvert(),
        "coef_classes"_a.noconvert(), "coef_indptr"_a.noconvert(), "slot"_a.noconvert(),
        "matrix"_a.noconvert(), "intercept"_a.noconvert());
}

template <class T, class I>
void bind_products(nb::module_& m) {
  m.def("top", &top<T, I>, "rows"_a, "weights"_a, "isa"_a, "threads"_a, "cls_out"_a.noconvert(),
        "score_out"_a.noconvert());
  m.def("top_with_sums", &top_with_sums<T, I>, "rows"_a, "weights"_a, "isa"_a, "threads"_a,
        "cls_out"_a.noconvert(), "score_out"_a.noconvert(), "sums_out"_a.noconvert(), "beta"_a,
        "curvature"_a, "origin"_a);
  m.def("softmax_sums", &sums_of<T, I>, "rows"_a, "weights"_a, "isa"_a, "threads"_a,
        "sums_out"_a.noconvert(), "beta"_a, "curvature"_a, "origin"_a, "moments"_a,
        "own"_a.noconvert(), "own_score"_a.noconvert(), "below_own"_a.noconvert() = nb::none());
  m.def("scores", &scores<T, I>, "rows"_a, "weights"_a, "isa"_a, "threads"_a, "out"_a.noconvert());
}

}  // namespace

void bind_predict(nb::module_& m) {
  nb::exception<DamagedWeights>(m, "DamagedWeightsError", PyExc_ValueError);
  m.attr("SOFTMAX_SUMS") = static_cast<int>(kSoftmaxSums);
  bind_weights<float>(m);
  bind_weights<double>(m);
#define MM_BIND(T, I) bind_products<T, I>(m);
  MM_FOR_TYPES(MM_BIND)
#undef MM_BIND
}

}  // namespace multimargin::bindings
