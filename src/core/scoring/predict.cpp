#include "scoring/predict.hpp"

#include <algorithm>
#include <utility>

#include "common/types.hpp"
#include "dense_rows/dense_product.hpp"
#include "scoring/block_product.hpp"
#include "scoring/kernels.hpp"

namespace multimargin {

namespace {

// Only the features that rows have are filled in. With many rows and sparse weights those are
// nearly all, and not worth asking for each weight.
constexpr std::int64_t kFewRows = 256;

template <class T, class I>
std::vector<char> wanted_features(const Csr<T, I>& X, std::int64_t features, bool always) {
  std::vector<char> wanted;
  if ((X.rows > kFewRows && !always) || X.rows == 0) return wanted;
  wanted.assign(features, 0);
  for (std::int64_t i = 0; i < X.rows; ++i) {
    const auto feature = X.features(i);
    for (std::int64_t t = X.begin(i); t < X.end(i); ++t) wanted[feature[t]] = 1;
  }
  return wanted;
}

template <class T>
class Filler {
 public:
  Filler(const Coefficients<T>& coef, std::vector<char> wanted)
      : coef_(coef), wanted_(std::move(wanted)) {
    if (coef.dense == nullptr) return;
    for (std::int32_t j = 0; j < coef.features; ++j)
      if (wanted_.empty() || wanted_[j]) used_.push_back(j);
  }

  void operator()(ClassBlock<T>& block, std::int32_t first, std::int32_t classes) const {
    if (coef_.dense != nullptr) transpose(block.rows_for(used_), first, classes);
    add_classes(block, first, classes);
  }

  void operator()(DenseBlock<T>& block, std::int32_t first, std::int32_t classes) const {
    if (coef_.dense != nullptr)
      for (std::int32_t k = 0; k < classes; ++k)
        for (std::int64_t j = 0; j < coef_.features; ++j)
          block.add(k, j, coef_.dense[(first + static_cast<std::int64_t>(k)) * coef_.features + j]);
    add_classes(block, first, classes);
  }

 private:
  // Intercepts, and the weights of a sparse model.
  template <class Block>
  void add_classes(Block& block, std::int32_t first, std::int32_t classes) const {
    for (std::int32_t k = 0; k < classes; ++k) {
      const std::int64_t c = first + k;
      if (coef_.dense == nullptr) {
        const std::int64_t begin = coef_.csr.begin(c);
        if (begin < 0 || coef_.csr.end(c) < begin || coef_.csr.end(c) > coef_.stored)
          throw DamagedWeights("coef_ has a corrupt indptr: corrupt model");
        add(block, k, coef_.csr.indices + begin, coef_.csr.data + begin, coef_.csr.end(c) - begin);
      }
      block.set_intercept(k, coef_.intercept[c]);
    }
  }

  // The weights of a dense model, a few features at a time: what is read and written stays near.
  void transpose(T* rows, std::int32_t first, std::int32_t classes) const {
    constexpr std::size_t kTile = 32;
    for (std::size_t begin = 0; begin < used_.size(); begin += kTile) {
      const std::size_t end = std::min(used_.size(), begin + kTile);
      for (std::int32_t k = 0; k < classes; ++k) {
        const T* row = coef_.dense + (static_cast<std::int64_t>(first) + k) * coef_.features;
        for (std::size_t r = begin; r < end; ++r) rows[r * lanes<T>() + k] = row[used_[r]];
      }
      for (std::int32_t k = classes; k < lanes<T>(); ++k)
        for (std::size_t r = begin; r < end; ++r) rows[r * lanes<T>() + k] = 0;
    }
  }

  template <class Block>
  void add(Block& block, int lane, const std::int32_t* feature, const T* value,
           std::int64_t count) const {
    for (std::int64_t t = 0; t < count; ++t)
      if (feature[t] < 0 || feature[t] >= coef_.features)
        throw DamagedWeights("coef_ has a column index outside its features: corrupt model");
    for (std::int64_t t = 0; t < count; ++t)
      if (wanted_.empty() || wanted_[feature[t]]) block.add(lane, feature[t], value[t]);
  }

