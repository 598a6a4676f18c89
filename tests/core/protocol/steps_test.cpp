// SPDX-License-Identifier: BSD-3-Clause
// One step of a protocol at a time: the message that it sends, the one for which the next step waits, and how an
// operation ends if its peer vanishes in between.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/message/shared_copy.hpp"
#include "core/protocol/step_bench.hpp"

namespace weft {
namespace {

using core::wire;
using test::step_bench;

constexpr std::uint64_t peers_ticket = 5;
constexpr std::size_t alone_bytes = 40'000;                 // too short for both sides to copy it
constexpr std::size_t shared_bytes = std::size_t{2} << 20;  // more than one call of progress copies

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251);
  return out;
}

std::uint64_t address_of(const std::vector<std::byte>& bytes) { return reinterpret_cast<std::uint64_t>(bytes.data()); }

// RTS of a send to the default engine.
bool announce(step_bench& bench, const std::vector<std::byte>& theirs) {
  const core::rts_body body{address_of(theirs), theirs.size(), peers_ticket, 1};
  return bench.deliver(wire::send_rts, body,
                       {.kind = core::kind_word(wire::send_rts, static_cast<std::uint32_t>(match_policy::rank_tag)),
                        .id = default_matching_engine});
}

void expect_received(completion_queue& over, std::size_t bytes) {
  const std::optional<completion_record> got = over.pop();
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->error(), errc::none);
  EXPECT_EQ(got->bytes(), bytes);
}

void expect_fin(step_bench& bench) {
  const auto fin = bench.take(wire::fin).body<core::fin_body>();
  EXPECT_EQ(fin.ticket, peers_ticket);
  EXPECT_EQ(fin.error, 0U);
}

TEST(steps, of_a_receive_copy_the_bytes_that_rts_names_and_answer_fin) {
  step_bench::run([](step_bench& bench) {
    completion_queue over{bench.rt()};
    const std::vector<std::byte> theirs = pattern(alone_bytes);
    std::vector<std::byte> mine(alone_bytes);
    ASSERT_TRUE(bench.dev().post_recv(1, std::span{mine}, over).is_posted());
    EXPECT_TRUE(bench.script().sent.empty());
    EXPECT_TRUE(announce(bench, theirs));
    EXPECT_NE(mine, theirs);
    bench.step();
    EXPECT_EQ(mine, theirs);
    expect_fin(bench);
    expect_received(over, alone_bytes);
  });
}

TEST(steps, try_again_to_send_fin_that_had_no_room) {
  step_bench::run([](step_bench& bench) {
    completion_queue over{bench.rt()};
    const std::vector<std::byte> theirs = pattern(alone_bytes);
    std::vector<std::byte> mine(alone_bytes);
    ASSERT_TRUE(bench.dev().post_recv(1, std::span{mine}, over).is_posted());
    EXPECT_TRUE(announce(bench, theirs));
    bench.script().refusals = 2;
    for (int i = 0; i < 2; ++i) bench.step();
    EXPECT_TRUE(bench.script().sent.empty());
    EXPECT_FALSE(over.pop().has_value());
    bench.step();
    expect_fin(bench);
    expect_received(over, alone_bytes);
  });
}

// Sends the bytes in chunks, the last one first.
void send_chunks(step_bench& bench, const std::vector<std::byte>& theirs, std::uint64_t ticket) {
  constexpr std::size_t chunk_bytes = 10'000;
  for (std::size_t end = theirs.size(); end > 0;) {
    const std::size_t offset = (end - 1) / chunk_bytes * chunk_bytes;
    const net::header header{
        .kind = static_cast<std::uint32_t>(wire::chunk), .id = static_cast<std::uint32_t>(offset), .tag = ticket};
    EXPECT_TRUE(bench.deliver(header, theirs.data() + offset, static_cast<std::uint32_t>(end - offset)));
    end = offset;
  }
}

