// SPDX-License-Identifier: BSD-3-Clause
// Long messages whose bytes can't be read to their end: the sender's message in each step, a peer that dies in each
// step, and a faulty peer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/message/wire.hpp"
#include "core/protocol/step_bench.hpp"
#include "support/boundaries.hpp"
#include "support/stored_message.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using core::chunks_failed_body;
using core::wire;
using test::step_bench;

constexpr std::uint32_t first_engine = 3;  // a receiver-first one
constexpr std::uint64_t peers_ticket = 9;
constexpr auto told = static_cast<std::uint64_t>(errc::transport_failed);  // by the peer
constexpr net::header to_default{
    .kind = core::kind_word(wire::send_rts, static_cast<std::uint32_t>(match_policy::rank_tag)),
    .id = default_matching_engine};

// A layout that can pack the bytes before `end` alone.
struct ending {
  std::uint64_t end;
  std::size_t pack(const void* /*address*/, std::uint64_t offset, std::byte* to, std::size_t bytes) const {
    if (offset + bytes > end) return 0;
    std::fill_n(to, bytes, std::byte{1});
    return bytes;
  }
  std::size_t unpack(void* /*address*/, std::uint64_t /*offset*/, const std::byte* /*from*/, std::size_t) const {
    return 0;
  }
};

// A long send on the bench. Its third packet can't be packed.
class failing_send {
 public:
  failing_send(step_bench& bench, bool receiver_first, completion_level level)
      : bench_{bench},
        packet_bytes_{bench.rt().attributes().packet_bytes},
        shape_{2 * packet_bytes_},
        in_{shape_},
        engine_{bench.rt(), {.id = first_engine, .receiver_first = true}},
        over{bench.rt()},
        receiver_first_{receiver_first},
        is_delivered_{level == completion_level::delivered} {
    const const_buffer_ref bytes{nullptr, this->bytes(), in_};
    const std::uint32_t engine = receiver_first ? first_engine : default_matching_engine;
    answer_ = bench.dev().post_send(1, bytes, over, {.engine = engine, .complete_at = level, .allow_done = false});
    EXPECT_TRUE(answer_.is_posted());
    if (!receiver_first) {
      EXPECT_EQ(bench.take(wire::send_rts).body<core::rts_body>().address, 0U);
    }
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return 3 * packet_bytes_; }
  // The peer asks for packets.
  void ask() {
    if (receiver_first_) {
      EXPECT_TRUE(bench_.deliver(wire::ready_to_receive, core::ready_body{0, bytes() + 100, peers_ticket},
                                 {.kind = core::asking_word(wire::ready_to_receive, 0),
                                  .id = first_engine,
                                  .sequence = core::first_order_number}));
    } else {
      EXPECT_TRUE(bench_.deliver(wire::rtr, core::rtr_body{answer_.ticket(), peers_ticket}));
    }
  }
  void take_packets() {
    if (receiver_first_ && is_delivered_) {
      EXPECT_EQ(bench_.take(wire::written).body<core::written_body>().error, 0U);
    }
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(bench_.take(wire::chunk).header.id, i * packet_bytes_);
  }
  void expect_failed() {
    const test::sent_message failed = bench_.take(wire::chunks_failed);
    EXPECT_EQ(failed.header.tag, peers_ticket);
    const auto body = failed.body<chunks_failed_body>();
    EXPECT_EQ(body.sent, 2 * packet_bytes_);
    EXPECT_EQ(body.bytes, bytes());
    EXPECT_EQ(body.is_end != 0, !is_delivered_);
    EXPECT_TRUE(bench_.script().sent.empty());
  }
  [[nodiscard]] std::uint64_t ticket() const noexcept { return answer_.ticket(); }

 private:
  step_bench& bench_;
  std::size_t packet_bytes_;
  ending shape_;
  layout in_;
  matching_engine engine_;

 public:
  completion_queue over;

 private:
  bool receiver_first_;
  bool is_delivered_;
  status answer_ = status::done();
};

template <class Body>
void each_send(const Body& body) {
  for (const bool receiver_first : {false, true}) {
    for (const completion_level level : {completion_level::local, completion_level::delivered}) {
      step_bench::run([&](step_bench& bench) {
        failing_send send{bench, receiver_first, level};
        body(bench, send, level == completion_level::delivered);
        EXPECT_FALSE(send.over.pop().has_value());
        EXPECT_EQ(bench.dev().counters().backlog.operations, 0U);
      });
    }
  }
}

