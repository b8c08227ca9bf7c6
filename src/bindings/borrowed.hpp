// What every solver borrows from Python, kept alive, and how it is left and entered.
#pragma once

#include "arrays.hpp"
#include "common/csr.hpp"
#include "common/team.hpp"
#include "interrupt.hpp"

namespace multimargin::bindings {

template <class T, class I>
struct Borrowed {
  In<T> data;
  In<I> indices, indptr;
  In<std::int32_t> y;
  In<T> box;
  std::int64_t cols;

  // The matrix, after a look at the lengths.
  Csr<T, I> csr() const {
    const Csr<T, I> X = csr_view(data, indices, indptr, cols);
    if (static_cast<std::int64_t>(y.size()) != X.rows ||
        static_cast<std::int64_t>(box.size()) != X.rows)
      throw nanobind::value_error("y and box must have one entry per row of X");
    return X;
  }
};

// Runs work without the interpreter's lock and passes on what a signal raised meanwhile.
template <class Work>
void unlocked(Interrupt& interrupt, const Work& work) {
  try {
    nanobind::gil_scoped_release unlock;
    work();
  } catch (const Aborted&) {
    // The reason is the Python exception that is thrown next.
  }
  interrupt.rethrow();
}

}  // namespace multimargin::bindings
