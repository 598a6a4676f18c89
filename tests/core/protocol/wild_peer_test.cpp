// SPDX-License-Identifier: BSD-3-Clause
// Requests of a faulty peer are refused, and words that it has overwritten are not trusted.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "base/config.hpp"
#include "core/message/choose_protocol.hpp"
#include "core/message/message_body.hpp"
#include "core/runtime/runtime_state.hpp"
#include "support/boundaries.hpp"
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
      const core::rtr_body body{answer.ticket(), 1};
      std::array<std::byte, 40> payload{};
      std::memcpy(payload.data(), &body, sizeof body);
      const net::header header{.kind = static_cast<std::uint32_t>(core::wire::rtr)};
      EXPECT_TRUE(test::local_job::state_of(rt).devices().standard().on_message(
          {1, header, payload.data(), sizeof body, nullptr}));
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
      if (net::memory_sharing* const sharing = transport->sharing(); sharing != nullptr) {
        std::memset(sharing->shared_memory(rt.rank()), 0x5a, base::settings{}.regions_max * 32);
      }
    }
    EXPECT_EQ(state.memory().regions().find(users.handle().name, 8, 8), memory.data() + 8);
    EXPECT_EQ(state.memory().regions().find(users.handle().name, 60, 8), nullptr);
    EXPECT_EQ(state.memory().regions().find(librarys.handle().name, 0, 4096), librarys.memory().data());
    const memory_region another{rt, std::size_t{4096}};
    EXPECT_NE(another.memory().data(), librarys.memory().data());
    EXPECT_EQ(state.memory().regions().find(librarys.handle().name, 0, 4096), librarys.memory().data());
    rt.barrier();
  });
}

// Messages of a faulty rank 0 to itself: there is no other rank to be harmed.
class wild_messages {
 public:
  explicit wild_messages(runtime& rt) : rt_{rt} {}

  // True: the message is refused; false: it is taken, or has to wait.
  template <class Body>
  [[nodiscard]] bool is_refused(core::wire kind, std::uint32_t id, const Body& body, std::uint64_t tag = 0,
                                std::uint32_t sequence = 0) {
    const std::uint64_t before = rt_.counters().messages_refused;
    std::array<std::byte, 40> payload{};
    std::memcpy(payload.data(), &body, sizeof body);
    const net::header header{.kind = static_cast<std::uint32_t>(kind), .id = id, .sequence = sequence, .tag = tag};
    const bool taken = test::local_job::state_of(rt_).devices().standard().on_message(
        {0, header, payload.data(), sizeof body, nullptr});
    return taken && rt_.counters().messages_refused == before + 1;
  }

 private:
  runtime& rt_;
};

// Counts the bytes that it is asked for, and has nothing.
class asked_allocator final : public buffer_allocator {
 public:
  void* allocate(std::size_t bytes, std::uint32_t, std::uint64_t) noexcept override {
    largest = std::max(largest, bytes);
    return nullptr;
  }
  void deallocate(void*, std::size_t) noexcept override {}
  std::size_t largest = 0;
};

