// Scores and best classes against plain loops in double precision.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "check.hpp"
#include "scoring/predict.hpp"

namespace {

using namespace multimargin;
using test::Matrix;

template <class T>
struct Model {
  Matrix<T, std::int32_t> sparse;
  std::vector<T> dense;
  std::vector<T> intercept;
  std::int64_t classes = 0;

  Coefficients<T> as_sparse() const {
    Coefficients<T> c;
    c.csr = sparse.view();
    c.stored = static_cast<std::int64_t>(sparse.data.size());
    return finish(c);
  }
  Coefficients<T> as_dense() const {
    Coefficients<T> c;
    c.dense = dense.data();
    return finish(c);
  }

 private:
  Coefficients<T> finish(Coefficients<T> c) const {
    c.classes = classes;
    c.features = sparse.cols;
    c.intercept = intercept.data();
    return c;
  }
};

template <class T>
Model<T> random_model(std::int64_t classes, std::int64_t features, std::uint64_t seed) {
  Model<T> m;
  m.classes = classes;
  m.sparse = test::random_matrix<T, std::int32_t>(classes, features, 0.3, seed);
  m.dense.assign(classes * features, T(0));
  Random random(seed + 1);
  for (std::int64_t c = 0; c < classes; ++c) {
    // Few different values, and none for classes without weights: equal scores do occur.
    m.intercept.push_back(c % 16 == 7 ? T(0) : static_cast<T>(random.below(3)) / 4);
    for (std::int64_t t = m.sparse.indptr[c]; t < m.sparse.indptr[c + 1]; ++t)
      m.dense[c * features + m.sparse.indices[t]] = m.sparse.data[t];
  }
  return m;
}

template <class T, class I>
std::vector<double> naive_scores(const Matrix<T, I>& X, const Model<T>& m) {
  const std::int64_t rows = X.view().rows;
  std::vector<double> out(rows * m.classes);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t c = 0; c < m.classes; ++c) {
      double sum = m.intercept[c];
      for (std::int64_t t = X.indptr[i]; t < X.indptr[i + 1]; ++t)
        sum += static_cast<double>(X.data[t]) *
               static_cast<double>(m.dense[c * X.cols + X.indices[t]]);
      out[i * m.classes + c] = sum;
    }
  return out;
}

// The k best of a row of scores, of equal ones the lower class first.
template <class T>
std::vector<std::pair<T, std::int32_t>> naive_top(const T* score, std::int64_t classes, int k) {
  std::vector<std::pair<T, std::int32_t>> order;
  for (std::int64_t c = 0; c < classes; ++c)
    order.emplace_back(-score[c], static_cast<std::int32_t>(c));
  std::sort(order.begin(), order.end());
  order.resize(k);
  return order;
}

template <class T, class I>
void agrees(std::int64_t rows, std::int64_t classes, std::int64_t features, Isa isa) {
  const auto X = test::random_matrix<T, I>(rows, features, 0.2, 11);
  const Model<T> model = random_model<T>(classes, features, 12);
  const std::vector<double> expected = naive_scores(X, model);
  const double tolerance = 64 * static_cast<double>(std::numeric_limits<T>::epsilon());
  std::vector<T> scores(rows * classes), again(scores.size());
  CHECK(predict_scores(X.view(), model.as_sparse(), 1, isa, nullptr, scores.data()));
  for (std::size_t k = 0; k < scores.size(); ++k)
    CHECK(std::abs(static_cast<double>(scores[k]) - expected[k]) <= tolerance);
  for (int threads : {2, 4}) {
    std::fill(again.begin(), again.end(), T(-1));
    CHECK(predict_scores(X.view(), model.as_dense(), threads, isa, nullptr, again.data()));
    CHECK(again == scores);
  }
  for (int k : {1, 5, 40}) {
    if (k > classes) continue;
    std::vector<std::int32_t> cls(rows * k);
    std::vector<T> best(rows * k);
    for (int threads : {1, 3}) {
      const auto coef = threads == 1 ? model.as_sparse() : model.as_dense();
      CHECK(predict_top(X.view(), coef, k, threads, isa, nullptr, cls.data(), best.data()));
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto order = naive_top(scores.data() + i * classes, classes, k);
        for (int e = 0; e < k; ++e) {
          CHECK(best[i * k + e] == -order[e].first);
          CHECK(cls[i * k + e] == order[e].second);
        }
      }
    }
  }
}