TEST(steps, of_a_receive_ask_for_packets_where_the_memory_can_not_be_read) {
  step_bench::run([](step_bench& bench) {
    completion_queue over{bench.rt()};
    const std::vector<std::byte> theirs = pattern(alone_bytes);
    std::vector<std::byte> mine(alone_bytes);
    ASSERT_TRUE(bench.dev().post_recv(1, std::span{mine}, over).is_posted());
    bench.script().of_copies = net::copy_result::unavailable;
    EXPECT_TRUE(announce(bench, theirs));
    bench.step();
    const auto rtr = bench.take(wire::rtr).body<core::rtr_body>();
    EXPECT_EQ(rtr.ticket, peers_ticket);
    send_chunks(bench, theirs, rtr.receiver_ticket);
    EXPECT_EQ(mine, theirs);
    expect_fin(bench);
    expect_received(over, alone_bytes);
  });
}

TEST(steps, of_a_send_announce_it_and_stream_packets_when_asked) {
  step_bench::run([](step_bench& bench) {
    counter sent{bench.rt()};
    const std::vector<std::byte> mine = pattern(alone_bytes);
    ASSERT_TRUE(bench.dev().post_send(1, std::span{mine}, sent).is_posted());
    const auto rts = bench.take(wire::send_rts).body<core::rts_body>();
    EXPECT_EQ(rts.address, address_of(mine));
    EXPECT_EQ(rts.bytes, alone_bytes);
    bench.step();
    EXPECT_TRUE(bench.script().sent.empty());
    EXPECT_TRUE(bench.deliver(wire::rtr, core::rtr_body{rts.ticket, peers_ticket}));
    for (int i = 0; i < 4; ++i) bench.step();
    std::vector<std::byte> theirs(alone_bytes);
    while (!bench.script().sent.empty()) {
      const test::sent_message chunk = bench.take(wire::chunk);
      ASSERT_EQ(chunk.header.tag, peers_ticket);
      ASSERT_LE(chunk.header.id + chunk.bytes.size(), alone_bytes);
      std::ranges::copy(chunk.bytes, theirs.begin() + chunk.header.id);
    }
    EXPECT_EQ(theirs, mine);
    if (rts.acknowledge != 0) {
      EXPECT_EQ(sent.value(), 0U);
      EXPECT_TRUE(bench.deliver(wire::fin, core::fin_body{rts.ticket, 0}));
    }
    EXPECT_EQ(sent.value(), 1U);
  });
}

TEST(steps, of_a_receive_that_both_copy_wait_for_the_piece_that_the_sender_has_claimed) {
  step_bench::run([](step_bench& bench) {
    completion_queue over{bench.rt()};
    const std::vector<std::byte> theirs = pattern(shared_bytes);
    std::vector<std::byte> mine(shared_bytes);
    ASSERT_TRUE(bench.dev().post_recv(1, std::span{mine}, over).is_posted());
    EXPECT_TRUE(announce(bench, theirs));
    bench.step();
    const auto invitation = bench.take(wire::copy_invitation).body<core::copy_invitation_body>();
    EXPECT_EQ(invitation.ticket, peers_ticket);
    core::copy_state& copy = *bench.state().memory().copy_states().state_at(0, invitation.index);
    const core::shared_piece piece = copy.claim(invitation.number, shared_bytes);
    ASSERT_NE(piece.bytes, 0U);
    for (int i = 0; i < 3; ++i) bench.step();
    EXPECT_TRUE(bench.script().sent.empty());
    std::memcpy(mine.data() + piece.offset, theirs.data() + piece.offset, piece.bytes);
    copy.finish(piece, true);
    bench.step();
    EXPECT_EQ(mine, theirs);
    expect_fin(bench);
    expect_received(over, shared_bytes);
  });
}

