// SPDX-License-Identifier: BSD-3-Clause
// A fiber that waits for requests, and the threads that end them, under the explorer: it is woken once, sees what was
// done before each end that it waits for, and no thread uses it after it has left.
#include "mpi/objects/request_waiter.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>

#include "model/atomics.hpp"
#include "model/plain_words.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;

class model_request_waiter : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

struct waiter {
  weft::mpi::basic_end_count<model_atomics> ends;
  atomic<std::uint32_t> is_set{0};  // as the event of a fiber
  std::uint64_t made = 0;
  std::uint64_t gone = 0;

  void set() {
    check(read(gone) == 0, "the waiter is gone while its event is set");
    // [model_request_waiter.set] release -> [model_request_waiter.wait]: as the event of a fiber.
    check(is_set.exchange(1, std::memory_order_release) == 0, "the event is set twice");
  }
};

struct request {
  weft::mpi::basic_waiter_slot<waiter, model_atomics> slot{0};
  atomic<std::uint32_t> done{0};
  std::uint64_t result = 0;

  void end(bool is_urgent) {
    write(result, 1);
    waiter* const found = slot.waiter_in(slot.end());
    // [model_request_waiter.finish] release -> [model_request_waiter.done]: as `request::end_awaited`.
    done.store(1, std::memory_order_release);
    if (found == nullptr) return;
    check(read(found->made) == 1 && read(found->gone) == 0, "the end of a request uses no living waiter");
    found->ends.note(is_urgent, [&] { found->set(); });
  }
  bool is_done() {
    // [model_request_waiter.done] acquire <- [model_request_waiter.finish]: the result.
    return done.load(std::memory_order_acquire) == 1;
  }
};

struct house {
  std::array<request, 2> requests;
  waiter me;

  // As src/mpi/message/wait_as_fiber.cpp. `until_first`: each end is urgent.
  void wait(bool until_first) {
    write(me.made, 1);
    bool is_over = false;
    for (request& each : requests) {
      me.ends.add();
      if (each.slot.try_enter(me)) continue;
      me.ends.drop();
      check(each.slot.has_ended(), "another waiter is in the slot");
      while (!each.is_done()) await_change();
      is_over = until_first;
      if (is_over) break;
    }
    if (!is_over && !me.ends.close()) {
      // [model_request_waiter.wait] acquire <- [model_request_waiter.set]: as the event of a fiber.
      while (me.is_set.load(std::memory_order_acquire) == 0) await_change();
    }
    for (request& each : requests) {
      if (each.slot.try_leave(me)) me.ends.drop();
    }
    while (!me.ends.is_empty(!is_over)) await_change();
    write(me.gone, 1);
    std::uint32_t ended = 0;
    for (request& each : requests) {
      if (!each.is_done()) continue;
      check(read(each.result) == 1, "the result of a request is not seen");
      ++ended;
    }
    check(ended >= (until_first ? 1U : 2U), "it goes on before its requests have ended");
  }
};

void all_end() {
  house made;
  threads([&] { made.requests[0].end(false); }, [&] { made.requests[1].end(false); }, [&] { made.wait(false); });
}

void the_first_ends() {
  house made;
  threads([&] { made.requests[0].end(true); }, [&] { made.requests[1].end(true); }, [&] { made.wait(true); });
}

void one_of_two_ends() {
  house made;
  threads([&] { made.requests[1].end(true); }, [&] { made.wait(true); });
}

TEST_F(model_request_waiter, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{
      {"all end", all_end}, {"the first ends", the_first_ends}, {"one of two ends", one_of_two_ends}};
  const planting_report report = plant_bugs(programs, {"/request_waiter.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
