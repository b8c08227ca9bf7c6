// What a workspace of a rank is made of, and its rows where these come and go.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "choices.hpp"
#include "interrupt.hpp"
#include "round_robin/rank_workspace.hpp"
#include "samples.hpp"

namespace multimargin::bindings {

namespace nb = nanobind;

template <class I>
using IndexOf = std::conditional_t<is_dense<I>, std::int32_t, I>;  // dense rows have none

template <class T, class I>
class PyRankRows {
 public:
  PyRankRows(const PySamples<T, I>& samples, Formulation formulation, Isa isa, int threads,
             bool hold_intercept)
      : samples_(samples) {
    nb::gil_scoped_release unlock;
    workspace_ = std::make_unique<RankWorkspace<T, I>>(samples_.view(), formulation, isa, threads,
                                                       hold_intercept);
    workspace_->set_stop([this] { return interrupt_.stop(); });
    workspace_->set_abort([this] { return interrupt_.interrupted(); });
  }

  void set_time_limit(double seconds) { interrupt_.set_limit(seconds); }

  // --- rows that come and go

  Tuple<Out<T>, Out<T>> norms() {
    auto norms = workspace_->norms();
    return nb::make_tuple(to_numpy(std::move(norms.all)), to_numpy(std::move(norms.featured)));
  }
  void let_rows_come(In<std::int64_t> lengths, In<T> norms, In<T> featured,
                     In<std::int64_t> feature_rows) {
    for (std::size_t size : {lengths.size(), norms.size(), featured.size()}) check_samples(size);
    if (static_cast<std::int64_t>(feature_rows.size()) != workspace_->problem().X.cols)
      throw nb::value_error("let_rows_come: one number per feature is needed");
    workspace_->let_rows_come(copy(lengths), {copy(norms), copy(featured)}, copy(feature_rows));
  }
  // A row for each sample, without entries where it is not there. Without indices: for passes.
  void set_rows(In<T> data, std::optional<In<IndexOf<I>>> indices, In<IndexOf<I>> indptr) {
    check_samples(indptr.size() - 1);
    const auto entries = static_cast<std::size_t>(indptr.data()[rows()]);
    if (data.size() < entries || (indices && indices->size() < entries))
      throw nb::value_error("set_rows: the arrays do not fit each other");
    data_ = std::move(data);
    indices_ = std::move(indices);
    indptr_ = std::move(indptr);
    Csr<T, I> X = workspace_->problem().X;
    X.data = data_.data();
    if constexpr (!is_dense<I>) {
      X.indices = indices_ ? indices_->data() : nullptr;
      X.indptr = indptr_.data();
    }
    workspace_->set_rows(X);
  }
  Out<std::int64_t> make_centroids(In<std::int32_t> samples) {
    std::vector<std::int64_t> lengths;
    unlocked(interrupt_, [&] { lengths = workspace_->make_centroids(copy(samples)); });
    return to_numpy(std::move(lengths));
  }
  Tuple<Out<std::int64_t>, Out<std::int32_t>, Out<T>> near_centroids(In<std::int64_t> lengths,
                                                                     std::int32_t count,
                                                                     std::int64_t budget,
                                                                     const SampleRange& samples) {
    check_range(samples);
    SlotLists lists;
    std::vector<T> score;
    unlocked(interrupt_, [&] {
      lists = workspace_->near_centroids(copy(lengths), count, budget, samples, score);
    });
    return nb::make_tuple(to_numpy(std::move(lists.slot_begin)), to_numpy(std::move(lists.cls)),
                          to_numpy(std::move(score)));
  }
  // The best of what all ranks have found.
  Tuple<Out<std::int64_t>, Out<std::int32_t>> best_candidates(
      const std::vector<std::tuple<In<std::int64_t>, In<std::int32_t>, In<T>>>& found,
      const SampleRange& samples, std::int32_t count) {
    check_range(samples);
    const auto some = static_cast<std::size_t>(samples.second - samples.first);
    for (const auto& [begin, cls, score] : found)
      if (begin.size() != some + 1 || cls.size() != score.size() ||
          begin.data()[some] != static_cast<std::int64_t>(cls.size()))
        throw nb::value_error("best_candidates: the arrays do not fit each other");
    SlotLists lists{{0}, {}};
    std::vector<std::pair<T, std::int32_t>> best;
    for (std::size_t k = 0; k < some; ++k) {
      best.clear();
      for (const auto& [begin, cls, score] : found)
        for (std::int64_t e = begin.data()[k]; e < begin.data()[k + 1]; ++e)
          best.emplace_back(-score.data()[e], cls.data()[e]);
      std::sort(best.begin(), best.end());
      best.resize(std::min<std::size_t>(best.size(), count));
      lists.cls.push_back(workspace_->problem().y[samples.first + k]);
      for (const auto& [score, cls] : best) lists.cls.push_back(cls);
      lists.slot_begin.push_back(static_cast<std::int64_t>(lists.cls.size()));
    }
    return nb::make_tuple(to_numpy(std::move(lists.slot_begin)), to_numpy(std::move(lists.cls)));
  }
  void number(std::int32_t bundle, const SampleRange& samples, bool own) {
    check_range(samples);
    unlocked(interrupt_,
             [&] { workspace_->owned(bundle).number(samples, own, workspace_->team()); });
  }
  void end_layout(std::int32_t bundle) { workspace_->owned(bundle).end_layout(); }
  void add(std::int32_t bundle, const SampleRange& samples, bool own, In<double> sums) {
    check_range(samples);
    check_samples(sums.size());
    unlocked(interrupt_,
             [&] { workspace_->owned(bundle).add(samples, own, sums.data(), workspace_->team()); });
  }
  Tuple<Out<double>, Out<double>> end_weights(std::int32_t bundle, In<double> sums) {
    check_samples(sums.size());
    MadeWeights made = workspace_->end_weights(bundle, sums.data());
    return nb::make_tuple(to_numpy(std::move(made.norm2)), to_numpy(std::move(made.constant)));
  }
  Out<std::int32_t> due_samples(std::int32_t a, std::int32_t b, bool everything) {
    return to_numpy(workspace_->meeting({a, b}).due_samples(everything));
  }
  void place(std::int32_t a, std::int32_t b, const std::vector<nb::object>& of_a,
             const std::vector<nb::object>& of_b) {
    const SideArrays left(of_a), right(of_b);
    const Side<T> one = side(a, left), two = side(b, right);
    unlocked(interrupt_, [&] { workspace_->place(one, two); });
  }

