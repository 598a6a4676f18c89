// SPDX-License-Identifier: BSD-3-Clause
// An exception that leaves the scope of operations that are under way reaches its handler, with its text.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/between_threads.hpp"
#include "support/exceptions.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::eventually;
using test::local_job;
using test::text_from;

// A receive that no message matches.
void post_recv(device& dev, std::span<std::uint64_t> into, completion& local, const post_recv_options& options = {}) {
  EXPECT_TRUE(test::post(dev, [&] { return dev.post_recv(0, into, local, options); }).is_posted());
}

// A class of the user's own.
class kept_records final : public completion {
 public:
  explicit kept_records(weft::runtime& owner, bool ends_its_signals)
      : completion{owner}, ends_its_signals_{ends_its_signals} {}
  ~kept_records() override {
    if (ends_its_signals_) end_signals();
  }
  answer signal(completion_record&& record) noexcept override {
    const completion_record consumed{std::move(record)};
    return answer::taken;
  }

 private:
  bool ends_its_signals_;
};

TEST(unwinding, cancels_the_receives_that_would_signal_an_object) {
  local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::array<std::uint64_t, 3> into{};
    const auto leave_with = [&](auto&& make) {
      EXPECT_EQ(text_from([&] {
                  auto object = make();
                  for (auto& each : into) post_recv(dev, std::span{&each, 1}, *object);
                  test::fail();
                }),
                "disk full");
      EXPECT_EQ(rt.counters().receives_waiting, 0);
    };
    leave_with([&] { return std::make_unique<counter>(rt); });
    leave_with([&] { return std::make_unique<completion_queue>(rt); });
    leave_with([&] { return std::make_unique<completion_queue>(rt, completion_queue_options{.capacity = 1}); });
    leave_with([&] { return std::make_unique<synchronizer>(rt); });
    leave_with([&] { return std::make_unique<kept_records>(rt, true); });
    leave_with([&] { return std::make_unique<kept_records>(rt, false); });
  });
}

// Its function may refer to what has gone with the scope.
TEST(unwinding, calls_no_handler_for_what_it_cancels) {
  local_job{1}.run([](runtime& rt) {
    int calls = 0;
    std::uint64_t into = 0;
    EXPECT_EQ(text_from([&] {
                const auto count = [&](completion_record&&) { ++calls; };
                handler ends{rt, count};
                post_recv(rt.default_device(), std::span{&into, 1}, ends);
                test::fail();
              }),
              "disk full");
    EXPECT_EQ(calls, 0);
  });
}

TEST(unwinding, leaves_the_operations_of_other_objects_alone) {
  local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter stays{rt};
    std::array<std::uint64_t, 2> into{};
    post_recv(dev, std::span{&into[0], 1}, stays, {.tag = 1});
    EXPECT_EQ(text_from([&] {
                counter goes{rt};
                post_recv(dev, std::span{&into[1], 1}, goes, {.tag = 1});
                test::fail();
              }),
              "disk full");
    const std::uint64_t sent = 7;
    counter unused{rt};
    EXPECT_TRUE(test::post(dev, [&] { return dev.post_send(0, std::span{&sent, 1}, unused, {.tag = 1}); }).is_done());
    EXPECT_TRUE(eventually(dev, [&] { return stays.value() == 1; }));
    EXPECT_EQ(into[0], 7) << "the receive that stays has got the message";
    EXPECT_EQ(stays.failed(), 0);
  });
}

