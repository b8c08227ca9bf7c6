#include "lines/one_vs_rest.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "common/norms.hpp"
#include "common/types.hpp"
#include "lines/one_vs_rest_line.hpp"

namespace multimargin {

template <class T, class I>
OneVsRest<T, I>::OneVsRest(const Samples<T, I>& samples, std::int32_t problems,
                           std::int32_t first_class, BinaryLoss loss, Isa isa, int threads,
                           std::uint64_t seed)
    : X_(samples.X),
      y_(samples.y),
      label_begin_(samples.label_begin),
      box_(samples.box),
      first_class_(first_class),
      bias_(samples.bias),
      seed_(seed),
      kernels_(line_kernels<T, I>(loss, isa)),
      team_(threads),
      norm2_(row_norms(samples.X, samples.bias)),
      reports_(problems),
      rows_(problems),
      w_bias_(problems, T(0)) {
  double loss_at_zero = 0;
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    // max(0, 1)^2 is max(0, 1): the same for both losses.
    loss_at_zero += static_cast<double>(box_[i]);
    if (!(norm2_[i] > 0)) empty_value_ += static_cast<double>(box_[i]);
  }
  zero_primal_ = loss_at_zero;
  for (BinaryReport& r : reports_) {
    r.primal = loss_at_zero;
    r.dual = empty_value_;
    r.violation = 1;
  }
}

template <class T, class I>
bool OneVsRest<T, I>::solve(std::int32_t begin, std::int32_t end, const LineStopping& stopping,
                            T* alpha, std::int64_t stride) {
  constexpr int lanes = line_lanes<T>();
  const std::int64_t lines = (end - begin + lanes - 1) / lanes;
  const int members = team_.size();
  std::vector<std::unique_ptr<Line>> lines_of(static_cast<std::size_t>(members));
  for (auto& line : lines_of) line = std::make_unique<Line>(*this);
  std::atomic<bool> ending{false}, all{true};
  std::atomic<std::int64_t> next{0};
  std::atomic<int> working{members};
  team_.run([&](int member) {
    // Counted down on every way out: member 0 waits for the others.
    struct Leave {
      std::atomic<int>& working;
      ~Leave() { --working; }
    } leave{working};
    const auto ask = [&] {
      if (member == 0 && stop_()) ending = true;
      return ending.load();
    };
    for (std::int64_t k; (k = next.fetch_add(1)) < lines;) {
      if (ending) {
        all = false;
        break;
      }
      const std::int32_t first = begin + static_cast<std::int32_t>(k) * lanes;
      T* const mine = alpha == nullptr ? nullptr : alpha + (first - begin);
      if (!lines_of[member]->solve(first, std::min(lanes, end - first), stopping, mine, stride,
                                   ask))
        all = false;
      keep(*lines_of[member], stopping);
    }
    // The calling thread goes on asking while others have a line left.
    Backoff backoff;
    while (member == 0 && working > 1) {
      ask();
      backoff.wait();
    }
  });
  return all;
}

template <class T, class I>
void OneVsRest<T, I>::keep(const Line& line, const LineStopping& stopping) {
  constexpr int lanes = Line::lanes;
  std::int32_t count[lanes] = {};
  for (std::int64_t j = 0; j < X_.cols; ++j)
    for (int l = 0; l < lanes; ++l) count[l] += line.weights(j)[l] != 0;
  std::pair<std::int32_t, T>* at[lanes] = {};
  unsigned better = 0;  // lanes whose weights replace those that are held
  for (std::int32_t l = 0; l < line.count(); ++l) {
    const std::int32_t p = line.begin() + l;
    const double held = reports_[p].primal;
    BinaryReport& r = reports_[p] = line.report(l);
    if (!(r.primal <= held)) {
      r.primal = held;
      if (stopping.by_gap) r.reached = r.primal - r.dual <= stopping.tol * r.primal;
      continue;
    }
    better |= 1u << l;
    w_bias_[p] = line.w_bias(l);
    rows_[p].resize(static_cast<std::size_t>(count[l]));
    at[l] = rows_[p].data();
  }
  for (std::int64_t j = 0; j < X_.cols; ++j) {
    const T* const w = line.weights(j);
    unsigned there = 0;
    for (int l = 0; l < lanes; ++l) there |= w[l] != 0 ? 1u << l : 0u;
    for (there &= better; there != 0; there &= there - 1) {
      const int l = __builtin_ctz(there);
      *at[l]++ = {static_cast<std::int32_t>(j), w[l]};
    }
  }
}

template <class T, class I>
SparseRows<T> OneVsRest<T, I>::weights(std::int32_t begin, std::int32_t end) const {
  SparseRows<T> out;
  out.begin.assign(1, 0);
  for (std::int32_t p = begin; p < end; ++p)
    out.begin.push_back(out.begin.back() + static_cast<std::int64_t>(rows_[p].size()));
  out.index.reset(static_cast<std::size_t>(out.begin.back()));
  out.value.reset(static_cast<std::size_t>(out.begin.back()));
  std::size_t at = 0;
  for (std::int32_t p = begin; p < end; ++p)
    for (const auto& [j, w] : rows_[p]) {
      out.index[at] = j;
      out.value[at++] = w;
    }
  return out;
}

template <class T, class I>
void OneVsRest<T, I>::put_weights(std::int32_t begin, const std::int64_t* row_begin,
                                  const std::int32_t* index, const T* value, const T* w_bias,
                                  const double* primal, std::int64_t rows) {
  if (!std::is_sorted(row_begin, row_begin + rows + 1))
    throw std::invalid_argument("put_weights: rows must begin one after the other");
  for (std::int64_t k = 0; k < rows; ++k) {
    reports_[begin + k].primal = primal[k];
    auto& row = rows_[begin + k];
    row.clear();
    row.reserve(static_cast<std::size_t>(row_begin[k + 1] - row_begin[k]));
    for (std::int64_t t = row_begin[k]; t < row_begin[k + 1]; ++t)
      row.emplace_back(index[t], value[t]);
    w_bias_[begin + k] = w_bias[k];
  }
}

template <class T, class I>
std::int64_t OneVsRest<T, I>::bytes() const {
  std::size_t held = 0;
  for (const auto& row : rows_) held += row.capacity();
  return static_cast<std::int64_t>(held * sizeof(std::pair<std::int32_t, T>));
}

#define MM_CLASS(T, I) template class OneVsRest<T, I>;
MM_FOR_TYPES(MM_CLASS)
#undef MM_CLASS

}  // namespace multimargin
