#include "round_robin/meeting.hpp"

#include <algorithm>

#include "common/types.hpp"

namespace multimargin {

namespace {

constexpr std::int32_t kNone = -1;

}  // namespace

template <class T, class I>
Meeting<T, I>::Meeting(const PartitionedProblem<T, I>& problem, const Side<T>& a, const Side<T>& b,
                       bool within, bool shared, Team& team)
    : problem_(problem), within_(within), shared_(shared) {
  const Side<T>* sides[2] = {&a, &b};
  for (int s = 0; s < 2; ++s) {
    bundle_[s] = sides[s]->bundle;
    classes_[s] = static_cast<std::int32_t>(problem.classes[bundle_[s]].size());
    weight_[s].assign(sides[s]->weight, sides[s]->weight + classes_[s] + 1);
  }
  w_.resize(classes_[0] + classes_[1]);
  w_bias_.resize(w_.size());
  choose(a, b);
  if (!problem.rows_come()) place(a, b, team);
  slots_.resting.assign(slots_.cls.size(), 0);
  if (problem.holds_bias) slots_.height.assign(slots_.cls.size(), T(0));
  visits_.reset(sample_.size());
}

template <class T, class I>
void Meeting<T, I>::place(const Side<T>& a, const Side<T>& b, Team& team) {
  find_rows();
  slots_.reserve_positions([&](std::int64_t e) { return is_dense<I> ? 0 : row_end_[e] - row_[e]; });
  if constexpr (!is_dense<I>) {
    place(a, 0, team);
    place(b, 1, team);
  }
}

template <class T, class I>
void Meeting<T, I>::find_rows() {
  row_.resize(sample_.size());
  row_end_.resize(sample_.size());
  for (std::size_t e = 0; e < sample_.size(); ++e) {
    row_[e] = problem_.X.begin(sample_[e]);
    row_end_[e] = problem_.X.end(sample_[e]);
  }
}

// Which samples take part, and with which of their classes.
template <class T, class I>
void Meeting<T, I>::choose(const Side<T>& a, const Side<T>& b) {
  const Side<T>* sides[2] = {&a, &b};
  const std::int64_t n = problem_.X.rows;
  const auto takes_part = [&](std::int32_t i) {
    if (!(problem_.norm2[i] > 0)) return false;
    const std::int32_t own = problem_.bundle_of[problem_.y[i]];
    return shared_ || own == bundle_[0] || own == bundle_[1];
  };
  std::vector<std::int32_t> count[2];
  for (int s = 0; s < 2; ++s) {
    count[s].assign(n, 0);
    const std::int64_t pairs = sides[s]->begin[classes_[s]];
    for (std::int64_t p = 0; p < pairs; ++p)
      if (takes_part(sides[s]->sample[p])) ++count[s][sides[s]->sample[p]];
  }
  std::vector<std::int32_t> entry(n, kNone);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t both = count[0][i] + count[1][i];
    if (both == 0) continue;
    const std::int32_t own = problem_.bundle_of[problem_.y[i]];
    const bool here = own == bundle_[0] || own == bundle_[1];
    const bool crosses = own == bundle_[0]   ? count[1][i] > 0
                         : own == bundle_[1] ? count[0][i] > 0
                                             : count[0][i] > 0 && count[1][i] > 0;
    if (!crosses && !(within_ && (here || both > 1))) continue;
    entry[i] = static_cast<std::int32_t>(sample_.size());
    sample_.push_back(static_cast<std::int32_t>(i));
    norm2_.push_back(problem_.curvature()[i]);
    box_.push_back(problem_.box[i]);
    slots_.begin.push_back(slots_.begin.back() + 1 + both);
  }
  outside_.assign(sample_.size(), T(0));
  slots_.cls.assign(slots_.begin.back(), kNone);
  slots_.alpha.assign(slots_.begin.back(), T(0));
  source_.assign(slots_.begin.back(), 0);
  std::vector<std::int64_t> next(slots_.begin.begin(), slots_.begin.end() - 1);
  for (std::size_t e = 0; e < sample_.size(); ++e) {
    const std::int32_t c = problem_.y[sample_[e]], own = problem_.bundle_of[c];
    const std::int64_t slot = next[e]++;
    source_[slot] = problem_.own_index[sample_[e]];
    for (int s = 0; s < 2; ++s)
      if (own == bundle_[s]) slots_.cls[slot] = first_class(s) + problem_.place_of[c];
  }
  for (int s = 0; s < 2; ++s)
    for (std::int32_t k = 0; k < classes_[s]; ++k)
      for (std::int64_t p = sides[s]->begin[k]; p < sides[s]->begin[k + 1]; ++p) {
        const std::int32_t i = sides[s]->sample[p], e = entry[i];
        if (e == kNone) continue;
        const std::int64_t slot = next[e]++;
        slots_.cls[slot] = first_class(s) + k;
        source_[slot] = p;
        slots_.alpha[slot] = sides[s]->alpha[p];
      }
  slots_.ask(
      problem_.costs, [&](std::int64_t e) { return problem_.y[sample_[e]]; },
      [&](std::int64_t slot) { return class_of(slot); });
}