TEST(steps, of_a_receive_ask_for_packets_or_for_pieces_of_a_size_where_a_setting_says_so) {
  const std::vector<std::byte> theirs = pattern(shared_bytes);
  std::vector<std::byte> mine(shared_bytes);
  const auto receive = [&](step_bench& bench, completion_queue& over) {
    mine.assign(shared_bytes, std::byte{});
    ASSERT_TRUE(bench.dev().post_recv(1, std::span{mine}, over).is_posted());
    EXPECT_TRUE(announce(bench, theirs));
    bench.step();
  };
  step_bench::run(
      [&](step_bench& bench) {
        completion_queue over{bench.rt()};
        receive(bench, over);
        send_chunks(bench, theirs, bench.take(wire::rtr).body<core::rtr_body>().receiver_ticket);
        EXPECT_EQ(mine, theirs);
        expect_fin(bench);
        expect_received(over, shared_bytes);
      },
      {.long_messages = long_messages::packets});
  step_bench::run(
      [&](step_bench& bench) {
        completion_queue over{bench.rt()};
        receive(bench, over);
        for (int i = 0; i < 8; ++i) bench.step();
        EXPECT_EQ(mine, theirs);
        expect_fin(bench);
        expect_received(over, shared_bytes);
        EXPECT_TRUE(bench.script().sent.empty()) << "the sender was invited";
      },
      {.long_messages = long_messages::one_side});
  step_bench::run(
      [&](step_bench& bench) {
        completion_queue over{bench.rt()};
        receive(bench, over);
        EXPECT_EQ(bench.take(wire::copy_invitation).body<core::copy_invitation_body>().asked_pages, 3U);
        for (int i = 0; i < 40; ++i) bench.step();
        EXPECT_EQ(mine, theirs);
        expect_fin(bench);
        expect_received(over, shared_bytes);
      },
      {.long_messages = long_messages::both, .copy_piece_bytes = 3 * 4096});
}

TEST(steps, of_a_send_that_both_copy_write_pieces_as_long_as_they_are_asked_for) {
  step_bench::run([](step_bench& bench) {
    counter sent{bench.rt()};
    const std::vector<std::byte> mine = pattern(shared_bytes);
    std::vector<std::byte> theirs(shared_bytes);
    ASSERT_TRUE(bench.dev().post_send(1, std::span{mine}, sent).is_posted());
    const auto rts = bench.take(wire::send_rts).body<core::rts_body>();
    core::copy_state& copy = *bench.state().memory().copy_states().state_at(step_bench::peer, 0);
    copy.open(1);
    const core::shared_piece first = copy.claim(1, shared_bytes, 1);
    EXPECT_EQ(first.bytes, 4096U);
    EXPECT_TRUE(bench.deliver(wire::copy_invitation,
                              core::copy_invitation_body{rts.ticket, address_of(theirs), shared_bytes, 0, 1, 0, 1}));
    bench.step();
    EXPECT_EQ(copy.claim(1, shared_bytes, 1).offset % 4096, 0U);
    EXPECT_EQ(theirs[4096], mine[4096]);
    EXPECT_EQ(theirs[0], std::byte{}) << "a piece that the receiver has claimed";
    EXPECT_TRUE(bench.deliver(wire::fin, core::fin_body{rts.ticket, 0}));
    EXPECT_EQ(sent.value(), 1U);
  });
}

TEST(steps, of_a_send_that_both_copy_write_the_pieces_that_are_left) {
  step_bench::run([](step_bench& bench) {
    counter sent{bench.rt()};
    const std::vector<std::byte> mine = pattern(shared_bytes);
    std::vector<std::byte> theirs(shared_bytes);
    ASSERT_TRUE(bench.dev().post_send(1, std::span{mine}, sent).is_posted());
    const auto rts = bench.take(wire::send_rts).body<core::rts_body>();
    core::copy_state& copy = *bench.state().memory().copy_states().state_at(step_bench::peer, 0);
    copy.open(1);
    const core::copy_invitation_body invitation{rts.ticket, address_of(theirs), shared_bytes, 0, 1};
    EXPECT_TRUE(bench.deliver(wire::copy_invitation, invitation));
    for (int i = 0; i < 3; ++i) bench.step();
    EXPECT_TRUE(copy.is_through(shared_bytes) && copy.is_whole());
    EXPECT_EQ(theirs, mine);
    EXPECT_EQ(sent.value(), 0U);
    EXPECT_TRUE(bench.deliver(wire::fin, core::fin_body{rts.ticket, 0}));
    EXPECT_EQ(sent.value(), 1U);
  });
}

