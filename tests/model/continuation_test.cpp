// SPDX-License-Identifier: BSD-3-Clause
// Continuations under the explorer: one runs once, after the ends of all its requests, whose results it sees; none is
// lost between the lists where it waits; and a continuation request is complete only after those registered in it.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>

#include "model/atomics.hpp"
#include "model/plain_words.hpp"
#include "model/planting.hpp"
#include "mpi/objects/continuation_lists.hpp"
#include "mpi/objects/request_waiter.hpp"

namespace {

using namespace weft::model;

class model_continuation : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

// A continuation of two requests: their ends, and the call that attaches it, step it down.
struct continuation {
  weft::mpi::basic_open_requests<model_atomics> open;
  std::array<const std::uint64_t*, 2> results{};
  std::uint64_t made = 0, runs = 0, gone = 0;

  void step_down() {
    check(read(made) == 1 && read(gone) == 0, "the end of a request uses no living continuation");
    if (!open.drop()) return;
    for (const std::uint64_t* const each : results) check(each == nullptr || read(*each) == 1, "a result is not seen");
    write(runs, read(runs) + 1);
  }
};

// Waiters are of another test.
struct alignas(8) waiter {};

struct request {
  weft::mpi::basic_waiter_slot<waiter, model_atomics> slot;
  atomic<std::uint32_t> done{0};
  std::uint64_t result = 0;

  explicit request(std::uintptr_t fresh = 0) : slot{fresh} {}

  // As `request::end`.
  void end() {
    write(result, 1);
    std::uintptr_t found = 0;
    if (!slot.is_never_awaited()) found = slot.end();
    // [model_continuation.finish] release -> [model_continuation.done]: as `request::end` and `end_awaited`.
    done.store(1, std::memory_order_release);
    if (void* const attached = slot.continuation_in(found)) static_cast<continuation*>(attached)->step_down();
  }
  bool is_done() {
    // [model_continuation.done] acquire <- [model_continuation.finish]: the result.
    return done.load(std::memory_order_acquire) == 1;
  }
  // As src/mpi/extensions/continuations.cpp.
  void attach(continuation& attached) {
    attached.open.add();
    if (!is_done()) {
      if (slot.try_attach(&attached, slot.vacant)) return;
      if (slot.is_never_awaited()) {
        check(slot.try_attach(&attached, weft::detail::never_awaited), "the slot of an early request changes");
        return;
      }
      check(slot.has_ended(), "something else is in the slot");
      while (!is_done()) await_change();
    }
    check(!attached.open.drop(), "a continuation runs while it is attached");
  }
  // As `continuation_queue::look_for_end`.
  void look_for_end(continuation& attached) {
    while (!is_done()) await_change();
    if (slot.continuation() == &attached && slot.continuation_in(slot.end()) == &attached) attached.step_down();
  }
};

struct house {
  explicit house(std::uintptr_t fresh) : requests{request{fresh}, request{fresh}} {
    attached.open.reset();
    attached.results = {&requests[0].result, &requests[1].result};
  }
  void attach() {
    write(attached.made, 1);
    for (request& each : requests) each.attach(attached);
    attached.step_down();
  }
  void check_end() { check(read(attached.runs) == 1, "the continuation has not run once"); }

  std::array<request, 2> requests;
  continuation attached;
};

void requests_end_while_it_is_attached() {
  house made{0};
  threads([&] { made.requests[0].end(); }, [&] { made.requests[1].end(); }, [&] { made.attach(); });
  made.check_end();
}

void an_end_that_may_overlook_it_is_looked_for() {
  house made{weft::detail::never_awaited};
  made.requests[1].end();
  threads([&] { made.requests[0].end(); },
          [&] {
            made.attach();
            made.requests[0].look_for_end(made.attached);
          });
  made.check_end();
}

// Either the end takes it, or it is detached; then nobody uses it.
void it_is_detached() {
  request awaited;
  continuation attached;
  attached.open.reset();
  threads([&] { awaited.end(); },
          [&] {
            write(attached.made, 1);
            awaited.attach(attached);
            if (awaited.slot.continuation() == &attached && awaited.slot.try_detach(&attached))
              check(!attached.open.drop(), "it runs though it is detached");
            while (!attached.open.is_alone()) await_change();
            write(attached.gone, 1);
          });
  check(read(attached.runs) == 0, "it has run though it is detached");
}

struct node {
  node* next = nullptr;
  std::uint64_t payload = 0;
};
using list = weft::mpi::basic_gated_list<node, model_atomics>;

// A list whose hook runs what is pushed, and ends when it is empty, as a device's.
struct queue {
  list ready;
  atomic<std::uint32_t> hooks{0};
  std::uint64_t taken = 0, last = 0;

