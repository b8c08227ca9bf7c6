#include "rows/lee_lin_wahba.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "common/norms.hpp"
#include "common/random.hpp"
#include "common/rounding.hpp"

namespace multimargin {

namespace {

constexpr std::int64_t kSamplesPerTask = 64;
constexpr std::int64_t kFeaturesPerTask = 256;
// Samples whose scores are gathered together. Each one's step is applied to the scores of the
// later ones through x_i.x_j, so the result is that of one after the other, with one meeting of
// the threads for all of them.
constexpr int kTogether = 4;

// Curvature of a direction, of 1 at most, that counts as none.
template <class T>
constexpr double kFlat = sizeof(T) == 4 ? 1e-5 : 1e-10;
constexpr double kShortest = 1e-4;  // share of a step that is still tried

// Rows of an odd number of lines: with a power of two every row would start in the same few
// sets of the cache.
template <class T>
std::int64_t padded(std::int32_t classes) {
  const std::int64_t lines = (classes + line_lanes<T>() - 1) / line_lanes<T>();
  return lines == 0 ? 0 : (lines | 1) * line_lanes<T>();
}

}  // namespace

namespace {

template <class T>
double exact_sum(const T* row, std::int64_t width) {
  double sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += static_cast<double>(row[c]);
  return sum;
}

// `total` is shorter: parts are added up that many at a time.
void add_up(const std::vector<double>& parts, std::vector<double>& total) {
  for (std::size_t k = 0; k < parts.size(); ++k) total[k % total.size()] += parts[k];
}

}  // namespace

template <class T, class I>
LeeLinWahba<T, I>::LeeLinWahba(const Csr<T, I>& X, const std::int32_t* y, const T* box,
                               std::int32_t n_classes, T bias, Isa isa, int threads,
                               std::uint64_t seed, const std::vector<std::int32_t>& cuts)
    : X_(X),
      y_(y),
      box_(box),
      n_classes_(n_classes),
      first_(cuts.empty() ? 0 : cuts.front()),
      cuts_(cuts),
      bias_(bias),
      seed_(seed),
      rows_(row_kernels<T, I>(isa)),
      lines_(line_kernels<T, I>(LineLoss::others_hinge, isa)),
      team_(threads),
      norm2_(row_norms(X, bias)) {
  if (cuts.empty()) cuts_ = {0, n_classes};
  for (std::int32_t& cut : cuts_) cut -= first_;
  width_ = padded<T>(held());
  alpha_.reset(static_cast<std::size_t>(X.rows * width_));
  w_.reset(static_cast<std::size_t>((X.cols + 1) * width_));
  set_alpha(nullptr);
  fill_zero(w_, X.cols + 1);
  // Samples without entries have alphas, but no part in any weight.
  sums_.assign(static_cast<std::size_t>(X.rows), 0.0);
  mean_.assign(static_cast<std::size_t>(X.cols + 1), 0.0);
  offset_.assign(static_cast<std::size_t>(X.rows), T(0));
}

template <class T, class I>
RowBlock<T> LeeLinWahba<T, I>::block(std::int64_t i) const {
  return {width_, n_classes_, y_[i], box_[i], std::isinf(box_[i]) ? T(0) : box_[i], norm2_[i]};
}

template <class T, class I>
RowBlock<T> LeeLinWahba<T, I>::block(std::int64_t i, std::int64_t bundle) const {
  const std::int32_t own = y_[i] - first_ - cuts_[bundle], classes = classes_of(bundle);
  return {width_of(bundle),
          classes,
          own >= 0 && own < classes ? own : -1,
          box_[i],
          std::isinf(box_[i]) ? T(0) : box_[i],
          norm2_[i]};
}

template <class T, class I>
std::int64_t LeeLinWahba<T, I>::width_of(std::int64_t bundle) const {
  constexpr std::int64_t lanes = line_lanes<T>();
  return (classes_of(bundle) + lanes - 1) / lanes * lanes;
}

template <class T, class I>
RowWeights<T> LeeLinWahba<T, I>::weights_in(Buffer<T>& rows) {
  return {rows.data(), rows.data() + X_.cols * width_, bias_, width_};
}

// ---------------------------------------------------------------- state

template <class T, class I>
void LeeLinWahba<T, I>::set_alpha(const T* alpha) {
  const std::int32_t held = this->held();
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    T* row = alpha_row(i);
    std::fill(row, row + width_, T(0));
    if (alpha != nullptr) std::copy_n(alpha + i * held, held, row);
    if (!(norm2_[i] > 0)) std::fill(row, row + held, std::isinf(box_[i]) ? T(0) : box_[i]);
    const std::int32_t own = y_[i] - first_;
    if (own >= 0 && own < held) row[own] = 0;
  }
  active_.clear();
}

