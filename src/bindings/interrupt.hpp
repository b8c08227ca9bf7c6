// Ctrl-C and time limits while C++ runs without the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>

#include "common/team.hpp"

namespace multimargin::bindings {

class Interrupt {
 public:
  using Clock = std::chrono::steady_clock;

  // Seconds from now; negative, or more than thirty years: no limit.
  void set_limit(double seconds) {
    limited_ = seconds >= 0 && seconds < 1e9;
    if (limited_)
      end_ = Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  // Both are to be called without the lock, from the thread that entered C++.
  bool stop() { return (limited_ && Clock::now() >= end_) || interrupted(); }
  bool interrupted() {
    if (raised_) return true;
    nanobind::gil_scoped_acquire lock;
    raised_ = PyErr_CheckSignals() != 0;
    return raised_;
  }

  // To be called with the lock, when back: passes on what the signal raised.
  void rethrow() {
    if (!raised_) return;
    raised_ = false;
    throw nanobind::python_error();
  }

 private:
  bool raised_ = false;
  bool limited_ = false;
  Clock::time_point end_{};
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
