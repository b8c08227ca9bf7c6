// A team of threads that lives as long as one fit or one prediction.
//
// Why not OpenMP: its runtime hangs forked children and clashes with other
// runtimes in one process. Why not a global pool: nothing must outlive a call,
// so that fork() between calls is always safe.
//
// A fit that failed can live on in a traceback, and with it its team; a process forked then has
// the team but not its threads. Such a team does not run, and leaves them alone when it is deleted.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace multimargin {

// Spins briefly, then yields, then sleeps: cores may be busy with other work.
class Backoff {
 public:
  void wait();

 private:
  int rounds_ = 0;
};

// Thrown by Team::for_each() when abort() says so: its results are incomplete.
struct Aborted : std::exception {
  const char* what() const noexcept override { return "aborted"; }
};

class Team {
 public:
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  // abort() is called by the calling thread between jobs of for_each(); true: no more are handed
  // out, and for_each() throws Aborted.
  void set_abort(std::function<bool()> abort) { abort_ = std::move(abort); }

  // Calls job(member) on every member, 0 being the calling thread, and returns
  // when all have finished. The first exception thrown by a member is rethrown.
  void run(const std::function<void(int)>& job);

  // Inside run(): waits for all members. A member that throws must not be
  // waited for, so jobs that use barriers allocate beforehand.
  void barrier();

  // Calls job(member, k) for k in [0, count), handing out k in increasing order. Every k handed out
  // is finished, so a job may wait for one of a smaller k.
  void for_each(std::int64_t count, const std::function<void(int, std::int64_t)>& job);

 private:
  struct Threads {
    std::vector<std::thread> members;
    std::mutex mutex;
    std::condition_variable wake;
  };

  void work(int member);
  void leave();
  void record_failure();
  bool forked() const;  // whether the threads are those of a parent process

  const int size_;
  const std::int64_t process_;
  std::unique_ptr<Threads> threads_;
  const std::function<void(int)>* job_ = nullptr;
  std::exception_ptr failure_;
  std::function<bool()> abort_;
  bool leaving_ = false;
  alignas(64) std::atomic<std::uint64_t> generation_{0};
  alignas(64) std::atomic<int> running_{0};
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> sense_{0};
};

}  // namespace multimargin