void expect_end(completion_queue& over, errc why) {
  const auto record = over.pop();
  ASSERT_TRUE(record.has_value());
  EXPECT_STREQ(name_of(record->error()), name_of(why));
}

TEST(chunks_failed, are_announced_once_and_end_the_send) {
  each_send([](step_bench& bench, failing_send& send, bool is_delivered) {
    send.ask();
    for (int i = 0; i < 5; ++i) bench.step();
    send.take_packets();
    send.expect_failed();
    if (!is_delivered) return expect_end(send.over, errc::memory_failed);
    EXPECT_FALSE(send.over.pop().has_value());  // the peer confirms it
    EXPECT_TRUE(bench.deliver(wire::fin, core::fin_body{send.ticket(), told}));
    expect_end(send.over, errc::transport_failed);
  });
}

TEST(chunks_failed, are_announced_later_where_the_transport_refuses) {
  each_send([](step_bench& bench, failing_send& send, bool is_delivered) {
    // The packets leave while there is room; then there is none for a while.
    send.ask();
    for (unsigned packets = 0; packets < 20 && bench.script().sent.size() < (is_delivered ? 2U : 1U); ++packets) {
      bench.script().refusals = 3;
      bench.step();
    }
    for (int i = 0; i < 10; ++i) bench.step();
    send.take_packets();
    send.expect_failed();
    if (is_delivered) {
      EXPECT_TRUE(bench.deliver(wire::fin, core::fin_body{send.ticket(), told}));
    }
    expect_end(send.over, is_delivered ? errc::transport_failed : errc::memory_failed);
  });
}

TEST(chunks_failed, end_the_send_once_where_the_peer_dies_before_they_are_sent) {
  each_send([](step_bench& bench, failing_send& send, bool) {
    send.ask();
    bench.script().refusals = 1000;
    for (int i = 0; i < 3; ++i) bench.step();
    bench.vanish();
    const auto record = send.over.pop();
    ASSERT_TRUE(record.has_value());
    EXPECT_STREQ(name_of(record->error()), name_of(errc::peer_failed));
  });
}

TEST(chunks_failed, end_the_send_once_where_the_peer_dies_before_it_confirms_them) {
  each_send([](step_bench& bench, failing_send& send, bool is_delivered) {
    send.ask();
    for (int i = 0; i < 5; ++i) bench.step();
    bench.vanish();
    expect_end(send.over, is_delivered ? errc::peer_failed : errc::memory_failed);
  });
}

// A receive of 1000 bytes, whose sender can't read them all.
class failing_receive {
 public:
  failing_receive(step_bench& bench, bool receiver_first, bool acknowledge)
      : over{bench.rt()},
        bench_{bench},
        engine_{bench.rt(), {.id = first_engine, .receiver_first = true}},
        memory_(3000, std::byte{0x5a}),
        acknowledge_{acknowledge} {
    const std::uint32_t engine = receiver_first ? first_engine : default_matching_engine;
    EXPECT_TRUE(bench.dev().post_recv(1, std::span{memory_}.subspan(1000, 1000), over, {.engine = engine}).is_posted());
    if (receiver_first) {
      ticket_ = bench.take(wire::ready_to_receive).body<core::ready_body>().ticket;
      if (acknowledge) {
        EXPECT_TRUE(bench.deliver(wire::written, core::written_body{ticket_, 1000, peers_ticket, 0}));
      }
    } else {
      EXPECT_TRUE(bench.deliver(wire::send_rts, core::rts_body{0, 1000, peers_ticket, acknowledge}, to_default));
      bench.step();
      ticket_ = bench.take(wire::rtr).body<core::rtr_body>().receiver_ticket;
    }
  }

