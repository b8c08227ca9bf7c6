// The table of compiled kernels, one per instruction set. See dispatch.cpp.
#pragma once

#include <cstdint>

#include "active_set/views.hpp"
#include "formulations/sample_block.hpp"
#include "lines/line.hpp"
#include "rows/row.hpp"

namespace multimargin {

enum class Formulation : int { weston_watkins = 0, crammer_singer = 1 };
enum class Isa : int { baseline = 0, avx2 = 1, avx512 = 2 };

// One batch of a pass: its samples are solved at the same weights.
template <class T>
struct BatchView {
  const std::int32_t* sample;   // samples of the pass, in order
  const std::int64_t* slot_at;  // where a sample's slots begin in touch
  const T* touch;               // per slot of the pass, see SharedClasses
  std::int64_t begin, end;      // the batch within the pass
  T* step;                      // per slot of the batch: coefficient of x_i still to be added
  T* gap;                       // [n] by sample
  T* violation;                 // [n] by sample
  T* work;                      // scratch of the calling thread

  T* steps_of(std::int64_t k) const { return step + (slot_at[k] - slot_at[begin]); }
};

// Kernels that follow the active set.
template <class T>
struct SolverKernels {
  bool separable;  // every variable has its own bounds
  // Samples begin + member, begin + member + members, ... of the batch: scores and exact
  // block solves at fixed weights. Writes alpha, the weights of classes that no other sample
  // of the batch touches (nobody else reads those), and the steps of the crowded classes.
  void (*solve_batch)(const WorkView<T>&, const BatchView<T>&, const VisitRule<T>&, int member,
                      int members);
  // Adds the steps of crowded classes that `member` of `members` owns, in sample order.
  void (*apply_batch)(const WorkView<T>&, const BatchView<T>&, const SharedSlot* crowded,
                      std::int64_t count, int member, int members);
  // Visits samples one after the other, weights included. gap and violation: [n] by sample.
  void (*visit_samples)(const WorkView<T>&, const std::int32_t* samples, std::int64_t count,
                        const VisitRule<T>&, T* gap, T* violation, T* work);
  // Scores of the active set at fixed weights: own score, exact, margins, reports.
  void (*evaluate)(const WorkView<T>&, std::int64_t begin, std::int64_t end, double* own, T* margin,
                   Report<T>* report);
  // One block by itself.
  Report<T> (*solve_block)(const Block<T>&, T* alpha_out, T* work);
  // The same where the own class is not at hand.
  Report<T> (*solve_exchange)(const Block<T>&, T* alpha_out, T* work);
  // Loss, at any weights, of a sample without entries: all its scores are zero.
  double (*empty_loss)(std::int32_t n_classes);
  T (*margin)(T own, T other);
  // Takes one pair into the account of its sample, and closes the account.
  void (*add_to_account)(T margin, T alpha, T box, Account<T>* account);
  Report<T> (*close_account)(const Account<T>& account, T sum, T box);
};

// Kernels that multiply rows of X with a block of classes.
template <class T, class I>
struct ProductKernels {
  // Adds losses and collects violators; scores in type T, or in double precision.
  void (*scan)(const Csr<T, I>&, const std::int32_t* y, const BlockView<T>&, const ScanView<T>&,
               std::int64_t begin, std::int64_t end);
  void (*exact_scan)(const Csr<T, I>&, const std::int32_t* y, const BlockView<double>&,
                     const ScanView<T>&, std::int64_t begin, std::int64_t end);
  // Keeps the best classes of each row.
  void (*top)(const Csr<T, I>&, const BlockView<T>&, const BestView<T>&, std::int64_t begin,
              std::int64_t end);
  // Writes all scores: row i, class c at out[i * stride + c].
  void (*scores)(const Csr<T, I>&, const BlockView<T>&, T* out, std::int64_t stride,
                 std::int64_t begin, std::int64_t end);
  // Scores of row i from weights by feature; adds in the order of the block products, so that
  // the bits are the same. `score` is aligned, with room for whole blocks.
  void (*row_by_features)(const Csr<T, I>&, const FeatureView<T>&, const T* intercept,
                          std::int64_t classes, std::int64_t i, T* score);
  // Keeps the best of them.
  void (*top_of_row)(const T* score, std::int64_t classes, const BestView<T>&, std::int64_t i);
};

// Kernels that leave out zeros. Masks have a whole word for every 64 numbers, or part of them.
template <class T>
struct PackingKernels {
  // Returns how many numbers were kept; `out` has room for them and kPackingSlack more.
  std::int64_t (*compress)(const T* in, std::int64_t count, std::uint64_t* mask, T* out);
  // Returns how many numbers were taken from `in`: as many as the mask has bits below `count`.
  std::int64_t (*expand)(const std::uint64_t* mask, std::int64_t count, const T* in, T* out);
};
constexpr int kPackingSlack = 16;

// The best instruction set that this processor and this build have.
Isa best_isa();
const char* isa_name(Isa isa);
bool isa_available(Isa isa);

template <class T>
SolverKernels<T> solver_kernels(Formulation formulation, Isa isa);

template <class T, class I>
ProductKernels<T, I> product_kernels(Formulation formulation, Isa isa);

template <class T, class I>
LineKernels<T, I> line_kernels(LineLoss loss, Isa isa);

template <class T, class I>
RowKernels<T, I> row_kernels(Isa isa);

template <class T>
PackingKernels<T> packing_kernels(Isa isa);

// Threads own classes in runs of this many, so that no two share a cache line of
// per-class arrays.
constexpr std::int32_t kOwnedRun = 16;

}  // namespace multimargin