  const Coefficients<T>& coef_;
  std::vector<char> wanted_;
  std::vector<std::int32_t> used_;  // features of a dense model that are filled in
};

// Rows one by one, each with the weights of its features alone.
template <class T, class Use>
bool each_row(std::int64_t rows, const Coefficients<T>& coef, Team& team,
              const std::function<bool()>& stop, const Use& use) {
  const std::int64_t width = lanes<T>();
  const std::int64_t padded = (coef.classes + width - 1) / width * width;
  std::vector<Buffer<T>> score(team.size());
  for (auto& buffer : score) {
    buffer.reset(padded);
    std::fill(buffer.data(), buffer.data() + padded, T(0));
  }
  std::atomic<bool> ending{false};
  team.for_each(rows, [&](int thread, std::int64_t i) {
    if (thread == 0 && stop && stop()) ending = true;
    if (!ending) use(i, score[thread].data());
  });
  return !ending;
}

// All rows with all classes, a block of these at a time.
template <class T, class I, class Use>
bool each_block(const Csr<T, I>& X, const Coefficients<T>& coef, Team& team, const Use& use,
                const std::function<bool()>& stop) {
  const auto classes = static_cast<std::int32_t>(coef.classes);
  if constexpr (is_dense<I>) {
    const Filler<T> filler(coef, {});
    const auto fill = [&](int, DenseBlock<T>& block, std::int32_t first, std::int32_t some) {
      filler(block, first, some);
    };
    return dense_product<T>(team, X.rows, X.cols, classes, fill, use, stop);
  } else {
    const Filler<T> fill(coef, wanted_features(X, coef.features, coef.dense != nullptr));
    return block_product<T>(team, X.rows, coef.features, classes, fill, use, stop);
  }
}

// Best score first (scores come negated), of equal ones the lower class. NaN comes last: std::sort
// needs an order, and a damaged model may hold anything.
template <class T>
bool ranks_before(const std::pair<T, std::int32_t>& a, const std::pair<T, std::int32_t>& b) {
  const bool a_is_nan = a.first != a.first, b_is_nan = b.first != b.first;
  if (a_is_nan || b_is_nan) return a_is_nan == b_is_nan ? a.second < b.second : b_is_nan;
  return a < b;
}

}  // namespace

template <class T, class I>
bool predict_top(const Csr<T, I>& X, const Coefficients<T>& coef, std::int32_t k, int threads,
                 Isa isa, const std::function<bool()>& stop, std::int32_t* class_out, T* score_out,
                 const SoftmaxView<T>* softmax) {
  Team team(threads);
  const auto kernels = score_kernels<T, I>(isa);
  const auto softmaxes = softmax_kernels<T, I>(isa);
  std::vector<std::int32_t> count(X.rows, 0);
  const BestView<T> best{score_out, class_out, count.data(), k};
  const auto use = [&](const BlockView<T>& block, std::int64_t begin, std::int64_t end) {
    if (softmax == nullptr)
      kernels.top(X, block, best, begin, end);
    else
      softmaxes.top(X, block, best, *softmax, begin, end);
  };
  const auto use_row = [&](std::int64_t i, T* score) {
    kernels.row_by_features(X, coef.by_feature, coef.intercept, coef.classes, i, score);
    kernels.top_of_row(score, coef.classes, best, i);
    if (softmax != nullptr) softmaxes.of_row(score, coef.classes, *softmax, i);
  };
  const bool whole = coef.by_feature.slot != nullptr ? each_row(X.rows, coef, team, stop, use_row)
                                                     : each_block(X, coef, team, use, stop);
  const std::int64_t tasks = (X.rows + kRowsPerChunk - 1) / kRowsPerChunk;
  team.for_each(tasks, [&](int, std::int64_t task) {
    std::vector<std::pair<T, std::int32_t>> row(k);
    for (std::int64_t i = task * kRowsPerChunk; i < std::min(X.rows, (task + 1) * kRowsPerChunk);
         ++i) {
      for (std::int32_t e = 0; e < k; ++e) row[e] = {-score_out[i * k + e], class_out[i * k + e]};
      std::sort(row.begin(), row.end(), ranks_before<T>);
      for (std::int32_t e = 0; e < k; ++e) {
        score_out[i * k + e] = -row[e].first;
        class_out[i * k + e] = row[e].second;
      }
    }
  });
  return whole;
}

template <class T, class I>
bool predict_scores(const Csr<T, I>& X, const Coefficients<T>& coef, int threads, Isa isa,
                    const std::function<bool()>& stop, T* score_out) {
  Team team(threads);
  const auto kernels = score_kernels<T, I>(isa);
  const auto use = [&](const BlockView<T>& block, std::int64_t begin, std::int64_t end) {
    kernels.scores(X, block, score_out, coef.classes, begin, end);
  };
  if (coef.by_feature.slot != nullptr)
    return each_row(X.rows, coef, team, stop, [&](std::int64_t i, T* score) {
      kernels.row_by_features(X, coef.by_feature, coef.intercept, coef.classes, i, score);
      std::copy(score, score + coef.classes, score_out + i * coef.classes);
    });
  return each_block(X, coef, team, use, stop);
}

template <class T, class I>
bool softmax_sums(const Csr<T, I>& X, const Coefficients<T>& coef, const SoftmaxView<T>& softmax,
                  int threads, Isa isa, const std::function<bool()>& stop) {
  Team team(threads);
  const auto kernels = score_kernels<T, I>(isa);
  const auto softmaxes = softmax_kernels<T, I>(isa);
  const auto use = [&](const BlockView<T>& block, std::int64_t begin, std::int64_t end) {
    softmaxes.sums(X, block, softmax, begin, end);
  };
  if (coef.by_feature.slot != nullptr)
    return each_row(X.rows, coef, team, stop, [&](std::int64_t i, T* score) {
      kernels.row_by_features(X, coef.by_feature, coef.intercept, coef.classes, i, score);
      softmaxes.of_row(score, coef.classes, softmax, i);
    });
  return each_block(X, coef, team, use, stop);
}

#define MM_PREDICT(T, I)                                                                           \
  template bool predict_top<T, I>(const Csr<T, I>&, const Coefficients<T>&, std::int32_t, int,     \
                                  Isa, const std::function<bool()>&, std::int32_t*, T*,            \
                                  const SoftmaxView<T>*);                                          \
  template bool softmax_sums<T, I>(const Csr<T, I>&, const Coefficients<T>&,                       \
                                   const SoftmaxView<T>&, int, Isa, const std::function<bool()>&); \
  template bool predict_scores<T, I>(const Csr<T, I>&, const Coefficients<T>&, int, Isa,           \
                                     const std::function<bool()>&, T*);
MM_FOR_TYPES(MM_PREDICT)
#undef MM_PREDICT

}  // namespace multimargin