// The sums of a softmax, those over the classes ranked above an own class among them.
template <class T, class I>
void softmax_agrees(std::int64_t rows, std::int64_t classes, std::int64_t features, Isa isa) {
  const auto X = test::random_matrix<T, I>(rows, features, 0.2, 21);
  const Model<T> model = random_model<T>(classes, features, 22);
  std::vector<T> scores(rows * classes), own_score(rows), below(rows);
  CHECK(predict_scores(X.view(), model.as_sparse(), 1, isa, nullptr, scores.data()));
  std::vector<std::int32_t> own(rows);
  for (std::int64_t i = 0; i < rows; ++i) own[i] = static_cast<std::int32_t>(i * 7 % classes);
  const double beta = 5, curvature = 0.5, origin = 0.125;
  const auto empty = [&] {
    std::vector<double> sums(rows * kSoftmaxSums, 0.0);
    for (std::int64_t i = 0; i < rows; ++i)
      sums[i * kSoftmaxSums] = -std::numeric_limits<double>::infinity();
    return sums;
  };
  std::vector<double> first = empty(), second = empty();
  SoftmaxView<T> view{first.data(), beta, curvature, origin, true, own.data(), own_score.data()};
  CHECK(softmax_sums(X.view(), model.as_sparse(), view, 2, isa, nullptr));
  for (std::int64_t i = 0; i < rows; ++i)
    below[i] = std::nextafter(own_score[i], -std::numeric_limits<T>::infinity());
  view.sums = second.data();
  view.moments = false;
  view.below_own = below.data();
  CHECK(softmax_sums(X.view(), model.as_dense(), view, 1, isa, nullptr));
  const double tolerance = 64 * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* score = scores.data() + i * classes;
    const auto g = [&](std::int64_t c) {
      const double s = score[c] - origin;
      return s / (1 + curvature * std::abs(s));
    };
    double largest = g(0), sum = 0, above = 0, count = 0, gh = 0;
    for (std::int64_t c = 1; c < classes; ++c) largest = std::max(largest, g(c));
    for (std::int64_t c = 0; c < classes; ++c) {
      const double e = std::exp(beta * (g(c) - largest));
      sum += e;
      gh -= e * g(c) * g(c) * std::abs(g(c));
      if (score[c] < score[own[i]] || (score[c] == score[own[i]] && c >= own[i])) continue;
      above += e;
      ++count;
    }
    const double* found = first.data() + i * kSoftmaxSums;
    const double* ranked = second.data() + i * kSoftmaxSums;
    CHECK(own_score[i] == score[own[i]]);
    CHECK(std::abs(found[kLargest] - largest) <= tolerance);
    CHECK(std::abs(found[kSum] - sum) <= tolerance * sum);
    CHECK(std::abs(found[kGH] - gh) <= tolerance * sum);
    CHECK(ranked[kSum] == found[kSum]);
    CHECK(std::abs(ranked[kAbove] - above) <= tolerance * sum);
    CHECK(ranked[kCount] == count);
  }
}

template <class T, class I>
void no_rows_and_empty_rows(Isa isa) {
  const Model<T> model = random_model<T>(70, 9, 5);
  Matrix<T, I> X;
  X.cols = 9;
  CHECK(predict_scores<T, I>(X.view(), model.as_sparse(), 2, isa, nullptr, nullptr));
  CHECK(predict_top<T, I>(X.view(), model.as_sparse(), 3, 2, isa, nullptr, nullptr, nullptr));
  X.end_row();
  X.end_row();
  std::vector<T> scores(2 * 70);
  CHECK(predict_scores(X.view(), model.as_sparse(), 2, isa, nullptr, scores.data()));
  for (std::size_t k = 0; k < scores.size(); ++k) CHECK(scores[k] == model.intercept[k % 70]);
}

template <class T>
void refuses(const Matrix<T, std::int64_t>& X, const Model<T>& model, int threads) {
  std::vector<T> scores(X.view().rows * model.classes);
  std::vector<std::int32_t> cls(scores.size());
  const Isa isa = best_isa();
  const Coefficients<T> coef = model.as_sparse();
  CHECK_THROWS(runtime_error, predict_scores(X.view(), coef, threads, isa, nullptr, scores.data()));
  CHECK_THROWS(runtime_error,
               predict_top(X.view(), coef, 3, threads, isa, nullptr, cls.data(), scores.data()));
}