TEST(steps, of_a_receive_that_begins_announce_its_buffer_and_wait_until_it_is_written) {
  step_bench::run([](step_bench& bench) {
    completion_queue over{bench.rt()};
    const matching_engine engine{bench.rt(), {.id = 3, .receiver_first = true}};
    const std::vector<std::byte> theirs = pattern(alone_bytes);
    std::vector<std::byte> mine(alone_bytes);
    bench.script().refusals = 1;
    ASSERT_TRUE(bench.dev().post_recv(1, std::span{mine}, over, {.engine = 3, .allow_retry = false}).is_posted());
    EXPECT_TRUE(bench.script().sent.empty());
    bench.step();
    const auto ready = bench.take(wire::ready_to_receive).body<core::ready_body>();
    EXPECT_EQ(ready.address, address_of(mine));
    std::ranges::copy(theirs, mine.begin());
    EXPECT_TRUE(bench.deliver(wire::written, core::written_body{ready.ticket, alone_bytes, 0, 0}));
    expect_received(over, alone_bytes);
  });
}

TEST(steps, of_a_send_write_into_the_buffer_that_its_receiver_has_announced) {
  step_bench::run([](step_bench& bench) {
    counter sent{bench.rt()};
    const matching_engine engine{bench.rt(), {.id = 3, .receiver_first = true}};
    const std::vector<std::byte> mine = pattern(alone_bytes);
    std::vector<std::byte> theirs(alone_bytes);
    ASSERT_TRUE(bench.dev().post_send(1, std::span{mine}, sent, {.engine = 3}).is_posted());
    EXPECT_TRUE(bench.script().sent.empty());
    const core::ready_body ready{address_of(theirs), alone_bytes, peers_ticket};
    EXPECT_TRUE(bench.deliver(wire::ready_to_receive, ready, {.id = 3, .sequence = core::first_order_number}));
    bench.step();
    EXPECT_EQ(theirs, mine);
    const auto written = bench.take(wire::written).body<core::written_body>();
    EXPECT_EQ(written.ticket, peers_ticket);
    EXPECT_EQ(written.bytes, alone_bytes);
    EXPECT_EQ(sent.value(), 1U);
  });
}

// An operation and the steps that end it; its peer vanishes before the first one, between any two, and after the last.
struct walk {
  std::string name;
  std::function<status(step_bench&, std::vector<std::byte>&, completion&)> post;
  std::vector<std::function<void(step_bench&, std::vector<std::byte>&)>> steps;
  std::size_t whole_after;  // so many steps it ends without an error: nothing of the message is missing
  net::copy_result of_copies = net::copy_result::done;
  std::size_t bytes = alone_bytes;
};

constexpr std::size_t never = ~std::size_t{0};

status receive(step_bench& bench, std::vector<std::byte>& mine, completion& over) {
  return bench.dev().post_recv(1, std::span{mine}, over);
}
status send(step_bench& bench, std::vector<std::byte>& mine, completion& over) {
  return bench.dev().post_send(1, std::span{mine}, over);
}
status receive_first(step_bench& bench, std::vector<std::byte>& mine, completion& over) {
  return bench.dev().post_recv(1, std::span{mine}, over, {.engine = 3});
}
status send_to_ready(step_bench& bench, std::vector<std::byte>& mine, completion& over) {
  return bench.dev().post_send(1, std::span{mine}, over, {.engine = 3});
}
void one_step(step_bench& bench, std::vector<std::byte>& /*theirs*/) { bench.step(); }
void rts(step_bench& bench, std::vector<std::byte>& theirs) { EXPECT_TRUE(announce(bench, theirs)); }