// The engine is declared last, so it goes first: its receives signal their object.
TEST(unwinding, cancels_what_waits_in_a_matching_engine_of_any_kind) {
  local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::uint64_t into = 0;
    std::uint32_t id = 0;
    for (const matching_engine_options& kind :
         {matching_engine_options{.id = 1}, matching_engine_options{.id = 2, .ordered = true},
          matching_engine_options{.id = 3, .receiver_first = true}}) {
      ++id;
      std::optional<counter> ends{std::in_place, rt};
      EXPECT_EQ(
          text_from([&] {
            const matching_engine goes{rt, kind};
            const std::uint32_t peer = kind.receiver_first ? rt.rank() ^ 1 : 0;
            EXPECT_TRUE(test::post(dev, [&] {
                          return dev.post_recv(peer, std::span{&into, 1}, *ends, {.engine = goes.id()});
                        }).is_posted());
            if (kind.receiver_first) {
              EXPECT_TRUE(test::post(dev, [&] {
                            return dev.post_send(peer, std::span{&into, 1}, *ends, {.tag = 9, .engine = goes.id()});
                          }).is_posted());
            }
            rt.barrier();
            test::fail();
          }),
          "disk full");
      EXPECT_EQ(ends->value(), kind.receiver_first ? 2 : 1);
      EXPECT_EQ(ends->failed(), ends->value());
      rt.barrier();
    }
  });
}

// The message is matched already: it is waited for, and its buffer lives until then.
TEST(unwinding, waits_for_what_is_too_late_to_be_cancelled) {
  test::flag is_over;
  local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    std::vector<std::uint64_t> bytes(100'000, rt.rank());
    counter inbox{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    if (rt.rank() == 0) {
      EXPECT_EQ(text_from([&] {
                  counter sent{rt};
                  test::post_until_taken(dev, 1, {1}, std::as_bytes(std::span{bytes}), sent,
                                         {.complete_at = completion_level::delivered});
                  test::fail();
                }),
                "disk full");
      is_over.raise();
    } else {
      EXPECT_TRUE(eventually(dev, [&] { return inbox.value() == 1 && is_over.is_raised(); }));
    }
    rt.barrier();
  });
}

// The device of the operation is polled by another thread, or by this one.
TEST(unwinding, makes_progress_on_all_shared_devices) {
  local_job{1}.run([](runtime& rt) {
    device other{rt};
    counter inbox{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    const std::vector<std::uint64_t> bytes(100'000);
    EXPECT_EQ(text_from([&] {
                counter sent{rt};
                test::post_until_taken(other, 0, {1}, std::as_bytes(std::span{bytes}), sent);
                test::fail();
              }),
              "disk full");
    // A message that goes in packets is complete at its sender before the last of them has arrived.
    EXPECT_TRUE(test::eventually(rt.default_device(), [&] {
      other.progress();
      return inbox.outstanding() == 0;
    }));
  });
}

TEST(unwinding, cancels_while_another_thread_makes_progress) {
  const int rounds = test::messages_wake_sleepers() ? 200 : 10;
  local_job{1}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    const progress_thread helper{dev};
    for (int round = 0; round < rounds; ++round) {
      std::array<std::uint64_t, 2> into{};
      const std::uint64_t sent = 1;
      counter unused{rt};
      EXPECT_EQ(text_from([&] {
                  counter ends{rt};
                  post_recv(dev, std::span{&into[0], 1}, ends, {.tag = 1});
                  post_recv(dev, std::span{&into[1], 1}, ends, {.tag = 2});
                  EXPECT_TRUE(test::post(dev, [&] {
                                return dev.post_send(0, std::span{&sent, 1}, unused, {.tag = 1});
                              }).is_done());
                  test::fail();
                }),
                "disk full");
      // It was received, or is unexpected.
      EXPECT_TRUE(eventually([&] { return into[0] == 1 || dev.probe(0, {.tag = 1}).has_value(); }));
    }
  });
}

TEST(unwinding, in_a_fiber_lets_others_run) {
  local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    device* const devices[] = {&dev};
    fiber_scheduler fibers{{.workers = 1, .devices = devices}};
    std::string text;
    std::uint64_t into = 0;
    fibers
        .spawn([&] {
          text = text_from([&] {
            counter ends{rt};
            post_recv(dev, std::span{&into, 1}, ends);
            test::fail();
          });
        })
        .join();
    EXPECT_EQ(text, "disk full");
  });
}

}  // namespace
}  // namespace weft