template <class T, class I>
void LeeLinWahba<T, I>::assign(const T* alpha) {
  set_alpha(alpha);
  recompute();
}

template <class T, class I>
void LeeLinWahba<T, I>::alpha(T* out) const {
  for (std::int64_t i = 0; i < X_.rows; ++i) std::copy_n(alpha_row(i), held(), out + i * held());
}

template <class T, class I>
void LeeLinWahba<T, I>::weights(T* out, T* constant) {
  const std::int64_t tasks = (X_.cols + kFeaturesPerTask - 1) / kFeaturesPerTask;
  team_.for_each(tasks, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(X_.cols, (task + 1) * kFeaturesPerTask);
    for (std::int32_t c = 0; c < held(); ++c)
      for (std::int64_t j = task * kFeaturesPerTask; j < end; ++j)
        out[c * X_.cols + j] = w_[j * width_ + c];
  });
  std::copy_n(w_.data() + X_.cols * width_, held(), constant);
}

template <class T, class I>
void LeeLinWahba<T, I>::fill_zero(Buffer<T>& buffer, std::int64_t rows) {
  team_.for_each((rows + kFeaturesPerTask - 1) / kFeaturesPerTask, [&](int, std::int64_t task) {
    T* begin = buffer.data() + task * kFeaturesPerTask * width_;
    std::fill(begin, buffer.data() + std::min(rows, (task + 1) * kFeaturesPerTask) * width_, T(0));
  });
}

template <class T, class I>
void LeeLinWahba<T, I>::scatter_all(const T* rows, const RowWeights<T>& W) {
  constexpr std::int64_t wide = 4 * line_lanes<T>();
  std::vector<T> mean(static_cast<std::size_t>(X_.rows));
  sum_samples([&](int, std::int64_t i) {
    mean[i] = static_cast<T>(rows_.sum(rows + i * width_, width_) / n_classes_);
    return 0.0;
  });
  team_.for_each((width_ + wide - 1) / wide, [&](int, std::int64_t task) {
    const std::int64_t from = task * wide, to = std::min(width_, from + wide);
    alignas(64) T step[wide];
    for (std::int64_t i = 0; i < X_.rows; ++i) {
      for (std::int64_t c = from; c < to; ++c)
        step[c - from] = c < n_classes_ ? rows[i * width_ + c] - mean[i] : T(0);
      rows_.scatter(X_, W, i, from, to, step);
    }
  });
}

template <class T, class I>
void LeeLinWahba<T, I>::alpha_sums(const std::int32_t* samples, std::int64_t count, double* out) {
  team_.for_each((count + kSamplesPerTask - 1) / kSamplesPerTask, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(count, (task + 1) * kSamplesPerTask);
    for (std::int64_t k = task * kSamplesPerTask; k < end; ++k)
      for (std::int64_t b = 0; b < bundles(); ++b)
        out[b * count + k] =
            rows_.sum(alpha_row(samples == nullptr ? k : samples[k]) + cuts_[b], width_of(b));
  });
}