std::vector<walk> walks() {
  const auto chunks = [](step_bench& bench, std::vector<std::byte>& theirs) {
    send_chunks(bench, theirs, bench.take(wire::rtr).body<core::rtr_body>().receiver_ticket);
  };
  const auto no_room = [](step_bench& bench, std::vector<std::byte>& /*theirs*/) {
    bench.script().refusals = 1;
    bench.step();
  };
  const auto claim = [](step_bench& bench, std::vector<std::byte>& theirs) {
    const auto of = bench.take(wire::copy_invitation).body<core::copy_invitation_body>();
    EXPECT_NE(bench.state().memory().copy_states().state_at(0, of.index)->claim(of.number, theirs.size()).bytes, 0U);
  };
  const auto ask = [](step_bench& bench, std::vector<std::byte>& /*theirs*/) {
    const auto of = bench.take(wire::send_rts).body<core::rts_body>();
    EXPECT_TRUE(bench.deliver(wire::rtr, core::rtr_body{of.ticket, peers_ticket}));
  };
  const auto written = [](step_bench& bench, std::vector<std::byte>& theirs) {
    const auto of = bench.take(wire::ready_to_receive).body<core::ready_body>();
    EXPECT_TRUE(bench.deliver(wire::written, core::written_body{of.ticket, theirs.size(), 0, 0}));
  };
  const auto ready = [](step_bench& bench, std::vector<std::byte>& theirs) {
    EXPECT_TRUE(bench.deliver(wire::ready_to_receive, core::ready_body{address_of(theirs), theirs.size(), peers_ticket},
                              {.id = 3, .sequence = core::first_order_number}));
  };
  return {
      {"receive_by_copy", receive, {rts, no_room, one_step}, 2},
      {"receive_by_packets", receive, {rts, no_room, one_step, chunks}, 4, net::copy_result::unavailable},
      {"receive_that_both_copy",
       receive,
       {rts, one_step, claim, one_step},
       never,
       net::copy_result::done,
       shared_bytes},
      {"send_by_packets", send, {one_step, ask, no_room, one_step}, 4},
      {"receive_that_begins", receive_first, {one_step, written}, 2},
      {"send_to_a_receive_that_begins", send_to_ready, {one_step, ready, no_room, one_step}, 4},
  };
}

TEST(steps, end_once_wherever_the_peer_vanishes) {
  for (const walk& each : walks()) {
    for (std::size_t taken = 0; taken <= each.steps.size(); ++taken) {
      step_bench::run([&](step_bench& bench) {
        SCOPED_TRACE(each.name + " after " + std::to_string(taken) + " steps");
        completion_queue over{bench.rt()};
        const matching_engine engine{bench.rt(), {.id = 3, .receiver_first = true}};
        std::vector<std::byte> mine(each.bytes), theirs = pattern(each.bytes);
        bench.script().of_copies = each.of_copies;
        ASSERT_TRUE(each.post(bench, mine, over).is_posted());
        for (std::size_t i = 0; i < taken; ++i) each.steps[i](bench, theirs);
        bench.vanish();
        const std::optional<completion_record> got = over.pop();
        ASSERT_TRUE(got.has_value());
        EXPECT_EQ(got->error(), taken >= each.whole_after ? errc::none : errc::peer_failed);
        EXPECT_FALSE(over.pop().has_value());
        EXPECT_EQ(over.outstanding(), 0U);
        EXPECT_EQ(bench.dev().counters().backlog.operations, 0U);
      });
    }
  }
}

}  // namespace
}  // namespace weft
