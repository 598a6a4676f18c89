// SPDX-License-Identifier: BSD-3-Clause
// Messages over a fabric that no peer should ever send: refused and counted, and the next good message arrives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <thread>

#include "contract/job.hpp"
#include "support/time_limit.hpp"
#include "support/waiting.hpp"

namespace weft::contract {
namespace {

using net::post_result;
using net::ofi::fabric_channel;
using net::ofi::no_device;
using net::ofi::wire_header;

// Rank 0 goes wild: it fills the buffers of its fabric endpoint by itself. Rank 1 has to stand it.
class hostile_fabric : public testing::TestWithParam<kind> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().absent(); !why.empty()) GTEST_SKIP() << why;
    job_ = std::make_unique<test_job>(GetParam());
    out_ = job_->from().open(0);
    in_ = job_->to().open(0);
  }

  [[nodiscard]] net::ofi::ofi_transport& wild() {
    return dynamic_cast<net::ofi::ofi_transport&>(job_->from().transport);
  }

  [[nodiscard]] std::uint64_t refused() { return job_->to().transport.counted().refused; }

  template <class Condition>
  [[nodiscard]] bool poll_until(const Condition& done) {
    weft::test::time_limit limit;
    while (!done()) {
      if (out_->poll(none_, 16) + in_->poll(sink_, 16) == 0) std::this_thread::yield();
      if (limit.is_over()) return false;
    }
    return true;
  }

  // A header as rank 1 takes it, with `bytes` bytes behind it.
  [[nodiscard]] wire_header good_header(std::uint64_t tag, std::uint32_t bytes) {
    wire_header out;
    out.job = wild().bounds().job;
    out.tag = tag;
    out.source = 0;
    out.bytes = bytes;
    out.kind = 1;
    return out;
  }

  // The first `bytes` bytes of `message`, as they are.
  [[nodiscard]] bool sent(const void* message, std::size_t bytes) {
    fabric_channel& own = wild().receiver();
    return poll_until([&] {
      if (!own.lock.try_enter()) return false;
      std::byte* const buffer = own.try_get_buffer();
      bool done = false;
      if (buffer != nullptr) {
        if (bytes != 0) std::memcpy(buffer, message, bytes);
        done = own.send(1, bytes);
      }
      own.lock.leave();
      return done;
    });
  }
  [[nodiscard]] bool sent(const wire_header& header, std::size_t payload_bytes) {
    std::vector<std::byte> message(sizeof header + payload_bytes, std::byte{0x77});
    std::memcpy(message.data(), &header, sizeof header);
    return sent(message.data(), message.size());
  }

  // All that came before it has been looked at when this one is here.
  void expect_a_good_message() {
    const std::uint64_t tag = next_tag_++;
    ASSERT_TRUE(sent(good_header(tag, 8), 8));
    ASSERT_TRUE(poll_until([&] { return !sink_.messages.empty(); }));
    ASSERT_EQ(sink_.messages.size(), 1U);
    EXPECT_EQ(sink_.messages.front().header.tag, tag);
    EXPECT_EQ(sink_.messages.front().source, 0U);
    EXPECT_EQ(sink_.messages.front().bytes, std::vector<std::byte>(8, std::byte{0x77}));
    sink_.messages.clear();
  }

  // What was sent last is refused, and nothing else is.
  void expect_refused(const char* why) {
    const std::uint64_t wanted = refused_ + 1;
    EXPECT_TRUE(poll_until([&] { return refused() >= wanted; })) << why;
    EXPECT_EQ(refused_ = refused(), wanted) << why;
    expect_a_good_message();
  }

  void expect_nothing_lost() {
    EXPECT_TRUE(poll_until([&] {
      return job_->from().packets.free_count() == packet_count && job_->to().packets.free_count() == packet_count;
    }));
  }

  std::unique_ptr<test_job> job_;
  std::unique_ptr<endpoint> out_, in_;
  sink sink_, none_;
  std::uint64_t refused_ = 0;
  std::uint64_t next_tag_ = 1;
};

INSTANTIATE_TEST_SUITE_P(contract, hostile_fabric,
                         testing::Values(over_ofi("net"), over_ofi("tcp;ofi_rxm"), over_ofi("shm")),
                         [](const auto& test) { return test.param.name; });

// More of them than there are receive buffers: each comes back to take the next message.
constexpr int rounds = 3;

TEST_P(hostile_fabric, sends_less_than_a_header) {
  const wire_header whole = good_header(0, 0);
  for (const std::size_t bytes : {0U, 1U, 8U, 39U}) {
    ASSERT_TRUE(sent(&whole, bytes));
    expect_refused("too short");
  }
}

