// The workspace of a rank as Python sees it.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rank_workspace/rank_rows.hpp"

namespace multimargin::bindings {

template <class T, class I>
class PyRankWorkspace : public PyRankRows<T, I> {
  using Base = PyRankRows<T, I>;
  using Base::check_bundle;
  using Base::check_range;
  using Base::check_samples;
  using Base::interrupt_;
  using Base::rows;
  using Base::side;
  using Base::workspace_;
  using typename Base::SideArrays;

 public:
  using Base::Base;

  Tuple<Out<std::int64_t>, Out<std::int32_t>> candidates(std::int32_t count, std::int64_t budget,
                                                         std::int64_t from, std::int64_t to) {
    if (from < 0 || to < from || to > rows()) throw nb::value_error("candidates: no such samples");
    SlotLists lists;
    unlocked(interrupt_, [&] { lists = workspace_->candidates(count, budget, from, to); });
    return nb::make_tuple(to_numpy(std::move(lists.slot_begin)), to_numpy(std::move(lists.cls)));
  }

  void divide(In<std::int32_t> bundle_of, std::int32_t bundles) {
    if (static_cast<std::int32_t>(bundle_of.size()) != workspace_->problem().n_classes)
      throw nb::value_error("divide: one bundle per class is needed");
    unlocked(interrupt_, [&] { workspace_->divide(copy(bundle_of), bundles); });
  }

  // --- owned bundles

  void take(std::int32_t bundle, In<std::int64_t> slot_begin, In<std::int32_t> cls, In<T> alpha) {
    check_bundle(bundle);
    if (static_cast<std::int64_t>(slot_begin.size()) != rows() + 1 || cls.size() != alpha.size() ||
        slot_begin.data()[rows()] != static_cast<std::int64_t>(cls.size()))
      throw nb::value_error("take: slot_begin, cls and alpha do not fit each other");
    unlocked(interrupt_, [&] {
      workspace_->add_owned(bundle).take(slot_begin.data(), cls.data(), alpha.data());
    });
  }

  void set_columns(std::int32_t bundle, In<std::int64_t> begin, In<std::int32_t> sample,
                   In<T> alpha) {
    check_bundle(bundle);
    if (begin.size() != workspace_->problem().classes[bundle].size() + 1 ||
        sample.size() != alpha.size() || begin.data()[0] != 0 ||
        begin.data()[begin.size() - 1] != static_cast<std::int64_t>(sample.size()))
      throw nb::value_error("set_columns: begin, sample and alpha do not fit each other");
    workspace_->add_owned(bundle).restore(copy(begin), copy(sample), copy(alpha));
  }

  // Borrowed: valid until the bundle changes.
  Tuple<View<std::int64_t>, View<std::int32_t>, View<T>> columns(std::int32_t bundle) {
    const Bundle<T, I>& c = workspace_->owned(bundle);
    return nb::make_tuple(view(c.begin()), view(c.sample()), view(c.alpha()));
  }
  Tuple<View<std::int64_t>, View<std::int32_t>, View<T>, View<std::int64_t>, View<std::int32_t>>
  structure(std::int32_t bundle) {
    const Bundle<T, I>& c = workspace_->owned(bundle);
    return nb::make_tuple(view(c.begin()), view(c.sample()), view(c.alpha()),
                          view(c.layout().begin), view(c.layout().feature));
  }

  void put_alpha(std::int32_t bundle, In<std::int64_t> pair, In<T> value) {
    if (pair.size() != value.size()) throw nb::value_error("put_alpha: lengths differ");
    workspace_->owned(bundle).put_alpha(pair.data(), value.data(),
                                        static_cast<std::int64_t>(pair.size()));
  }
  // Of an owned bundle whose state, dual variables included, has come back.
  void unpack_alpha(std::int32_t bundle) {
    workspace_->owned(bundle).alpha() = workspace_->bundle_state(bundle).alpha;
  }