 protected:
  struct SideArrays {
    In<std::int64_t> begin;
    In<std::int32_t> sample;
    In<T> alpha;
    In<std::int64_t> weight;
    In<std::int32_t> feature;
    explicit SideArrays(const std::vector<nb::object>& parts) {
      if (parts.size() != 5) throw nb::value_error("build: five arrays per bundle are needed");
      begin = nb::cast<In<std::int64_t>>(parts[0], false);
      sample = nb::cast<In<std::int32_t>>(parts[1], false);
      alpha = nb::cast<In<T>>(parts[2], false);
      weight = nb::cast<In<std::int64_t>>(parts[3], false);
      feature = nb::cast<In<std::int32_t>>(parts[4], false);
    }
  };

  Side<T> side(std::int32_t bundle, const SideArrays& s) const {
    check_bundle(bundle);
    const std::size_t classes = workspace_->problem().classes[bundle].size();
    if (s.begin.size() != classes + 1 || s.weight.size() != classes + 1 ||
        s.begin.data()[classes] != static_cast<std::int64_t>(s.sample.size()) ||
        s.alpha.size() != s.sample.size() ||
        (!is_dense<I> && s.weight.data()[classes] != static_cast<std::int64_t>(s.feature.size())))
      throw nb::value_error("build: the arrays of a bundle do not fit each other");
    return {bundle,         s.begin.data(),  s.sample.data(),
            s.alpha.data(), s.weight.data(), s.feature.data()};
  }

  std::int64_t rows() const { return workspace_->problem().X.rows; }
  void check_samples(std::size_t size) const {
    if (static_cast<std::int64_t>(size) != rows())
      throw nb::value_error("an array with one number per sample is needed");
  }
  void check_range(const SampleRange& samples) const {
    if (samples.first < 0 || samples.second < samples.first || samples.second > rows())
      throw nb::value_error("there are no such samples");
  }
  void check_bundle(std::int32_t bundle) const {
    if (bundle < 0 || bundle >= static_cast<std::int32_t>(workspace_->problem().classes.size()))
      throw nb::value_error("no such bundle");
  }

  PySamples<T, I> samples_;
  In<T> data_;  // rows that come and go
  std::optional<In<IndexOf<I>>> indices_;
  In<IndexOf<I>> indptr_;
  Interrupt interrupt_;
  std::unique_ptr<RankWorkspace<T, I>> workspace_;
};

}  // namespace multimargin::bindings