TEST(wild_peer, offers_more_bytes_than_there_can_be_and_gets_no_memory_to_write_into) {
  test::local_job{1}.run([](runtime& rt) {
    asked_allocator allocator;
    completion_queue inbox{rt}, picky{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    const registration others = rt.register_completion(picky, {.id = 2, .allocator = &allocator});
    core::operation_pool& operations = test::local_job::state_of(rt).operations().arrivals();
    wild_messages wild{rt};
    unsigned refused = 0;
    for (const std::uint64_t bytes : test::boundary_words) {
      if (bytes <= core::buffer_bytes_max) continue;
      for (const std::uint32_t id : {1U, 2U, 3U}) {
        EXPECT_TRUE(wild.is_refused(core::wire::rts, id, core::rts_body{0, bytes, 1, 0})) << bytes << " for " << id;
        ++refused;
      }
    }
    EXPECT_GT(refused, 30U);
    rt.default_device().progress();
    operations.each([](core::operation_state& each) { ADD_FAILURE() << each.bytes << " bytes are waited for"; });
    EXPECT_FALSE(inbox.pop().has_value());
    EXPECT_EQ(allocator.largest, 0U);
    const core::rts_body largest{0, core::buffer_bytes_max, 1, 0};
    EXPECT_FALSE(wild.is_refused(core::wire::rts, 2, largest));
    EXPECT_EQ(allocator.largest, core::buffer_bytes_max);  // which may be refused for now, and so waits
  });
}

TEST(wild_peer, is_given_no_memory_beyond_the_bound_whoever_asks) {
  core::allocator_owner librarys{nullptr};
  asked_allocator allocator;
  core::allocator_owner users{&allocator};
  for (const std::uint64_t bytes : test::boundary_words) {
    if (bytes <= core::buffer_bytes_max) continue;
    EXPECT_EQ(librarys.allocate(bytes, 0, 0), nullptr) << bytes;
    EXPECT_EQ(users.allocate(bytes, 0, 0), nullptr) << bytes;
  }
  EXPECT_EQ(allocator.largest, 0U);
}

TEST(wild_peer, names_sizes_offsets_and_ids_that_can_not_be_in_every_kind_of_message) {
  test::local_job{1}.run([](runtime& rt) {
    completion_queue inbox{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    std::array<std::byte, 64> memory{};
    const memory_region region{rt, std::span{memory}};
    const std::uint64_t name = region.handle().name;
    wild_messages wild{rt};
    for (const std::uint64_t bytes : test::boundary_words) {
      if (bytes <= core::buffer_bytes_max) continue;
      EXPECT_TRUE(wild.is_refused(core::wire::send_rts, default_matching_engine, core::rts_body{0, bytes, 1, 0}));
      EXPECT_TRUE(wild.is_refused(core::wire::put_rts, 1, core::put_rts_body{name, 0, bytes, 1}));
      EXPECT_TRUE(wild.is_refused(core::wire::get, 1, core::put_rts_body{name, 0, bytes, 1}));
      EXPECT_TRUE(wild.is_refused(core::wire::put_signal, 1, core::signal_body{name, 0, bytes}));
      EXPECT_TRUE(wild.is_refused(core::wire::copy_invitation, 0, core::copy_invitation_body{1, 0, bytes, 0, 0}));
      EXPECT_TRUE(wild.is_refused(core::wire::ready_to_receive, 4, core::ready_body{0, bytes, 1}));
      EXPECT_TRUE(wild.is_refused(core::wire::written, 0, core::written_body{1, bytes, 0, 0}));
    }
    // Ranges that would wrap around at the end of memory.
    EXPECT_TRUE(wild.is_refused(core::wire::rts, 1, core::rts_body{~std::uint64_t{0} - 5, 100, 1, 0}));
    EXPECT_TRUE(wild.is_refused(core::wire::copy_invitation, 0,
                                core::copy_invitation_body{1, ~std::uint64_t{0} - 5, 100'000, 0, 0}));
    EXPECT_TRUE(wild.is_refused(core::wire::ready_to_receive, 4, core::ready_body{~std::uint64_t{0} - 5, 100, 1}));
    // Lists of more pieces than are announced for so many bytes, or that would reach beyond the end of memory.
    constexpr std::uint64_t bytes = 10 * core::remote_piece_bytes_min;
    for (const std::uint64_t pieces : test::boundary_words) {
      if (pieces <= 10) continue;
      EXPECT_TRUE(wild.is_refused(core::wire::ready_to_receive, 4, core::ready_body{8, bytes, 1, pieces}));
      const auto low = static_cast<std::uint32_t>(pieces);
      if (low > 10) {
        EXPECT_TRUE(
            wild.is_refused(core::wire::copy_invitation, 0, core::copy_invitation_body{1, 8, bytes, 0, 0, low}));
        EXPECT_TRUE(
            wild.is_refused(core::wire::send_rts, default_matching_engine, core::rts_body{8, bytes, 1, 0, low}));
      }
    }
    // Pieces of a copy by both that no receiver asks for.
    for (const std::uint64_t wrong : test::boundary_words) {
      const auto asked = static_cast<std::uint32_t>(wrong);
      if (core::copy_state::can_copy(100'000, asked)) continue;
      EXPECT_TRUE(
          wild.is_refused(core::wire::copy_invitation, 0, core::copy_invitation_body{1, 8, 100'000, 0, 0, 0, asked}));
    }
    EXPECT_TRUE(wild.is_refused(core::wire::copy_invitation, 0,
                                core::copy_invitation_body{1, 8, std::uint64_t{1} << 44, 0, 0, 0, 1}));
    const std::uint64_t at_the_end = ~std::uint64_t{0} - 5 * sizeof(net::memory_piece);
    EXPECT_TRUE(wild.is_refused(core::wire::rts, 1, core::rts_body{at_the_end, bytes, 1, 0, 10}));
    EXPECT_TRUE(
        wild.is_refused(core::wire::copy_invitation, 0, core::copy_invitation_body{1, at_the_end, bytes, 0, 0, 10}));
    EXPECT_TRUE(wild.is_refused(core::wire::ready_to_receive, 4, core::ready_body{at_the_end, bytes, 1, 10}));
    // The library's own objects.
    for (const std::uint32_t id : {remote_completion_ids_max, remote_completion_ids_max + 1, ~std::uint32_t{0}}) {
      EXPECT_TRUE(wild.is_refused(core::wire::rts, id, core::rts_body{0, 100'000, 1, 0})) << id;
      EXPECT_TRUE(wild.is_refused(core::wire::put_signal, id, core::signal_body{name, 0, 8})) << id;
      EXPECT_TRUE(wild.is_refused(core::wire::get_signal, id, core::signal_body{name, 0, 8})) << id;
      if (id == core::no_signal) continue;
      EXPECT_TRUE(wild.is_refused(core::wire::put, id, core::put_body{name, 0, 1})) << id;
      EXPECT_TRUE(wild.is_refused(core::wire::get, id, core::put_rts_body{name, 0, 8, 1})) << id;
    }
    EXPECT_FALSE(inbox.pop().has_value());
    EXPECT_EQ(memory, (std::array<std::byte, 64>{}));
  });
}

TEST(wild_peer, reaches_nothing_outside_of_a_region_by_any_offset_and_size) {
  test::local_job{1}.run([](runtime& rt) {
    std::array<std::byte, 64> memory{};
    const memory_region region{rt, std::span{memory}};
    const core::region_table& regions = test::local_job::state_of(rt).memory().regions();
    for (const std::uint64_t offset : test::boundary_words) {
      for (const std::uint64_t bytes : test::boundary_words) {
        const bool is_inside = offset <= 64 && bytes <= 64 && offset + bytes <= 64;
        EXPECT_EQ(regions.find(region.handle().name, offset, bytes), is_inside ? memory.data() + offset : nullptr);
      }
    }
    for (const std::uint64_t name : test::boundary_words) {
      if (name == region.handle().name) continue;
      EXPECT_EQ(regions.find(name, 0, 1), nullptr) << name;
    }
  });
}

// The receive of 1000 bytes is the only operation under way: chunks that would write beside its buffer are refused.
TEST(wild_peer, sends_chunks_at_any_offset_and_writes_nothing_beside_the_buffer) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::vector<std::byte> memory(3000, std::byte{0x5a});
    counter received{rt};
    ASSERT_TRUE(
        test::post(dev, [&] { return dev.post_recv(0, std::span{memory}.subspan(1000, 1000), received); }).is_posted());
    wild_messages wild{rt};
    ASSERT_FALSE(wild.is_refused(core::wire::send_rts, default_matching_engine, core::rts_body{0, 1000, 99, 0}));
    for (int i = 0; i < 1000; ++i) dev.progress();  // asks for packets, a network that refuses posts notwithstanding
    std::uint64_t ticket = 0;
    test::local_job::state_of(rt).operations().receives().each(
        // relaxed: no other thread makes progress.
        [&](core::operation_state& each) { ticket = each.ticket.load(std::memory_order_relaxed); });
    const auto chunk_at = [&](std::uint64_t offset) {
      return wild.is_refused(core::wire::chunk, static_cast<std::uint32_t>(offset), std::uint64_t{0}, ticket,
                             static_cast<std::uint32_t>(offset >> 32));
    };
    for (const std::uint64_t offset : test::boundary_words) {
      if (offset <= 992) continue;
      EXPECT_TRUE(chunk_at(offset)) << offset;
    }
    for (const std::uint64_t offset : {993U, 1000U, 1001U}) EXPECT_TRUE(chunk_at(offset)) << offset;
    for (std::uint64_t offset = 0; offset < 1000; offset += 8) EXPECT_FALSE(chunk_at(offset)) << offset;
    EXPECT_EQ(received.value(), 1U);
    for (std::size_t i = 0; i < 3000; ++i) ASSERT_EQ(memory[i], std::byte(i / 1000 == 1 ? 0 : 0x5a)) << i;
  });
}

// A send of this rank's to itself waits for its receive: only a request that names all of it ends it.
TEST(wild_peer, takes_back_no_message_but_its_own) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine ordered{rt, {.id = 3, .ordered = true}};
    const std::vector<std::byte> bytes(100'000);
    completion_queue ends{rt};
    wild_messages wild{rt};
    for (const std::uint32_t engine : {default_matching_engine, ordered.id()}) {
      const status posted =
          test::post(dev, [&] { return dev.post_send(0, bytes, ends, {.tag = 7, .engine = engine}); });
      EXPECT_TRUE(test::eventually(dev, [&] { return engine != 0 || rt.counters().sends_waiting == 1; }));
      for (const std::uint64_t ticket : test::boundary_words) {
        if (ticket == posted.ticket()) continue;
        for (const std::uint32_t id : {engine, 77U}) {
          for (const std::uint64_t is_send : {0U, 1U}) {
            EXPECT_FALSE(wild.is_refused(core::wire::withdraw_rts, id, core::withdraw_rts_body{ticket, is_send}, 7));
            EXPECT_FALSE(wild.is_refused(core::wire::withdraw_answer, id, core::withdraw_answer_body{ticket, is_send}));
            dev.progress();
          }
        }
      }
      const core::withdraw_rts_body right{posted.ticket(), 1};
      EXPECT_EQ(ends.pop(), std::nullopt);
      // It may come before the send has arrived.
      std::optional<completion_record> end;
      EXPECT_TRUE(test::eventually(dev, [&] {
        EXPECT_FALSE(wild.is_refused(core::wire::withdraw_rts, engine, right, 7));
        return (end = ends.pop()).has_value();
      }));
      EXPECT_EQ(end->error(), errc::cancelled);
    }
  });
}

// A receive that has announced its buffer to the peer: whole messages and ends of long ones that would reach beyond it
// are refused, and so are those for receives that have announced none.
TEST(wild_peer, ends_a_receive_that_began_and_writes_nothing_beside_the_buffer) {
  test::local_job{1}.run([](runtime& rt) {
    const matching_engine engine{rt, {.id = 3, .receiver_first = true}};
    device& dev = rt.default_device();
    core::operation_pool& operations = test::local_job::state_of(rt).operations().receives();
    wild_messages wild{rt};
    std::vector<std::byte> memory(3000, std::byte{0x5a});
    const auto refused = [&](core::wire kind, std::uint64_t offset, std::uint64_t ticket) {
      return wild.is_refused(kind, static_cast<std::uint32_t>(offset), std::uint64_t{0}, ticket,
                             static_cast<std::uint32_t>(offset >> 32));
    };
    for (const bool is_last_first : {true, false}) {
      counter received{rt};
      const std::uint64_t ticket =
          test::post(dev, [&] {
            return dev.post_recv(0, std::span{memory}.subspan(1000, 1000), received, {.engine = 3});
          }).ticket();
      for (int i = 0; i < 1000; ++i) dev.progress();  // RTR arrives here, and waits for a send
      for (const core::wire kind : {core::wire::chunk, core::wire::last_chunk}) {
        for (const std::uint64_t offset : test::boundary_words) {
          EXPECT_TRUE(offset <= 992 || refused(kind, offset, ticket)) << offset;
        }
        EXPECT_TRUE(refused(kind, 0, ticket ^ 1));
        EXPECT_TRUE(refused(kind, 0, ticket ^ std::uint64_t{1} << 40));
      }
      EXPECT_TRUE(wild.is_refused(core::wire::written, 0, core::written_body{ticket, 1001, 0, 0}));
      EXPECT_TRUE(wild.is_refused(core::wire::written, 0, core::written_body{ticket, 1001, 7, 0}));
      EXPECT_TRUE(wild.is_refused(core::wire::written, 0, core::written_body{ticket ^ 1, 10, 0, 0}));
      EXPECT_FALSE(is_last_first && refused(core::wire::last_chunk, 800, ticket));
      for (std::uint64_t offset = 0; offset < 800; offset += 8) {
        EXPECT_EQ(received.value(), 0U);
        EXPECT_FALSE(refused(core::wire::chunk, offset, ticket)) << offset;
      }
      EXPECT_FALSE(!is_last_first && refused(core::wire::last_chunk, 800, ticket));
      EXPECT_EQ(received.value(), 1U);
      EXPECT_TRUE(refused(core::wire::last_chunk, 0, ticket));  // it is through
      EXPECT_TRUE(wild.is_refused(core::wire::written, 0, core::written_body{ticket, 10, 0, 0}));
      operations.each([](core::operation_state& each) { ADD_FAILURE() << each.bytes << " bytes are waited for"; });
    }
    for (std::size_t i = 0; i < 3000; ++i) {
      ASSERT_EQ(memory[i], std::byte(i >= 1000 && i < 1808 ? 0 : 0x5a)) << i;
    }
    // A receive that waits for others to send first has no buffer that a peer may write into.
    counter received{rt};
    const std::uint64_t ticket =
        test::post(dev, [&] { return dev.post_recv(0, std::span{memory}.first(1000), received); }).ticket();
    EXPECT_TRUE(refused(core::wire::last_chunk, 0, ticket));
    EXPECT_TRUE(wild.is_refused(core::wire::written, 0, core::written_body{ticket, 10, 0, 0}));
    EXPECT_EQ(dev.cancel(ticket), cancel_result::cancelled);
  });
}

TEST(wild_peer, numbers_its_receives_as_they_can_not_be_and_takes_back_those_of_others) {
  test::local_job{2}.run([](runtime& rt) {
    const matching_engine engine{rt, {.id = 3, .receiver_first = true}};
    const matching_engine other{rt, {.id = 4}};
    device& dev = rt.default_device();
    rt.barrier();
    std::uint64_t word = 5;
    if (rt.rank() == 1) {
      counter received{rt};
      static_cast<void>(test::post(dev, [&] {
        return dev.post_recv(0, std::span{&word, 1}, received, {.tag = 7, .engine = 3});
      }));
      rt.barrier();
      EXPECT_TRUE(test::eventually(dev, [&] { return received.value() == 1; }));
      EXPECT_EQ(word, 9U);
    } else {
      rt.barrier();
      wild_messages wild{rt};
      EXPECT_TRUE(wild.is_refused(core::wire::withdraw_rtr, 4, core::withdraw_rtr_body{1}));
      std::uint32_t number = core::first_order_number;
      for (const std::uint64_t ticket : test::boundary_words) {
        EXPECT_FALSE(wild.is_refused(core::wire::withdraw_rtr, 3, core::withdraw_rtr_body{ticket}, 0, number));
        EXPECT_TRUE(wild.is_refused(core::wire::withdraw_rtr, 3, core::withdraw_rtr_body{ticket}, 0, number++));
      }
      EXPECT_FALSE(wild.is_refused(core::wire::withdraw_rtr, 3, core::withdraw_rtr_body{1}, 0, number + 3));  // early
      EXPECT_TRUE(wild.is_refused(core::wire::withdraw_rtr, 3, core::withdraw_rtr_body{2}, 0, number + 3));
      const core::ready_body body{0, 8, 1};
      EXPECT_TRUE(wild.is_refused(core::wire::ready_to_receive, 3, body, 7, ~std::uint32_t{0}));  // was here before
      EXPECT_TRUE(wild.is_refused(core::wire::ready_to_receive, 3, body, 7, number + 3));
      EXPECT_FALSE(wild.is_refused(core::wire::ready_to_receive, 3, body, 7, number + 5));
      EXPECT_TRUE(wild.is_refused(core::wire::ready_to_receive, 3, body, 7, number + 5));
      counter sent{rt};
      word = 9;
      const bool waits = test::post(dev, [&] {
                           return dev.post_send(1, std::span{&word, 1}, sent, {.tag = 7, .engine = 3});
                         }).is_posted();
      EXPECT_TRUE(test::eventually(dev, [&] { return sent.value() == waits; }));
    }
    rt.barrier();
  });
}

// The answer goes to the default device then, which refuses it: no operation waits for it.
TEST(wild_peer, asks_for_answers_at_devices_that_are_not_there) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    wild_messages wild{rt};
    std::uint64_t answers = 0;
    const auto ask = [&](core::wire kind, std::uint32_t asker, std::uint32_t id, const auto& body, std::uint32_t word) {
      const auto asking = static_cast<core::wire>(core::asking_word(kind, asker));
      EXPECT_FALSE(wild.is_refused(asking, id, body, 0, word)) << asker;
      ++answers;
      EXPECT_TRUE(test::eventually(dev, [&] { return rt.counters().messages_refused == answers; })) << asker;
    };
    const core::put_rts_body nowhere{7, 0, 100'000, 3};
    for (std::uint32_t asker = 0; asker < core::askers_max; ++asker) {
      ask(core::wire::put_rts, asker, core::no_signal, nowhere, 0);
      ask(core::wire::get, asker, core::no_signal, nowhere, 0);
      ask(core::wire::atomic, asker, 0, core::atomic_body{7, 0, 1, 0, 3}, 8U << 8);
    }
    EXPECT_EQ(dev.counters().backlog.operations, 0U);
  });
}

// Which of receives leaves rank or tag open is the receiver's matter alone there.
TEST(wild_peer, sends_under_a_policy_to_an_ordered_engine_and_is_refused) {
  test::local_job{1}.run([](runtime& rt) {
    const matching_engine ordered{rt, {.id = 3, .ordered = true}};
    const matching_engine unordered{rt, {.id = 4}};
    wild_messages wild{rt};
    const std::uint64_t body = 7;
    for (std::uint32_t policy = 1; policy < 256; ++policy) {
      const auto kind = static_cast<core::wire>(core::kind_word(core::wire::send, policy));
      EXPECT_TRUE(wild.is_refused(kind, 3, body)) << policy;
      EXPECT_EQ(wild.is_refused(kind, 4, body), policy > 3) << policy;
    }
  });
}

}  // namespace
}  // namespace weft