template <class T, class I>
void LeeLinWahba<T, I>::weight_sums(double* out) {
  team_.for_each((X_.cols + kFeaturesPerTask) / kFeaturesPerTask, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(X_.cols + 1, (task + 1) * kFeaturesPerTask);
    for (std::int64_t b = 0; b < bundles(); ++b)
      for (std::int64_t j = task * kFeaturesPerTask; j < end; ++j)
        out[b * (X_.cols + 1) + j] = exact_sum(w_.data() + j * width_ + cuts_[b], width_of(b));
  });
}

template <class T, class I>
std::vector<double> LeeLinWahba<T, I>::all_weight_sums() {
  std::vector<double> parts(static_cast<std::size_t>(bundles() * (X_.cols + 1)));
  weight_sums(parts.data());
  std::vector<double> total(static_cast<std::size_t>(X_.cols + 1), 0.0);
  add_up(parts, total);
  return total;
}

template <class T, class I>
void LeeLinWahba<T, I>::recompute() {
  std::vector<double> parts(static_cast<std::size_t>(bundles() * X_.rows));
  std::vector<double> total(static_cast<std::size_t>(X_.rows), 0.0);
  alpha_sums(nullptr, X_.rows, parts.data());
  add_up(parts, total);
  recompute(total.data());
  centre(all_weight_sums().data());
}

template <class T, class I>
void LeeLinWahba<T, I>::recompute(const double* sums) {
  sums_.assign(sums, sums + X_.rows);
  // In double precision: with a large box the terms are large and nearly cancel.
  constexpr std::int64_t wide = 2 * line_lanes<T>();
  std::vector<std::vector<double>> desks(static_cast<std::size_t>(team_.size()));
  team_.for_each((width_ + wide - 1) / wide, [&](int member, std::int64_t task) {
    const std::int64_t from = task * wide, to = std::min(width_, from + wide);
    std::vector<double>& desk = desks[member];
    desk.assign(static_cast<std::size_t>((X_.cols + 1) * wide), 0.0);
    for (std::int64_t i = 0; i < X_.rows; ++i) add_row(i, from, to, desk.data(), wide);
    for (std::int64_t j = 0; j <= X_.cols; ++j)
      for (std::int64_t c = from; c < to; ++c)
        w_[j * width_ + c] = static_cast<T>(desk[j * wide + c - from]);
  });
  std::fill(mean_.begin(), mean_.end(), 0.0);
  std::fill(offset_.begin(), offset_.end(), T(0));
}

template <class T, class I>
void LeeLinWahba<T, I>::centre(const double* sums) {
  team_.for_each((X_.cols + kFeaturesPerTask) / kFeaturesPerTask, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(X_.cols + 1, (task + 1) * kFeaturesPerTask);
    for (std::int64_t j = task * kFeaturesPerTask; j < end; ++j) {
      T* row = w_.data() + j * width_;
      const T mean = static_cast<T>(sums[j] / n_classes_);
      if (mean != 0)
        for (std::int32_t c = 0; c < held(); ++c) row[c] -= mean;
    }
  });
}

template <class T, class I>
void LeeLinWahba<T, I>::add_row(std::int64_t i, std::int64_t from, std::int64_t to, double* out,
                                std::int64_t wide) const {
  if (sums_[i] == 0) return;
  const double mean = sums_[i] / n_classes_;
  double step[2 * line_lanes<T>()] = {};
  for (std::int64_t c = from; c < std::min<std::int64_t>(to, held()); ++c)
    step[c - from] = mean - static_cast<double>(alpha_row(i)[c]);
  const auto add = [&](std::int64_t j, double x) {
    for (std::int64_t c = 0; c < wide; ++c) out[j * wide + c] += x * step[c];
  };
  for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t)
    add(static_cast<std::int64_t>(X_.indices[t]), static_cast<double>(X_.data[t]));
  add(X_.cols, static_cast<double>(bias_));
}

