// SPDX-License-Identifier: BSD-3-Clause
// The transport to copy keeps the contract as it stands: it refuses, and nothing is lost or touched.
#include "net/template/template_endpoint.hpp"

#include <gtest/gtest.h>

#include "contract/job.hpp"

namespace weft::contract {
namespace {

class template_to_copy : public testing::Test {
 protected:
  [[nodiscard]] net::template_transport& transport_of(side& of) {
    return dynamic_cast<net::template_transport&>(of.transport);
  }

  test_job job_{kind{"template", {}, make<net::template_transport>}};
};

TEST_F(template_to_copy, reaches_no_peer_at_any_rank) {
  for (side* const each : {&job_.from(), &job_.to()}) {
    for (const std::uint32_t peer : {job_.sender(), job_.target()}) EXPECT_FALSE(each->transport.reaches(peer));
    EXPECT_FALSE(each->transport.reaches_all());
    EXPECT_EQ(each->transport.sharing(), nullptr);
    EXPECT_GE(each->transport.devices_max(), devices_max);
  }
}

TEST_F(template_to_copy, refuses_posts_and_leaves_packets_to_the_caller) {
  net::template_transport& from = transport_of(job_.from());
  const auto out = from.open<sink>(0, true);
  from.go_live(0, false);
  packet_pool& packets = job_.from().packets;
  const std::uint32_t packet = packets.try_get();
  const auto payload = pattern(packet_bytes, 1);
  std::ranges::copy(payload, packets.data(packet));
  for (const std::uint32_t device : {0U, 1U, net::any_device}) {
    EXPECT_EQ(out->try_send_inline(job_.target(), device, {}, payload.data(), 8), net::post_result::full);
    EXPECT_EQ(out->try_send(job_.target(), device, {}, packet, packet_bytes), net::post_result::full);
  }
  EXPECT_TRUE(std::ranges::equal(std::span{packets.data(packet), payload.size()}, payload));
  packets.put(packet);
  EXPECT_EQ(packets.free_count(), packet_count);
  from.close(0);
}

TEST_F(template_to_copy, delivers_and_copies_nothing_and_counts_nothing) {
  net::template_transport& to = transport_of(job_.to());
  const auto first = to.open<sink>(0, true);
  const auto second = to.open<sink>(1, false);
  to.go_live(0, false);
  to.go_live(1, false);
  to.close(1);
  first->adopt(1);
  sink arrivals;
  EXPECT_EQ(first->poll(arrivals, 64), 0U);
  first->release(1);
  EXPECT_FALSE(first->has_arrivals_from(job_.sender()));
  EXPECT_FALSE(first->holds_unread());
  std::array<std::byte, 16> bytes{};
  const net::memory_piece piece = net::piece_of(bytes.data(), 1);
  EXPECT_EQ(first->read_remote(job_.sender(), {&piece, 1}, {&piece, 1}), net::copy_result::unavailable);
  EXPECT_EQ(first->write_remote(job_.sender(), {&piece, 1}, {&piece, 1}), net::copy_result::unavailable);
  EXPECT_FALSE(to.copies(job_.sender()).possible);
  EXPECT_FALSE(to.copies(job_.sender()).description.empty());
  EXPECT_EQ(first->route_to(job_.sender()), nullptr);
  std::array<net::ended_peer, 2> ended;
  EXPECT_EQ(to.find_ended(ended), 0U);
  EXPECT_EQ(to.counted().refused, 0U);
  EXPECT_EQ(job_.to().payloads_out(), 0);
}

}  // namespace
}  // namespace weft::contract