  void add_sums(std::int32_t bundle, InOut<double> sums) {
    check_samples(sums.size());
    workspace_->owned(bundle).add_sums(sums.data());
  }
  double value(std::int32_t bundle) const { return workspace_->owned(bundle).value(); }
  void scale(std::int32_t bundle, In<double> factor) {
    check_samples(factor.size());
    workspace_->owned(bundle).scale(factor.data());
  }
  void lay_out(std::int32_t bundle) {
    unlocked(interrupt_, [&] { workspace_->owned(bundle).lay_out(workspace_->team()); });
  }
  // Returns, of its classes, |w_c|^2 of the features and the weight of the constant feature.
  Tuple<Out<double>, Out<double>> make_bundle_state(std::int32_t bundle, In<double> sums) {
    check_samples(sums.size());
    MadeWeights made;
    unlocked(interrupt_, [&] { made = workspace_->make_bundle_state(bundle, sums.data()); });
    return nb::make_tuple(to_numpy(std::move(made.norm2)), to_numpy(std::move(made.constant)));
  }

  // Puts other weights of the constant feature, until the bundle state is made anew.
  void put_bias(std::int32_t bundle, In<T> w_bias) {
    std::vector<T>& held = workspace_->bundle_state(bundle).w_bias;
    if (w_bias.size() != held.size()) throw nb::value_error("put_bias: lengths differ");
    held = copy(w_bias);
  }

  void own_scores(std::int32_t bundle, InOut<double> own,
                  const std::optional<SampleRange>& samples) {
    check_samples(own.size());
    const SampleRange some = samples.value_or(SampleRange{0, rows()});
    check_range(some);
    unlocked(interrupt_, [&] { workspace_->own_scores(bundle, own.data(), some); });
  }
  void look(std::int32_t bundle, In<double> own, InOut<T> most, InOut<T> least,
            InOut<T> violation) {
    for (std::size_t size : {own.size(), most.size(), least.size(), violation.size()})
      check_samples(size);
    unlocked(interrupt_, [&] {
      workspace_->look(bundle, own.data(), most.data(), least.data(), violation.data());
    });
  }
  // Least margin to exceed and first loss of each sample, and the largest violation.
  Tuple<Out<T>, Out<T>, T> judge(In<T> most, In<T> least, In<T> violation, In<double> sums) {
    for (std::size_t size : {most.size(), least.size(), violation.size(), sums.size()})
      check_samples(size);
    std::vector<T> from(rows()), loss(rows());
    const T largest = workspace_->judge(most.data(), least.data(), violation.data(), sums.data(),
                                        from.data(), loss.data());
    return nb::make_tuple(to_numpy(std::move(from)), to_numpy(std::move(loss)), largest);
  }
  // Of all samples; or of some, after those before them.
  void scan(std::int32_t bundle, In<double> own, In<T> least, In<T> loss, In<double> norm,
            std::int32_t capacity, double idle, bool exact,
            const std::optional<SampleRange>& samples) {
    for (std::size_t size : {own.size(), least.size(), loss.size()}) check_samples(size);
    if (capacity < 1) throw nb::value_error("scan: capacity must be at least 1");
    if (static_cast<std::int32_t>(norm.size()) != workspace_->problem().n_classes)
      throw nb::value_error("scan: one norm per class is needed");
    const ScanRequest<T> request{own.data(), least.data(),         loss.data(), norm.data(),
                                 capacity,   static_cast<T>(idle), exact};
    const SampleRange some = samples.value_or(SampleRange{0, rows()});
    check_range(some);
    unlocked(interrupt_, [&] { workspace_->scan(bundle, request, some); });
  }
  // Loss of each sample and its bound, largest violation of a class that is not active, violators.
  Tuple<Out<double>, Out<double>, double, View<std::int64_t>, View<T>, bool> found(
      std::int32_t bundle) {
    const BundleScan<T>& found = workspace_->found(bundle);
    return nb::make_tuple(to_numpy(found.loss), to_numpy(found.bound), found.violation,
                          view(found.begin), view(found.margin), found.complete);
  }

