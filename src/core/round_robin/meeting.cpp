#include "round_robin/meeting.hpp"

#include <algorithm>

namespace multimargin {

namespace {

constexpr std::int32_t kClassesPerTask = 32;
constexpr std::int32_t kNobody = -1;

}  // namespace

template <class T, class I>
Meeting<T, I>::Meeting(const PartitionedProblem<T, I>& problem, const Side<T>& a, const Side<T>& b,
                       bool home, bool shared, Team& team)
    : problem_(problem), shared_(shared) {
  const Side<T>* sides[2] = {&a, &b};
  for (int s = 0; s < 2; ++s) {
    bundle_[s] = sides[s]->bundle;
    classes_[s] = static_cast<std::int32_t>(problem.classes[bundle_[s]].size());
    weight_[s].assign(sides[s]->weight, sides[s]->weight + classes_[s] + 1);
  }
  w_.resize(classes_[0] + classes_[1]);
  w_bias_.resize(w_.size());
  choose(a, b, home);
  position_.reset(static_cast<std::size_t>(place_.back()));
  lone_.assign(cls_.size(), T(0));
  place(a, 0, team);
  place(b, 1, team);
  resting_.assign(cls_.size(), 0);
  visits_.reset(sample_.size());
}

// Which samples take part, and with which of their classes.
template <class T, class I>
void Meeting<T, I>::choose(const Side<T>& a, const Side<T>& b, bool home) {
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
  std::vector<std::int32_t> entry(n, kNobody);
  pair_.assign(1, 0);
  place_.assign(1, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t both = count[0][i] + count[1][i];
    if (both == 0) continue;
    const std::int32_t own = problem_.bundle_of[problem_.y[i]];
    const bool here = own == bundle_[0] || own == bundle_[1];
    const bool crosses = own == bundle_[0]   ? count[1][i] > 0
                         : own == bundle_[1] ? count[0][i] > 0
                                             : count[0][i] > 0 && count[1][i] > 0;
    if (!crosses && !(home && (here || both > 1))) continue;
    entry[i] = static_cast<std::int32_t>(sample_.size());
    sample_.push_back(static_cast<std::int32_t>(i));
    row_.push_back(problem_.X.begin(i));
    row_end_.push_back(problem_.X.end(i));
    norm2_.push_back(problem_.norm2[i]);
    box_.push_back(problem_.box[i]);
    pair_.push_back(pair_.back() + 1 + both);
    place_.push_back(place_.back() + (1 + both) * (row_end_.back() - row_.back()));
    widest_ = std::max(widest_, 1 + both);
  }
  outside_.assign(sample_.size(), T(0));
  cls_.assign(pair_.back(), kNobody);
  source_.assign(pair_.back(), 0);
  alpha_.assign(pair_.back(), T(0));
  std::vector<std::int64_t> next(pair_.begin(), pair_.end() - 1);
  for (std::size_t e = 0; e < sample_.size(); ++e) {
    const std::int32_t c = problem_.y[sample_[e]], own = problem_.bundle_of[c];
    const std::int64_t slot = next[e]++;
    source_[slot] = problem_.own_index[sample_[e]];
    if (own == bundle_[0])
      cls_[slot] = problem_.place_of[c];
    else if (own == bundle_[1])
      cls_[slot] = classes_[0] + problem_.place_of[c];
  }
  for (int s = 0; s < 2; ++s)
    for (std::int32_t k = 0; k < classes_[s]; ++k)
      for (std::int64_t p = sides[s]->begin[k]; p < sides[s]->begin[k + 1]; ++p) {
        const std::int32_t i = sides[s]->sample[p], e = entry[i];
        if (e == kNobody) continue;
        const std::int64_t slot = next[e]++;
        cls_[slot] = (s == 0 ? 0 : classes_[0]) + k;
        source_[slot] = p;
        alpha_[slot] = sides[s]->alpha[p];
      }
}

// Where the features of each slot lie in the weights of its class.
template <class T, class I>
void Meeting<T, I>::place(const Side<T>& side, int which, Team& team) {
  struct Member {
    std::int32_t entry, slot;
  };
  const std::int32_t first_class = which == 0 ? 0 : classes_[0];
  std::vector<std::int64_t> begin(classes_[which] + 1, 0);
  const auto each = [&](const auto& use) {
    for (std::size_t e = 0; e < sample_.size(); ++e)
      for (std::int64_t p = pair_[e]; p < pair_[e + 1]; ++p)
        if (cls_[p] >= first_class && cls_[p] < first_class + classes_[which])
          use(cls_[p] - first_class, e, p - pair_[e]);
  };
  each([&](std::int32_t k, std::size_t, std::int64_t) { ++begin[k + 1]; });
  for (std::int32_t k = 0; k < classes_[which]; ++k) begin[k + 1] += begin[k];
  std::vector<Member> member(begin.back());
  std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
  each([&](std::int32_t k, std::size_t e, std::int64_t slot) {
    member[next[k]++] = {static_cast<std::int32_t>(e), static_cast<std::int32_t>(slot)};
  });

  const Csr<T, I>& X = problem_.X;
  std::vector<std::vector<std::uint32_t>> tables(team.size());
  const std::int64_t tasks = (classes_[which] + kClassesPerTask - 1) / kClassesPerTask;
  team.for_each(tasks, [&](int thread, std::int64_t task) {
    std::vector<std::uint32_t>& at = tables[thread];
    if (at.empty()) at.assign(X.cols, 0);
    const std::int32_t first = static_cast<std::int32_t>(task) * kClassesPerTask;
    for (std::int32_t k = first; k < std::min(classes_[which], first + kClassesPerTask); ++k) {
      const std::int32_t* feature = side.feature + side.weight[k];
      const auto features = static_cast<std::uint32_t>(side.weight[k + 1] - side.weight[k]);
      for (std::uint32_t f = 1; f < features; ++f) at[feature[f]] = f;
      for (std::int64_t m = begin[k]; m < begin[k + 1]; ++m) {
        const auto [e, slot] = member[m];
        const std::int64_t len = row_end_[e] - row_[e];
        std::uint32_t* to = position_.data() + place_[e] + slot * len;
        double lone = 0;
        for (std::int64_t t = 0; t < len; ++t) {
          to[t] = at[X.indices[row_[e] + t]];
          const double x = static_cast<double>(X.data[row_[e] + t]);
          if (to[t] == 0) lone += x * x;
        }
        lone_[pair_[e] + slot] = static_cast<T>(lone);
      }
      for (std::uint32_t f = 1; f < features; ++f) at[feature[f]] = 0;
    }
  });
}

template <class T, class I>
WorkView<T> Meeting<T, I>::enter(BundleState<T>& a, BundleState<T>& b) {
  BundleState<T>* sides[2] = {&a, &b};
  for (int s = 0; s < 2; ++s)
    for (std::int32_t k = 0; k < classes_[s]; ++k) {
      w_[(s == 0 ? 0 : classes_[0]) + k] = sides[s]->w.data() + weight_[s][k];
      w_bias_[(s == 0 ? 0 : classes_[0]) + k] = sides[s]->w_bias[k];
    }
  for (std::size_t e = 0; e < sample_.size(); ++e) {
    T inside = 0;
    for (std::int64_t p = pair_[e] + 1; p < pair_[e + 1]; ++p) {
      if (travels(e, p)) {
        alpha_[p] = sides[side_of(cls_[p])]->alpha[source_[p]];
        // It may have moved elsewhere meanwhile: only slots with alpha = 0 rest.
        if (alpha_[p] > 0) resting_[p] = 0;
      }
      inside += alpha_[p];
    }
    const std::int32_t own = cls_[pair_[e]];
    if (own == kNobody) continue;
    alpha_[pair_[e]] = sides[side_of(own)]->sum[source_[pair_[e]]];
    outside_[e] = alpha_[pair_[e]] - inside;
  }
  WorkView<T> v{};
  v.x = problem_.X.data;
  v.row = row_.data();
  v.row_end = row_end_.data();
  v.norm2 = norm2_.data();
  v.box = box_.data();
  v.bias = problem_.bias;
  v.pair = pair_.data();
  v.cls = cls_.data();
  v.alpha = alpha_.data();
  v.resting = resting_.data();
  v.place = place_.data();
  v.position = position_.data();
  v.lone = lone_.data();
  v.w = w_.data();
  v.w_bias = w_bias_.data();
  v.outside = outside_.data();
  return v;
}

template <class T, class I>
void Meeting<T, I>::leave(BundleState<T>& a, BundleState<T>& b) {
  BundleState<T>* sides[2] = {&a, &b};
  for (int s = 0; s < 2; ++s)
    for (std::int32_t k = 0; k < classes_[s]; ++k)
      sides[s]->w_bias[k] = w_bias_[(s == 0 ? 0 : classes_[0]) + k];
  for (std::size_t e = 0; e < sample_.size(); ++e) {
    const std::int32_t own = cls_[pair_[e]];
    if (own != kNobody) sides[side_of(own)]->sum[source_[pair_[e]]] = alpha_[pair_[e]];
    for (std::int64_t p = pair_[e] + 1; p < pair_[e + 1]; ++p)
      if (travels(e, p)) sides[side_of(cls_[p])]->alpha[source_[p]] = alpha_[p];
  }
}

template <class T, class I>
PassReport Meeting<T, I>::alone(BundleState<T>& a, BundleState<T>& b, const MeetingPass<T>& pass,
                                const SolverKernels<T>& kernels,
                                const std::function<bool()>& stop) {
  std::vector<std::int32_t> due;
  visits_.due(pass.rule.everything, Random(pass.seed), due);
  Pass<T> visitor(kernels, classes_[0] + classes_[1], widest_);
  const PassReport report = visitor.alone(enter(a, b), due, visits_, pass.rule, pass.quiet, stop);
  leave(a, b);
  return report;
}

template <class T, class I>
PassReport Meeting<T, I>::together(BundleState<T>& a, BundleState<T>& b, const MeetingPass<T>& pass,
                                   const SolverKernels<T>& kernels, Team& team,
                                   SharedClasses<T>& shared_classes, Periodically& stop) {
  std::vector<std::int32_t> due;
  visits_.due(pass.rule.everything, Random(pass.seed), due);
  Pass<T> visitor(kernels, classes_[0] + classes_[1], widest_);
  const PassReport report = visitor.together(enter(a, b), due, visits_, pass.batch, pass.rule,
                                          pass.quiet, team, shared_classes, stop);
  leave(a, b);
  return report;
}

template <class T, class I>
void Meeting<T, I>::collect(int side, std::vector<std::int64_t>& pair,
                            std::vector<T>& value) const {
  for (std::size_t e = 0; e < sample_.size(); ++e)
    for (std::int64_t p = pair_[e] + 1; p < pair_[e + 1]; ++p)
      if (side_of(cls_[p]) == side && !travels(e, p) && alpha_[p] != 0) {
        pair.push_back(source_[p]);
        value.push_back(alpha_[p]);
      }
}

template <class T, class I>
typename Meeting<T, I>::State Meeting<T, I>::state() const {
  return {alpha_, resting_, visits_.pauses(), visits_.waits()};
}

template <class T, class I>
void Meeting<T, I>::restore(State state) {
  if (state.alpha.size() != alpha_.size() || state.resting.size() != resting_.size() ||
      state.pauses.size() != sample_.size() || state.waits.size() != sample_.size())
    throw std::invalid_argument("restore: this state belongs to another meeting");
  alpha_ = std::move(state.alpha);
  resting_ = std::move(state.resting);
  visits_.restore(std::move(state.pauses), std::move(state.waits));
}

template class Meeting<float, std::int32_t>;
template class Meeting<float, std::int64_t>;
template class Meeting<double, std::int32_t>;
template class Meeting<double, std::int64_t>;

}  // namespace multimargin