template <class T, class I>
template <class Each>
double LeeLinWahba<T, I>::sum_samples(const Each& each) {
  std::vector<double> value(static_cast<std::size_t>(X_.rows));
  team_.for_each((X_.rows + kSamplesPerTask - 1) / kSamplesPerTask,
                 [&](int member, std::int64_t task) {
                   const std::int64_t end = std::min(X_.rows, (task + 1) * kSamplesPerTask);
                   for (std::int64_t i = task * kSamplesPerTask; i < end; ++i)
                     value[i] = each(member, i);
                 });
  return std::accumulate(value.begin(), value.end(), 0.0);
}

// ---------------------------------------------------------------- looking

template <class T, class I>
FullReport LeeLinWahba<T, I>::look() {
  FullReport all;
  for (const FullReport& one : look_bundles(all_weight_sums().data())) {
    all.half_norm += one.half_norm;
    all.loss += one.loss;
    all.alpha += one.alpha;
    all.violation = std::max(all.violation, one.violation);
    all.margin = std::max(all.margin, one.margin);
    all.free += one.free;
  }
  return all;
}

template <class T, class I>
std::vector<FullReport> LeeLinWahba<T, I>::look_bundles(const double* sums) {
  std::vector<FullReport> reports;
  for (std::int64_t b = 0; b < bundles(); ++b) reports.push_back(look_bundle(b, sums));
  return reports;
}

template <class T, class I>
FullReport LeeLinWahba<T, I>::look_bundle(std::int64_t bundle, const double* weight_sums) {
  FullReport report;
  const std::int64_t from = cuts_[bundle], wide = width_of(bundle);
  const RowWeights<T> W{w_.data() + from, w_.data() + X_.cols * width_ + from, bias_, width_};
  std::vector<double> norm = squared_norms(W, wide);
  report.half_norm = std::accumulate(norm.begin(), norm.end(), 0.0) / 2;
  for (double& n : norm) n = std::sqrt(n);
  std::vector<RowSums> sums(static_cast<std::size_t>(X_.rows));
  std::vector<std::vector<double>> desks(static_cast<std::size_t>(team_.size()));
  sum_samples([&](int member, std::int64_t i) {
    std::vector<double>& desk = desks[member];
    desk.resize(static_cast<std::size_t>(2 * wide));
    const double norm2 = static_cast<double>(norm2_[i]);
    const double unit = score_rounding<double>(X_.end(i) - X_.begin(i), norm2);
    for (std::int64_t c = 0; c < wide; ++c) desk[c] = own_rounding<double>(unit, norm[c]);
    // Rounded one by one, the weights of a feature do not quite sum to zero. The objective is that
    // of the nearest ones that do.
    double mean = static_cast<double>(bias_) * weight_sums[X_.cols];
    for (std::int64_t t = X_.begin(i); t < X_.end(i); ++t)
      mean += static_cast<double>(X_.data[t]) * weight_sums[X_.indices[t]];
    sums[i] = rows_.look(X_, W, i, block(i, bundle), alpha_row(i) + from, mean / n_classes_,
                         desk.data(), desk.data() + wide);
    return 0.0;
  });
  for (std::int64_t i = 0; i < X_.rows; ++i) {
    report.loss += static_cast<double>(block(i).price) * sums[i].loss;
    report.alpha += sums[i].alpha;
    report.margin = std::max(report.margin, sums[i].margin);
    report.free += sums[i].free;
    if (norm2_[i] > 0) report.violation = std::max(report.violation, sums[i].violation);
  }
  return report;
}

template <class T, class I>
std::vector<double> LeeLinWahba<T, I>::squared_norms(const RowWeights<T>& W, std::int64_t wide) {
  constexpr std::int64_t lanes = line_lanes<T>();
  std::vector<double> squares(static_cast<std::size_t>(wide), 0.0);
  team_.for_each(wide / lanes, [&](int, std::int64_t line) {
    for (std::int64_t j = 0; j <= X_.cols; ++j) {
      const T* row = W.w + j * W.width;  // the constant feature is the last
      for (std::int64_t c = line * lanes; c < (line + 1) * lanes; ++c)
        squares[c] += static_cast<double>(row[c]) * static_cast<double>(row[c]);
    }
  });
  return squares;
}