  void merge(std::int32_t bundle, In<T> least, In<T> threshold, std::int32_t drawn,
             std::uint64_t seed) {
    check_samples(least.size());
    check_samples(threshold.size());
    unlocked(interrupt_,
             [&] { workspace_->merge(bundle, least.data(), threshold.data(), drawn, seed); });
  }
  Rows<T> weights(std::int32_t bundle) {
    SparseRows<T> rows;
    unlocked(interrupt_, [&] { rows = workspace_->weights(bundle); });
    return nb::make_tuple(to_numpy(std::move(rows.value)), to_numpy(std::move(rows.index)),
                          to_numpy(std::move(rows.begin)),
                          to_numpy(workspace_->bundle_state(bundle).w_bias));
  }

  // --- bundle states

  Tuple<Out<std::int64_t>, Out<std::uint64_t>, Out<T>> pack(std::int32_t bundle) {
    Packed<T> packed;
    unlocked(interrupt_, [&] {
      packed = multimargin::pack(workspace_->bundle_state(bundle), workspace_->packing());
    });
    return nb::make_tuple(to_numpy(std::move(packed.sizes)), to_numpy(std::move(packed.mask)),
                          to_numpy(std::move(packed.values)));
  }
  void unpack(std::int32_t bundle, In<std::int64_t> sizes, In<std::uint64_t> mask, In<T> values) {
    check_bundle(bundle);
    if (sizes.size() != 4) throw nb::value_error("unpack: four sizes are needed");
    unlocked(interrupt_, [&] {
      workspace_->put_bundle_state(
          bundle, multimargin::unpack(sizes.data(), mask.data(), mask.size(), values.data(),
                                      values.size(), workspace_->packing()));
    });
  }
  void keep_alpha_only(std::int32_t bundle) { workspace_->bundle_state(bundle).keep_alpha_only(); }
  void drop(std::int32_t bundle) { workspace_->drop_bundle_state(bundle); }

  // --- meetings

  void build(std::int32_t a, std::int32_t b, const std::vector<nb::object>& of_a,
             const std::vector<nb::object>& of_b, bool within) {
    const SideArrays left(of_a), right(of_b);
    const Side<T> one = side(a, left), two = side(b, right);
    unlocked(interrupt_, [&] { workspace_->build(one, two, within); });
  }
  void drop_meetings() { workspace_->drop_meetings(); }

  std::vector<PassReport> run_meetings(
      const std::vector<std::pair<std::int32_t, std::int32_t>>& meetings,
      const VisitRule<double>& rule, std::uint64_t seed) {
    std::vector<PassReport> reports;
    unlocked(interrupt_,
             [&] { reports = workspace_->run_meetings(meetings, rule_in<T>(rule), seed); });
    return reports;
  }

  Tuple<Out<std::int64_t>, Out<T>> collect(std::int32_t a, std::int32_t b, int which) {
    if (which != 0 && which != 1) throw nb::value_error("collect: which must be 0 or 1");
    std::vector<std::int64_t> pair;
    std::vector<T> value;
    workspace_->meeting({a, b}).collect(which, pair, value);
    return nb::make_tuple(to_numpy(std::move(pair)), to_numpy(std::move(value)));
  }
  Tuple<Out<T>, Out<std::uint8_t>, Out<std::uint8_t>, Out<std::uint8_t>, Out<T>> meeting_state(
      std::int32_t a, std::int32_t b) {
    auto state = workspace_->meeting({a, b}).state();
    return nb::make_tuple(to_numpy(std::move(state.alpha)), to_numpy(std::move(state.resting)),
                          to_numpy(std::move(state.pauses)), to_numpy(std::move(state.waits)),
                          to_numpy(std::move(state.height)));
  }
  // Without heights: they are not known.
  void restore_meeting(std::int32_t a, std::int32_t b, In<T> alpha, In<std::uint8_t> resting,
                       In<std::uint8_t> pauses, In<std::uint8_t> waits,
                       const std::optional<In<T>>& height) {
    workspace_->meeting({a, b}).restore({copy(alpha), copy(resting), copy(pauses), copy(waits),
                                         height ? copy(*height) : std::vector<T>()});
  }

  // --- the intercept; a rank has a range of the parts of the samples

  using Range = typename RankWorkspace<T, I>::Range;
  using Pairs = std::tuple<In<std::int32_t>, In<std::int32_t>, std::int64_t>;
  using Values = std::tuple<In<T>, In<T>, In<std::uint8_t>>;

