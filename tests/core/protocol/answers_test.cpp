// SPDX-License-Identifier: BSD-3-Clause
// An answer goes to the device that has asked, whichever device of the peer gives it.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "core/protocol/step_bench.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using core::wire;
using test::step_bench;

constexpr std::uint32_t asker = 5;
constexpr std::uint64_t peers_ticket = 9;

// A request of the script's, which its device `asker` sends.
template <class Body>
void ask(step_bench& bench, wire kind, const Body& body, std::uint32_t id = 0, std::uint32_t sequence = 0) {
  EXPECT_TRUE(bench.deliver(kind, body, {.kind = core::asking_word(kind, asker), .id = id, .sequence = sequence}));
  bench.step();
}

void expect_answer(step_bench& bench, wire kind) {
  const test::sent_message answer = bench.take(kind);
  EXPECT_EQ(answer.device, asker) << static_cast<unsigned>(kind);
}

TEST(answers, are_sent_to_the_device_that_each_request_names) {
  step_bench::run([](step_bench& bench) {
    completion_queue over{bench.rt()};
    const matching_engine engine{bench.rt(), {.id = 3, .receiver_first = true}};
    const std::vector<std::byte> theirs(40'000);
    const auto address = reinterpret_cast<std::uint64_t>(theirs.data());
    std::vector<std::byte> mine(theirs.size());
    const core::rts_body rts{address, theirs.size(), peers_ticket, 1};
    ASSERT_TRUE(bench.dev().post_recv(1, std::span{mine}, over).is_posted());
    ask(bench, wire::send_rts, rts, default_matching_engine);
    expect_answer(bench, wire::fin);
    bench.script().of_copies = net::copy_result::unavailable;
    ASSERT_TRUE(bench.dev().post_recv(1, std::span{mine}, over).is_posted());
    ask(bench, wire::send_rts, rts, default_matching_engine);
    const test::sent_message rtr = bench.take(wire::rtr);
    EXPECT_EQ(rtr.device, asker);
    const net::header chunk{.kind = static_cast<std::uint32_t>(wire::chunk),
                            .tag = rtr.body<core::rtr_body>().receiver_ticket};
    EXPECT_TRUE(bench.deliver(chunk, theirs.data(), static_cast<std::uint32_t>(theirs.size())));
    expect_answer(bench, wire::fin);
    // Regions that are not there.
    ask(bench, wire::put_rts, core::put_rts_body{7, 0, 100'000, peers_ticket}, core::no_signal);
    expect_answer(bench, wire::fin);
    ask(bench, wire::get, core::put_rts_body{7, 0, 100'000, peers_ticket}, core::no_signal);
    expect_answer(bench, wire::fin);
    EXPECT_TRUE(bench.deliver(wire::atomic, core::atomic_body{7, 0, 1, 0, peers_ticket},
                              {.kind = core::asking_word(wire::atomic, asker), .sequence = 8U << 8}));
    expect_answer(bench, wire::atomic_result);
    ask(bench, wire::withdraw_rts, core::withdraw_rts_body{peers_ticket, 1}, default_matching_engine);
    expect_answer(bench, wire::withdraw_answer);
    // The packets of a send are the answer to RTR, those of one in a receiver-first engine to that RTR.
    ASSERT_TRUE(bench.dev().post_send(1, std::span{mine}, over).is_posted());
    const auto sent = bench.take(wire::send_rts).body<core::rts_body>();
    ask(bench, wire::rtr, core::rtr_body{sent.ticket, peers_ticket});
    for (int i = 0; i < 4; ++i) bench.step();
    const std::size_t chunks = bench.script().sent.size();
    EXPECT_NE(chunks, 0U);
    for (std::size_t i = 0; i < chunks; ++i) expect_answer(bench, wire::chunk);
    ASSERT_FALSE(bench.dev().post_send(1, std::span{mine}.first(8), over, {.engine = 3}).is_retry());
    ask(bench, wire::ready_to_receive, core::ready_body{address, 8, peers_ticket}, 3, core::first_order_number);
    expect_answer(bench, wire::last_chunk);
    EXPECT_TRUE(bench.deliver(wire::fin, core::fin_body{sent.ticket, 0}));
    while (over.pop()) {
    }
  });
}

// Each rank polls one of its devices alone; those have different indices.
TEST(answers, arrive_where_the_operation_was_posted) {
  test::flag is_over;
  test::local_job{2}.run([&](runtime& rt) {
    constexpr std::uint32_t serving = 1;
    device first{rt}, second{rt};
    completion_queue over{rt}, inbox{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    std::vector<std::uint64_t> words(1);
    const memory_region region{rt, std::as_writable_bytes(std::span{words})};
    std::vector<std::byte> bytes(100'000);
    rt.barrier();
    if (rt.rank() == 0) {
      // The other rank tells its region, on this rank's second device.
      std::optional<completion_record> told;
      ASSERT_TRUE(test::eventually(second, [&] { return (told = inbox.pop()).has_value(); }));
      remote_region there;
      std::memcpy(&there, told->data().data(), sizeof there);
      const std::array<const_buffer_ref, 2> pieces{const_buffer_ref{bytes.data(), 50'000},
                                                   const_buffer_ref{bytes.data() + 50'000, 50'000}};
      std::uint64_t old = 0;
      unsigned posted = 0;
      const auto post = [&](auto&& once) { posted += test::post(second, once).is_posted(); };
      post([&] { return second.post_send(1, bytes, over, {.device = serving, .allow_done = false}); });
      post([&] {
        return second.post_send(1, const_buffer_list{pieces}, over,
                                {.complete_at = completion_level::delivered, .device = serving});
      });
      post([&] { return second.post_am(1, {1}, bytes, over, {.device = serving, .allow_done = false}); });
      post([&] {
        return second.post_atomic<std::uint64_t>(1, atomic_op::fetch_add, 1, {there, 0}, over,
                                                 {.result = &old, .device = serving, .allow_done = false});
      });
      for (unsigned i = 0; i < posted; ++i) {
        std::optional<completion_record> got;
        ASSERT_TRUE(test::eventually(second, [&] { return (got = over.pop()).has_value(); })) << i << " of " << posted;
        EXPECT_EQ(got->error(), errc::none);
      }
      EXPECT_EQ(old, 0U);
      is_over.raise();
    } else {
      const remote_region own = region.handle();
      static_cast<void>(test::post_until_taken(first, 0, {1}, {&own, sizeof own}, over, {.device = 2}));
      std::vector<std::byte> into(bytes.size());
      for (int i = 0; i < 2; ++i) {
        static_cast<void>(test::post(first, [&] { return first.post_recv(0, std::span{into}, over); }));
      }
      unsigned received = 0, messages = 0;
      EXPECT_TRUE(test::eventually(first, [&] {
        while (const auto got = over.pop()) received += got->operation() == operation::receive;
        while (inbox.pop()) ++messages;
        return received == 2 && messages == 1 && words[0] == 1;
      }));
      EXPECT_TRUE(test::eventually(first, [&] { return is_over.is_raised(); }));
    }
  });
}

}  // namespace
}  // namespace weft