// Where the features of each slot lie in the weights of its class.
template <class T, class I>
void Meeting<T, I>::place(const Side<T>& side, int which, Team& team) {
  const ClassMembers members = slots_.members(first_class(which), classes_[which], team);
  std::vector<FeaturePlaces> places(team.size());
  each_class(team, classes_[which], [&](int thread, std::int32_t k) {
    places[thread].open(problem_.X.cols, side.feature + side.weight[k],
                        side.weight[k + 1] - side.weight[k]);
    members.each(k, [&](std::int64_t e, std::int64_t slot) {
      slots_.put_places(problem_.X, e, slot, row_[e], row_end_[e] - row_[e], places[thread]);
    });
    places[thread].close();
  });
}

template <class T, class I>
WorkView<T> Meeting<T, I>::enter(BundleState<T>& a, BundleState<T>& b) {
  if (problem_.rows_come()) find_rows();
  BundleState<T>* sides[2] = {&a, &b};
  for (int s = 0; s < 2; ++s)
    for (std::int32_t k = 0; k < classes_[s]; ++k) {
      w_[first_class(s) + k] = sides[s]->w.data() + weight_[s][k];
      w_bias_[first_class(s) + k] = sides[s]->w_bias[k];
    }
  const std::vector<std::int64_t>& begin = slots_.begin;
  for (std::size_t e = 0; e < sample_.size(); ++e) {
    T inside = 0;
    for (std::int64_t p = begin[e] + 1; p < begin[e + 1]; ++p) {
      T& alpha = slots_.alpha[p];
      if (moves(e, p)) {
        alpha = sides[side_of(slots_.cls[p])]->alpha[source_[p]];
        // It may have moved elsewhere meanwhile: only slots with alpha = 0 rest.
        if (alpha > 0) slots_.resting[p] = 0;
      }
      inside += alpha;
    }
    const std::int32_t own = slots_.cls[begin[e]];
    if (own == kNone) continue;
    slots_.alpha[begin[e]] = sides[side_of(own)]->sum[source_[begin[e]]];
    outside_[e] = slots_.alpha[begin[e]] - inside;
  }
  WorkView<T> v{};
  v.x = problem_.X.data;
  v.row = row_.data();
  v.row_end = row_end_.data();
  v.norm2 = norm2_.data();
  v.box = box_.data();
  v.bias = problem_.bias;
  slots_.fill(v);
  v.w = w_.data();
  v.w_bias = w_bias_.data();
  v.holds_bias = problem_.holds_bias;
  v.outside = outside_.data();
  return v;
}