  void push(node& pushed) {
    write(pushed.payload, 1);
    if (!ready.push(pushed)) return;
    // [model_continuation.hook] acq_rel <-> [model_continuation.hook], [model_continuation.has_hook]: the gate of a
    // device.
    hooks.fetch_add(1, std::memory_order_acq_rel);
  }
  void run(std::uint64_t end) {
    while (read(taken) < end) {
      // [model_continuation.has_hook] acquire <- [model_continuation.hook]: likewise.
      while (hooks.load(std::memory_order_acquire) == 0) await_change();
      if (!ready.has_nodes()) {
        // [model_continuation.hook] acq_rel <-> [model_continuation.hook], [model_continuation.has_hook]: likewise.
        if (ready.try_close()) check(hooks.fetch_sub(1, std::memory_order_acq_rel) > 0, "no hook");
        continue;
      }
      for (node* each = ready.take_all(true); each != nullptr; each = each->next) {
        check(read(each->payload) == 1, "a node is not seen");
        write(taken, read(taken) + 1);
      }
    }
  }
};

void a_hook_runs_all_that_is_pushed() {
  queue made;
  std::array<node, 3> nodes{};
  threads(
      [&] {
        made.push(nodes[0]);
        made.push(nodes[1]);
      },
      [&] { made.push(nodes[2]); }, [&] { made.run(nodes.size()); });
}

void nodes_of_a_thread_keep_their_order() {
  list ready;
  std::array<node, 2> nodes{};
  std::uint64_t taken = 0;
  const auto take = [&] {
    for (node* each = ready.take_all(false); each != nullptr; each = each->next)
      check(each == &nodes[read(taken)], "another order"), write(taken, read(taken) + 1);
  };
  threads([&] { static_cast<void>(ready.push(nodes[0])), static_cast<void>(ready.push(nodes[1])); }, take);
  take();
  check(read(taken) == 2, "a node is lost");
}

// A continuation that may run while its continuation request is started.
void a_start_releases_what_is_held() {
  list held;
  std::array<node, 2> nodes{};
  std::array<std::uint64_t, 2> runs{};
  const auto keep_or_run = [&](std::size_t each) {
    write(nodes[each].payload, 1);
    if (!held.push_unless_open(nodes[each])) write(runs[each], read(runs[each]) + 1);
  };
  const auto start = [&] {
    for (node* each = held.take_all(true); each != nullptr; each = each->next) {
      check(read(each->payload) == 1, "a node is not seen");
      std::uint64_t& run = runs[static_cast<std::size_t>(each - nodes.data())];
      write(run, read(run) + 1);
    }
  };
  threads([&] { keep_or_run(0); }, [&] { keep_or_run(1); }, start);
  check(read(runs[0]) == 1 && read(runs[1]) == 1, "one has not run once");
}

void what_follows_a_completion_is_held() {
  list held;
  node kept;
  static_cast<void>(held.take_all(true));
  bool is_run = false;
  threads([&] { is_run = !held.push_unless_open(kept); },
          [&] { check(held.try_close() || held.has_nodes(), "it does not close"); });
  check(is_run == (held.take_all(false) == nullptr), "one is lost, or there twice");
  check(held.is_closed(), "it is open");
}

using registrations = weft::mpi::basic_registrations<1, model_atomics>;

void a_continuation_request_is_complete_after_all() {
  registrations made;
  std::array<std::uint64_t, 2> data{};
  made.begin(0);
  made.begin(7);
  threads(
      [&] {
        write(data[0], 1);
        made.end(0);
      },
      [&] {
        write(data[1], 1);
        made.end(8);
      },
      [&] {
        if (made.are_all_ended()) check(read(data[0]) == 1 && read(data[1]) == 1, "one has not run");
      });
  check(made.are_all_ended(), "an end is lost");
  made.begin(0);
  check(!made.are_all_ended(), "a beginning is lost");
}

void threads_with_common_words_count() {
  registrations made;
  const auto one = [&] {
    made.begin(9);
    made.end(9);
  };
  threads(one, one);
  check(made.are_all_ended(), "a count is lost");
  threads([&] { made.begin(9); }, [&] { made.begin(9); });
  made.end(0);
  check(!made.are_all_ended(), "a beginning is lost");
  made.end(9);
  check(made.are_all_ended(), "a count is lost");
}

TEST_F(model_continuation, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{
      {"requests end while it is attached", requests_end_while_it_is_attached},
      {"an end that may overlook it is looked for", an_end_that_may_overlook_it_is_looked_for},
      {"it is detached", it_is_detached},
      {"a hook runs all that is pushed", a_hook_runs_all_that_is_pushed},
      {"nodes of a thread keep their order", nodes_of_a_thread_keep_their_order},
      {"a start releases what is held", a_start_releases_what_is_held},
      {"what follows a completion is held", what_follows_a_completion_is_held},
      {"a continuation request is complete after all", a_continuation_request_is_complete_after_all},
      {"threads with common words count", threads_with_common_words_count}};
  const planting_report report = plant_bugs(programs, {"/request_waiter.hpp", "/continuation_lists.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