// ---------------------------------------------------------------- one sample after the other

template <class T, class I>
bool LeeLinWahba<T, I>::worth_sharing() const {
  // Cache lines that a member reads and writes between two meetings. With 475 (13 entries a row,
  // 1,139 classes, 16 threads) a pass took 21 ms instead of 32; with two threads, 3,800, as long as
  // with one. Small dense problems have far less and only lose.
  const double entries = static_cast<double>(X_.indptr[X_.rows]) / static_cast<double>(X_.rows);
  const double lines = static_cast<double>(width_ / line_lanes<T>());
  return 2 * kTogether * entries * lines / team_.size() >= least_shared_;
}

template <class T, class I>
T LeeLinWahba<T, I>::inner(std::int64_t i, std::int64_t j) const {
  double sum = static_cast<double>(bias_) * static_cast<double>(bias_);
  std::int64_t a = X_.begin(i), b = X_.begin(j);
  while (a < X_.end(i) && b < X_.end(j)) {
    const std::int64_t fa = X_.indices[a], fb = X_.indices[b];
    if (fa == fb) sum += static_cast<double>(X_.data[a]) * static_cast<double>(X_.data[b]);
    a += fa <= fb;
    b += fb <= fa;
  }
  return static_cast<T>(sum);
}

template <class T, class I>
template <class Visit>
bool LeeLinWahba<T, I>::sweep(const std::vector<std::int32_t>& order, const RowWeights<T>& W,
                              const Visit& visit) {
  const std::int64_t count = static_cast<std::int64_t>(order.size());
  // A kernel takes four lines at a time and what is left one by one, and compilers may round the
  // two differently: threads get whole fours, so that every line goes the same way for any number.
  constexpr std::int64_t four = 4 * line_lanes<T>();
  const std::int64_t fours = (width_ + four - 1) / four;
  const int members = worth_sharing() ? team_.size() : 1;
  Buffer<T> score, step;
  score.reset(static_cast<std::size_t>(kTogether * width_));
  step.reset(static_cast<std::size_t>(kTogether * width_));
  T gram[kTogether][kTogether] = {};
  bool moved[kTogether] = {};
  std::atomic<bool> ending{false};
  const auto share = [&](int member) {
    const std::int64_t from = fours * member / members * four;
    const std::int64_t to = std::min(width_, fours * (member + 1) / members * four);
    const auto meet = [&] {
      if (members > 1) team_.barrier();
    };
    for (std::int64_t at = 0; at < count; at += kTogether) {
      const int together = static_cast<int>(std::min<std::int64_t>(kTogether, count - at));
      const std::int32_t* sample = order.data() + at;
      for (int k = 0; k < together; ++k)
        rows_.gather(X_, W, sample[k], from, to, score.data() + k * width_);
      for (int k = member; k < together; k += members)
        for (int l = k + 1; l < together; ++l) gram[k][l] = inner(sample[k], sample[l]);
      meet();
      if (member == 0) {
        for (int k = 0; k < together; ++k) {
          T* const change = step.data() + k * width_;
          moved[k] = visit(sample[k], score.data() + k * width_, change);
          for (int l = k + 1; moved[k] && l < together; ++l)
            if (gram[k][l] != 0) rows_.add(gram[k][l], change, score.data() + l * width_, width_);
        }
        if (stop_()) ending.store(true, std::memory_order_relaxed);
      }
      meet();
      // Member 0 asks again only after the next barrier, so that all members see the same.
      const bool last = ending.load(std::memory_order_relaxed);
      for (int k = 0; k < together; ++k)
        if (moved[k]) rows_.scatter(X_, W, sample[k], from, to, step.data() + k * width_ + from);
      if (last) return;
    }
  };
  if (members == 1)
    share(0);
  else
    team_.run(share);
  return !ending;
}

