#include "common/team.hpp"

#include <chrono>
#include <stdexcept>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace multimargin {

namespace {

constexpr int kSpins = 512;     // brief: cores may be busy
constexpr int kYields = 20000;  // then the wait is long: leave the core alone

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#endif
}

#if defined(__unix__) || defined(__APPLE__)
// Signals belong to the thread that called us (Python's main thread); members
// inherit this mask at creation.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

std::int64_t this_process() { return getpid(); }
#else
class SignalsBlocked {};

std::int64_t this_process() { return 0; }  // no fork()
#endif

}  // namespace

void Backoff::wait() {
  ++rounds_;
  if (rounds_ <= kSpins) {
    relax();
  } else if (rounds_ <= kSpins + kYields) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Team::Team(int size) : size_(size < 1 ? 1 : size), process_(this_process()), threads_(new Threads) {
  SignalsBlocked blocked;
  (void)blocked;
  try {
    for (int m = 1; m < size_; ++m) threads_->members.emplace_back([this, m] { work(m); });
  } catch (...) {
    leave();
    throw;
  }
}

Team::~Team() {
  if (forked()) {
    // There is nobody to join, and a condition variable whose waiters are gone cannot be destroyed.
    (void)threads_.release();
  } else {
    leave();
  }
}

bool Team::forked() const { return size_ > 1 && process_ != this_process(); }

void Team::leave() {
  {
    std::lock_guard<std::mutex> lock(threads_->mutex);
    leaving_ = true;
    generation_.fetch_add(1, std::memory_order_release);
  }
  threads_->wake.notify_all();
  for (auto& t : threads_->members) t.join();
}

void Team::record_failure() {
  std::lock_guard<std::mutex> lock(threads_->mutex);
  if (!failure_) failure_ = std::current_exception();
}

void Team::work(int member) {
  std::uint64_t seen = 0;
  for (;;) {
    for (int k = 0; k < kSpins && generation_.load(std::memory_order_acquire) == seen; ++k) relax();
    if (generation_.load(std::memory_order_acquire) == seen) {
      std::unique_lock<std::mutex> lock(threads_->mutex);
      threads_->wake.wait(
          lock, [&] { return leaving_ || generation_.load(std::memory_order_acquire) != seen; });
    }
    seen = generation_.load(std::memory_order_acquire);
    {
      std::lock_guard<std::mutex> lock(threads_->mutex);
      if (leaving_) return;
    }
    try {
      (*job_)(member);
    } catch (...) {
      record_failure();
    }
    running_.fetch_sub(1, std::memory_order_acq_rel);
  }
}

void Team::run(const std::function<void(int)>& job) {
  if (size_ == 1) {
    job(0);
    return;
  }
  if (forked()) throw std::runtime_error("the threads of this fit belong to the parent process");
  {
    std::lock_guard<std::mutex> lock(threads_->mutex);
    job_ = &job;
    failure_ = nullptr;
    running_.store(size_ - 1, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_release);
  }
  threads_->wake.notify_all();
  try {
    job(0);
  } catch (...) {
    record_failure();
  }
  Backoff backoff;
  while (running_.load(std::memory_order_acquire) != 0) backoff.wait();
  if (failure_) std::rethrow_exception(failure_);
}

void Team::barrier() {
  if (size_ == 1) return;
  const std::uint32_t sense = sense_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) == size_ - 1) {
    arrived_.store(0, std::memory_order_release);
    sense_.fetch_add(1, std::memory_order_acq_rel);
    return;
  }
  Backoff backoff;
  while (sense_.load(std::memory_order_acquire) == sense) backoff.wait();
}

void Team::for_each(std::int64_t count, const std::function<void(int, std::int64_t)>& job) {
  alignas(64) std::atomic<std::int64_t> next{0};
  bool aborted = false;
  run([&](int member) {
    for (;;) {
      const std::int64_t k = next.fetch_add(1, std::memory_order_relaxed);
      if (k >= count) return;
      job(member, k);
      if (member == 0 && abort_ && abort_()) {
        aborted = true;
        next.store(count, std::memory_order_relaxed);
      }
    }
  });
  if (aborted) throw Aborted();
}

}  // namespace multimargin
