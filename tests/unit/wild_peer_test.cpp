// What a peer that has gone wild asks for: refused, and what it has overwritten is not believed.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "core/message_body.hpp"
#include "core/runtime_state.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// Rank 1's region, known to rank 0.
remote_region exchange(runtime& rt, const memory_region& mine) {
  completion_queue inbox{rt};
  counter sent{rt};
  const registration arrivals = rt.register_completion(inbox, {.id = 9});
  rt.barrier();
  remote_region out = mine.handle();
  if (rt.rank() == 1) {
    const auto bytes = std::as_bytes(std::span{&mine.handle(), 1});
    static_cast<void>(test::post_until_taken(rt.default_device(), 0, {9}, bytes, sent));
  } else {
    std::optional<completion_record> told;
    EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return (told = inbox.pop()).has_value(); }));
    std::memcpy(&out, told->data().data(), sizeof out);
  }
  rt.barrier();
  return out;
}

TEST(wild_peer, gets_no_bytes_of_an_operation_that_has_none) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::array<std::uint64_t, 8> memory{};
    const memory_region region{rt, std::as_writable_bytes(std::span{memory})};
    const remote_region there = exchange(rt, region);
    if (rt.rank() == 0) {
      counter done{rt};
      const status answer = test::post(dev, [&] {
        return dev.post_atomic<std::uint64_t>(1, atomic_op::fetch_add, 1, {there, 0}, done, {.allow_done = false});
      });
      ASSERT_TRUE(answer.is_posted());
      const core::copy_request_body body{answer.ticket(), 1};
      std::array<std::byte, 40> payload{};
      std::memcpy(payload.data(), &body, sizeof body);
      const net::header what{.kind = static_cast<std::uint32_t>(core::wire::copy_request)};
      EXPECT_TRUE(
          test::local_job::state_of(rt).default_state().on_message({1, what, payload.data(), sizeof body, nullptr}));
      EXPECT_EQ(rt.counters().messages_refused, 1U);
      EXPECT_TRUE(test::eventually(dev, [&] { return done.value() == 1; }));
    }
    rt.barrier();
    if (rt.rank() == 1) {
      EXPECT_EQ(memory[0], 1U);
    }
  });
}

// The table of regions lies in memory that all peers have mapped.
TEST(wild_peer, moves_no_region_of_another_rank) {
  test::local_job{2}.run([](runtime& rt) {
    core::runtime_state& state = test::local_job::state_of(rt);
    std::vector<std::byte> memory(64);
    const memory_region users{rt, std::span{memory}}, librarys{rt, std::size_t{4096}};
    rt.barrier();
    for (const auto& transport : state.transports()) {
      if (std::byte* const shared = transport->shared_memory(rt.rank()); shared != nullptr) {
        std::memset(shared, 0x5a, core::region_table::regions_max * 32);
      }
    }
    EXPECT_EQ(state.regions().find(users.handle().name, 8, 8), memory.data() + 8);
    EXPECT_EQ(state.regions().find(users.handle().name, 60, 8), nullptr);
    EXPECT_EQ(state.regions().find(librarys.handle().name, 0, 4096), librarys.memory().data());
    const memory_region another{rt, std::size_t{4096}};
    EXPECT_NE(another.memory().data(), librarys.memory().data());
    EXPECT_EQ(state.regions().find(librarys.handle().name, 0, 4096), librarys.memory().data());
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