  [[nodiscard]] std::uint64_t ticket() const noexcept { return ticket_; }
  // Of a sender that has sent so many bytes.
  [[nodiscard]] chunks_failed_body after(std::uint64_t sent) const noexcept { return {sent, 1000, !acknowledge_}; }
  // Whether it is refused. It is always consumed.
  bool is_refused(std::uint64_t ticket, const chunks_failed_body& body) {
    const std::uint64_t before = bench_.rt().counters().messages_refused;
    EXPECT_TRUE(bench_.deliver(wire::chunks_failed, body,
                               {.kind = static_cast<std::uint32_t>(wire::chunks_failed), .tag = ticket}));
    return bench_.rt().counters().messages_refused == before + 1;
  }
  void deliver_chunk(std::uint32_t offset, std::uint32_t bytes) {
    const std::vector<std::byte> some(bytes, std::byte{7});
    EXPECT_TRUE(bench_.deliver({.kind = static_cast<std::uint32_t>(wire::chunk), .id = offset, .tag = ticket_},
                               some.data(), bytes));
  }
  void expect_failure() {
    if (acknowledge_) {
      EXPECT_EQ(bench_.take(wire::fin).body<core::fin_body>().ticket, peers_ticket);
    }
    const auto record = over.pop();
    ASSERT_TRUE(record.has_value());
    EXPECT_STREQ(name_of(record->error()), name_of(errc::memory_failed));
    EXPECT_EQ(record->bytes(), 0U);
    EXPECT_EQ(record->message_bytes(), 1000U);
    EXPECT_FALSE(over.pop().has_value());
  }
  // That nothing beside the first `count` bytes of the buffer was written.
  void expect_written(std::ptrdiff_t count) const {
    EXPECT_EQ(std::ranges::count(memory_, std::byte{7}), count);
    EXPECT_EQ(std::ranges::count(memory_, std::byte{0x5a}), 3000 - count);
    EXPECT_EQ(std::count(memory_.begin() + 1000, memory_.begin() + 1000 + count, std::byte{7}), count);
  }

  completion_queue over;

 private:
  step_bench& bench_;
  matching_engine engine_;
  std::vector<std::byte> memory_;
  bool acknowledge_;
  std::uint64_t ticket_ = 0;
};

template <class Body>
void each_receive(const Body& body) {
  for (const bool receiver_first : {false, true}) {
    for (const bool acknowledge : {false, true}) {
      step_bench::run([&](step_bench& bench) {
        failing_receive receive{bench, receiver_first, acknowledge};
        body(bench, receive);
      });
    }
  }
}

TEST(chunks_failed, end_the_receive_whenever_they_arrive) {
  each_receive([](step_bench&, failing_receive& receive) {
    EXPECT_FALSE(receive.is_refused(receive.ticket(), receive.after(0)));
    receive.expect_failure();
    receive.expect_written(0);
    EXPECT_TRUE(receive.is_refused(receive.ticket(), receive.after(0)));
  });
  each_receive([](step_bench&, failing_receive& receive) {
    receive.deliver_chunk(0, 400);
    EXPECT_FALSE(receive.is_refused(receive.ticket(), receive.after(400)));
    receive.expect_failure();
    receive.expect_written(400);
  });
  // A packet that was sent before arrives after it.
  each_receive([](step_bench&, failing_receive& receive) {
    receive.deliver_chunk(200, 200);
    EXPECT_FALSE(receive.is_refused(receive.ticket(), receive.after(400)));
    EXPECT_FALSE(receive.over.pop().has_value());
    receive.deliver_chunk(0, 200);
    receive.expect_failure();
    receive.expect_written(400);
  });
}

TEST(chunks_failed, wait_for_a_packet_of_a_peer_that_dies) {
  each_receive([](step_bench& bench, failing_receive& receive) {
    receive.deliver_chunk(200, 200);
    EXPECT_FALSE(receive.is_refused(receive.ticket(), receive.after(400)));
    bench.vanish();
    expect_end(receive.over, errc::peer_failed);
    EXPECT_FALSE(receive.over.pop().has_value());
  });
}

// The receive ends with its own error: FIN is for a sender that has died.
TEST(chunks_failed, end_the_receive_once_where_the_peer_dies_before_it_is_told) {
  each_receive([](step_bench& bench, failing_receive& receive) {
    bench.script().refusals = 1000;
    EXPECT_FALSE(receive.is_refused(receive.ticket(), receive.after(0)));
    bench.step();
    bench.vanish();
    expect_end(receive.over, errc::memory_failed);
    EXPECT_FALSE(receive.over.pop().has_value());
  });
}

