// Prediction: sparse or dense coefficients, one overload per value and index type.
#include <algorithm>

#include "arrays.hpp"
#include "bindings.hpp"
#include "common/clock.hpp"
#include "interrupt.hpp"
#include "scoring/predict.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace multimargin::bindings {

namespace {

template <class T>
Coefficients<T> sparse_coefficients(const In<T>& data, const In<std::int32_t>& indices,
                                    const In<std::int32_t>& indptr, std::int64_t cols,
                                    const In<T>& intercept) {
  Coefficients<T> c;
  c.csr = csr_view(data, indices, indptr, cols);
  c.stored = static_cast<std::int64_t>(std::min(data.size(), indices.size()));
  c.classes = c.csr.rows;
  c.features = cols;
  c.intercept = intercept.data();
  if (static_cast<std::int64_t>(intercept.size()) != c.classes)
    throw nb::value_error("one intercept per class is needed");
  return c;
}

template <class T>
Coefficients<T> dense_coefficients(const Matrix<const T>& dense, const In<T>& intercept) {
  Coefficients<T> c;
  c.dense = dense.data();
  c.classes = static_cast<std::int64_t>(dense.shape(0));
  c.features = static_cast<std::int64_t>(dense.shape(1));
  c.intercept = intercept.data();
  if (static_cast<std::int64_t>(intercept.size()) != c.classes)
    throw nb::value_error("one intercept per class is needed");
  return c;
}

// By feature, as multimargin.models._feature_major makes them.
template <class T>
Coefficients<T> coefficients_by_feature(const In<T>& data, const In<std::int32_t>& classes,
                                        const In<std::int32_t>& indptr,
                                        const In<std::int32_t>& slot, const Matrix<const T>& matrix,
                                        const In<T>& intercept) {
  Coefficients<T> c;
  c.classes = static_cast<std::int64_t>(intercept.size());
  c.by_feature.lists = csr_view(data, classes, indptr, c.classes);
  c.by_feature.slot = slot.data();
  c.by_feature.matrix = matrix.data();
  c.by_feature.rows = static_cast<std::int64_t>(matrix.shape(0)) - 1;
  c.features = c.by_feature.lists.rows;
  c.intercept = intercept.data();
  if (static_cast<std::int64_t>(slot.size()) != c.features ||
      static_cast<std::int64_t>(matrix.shape(1)) != c.classes || matrix.shape(0) < 1)
    throw nb::value_error("one slot per feature and one column per class are needed");
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
void top(const Csr<T, I>& X, const Coefficients<T>& coef, int isa, int threads,
         Matrix<std::int32_t>& cls, Matrix<T>& score) {
  if (static_cast<std::int64_t>(cls.shape(0)) != X.rows || cls.shape(0) != score.shape(0) ||
      cls.shape(1) != score.shape(1) || static_cast<std::int64_t>(cls.shape(1)) > coef.classes)
    throw nb::value_error("outputs must be (rows, k) with k <= classes");
  const auto k = static_cast<std::int32_t>(cls.shape(1));
  interruptible([&](const auto& stop) {
    predict_top(X, coef, k, threads, static_cast<Isa>(isa), stop, cls.data(), score.data());
  });
}

template <class T, class I>
void scores(const Csr<T, I>& X, const Coefficients<T>& coef, int isa, int threads, Matrix<T>& out) {
  if (static_cast<std::int64_t>(out.shape(0)) != X.rows ||
      static_cast<std::int64_t>(out.shape(1)) != coef.classes)
    throw nb::value_error("output must be (rows, classes)");
  interruptible([&](const auto& stop) {
    predict_scores(X, coef, threads, static_cast<Isa>(isa), stop, out.data());
  });
}

template <class T, class I>
void bind_one(nb::module_& m) {
  m.def(
      "top_sparse",
      [](In<T> data, In<I> indices, In<I> indptr, In<T> coef, In<std::int32_t> coef_indices,
         In<std::int32_t> coef_indptr, In<T> intercept, std::int64_t cols, int isa, int threads,
         Matrix<std::int32_t> cls_out, Matrix<T> score_out) {
        top(csr_view(data, indices, indptr, cols),
            sparse_coefficients(coef, coef_indices, coef_indptr, cols, intercept), isa, threads,
            cls_out, score_out);
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "coef"_a.noconvert(),
      "coef_indices"_a.noconvert(), "coef_indptr"_a.noconvert(), "intercept"_a.noconvert(),
      "cols"_a, "isa"_a, "threads"_a, "cls_out"_a.noconvert(), "score_out"_a.noconvert());
  m.def(
      "top_dense",
      [](In<T> data, In<I> indices, In<I> indptr, Matrix<const T> coef, In<T> intercept, int isa,
         int threads, Matrix<std::int32_t> cls_out, Matrix<T> score_out) {
        top(csr_view(data, indices, indptr, static_cast<std::int64_t>(coef.shape(1))),
            dense_coefficients(coef, intercept), isa, threads, cls_out, score_out);
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "coef"_a.noconvert(),
      "intercept"_a.noconvert(), "isa"_a, "threads"_a, "cls_out"_a.noconvert(),
      "score_out"_a.noconvert());
  m.def(
      "top_by_feature",
      [](In<T> data, In<I> indices, In<I> indptr, In<T> coef, In<std::int32_t> coef_classes,
         In<std::int32_t> coef_indptr, In<std::int32_t> slot, Matrix<const T> matrix,
         In<T> intercept, int isa, int threads, Matrix<std::int32_t> cls_out, Matrix<T> score_out) {
        const auto by_feature =
            coefficients_by_feature(coef, coef_classes, coef_indptr, slot, matrix, intercept);
        top(csr_view(data, indices, indptr, by_feature.features), by_feature, isa, threads, cls_out,
            score_out);
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "coef"_a.noconvert(),
      "coef_classes"_a.noconvert(), "coef_indptr"_a.noconvert(), "slot"_a.noconvert(),
      "matrix"_a.noconvert(), "intercept"_a.noconvert(), "isa"_a, "threads"_a,
      "cls_out"_a.noconvert(), "score_out"_a.noconvert());
  m.def(
      "scores_by_feature",
      [](In<T> data, In<I> indices, In<I> indptr, In<T> coef, In<std::int32_t> coef_classes,
         In<std::int32_t> coef_indptr, In<std::int32_t> slot, Matrix<const T> matrix,
         In<T> intercept, int isa, int threads, Matrix<T> out) {
        const auto by_feature =
            coefficients_by_feature(coef, coef_classes, coef_indptr, slot, matrix, intercept);
        scores(csr_view(data, indices, indptr, by_feature.features), by_feature, isa, threads, out);
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "coef"_a.noconvert(),
      "coef_classes"_a.noconvert(), "coef_indptr"_a.noconvert(), "slot"_a.noconvert(),
      "matrix"_a.noconvert(), "intercept"_a.noconvert(), "isa"_a, "threads"_a, "out"_a.noconvert());
  m.def(
      "scores_sparse",
      [](In<T> data, In<I> indices, In<I> indptr, In<T> coef, In<std::int32_t> coef_indices,
         In<std::int32_t> coef_indptr, In<T> intercept, std::int64_t cols, int isa, int threads,
         Matrix<T> out) {
        scores(csr_view(data, indices, indptr, cols),
               sparse_coefficients(coef, coef_indices, coef_indptr, cols, intercept), isa, threads,
               out);
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "coef"_a.noconvert(),
      "coef_indices"_a.noconvert(), "coef_indptr"_a.noconvert(), "intercept"_a.noconvert(),
      "cols"_a, "isa"_a, "threads"_a, "out"_a.noconvert());
  m.def(
      "scores_dense",
      [](In<T> data, In<I> indices, In<I> indptr, Matrix<const T> coef, In<T> intercept, int isa,
         int threads, Matrix<T> out) {
        scores(csr_view(data, indices, indptr, static_cast<std::int64_t>(coef.shape(1))),
               dense_coefficients(coef, intercept), isa, threads, out);
      },
      "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "coef"_a.noconvert(),
      "intercept"_a.noconvert(), "isa"_a, "threads"_a, "out"_a.noconvert());
}

}  // namespace

void bind_predict(nb::module_& m) {
  bind_one<float, std::int32_t>(m);
  bind_one<float, std::int64_t>(m);
  bind_one<double, std::int32_t>(m);
  bind_one<double, std::int64_t>(m);
}

}  // namespace multimargin::bindings