template <class T, class I>
std::vector<std::int32_t> LeeLinWahba<T, I>::shuffled_samples(std::uint64_t epoch) const {
  std::vector<std::int32_t> order;
  for (std::int64_t i = 0; i < X_.rows; ++i)
    if (norm2_[i] > 0) order.push_back(static_cast<std::int32_t>(i));
  Random(seed_, epoch).shuffle(order.data(), static_cast<std::int64_t>(order.size()));
  return order;
}

template <class T, class I>
PassReport LeeLinWahba<T, I>::pass_rows(T leave_below, T idle) {
  PassReport report;
  Buffer<T> work;
  work.reset(static_cast<std::size_t>(width_));
  const std::vector<std::int32_t> order = shuffled_samples(passes_++);
  report.complete = sweep(order, weights_in(w_), [&](std::int32_t i, T* score, T* step) {
    RowReport<T> seen;
    const bool moved =
        rows_.block(block(i), score, alpha_row(i), step, work.data(), leave_below, idle, &seen);
    report.gap += static_cast<double>(seen.gap);
    report.violation = std::max(report.violation, static_cast<double>(seen.violation));
    ++report.visits;
    return moved;
  });
  return report;
}

// ---------------------------------------------------------------- the face

template <class T, class I>
FaceReport LeeLinWahba<T, I>::polish(std::int32_t iterations, double reduction) {
  FaceReport report;
  // Kept from one call to the next: fresh pages cost more than the memory is worth.
  if (!face_) face_ = std::make_unique<Face>();
  Face& f = *face_;
  for (Buffer<T>* rows : {&f.r, &f.z, &f.p, &f.q, &f.e}) {
    rows->reset(static_cast<std::size_t>(X_.rows * width_));
    fill_zero(*rows, X_.rows);
  }
  f.u.reset(static_cast<std::size_t>((X_.cols + 1) * width_));
  std::vector<Buffer<T>> score(static_cast<std::size_t>(team_.size()));
  for (Buffer<T>& s : score) s.reset(static_cast<std::size_t>(width_));
  Buffer<T> work;
  work.reset(static_cast<std::size_t>(width_));
  const RowWeights<T> W = weights_in(w_), U = weights_in(f.u);
  const auto row = [&](Buffer<T>& b, std::int64_t i) { return b.data() + i * width_; };
  const std::vector<std::int32_t> order = shuffled_samples(passes_++);
  const std::vector<std::int32_t> backward(order.rbegin(), order.rend());

  const double first = sum_samples([&](int member, std::int64_t i) {
    if (!(norm2_[i] > 0)) return 0.0;
    rows_.gather(X_, W, i, 0, width_, score[member].data());
    return rows_.face_gradient(block(i), score[member].data(), alpha_row(i), row(f.r, i));
  });
  double left = first, rz = 0;
  bool flat = false;
  while (report.iterations < iterations && left > reduction * reduction * first) {
    fill_zero(f.u, X_.cols + 1);
    if (!sweep(order, U, [&](std::int32_t i, T* s, T* step) {
          rows_.face_forward(block(i), s, alpha_row(i), row(f.r, i), row(f.z, i), step);
          return true;
        }))
      break;
    fill_zero(f.u, X_.cols + 1);
    if (!sweep(backward, U, [&](std::int32_t i, T* s, T* step) {
          rows_.face_backward(block(i), s, alpha_row(i), row(f.z, i), step, work.data());
          return true;
        }))
      break;
    const double before = rz;
    rz = sum_samples(
        [&](int, std::int64_t i) { return rows_.dot(row(f.r, i), row(f.z, i), width_); });
    const T beta = before > 0 ? static_cast<T>(rz / before) : T(0);
    const double curvature = sum_samples([&](int member, std::int64_t i) {
      if (!(norm2_[i] > 0)) return 0.0;
      rows_.gather(X_, U, i, 0, width_, score[member].data());
      return rows_.face_direction(block(i), score[member].data(), alpha_row(i), row(f.z, i), beta,
                                  row(f.p, i), row(f.q, i));
    });
    if (!(rz > 0)) break;
    // The preconditioned matrix has eigenvalues up to 1. Next to none: the dual grows along p
    // until bounds are met, which no conjugate gradient will find.
    flat = !(curvature > kFlat<T> * rz);
    if (flat) break;
    const T length = static_cast<T>(rz / curvature);
    left = sum_samples([&](int, std::int64_t i) {
      return rows_.face_advance(block(i), length, row(f.p, i), row(f.q, i), row(f.e, i),
                                row(f.r, i));
    });
    ++report.iterations;
    if (stop_()) break;
  }

  report.step = take_step(f, 1, kShortest, report);
  if (flat && !stop_()) {
    f.e.swap(f.p);
    take_step(f, 1 / kFlat<T>, kFlat<T> * kShortest, report);
  }
  return report;
}