TEST(chunks_failed, of_a_faulty_peer_end_no_receive_but_one_of_their_own) {
  for (const bool receiver_first : {false, true}) {
    step_bench::run([&](step_bench& bench) {
      failing_receive receive{bench, receiver_first, false};
      for (const std::uint64_t ticket : test::boundary_words) {
        if (ticket == receive.ticket()) continue;
        EXPECT_TRUE(receive.is_refused(ticket, receive.after(0))) << ticket;
      }
      for (unsigned bit = 0; bit < 64; ++bit)
        EXPECT_TRUE(receive.is_refused(receive.ticket() ^ std::uint64_t{1} << bit, receive.after(0))) << bit;
      // Packets of more bytes than the message has, and messages of other sizes than the one that was announced.
      for (const std::uint64_t sent : test::boundary_words) {
        for (const std::uint64_t bytes : test::boundary_words) {
          if (sent <= bytes && receiver_first && bytes <= 1000) continue;
          EXPECT_TRUE(receive.is_refused(receive.ticket(), {sent, bytes, sent & 1})) << sent << " of " << bytes;
        }
        if (sent <= 1000 && (sent != 1000 || receiver_first)) continue;
        EXPECT_TRUE(receive.is_refused(receive.ticket(), {sent, 1000, ~std::uint64_t{0}})) << sent;
      }
      EXPECT_FALSE(receive.over.pop().has_value());
      EXPECT_FALSE(receive.is_refused(receive.ticket(), receive.after(0)));
      receive.expect_failure();
      receive.expect_written(0);
    });
  }
}

// Sent twice, they count bytes beyond the message: it then waits for nothing but the peer's end.
TEST(chunks_failed, of_a_faulty_peer_that_repeats_itself_harm_its_own_message_alone) {
  each_receive([](step_bench& bench, failing_receive& receive) {
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(receive.is_refused(receive.ticket(), receive.after(400)));
    receive.deliver_chunk(0, 400);
    EXPECT_FALSE(receive.over.pop().has_value());
    bench.vanish();
    expect_end(receive.over, errc::peer_failed);
    EXPECT_FALSE(receive.over.pop().has_value());
    receive.expect_written(400);
  });
}

TEST(chunks_failed, of_a_faulty_peer_end_no_operation_that_waits_for_something_else) {
  step_bench::run([](step_bench& bench) {
    completion_queue over{bench.rt()};
    std::vector<std::byte> some(100'000);
    const status send = bench.dev().post_send(1, some, over, {.allow_done = false});
    const status receive = bench.dev().post_recv(1, some, over, {.tag = 77});
    ASSERT_TRUE(send.is_posted() && receive.is_posted());
    const std::uint64_t before = bench.rt().counters().messages_refused;
    for (const std::uint64_t ticket : {send.ticket(), receive.ticket()}) {
      for (const std::uint64_t sent : test::boundary_words) {
        const chunks_failed_body body{sent, 100'000, sent & 1};
        EXPECT_TRUE(bench.deliver(wire::chunks_failed, body,
                                  {.kind = static_cast<std::uint32_t>(wire::chunks_failed), .tag = ticket}));
      }
    }
    EXPECT_EQ(bench.rt().counters().messages_refused - before, 2 * test::boundary_words.size());
    EXPECT_FALSE(over.pop().has_value());
    bench.vanish();
    expect_end(over, errc::peer_failed);
    expect_end(over, errc::peer_failed);
  });
}

// One copy at each side, at every size, also where the message waits for its receive.
TEST(kinds_of_memory, are_copied_once_at_each_side) {
  test::local_job{1, {.transport = "self"}}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const std::size_t packet = rt.attributes().packet_bytes;
    completion_queue over{rt};
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{40}, std::size_t{41}, packet, packet + 1, 3 * packet}) {
      for (const bool is_early : {false, true}) {
        test::guarded_memory from{rt, bytes}, into{rt, bytes};
        const auto send = [&] {
          static_cast<void>(
              test::post(dev, [&] { return dev.post_send(0, from.buffer(0, bytes), over, {.allow_done = false}); }));
        };
        const auto receive = [&] {
          static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, into.buffer(0, bytes), over); }));
        };
        is_early ? receive() : send();
        for (int i = 0; i < 10; ++i) dev.progress();
        is_early ? send() : receive();
        for (int i = 0; i < 2; ++i) {
          std::optional<completion_record> record;
          ASSERT_TRUE(test::eventually(dev, [&] { return (record = over.pop()).has_value(); }));
          EXPECT_EQ(record->error(), errc::none);
        }
        EXPECT_EQ(from.copied_out(), bytes);
        EXPECT_EQ(into.copied_in(), bytes);
        EXPECT_EQ(from.copied_in() + into.copied_out(), 0U);
      }
    }
  });
}

}  // namespace
}  // namespace weft