template <class T, class I>
void Meeting<T, I>::leave(BundleState<T>& a, BundleState<T>& b) {
  BundleState<T>* sides[2] = {&a, &b};
  for (int s = 0; s < 2; ++s)
    for (std::int32_t k = 0; k < classes_[s]; ++k)
      sides[s]->w_bias[k] = w_bias_[first_class(s) + k];
  const std::vector<std::int64_t>& begin = slots_.begin;
  for (std::size_t e = 0; e < sample_.size(); ++e) {
    const std::int32_t own = slots_.cls[begin[e]];
    if (own != kNone) sides[side_of(own)]->sum[source_[begin[e]]] = slots_.alpha[begin[e]];
    for (std::int64_t p = begin[e] + 1; p < begin[e + 1]; ++p)
      if (moves(e, p)) sides[side_of(slots_.cls[p])]->alpha[source_[p]] = slots_.alpha[p];
  }
}

template <class T, class I>
template <class Visit>
PassReport Meeting<T, I>::run(BundleState<T>& a, BundleState<T>& b, const Visit& visit) {
  const PassReport report = visit(enter(a, b));
  leave(a, b);
  return report;
}

template <class T, class I>
PassReport Meeting<T, I>::alone(BundleState<T>& a, BundleState<T>& b, const VisitRule<T>& rule,
                                std::uint64_t seed, const SolverKernels<T>& kernels,
                                const std::function<bool()>& stop) {
  Pass<T> pass(kernels, classes_[0] + classes_[1], slots_.widest);
  return run(a, b, [&](const WorkView<T>& view) {
    return pass.alone(view, visits_.due(rule.everything, Random(seed)), visits_, rule, stop);
  });
}

template <class T, class I>
PassReport Meeting<T, I>::together(BundleState<T>& a, BundleState<T>& b, const VisitRule<T>& rule,
                                   std::uint64_t seed, const SolverKernels<T>& kernels, Team& team,
                                   Batches<T>& batches, Periodically& stop) {
  Pass<T> pass(kernels, classes_[0] + classes_[1], slots_.widest);
  return run(a, b, [&](const WorkView<T>& view) {
    return pass.together(view, visits_, rule, Random(seed), team, batches, stop);
  });
}

template <class T, class I>
void Meeting<T, I>::collect(int side, std::vector<std::int64_t>& pair,
                            std::vector<T>& value) const {
  for (std::size_t e = 0; e < sample_.size(); ++e)
    for (std::int64_t p = slots_.begin[e] + 1; p < slots_.begin[e + 1]; ++p)
      if (side_of(slots_.cls[p]) == side && !moves(e, p) && slots_.alpha[p] != 0) {
        pair.push_back(source_[p]);
        value.push_back(slots_.alpha[p]);
      }
}

template <class T, class I>
typename Meeting<T, I>::State Meeting<T, I>::state() const {
  return {slots_.alpha, slots_.resting, visits_.pauses(), visits_.waits(), slots_.height};
}

template <class T, class I>
void Meeting<T, I>::restore(State state) {
  if (state.alpha.size() != slots_.alpha.size() || state.resting.size() != slots_.resting.size() ||
      state.pauses.size() != sample_.size() || state.waits.size() != sample_.size() ||
      (!state.height.empty() && state.height.size() != slots_.height.size()))
    throw std::invalid_argument("restore: this state belongs to another meeting");
  slots_.alpha = std::move(state.alpha);
  slots_.resting = std::move(state.resting);
  if (!state.height.empty()) slots_.height = std::move(state.height);
  visits_.restore(std::move(state.pauses), std::move(state.waits));
}

template <class T, class I>
void Meeting<T, I>::wake(const std::uint8_t* samples) {
  for (std::size_t e = 0; e < sample_.size(); ++e)
    if (samples[sample_[e]] != 0) visits_.wake(static_cast<std::int32_t>(e));
}

#define MM_CLASS(T, I) template class Meeting<T, I>;
MM_FOR_TYPES(MM_CLASS)
#undef MM_CLASS

}  // namespace multimargin