TEST_P(hostile_fabric, sends_headers_of_other_jobs_versions_and_ranks) {
  for (int round = 0; round < rounds; ++round) {
    for (const std::uint64_t job : {std::uint64_t{0}, ~std::uint64_t{0}, good_header(0, 0).job ^ 1,
                                    good_header(0, 0).job ^ std::uint64_t{1} << 63}) {
      wire_header wrong = good_header(0, 8);
      wrong.job = job;
      ASSERT_TRUE(sent(wrong, 8));
      expect_refused("another job");
    }
    for (const unsigned version : {0U, 1U, net::ofi::wire_version + 1U, 255U}) {
      wire_header wrong = good_header(0, 8);
      wrong.version = static_cast<std::uint8_t>(version);
      ASSERT_TRUE(sent(wrong, 8));
      expect_refused("another version");
    }
    // Its own rank, and ranks that there are not.
    for (const std::uint32_t source : {1U, 2U, 0x7fff'ffffU, 0x8000'0000U, ~0U}) {
      wire_header wrong = good_header(0, 8);
      wrong.source = source;
      ASSERT_TRUE(sent(wrong, 8));
      expect_refused("another source");
    }
  }
}

TEST_P(hostile_fabric, sends_sizes_that_lie) {
  for (const std::uint32_t said :
       {0U, 7U, 9U, 16U, 41U, 511U, 512U, 513U, 0x7fff'ffffU, 0x8000'0000U, ~0U - 47U, ~0U - 39U, ~0U - 7U, ~0U}) {
    for (const bool is_packet : {false, true}) {
      wire_header wrong = good_header(0, said);
      wrong.is_packet = is_packet ? 1 : 0;
      ASSERT_TRUE(sent(wrong, 8));
      expect_refused("another size");
    }
  }
  // More than fits a descriptor, not in a packet.
  ASSERT_TRUE(sent(good_header(0, 41), 41));
  expect_refused("too long to come without a packet");
  expect_nothing_lost();
}

// More than a receive buffer holds. Providers then break the connection, and what its sender has under way is lost with
// it: a message that is sent after that arrives.
TEST_P(hostile_fabric, sends_more_than_a_receive_buffer_holds) {
  for (const std::uint32_t bytes : {packet_bytes + 1, packet_bytes + 8, 2 * packet_bytes}) {
    wire_header wrong = good_header(0, bytes);
    wrong.is_packet = 1;
    const std::uint64_t before = refused();
    ASSERT_TRUE(sent(wrong, bytes));
    EXPECT_TRUE(poll_until([&] { return refused() > before; })) << bytes;
    const std::uint64_t tag = 1000 + bytes;
    const auto is_it = [&](const received& each) { return each.header.tag == tag; };
    EXPECT_TRUE(poll_until([&] {
      EXPECT_TRUE(sent(good_header(tag, 8), 8));
      return std::ranges::any_of(sink_.messages, is_it);
    })) << bytes;
    sink_.messages.clear();
  }
}

// A device that is not there is none that messages get lost at.
TEST_P(hostile_fabric, names_devices_that_are_not_there) {
  for (unsigned device = 0; device < 256; ++device) {
    for (const bool is_sender : {false, true}) {
      wire_header wild = good_header(1000 + device, 8);
      wild.device = is_sender ? no_device : static_cast<std::uint8_t>(device);
      wild.sender_device = is_sender ? static_cast<std::uint8_t>(device) : std::uint8_t{0};
      ASSERT_TRUE(sent(wild, 8));
      ASSERT_TRUE(poll_until([&] { return !sink_.messages.empty(); })) << device;
      EXPECT_EQ(sink_.messages.front().header.tag, 1000 + device);
      sink_.messages.clear();
    }
  }
  EXPECT_EQ(refused(), 0U);
  expect_a_good_message();
}

TEST_P(hostile_fabric, sends_anything_and_each_message_is_delivered_within_bounds_or_refused) {
  std::mt19937_64 random{20'261'122};
  std::uint64_t written = 0, delivered = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto bytes = static_cast<std::uint32_t>(random() % 2 == 0 ? random() % 41 : random() % (packet_bytes + 1));
    wire_header junk = good_header(random(), bytes);
    junk.is_packet = static_cast<std::uint8_t>(random() % 3);
    junk.id = static_cast<std::uint32_t>(random());
    junk.device = static_cast<std::uint8_t>(random());
    // Two bytes of the header are anything, now and then.
    for (std::uint64_t changes = random() % 3; changes > 0; --changes) {
      reinterpret_cast<unsigned char*>(&junk)[random() % sizeof junk] = static_cast<unsigned char>(random());
    }
    ASSERT_TRUE(sent(junk, bytes));
    ++written;
    ASSERT_TRUE(poll_until([&] { return delivered + sink_.messages.size() + refused() == written; }));
    for (const received& each : sink_.messages) {
      ASSERT_EQ(each.source, 0U);
      ASSERT_LE(each.bytes.size(), each.owner == nullptr ? detail::inline_bytes_max : packet_bytes);
      ASSERT_EQ(each.bytes, std::vector<std::byte>(each.bytes.size(), std::byte{0x77}));
    }
    delivered += sink_.messages.size();
    sink_.messages.clear();
  }
  EXPECT_GT(delivered, 100U);
  EXPECT_GT(refused(), 100U);
  expect_a_good_message();
  expect_nothing_lost();
}

}  // namespace
}  // namespace weft::contract