  Tuple<Out<std::int32_t>, Out<std::int32_t>, std::int64_t> told_pairs(const Range& r) {
    ToldPairs told = workspace_->told_pairs(r);
    return nb::make_tuple(to_numpy(std::move(told.sample)), to_numpy(std::move(told.cls)),
                          told.noted);
  }
  void gather_pairs(const Range& r, const std::vector<Pairs>& messages) {
    std::vector<SlotPairs> pairs;
    for (const auto& [sample, cls, noted] : messages) {
      const auto count = static_cast<std::int64_t>(sample.size());
      if (cls.size() != sample.size() || noted < 0 || noted > count)
        throw nb::value_error("gather_pairs: lengths differ");
      pairs.push_back({sample.data(), cls.data(), noted, count});
    }
    unlocked(interrupt_, [&] { workspace_->gather_pairs(r, pairs); });
  }
  Tuple<Out<T>, Out<T>, Out<std::uint8_t>> told_values(const Range& r) {
    ToldValues<T> told = workspace_->told_values(r);
    return nb::make_tuple(to_numpy(std::move(told.alpha)), to_numpy(std::move(told.height)),
                          to_numpy(std::move(told.resting)));
  }
  void gather_values(const std::vector<Values>& messages) {
    std::vector<SlotValues<T>> values;
    for (const auto& [alpha, height, resting] : messages) {
      if (resting.size() != height.size()) throw nb::value_error("gather_values: lengths differ");
      values.push_back({alpha.data(), height.data(), resting.data(), height.size(), alpha.size()});
    }
    unlocked(interrupt_, [&] { workspace_->gather_values(values); });
  }
  // add_up(parts of this rank) returns the sum of all ranks' parts; None: this rank has them all.
  Out<double> made_intercept(const Range& range, const nb::object& add_up) {
    const PartSums sums = part_sums(range, add_up);
    std::vector<double> made;
    unlocked(interrupt_, [&] { made = workspace_->made_intercept(sums); });
    return to_numpy(std::move(made));
  }
  // Returns the new v, and which of the rank's samples have to answer to it.
  Tuple<Out<T>, Out<std::uint8_t>> move_intercept(const VisitRule<double>& rule, double reach,
                                                  In<T> v, const Range& range,
                                                  const nb::object& add_up) {
    if (static_cast<std::int32_t>(v.size()) != workspace_->problem().n_classes)
      throw nb::value_error("move_intercept: one number per class is needed");
    const PartSums sums = part_sums(range, add_up);
    std::vector<T> moved = copy(v);
    std::vector<std::uint8_t> awake;
    unlocked(interrupt_,
             [&] { awake = workspace_->move_intercept(rule_in<T>(rule), reach, sums, moved); });
    return nb::make_tuple(to_numpy(std::move(moved)), to_numpy(std::move(awake)));
  }
  // The last steps, for checkpoints; empty: none.
  std::vector<double> intercept_steps() { return workspace_->intercept_steps().state(); }
  void set_intercept_steps(const std::vector<double>& state) {
    workspace_->intercept_steps() = InterceptSteps::from(state);
  }
  void wake(In<std::uint8_t> samples) {
    check_samples(samples.size());
    workspace_->wake(samples.data());
  }

  double empty_value() const { return workspace_->empty_value(); }
  bool budget_is_shared() const { return workspace_->budget_is_shared(); }
  bool holds_bias() const { return workspace_->problem().holds_bias; }

 private:
  template <class Values>
  auto view(const Values& values) {
    using U = std::remove_const_t<std::remove_pointer_t<decltype(values.data())>>;
    return View<U>(values.data(), {values.size()}, nb::find(this));
  }

  static PartSums part_sums(const Range& range, const nb::object& add_up) {
    if (add_up.is_none()) return {range.first, range.second, {}};
    return {range.first, range.second, [&add_up](const std::vector<std::vector<double>>& parts) {
              nb::gil_scoped_acquire lock;
              nb::list mine;
              for (const std::vector<double>& part : parts) mine.append(to_numpy(part));
              return copy(nb::cast<In<double>>(add_up(mine), false));
            }};
  }
};

}  // namespace multimargin::bindings
