// Threads of a team: everybody works, waits for everybody, and hands on exceptions.
#include <atomic>
#include <new>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "common/team.hpp"

namespace {

using multimargin::Team;

constexpr int kLargest = 8;

void every_member_runs_once() {
  for (int size = 1; size <= kLargest; ++size) {
    Team team(size);
    CHECK(team.size() == size);
    // Not atomic on purpose: run() itself has to order what members write.
    std::vector<int> calls(size, 0);
    for (int round = 0; round < 50; ++round) team.run([&](int member) { ++calls[member]; });
    for (int c : calls) CHECK(c == 50);
  }
  CHECK(Team(0).size() == 1);
  CHECK(Team(-3).size() == 1);
}

// Each member reads what its neighbour wrote before the barrier and overwrites its own after the
// next one: a barrier that lets anybody through early shows as a wrong value or a race.
void barriers_separate_phases() {
  for (int size = 1; size <= kLargest; ++size) {
    Team team(size);
    std::vector<int> value(size, -1), wrong(size, 0);
    team.run([&](int member) {
      for (int phase = 0; phase < 40; ++phase) {
        value[member] = phase;
        team.barrier();
        if (value[(member + 1) % size] != phase) ++wrong[member];
        team.barrier();
      }
    });
    for (int w : wrong) CHECK(w == 0);
  }
}

void for_each_covers_all() {
  for (int size = 1; size <= kLargest; ++size) {
    Team team(size);
    for (std::int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<int> seen(count, 0);
      std::vector<std::int64_t> last(size, -1);
      std::vector<int> out_of_order(size, 0);
      team.for_each(count, [&](int member, std::int64_t k) {
        ++seen[k];
        out_of_order[member] += k <= last[member];
        last[member] = k;
      });
      for (int s : seen) CHECK(s == 1);
      for (int o : out_of_order) CHECK(o == 0);
    }
  }
}

void exceptions_are_rethrown() {
  for (int size = 1; size <= kLargest; ++size) {
    Team team(size);
    for (int thrower = 0; thrower < size; ++thrower) {
      CHECK_THROWS(out_of_range, team.run([&](int member) {
        if (member == thrower) throw std::out_of_range("one");
      }));
    }
    CHECK_THROWS(runtime_error, team.run([](int) { throw std::runtime_error("all"); }));
    CHECK_THROWS(bad_alloc, team.for_each(100, [](int, std::int64_t k) {
      if (k == 37) throw std::bad_alloc();
    }));
    // A failure is told once; the team is as good as new.
    std::atomic<int> calls{0};
    team.run([&](int) { ++calls; });
    CHECK(calls == size);
  }
}

// Jobs handed out are finished, no others are, and the caller is told.
void aborts() {
  for (int size = 1; size <= kLargest; ++size) {
    Team team(size);
    int asked = 0;
    team.set_abort([&] { return ++asked == 5; });
    std::vector<std::atomic<int>> done(100000);
    bool thrown = false;
    try {
      team.for_each(100000, [&](int, std::int64_t k) { ++done[k]; });
    } catch (const multimargin::Aborted&) {
      thrown = true;
    }
    if (asked >= 5) CHECK(thrown);
    std::size_t first = 0;
    while (first < done.size() && done[first] == 1) ++first;
    for (std::size_t k = first; k < done.size(); ++k) CHECK(done[k] == 0);
  }
}

void teams_come_and_go() {
  for (int round = 0; round < 100; ++round) {
    Team team(1 + round % kLargest);
    if (round % 3 == 0) continue;  // leaves without ever having worked
    std::atomic<std::int64_t> sum{0};
    team.for_each(20, [&](int, std::int64_t k) { sum += k; });
    CHECK(sum == 190);
  }
}

void teams_within_teams() {
  Team outer(3);
  std::vector<std::int64_t> sums(9, 0);
  outer.for_each(9, [&](int, std::int64_t k) {
    Team inner(1 + static_cast<int>(k) % 4);
    std::vector<std::int64_t> part(inner.size(), 0);
    inner.for_each(50, [&](int member, std::int64_t j) { part[member] += j; });
    for (std::int64_t p : part) sums[k] += p;
  });
  for (std::int64_t s : sums) CHECK(s == 1225);
}

}  // namespace

int main() {
  every_member_runs_once();
  barriers_separate_phases();
  for_each_covers_all();
  exceptions_are_rethrown();
  aborts();
  teams_come_and_go();
  teams_within_teams();
  std::puts("test_team: ok");
}