template <class T, class I>
typename LeeLinWahba<T, I>::Bent LeeLinWahba<T, I>::bend(Face& f, T length) {
  Bent bent;
  const auto row = [&](Buffer<T>& b, std::int64_t i) { return b.data() + i * width_; };
  bent.slope = sum_samples([&](int, std::int64_t i) {
    return rows_.face_project(block(i), length, row(f.e, i), alpha_row(i), row(f.z, i));
  });
  fill_zero(f.u, X_.cols + 1);
  scatter_all(f.z.data(), weights_in(f.u));
  std::vector<double> along(static_cast<std::size_t>(X_.cols + 1)), squares(along.size());
  team_.for_each((X_.cols + kFeaturesPerTask) / kFeaturesPerTask, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(X_.cols + 1, (task + 1) * kFeaturesPerTask);
    for (std::int64_t j = task * kFeaturesPerTask; j < end; ++j) {
      along[j] = rows_.dot(w_.data() + j * width_, row(f.u, j), width_);
      squares[j] = rows_.dot(row(f.u, j), row(f.u, j), width_);
    }
  });
  bent.slope += std::accumulate(along.begin(), along.end(), 0.0);
  bent.curvature = std::accumulate(squares.begin(), squares.end(), 0.0);
  return bent;
}

template <class T, class I>
double LeeLinWahba<T, I>::take_step(Face& f, double longest, double shortest_share,
                                    FaceReport& report) {
  // Along the step, bent to the bounds, to the best of a few lengths: what reaches a bound stays
  // there, which is how the face changes.
  double best = 0, taken = 0, shortest = longest;
  for (double length = longest; length > shortest_share * longest; length /= 2) {
    const double gain = bend(f, static_cast<T>(length)).gain(1);
    shortest = length;
    if (gain > best) {
      best = gain;
      taken = length;
    } else if (best > 0) {
      break;
    }
  }
  // If all of these are too far: straight to the last bent point, as far as the dual grows.
  const Bent bent = bend(f, static_cast<T>(best > 0 ? taken : shortest));
  double share = 1;
  if (!(best > 0)) {
    if (!(bent.slope > 0)) return 0;
    share = std::min(1.0, bent.slope / bent.curvature);
    taken = shortest * share;
  }
  report.gain += bent.gain(share);
  const T length = static_cast<T>(share);
  const auto row = [&](Buffer<T>& b, std::int64_t i) { return b.data() + i * width_; };
  sum_samples([&](int, std::int64_t i) {
    rows_.face_move(block(i), length, row(f.z, i), alpha_row(i));
    return 0.0;
  });
  team_.for_each((X_.cols + kFeaturesPerTask) / kFeaturesPerTask, [&](int, std::int64_t task) {
    const std::int64_t end = std::min(X_.cols + 1, (task + 1) * kFeaturesPerTask);
    for (std::int64_t j = task * kFeaturesPerTask; j < end; ++j)
      rows_.add(-length, row(f.u, j), w_.data() + j * width_, width_);
  });
  return taken / longest;
}

template class LeeLinWahba<float, std::int32_t>;
template class LeeLinWahba<float, std::int64_t>;
template class LeeLinWahba<double, std::int32_t>;
template class LeeLinWahba<double, std::int64_t>;

}  // namespace multimargin