// A model that was damaged on disk must end in an exception, wherever the damage is.
template <class T>
void corrupt_models_throw(std::int64_t rows) {
  const auto X = test::random_matrix<T, std::int64_t>(rows, 30, 0.2, 3);
  const Model<T> sound = random_model<T>(150, 30, 4);
  constexpr std::int32_t kHuge = std::numeric_limits<std::int32_t>::max();
  for (int threads : {1, 4}) {
    for (std::int32_t index : {-1, 30, kHuge, -kHuge - 1})
      for (std::size_t at : {std::size_t{0}, sound.sparse.indices.size() - 1}) {
        Model<T> m = sound;
        m.sparse.indices[at] = index;
        refuses(X, m, threads);
      }
    for (std::int32_t begin : {-1, kHuge, -kHuge - 1})
      for (std::size_t at : {1, 75, 150}) {
        Model<T> m = sound;
        m.sparse.indptr[at] = begin;
        refuses(X, m, threads);
      }
  }
}

// Scores that are not numbers mean nothing, but finding the best of them must stay within bounds.
template <class T>
void nan_weights_stay_within_bounds() {
  const auto X = test::random_matrix<T, std::int32_t>(300, 30, 0.3, 8);
  Model<T> m = random_model<T>(200, 30, 9);
  for (std::size_t k = 0; k < m.sparse.data.size(); k += 3)
    m.sparse.data[k] = std::numeric_limits<T>::quiet_NaN();
  for (Isa isa : test::available_isas())
    for (int k : {1, 100, 200}) {
      std::vector<std::int32_t> cls(300 * k, -1);
      std::vector<T> best(300 * k);
      std::vector<double> sums(300 * kSoftmaxSums, 0.0);
      const SoftmaxView<T> softmax{sums.data(), 1.0, 0.0, 0.0, false};
      CHECK(predict_top(X.view(), m.as_sparse(), k, 2, isa, nullptr, cls.data(), best.data(),
                        &softmax));
      for (std::int64_t i = 0; i < 300; ++i) {
        for (int e = 1; e < k; ++e)
          CHECK(std::isnan(best[i * k + e]) || best[i * k + e - 1] >= best[i * k + e]);
        std::vector<std::int32_t> row(cls.begin() + i * k, cls.begin() + (i + 1) * k);
        std::sort(row.begin(), row.end());
        CHECK(row.front() >= 0 && row.back() < 200);
        CHECK(std::adjacent_find(row.begin(), row.end()) == row.end());
      }
    }
}

// Ended early, the outputs are whatever they were; nothing may depend on it.
template <class T>
void stop_ends_early() {
  const auto X = test::random_matrix<T, std::int32_t>(3000, 30, 0.2, 8);
  const Model<T> m = random_model<T>(300, 30, 9);
  for (int threads : {1, 2, 4})
    for (int patience : {0, 1, 5}) {
      int asked = 0;
      const auto stop = [&] { return asked++ >= patience; };
      std::vector<std::int32_t> cls(3000 * 40);
      std::vector<T> best(3000 * 40, std::numeric_limits<T>::quiet_NaN());
      const bool whole = predict_top(X.view(), m.as_sparse(), 40, threads, best_isa(), stop,
                                     cls.data(), best.data());
      CHECK(whole == (asked <= patience));
      if (patience == 0 && threads == 1) CHECK(!whole);
    }
}

template <class T, class I>
void one_kind() {
  for (Isa isa : test::available_isas()) {
    agrees<T, I>(1, 1, 1, isa);
    agrees<T, I>(40, 64, 25, isa);
    agrees<T, I>(300, 131, 40, isa);
    softmax_agrees<T, I>(40, 3, 25, isa);
    softmax_agrees<T, I>(300, 131, 40, isa);
    no_rows_and_empty_rows<T, I>(isa);
  }
  agrees<T, I>(2100, 45, 40, best_isa());  // several chunks of rows
}

}  // namespace

int main() {
  one_kind<float, std::int32_t>();
  one_kind<float, std::int64_t>();
  one_kind<double, std::int32_t>();
  one_kind<double, std::int64_t>();
  for (std::int64_t rows : {20, 400}) {
    corrupt_models_throw<float>(rows);
    corrupt_models_throw<double>(rows);
  }
  nan_weights_stay_within_bounds<float>();
  nan_weights_stay_within_bounds<double>();
  stop_ends_early<float>();
  stop_ends_early<double>();
  std::puts("test_predict: ok");
}
