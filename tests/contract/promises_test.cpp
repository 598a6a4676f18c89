// SPDX-License-Identifier: BSD-3-Clause
// Optional parts of a transport that it has according to kinds.hpp: they work, and the transport does not deny them.
#include <algorithm>
#include <random>
#include <vector>

#include "contract/fixture.hpp"
#include "net/memory_piece.hpp"
#include "net/ring/route.hpp"
#include "support/random_seed.hpp"

namespace weft::contract {
namespace {

using net::copy_result;

class promise : public transport_fixture {
 protected:
  static constexpr int tries = 100;

  [[nodiscard]] net::transport& sending() { return job().from().transport; }
  [[nodiscard]] net::transport& receiving() { return job().to().transport; }

  // `copy` made many copies through `by`: all were done, or none; a simulated network denied as many as it has counted.
  template <class Copy>
  void expect_copies(net::transport& by, std::uint32_t peer, const Copy& copy) {
    int done = 0, unavailable = 0;
    for (int i = 0; i < tries; ++i) {
      const copy_result answer = copy();
      done += answer == copy_result::done;
      unavailable += answer == copy_result::unavailable;
    }
    const auto denied = static_cast<int>(by.counted().faults.unavailable);
    EXPECT_EQ(done, promised().copies ? tries - denied : 0);
    EXPECT_EQ(done > 0, promised().copies);
    EXPECT_EQ(unavailable, tries - done);
    EXPECT_EQ(by.copies(peer).possible, promised().copies);
    EXPECT_FALSE(by.copies(peer).description.empty());
  }
};

INSTANTIATE_TEST_SUITE_P(least_sink, promise, testing::ValuesIn(every_transport(seen_sink::least)), name_of);

TEST_P(promise, of_copies_from_the_memory_of_a_peer_is_kept) {
  const auto there = pattern(70'000, 3);
  expect_copies(receiving(), sender(), [&] {
    std::vector<std::byte> here(there.size() + 1);
    const auto answer = in().read_remote(sender(), here.data(), there.data(), there.size());
    if (answer == copy_result::done) {
      EXPECT_TRUE(std::ranges::equal(there, std::span{here}.first(there.size())));
    }
    EXPECT_EQ(here.back(), std::byte{});
    return answer;
  });
}

TEST_P(promise, of_copies_to_the_memory_of_a_peer_is_kept) {
  const auto here = pattern(70'000, 4);
  expect_copies(sending(), target(), [&] {
    std::vector<std::byte> there(here.size() + 1);
    const auto answer = out().write_remote(target(), here.data(), there.data(), here.size());
    if (answer == copy_result::done) {
      EXPECT_TRUE(std::ranges::equal(here, std::span{there}.first(here.size())));
    }
    EXPECT_EQ(there.back(), std::byte{});
    return answer;
  });
}

// Some bytes of `memory` as pieces of random sizes, apart by gaps of all sizes, and in any order. Both sides of a copy
// are cut elsewhere.
std::vector<net::memory_piece> cut(std::span<std::byte> memory, std::size_t bytes, std::mt19937_64& random) {
  std::vector<net::memory_piece> out;
  std::size_t at = 0;
  for (std::size_t left = bytes; left > 0;) {
    const bool is_last = out.size() + 1 == net::copy_pieces_max;
    const std::size_t next = is_last ? left : std::min<std::size_t>(left, random() % 4000);
    at += random() % 3 == 0 ? 0 : random() % 1200;
    out.push_back(net::piece_of(memory.data() + at, next));
    at += next;
    left -= next;
  }
  std::ranges::shuffle(out, random);
  return out;
}

std::vector<std::byte> bytes_at(net::memory_pieces pieces) {
  std::vector<std::byte> out;
  for (const net::memory_piece& each : pieces) {
    const auto* const from = reinterpret_cast<const std::byte*>(each.address);
    out.insert(out.end(), from, from + each.bytes);
  }
  return out;
}

// Whether a byte outside of the pieces differs from `before`.
bool is_touched_between(std::vector<std::byte> memory, const std::vector<std::byte>& before, net::memory_pieces pieces,
                        const std::byte* base) {
  for (const net::memory_piece& each : pieces) {
    const auto at = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(each.address) - base);
    for (std::size_t i = at; i < at + each.bytes; ++i) memory[i] = before[i];
  }
  return memory != before;
}

class promise_of_lists : public promise {
 protected:
  // `copy` copies between lists of pieces, here and there; a read copies to here.
  template <class Copy>
  net::copy_result copy_at_random(bool is_read, const Copy& copy) {
    std::vector<std::byte> here = pattern(400'000, 5), there = pattern(400'000, 6);
    const std::vector<std::byte> here_before = here, there_before = there;
    const std::size_t bytes = 1 + random_() % 60'000;
    const auto own = cut(here, bytes, random_), remote = cut(there, bytes, random_);
    const auto sent = bytes_at(is_read ? remote : own);
    const copy_result answer = copy(own, remote);
    EXPECT_TRUE(answer != copy_result::done || bytes_at(is_read ? own : remote) == sent);
    EXPECT_FALSE(is_touched_between(here, here_before, own, here.data()));
    EXPECT_FALSE(is_touched_between(there, there_before, remote, there.data()));
    return answer;
  }

 private:
  std::mt19937_64 random_{test::random_seed()};
};

INSTANTIATE_TEST_SUITE_P(least_sink, promise_of_lists, testing::ValuesIn(every_transport(seen_sink::least)), name_of);

TEST_P(promise_of_lists, to_copy_them_from_a_peer_is_kept) {
  expect_copies(receiving(), sender(), [&] {
    return copy_at_random(true, [&](net::memory_pieces own, net::memory_pieces remote) {
      return in().read_remote(sender(), own, remote);
    });
  });
}

TEST_P(promise_of_lists, to_copy_them_to_a_peer_is_kept) {
  expect_copies(sending(), target(), [&] {
    return copy_at_random(false, [&](net::memory_pieces own, net::memory_pieces remote) {
      return out().write_remote(target(), own, remote);
    });
  });
}

TEST_P(promise, of_shared_memory_is_kept) {
  net::memory_sharing* const from = sending().sharing();
  net::memory_sharing* const to = receiving().sharing();
  ASSERT_EQ(from != nullptr, promised().maps_peer_memory);
  ASSERT_EQ(to != nullptr, promised().maps_peer_memory);
  if (from == nullptr) return;
  std::byte* const own = from->shared_memory(sender());
  std::byte* const seen = to->shared_memory(sender());
  ASSERT_NE(own, nullptr);
  EXPECT_NE(from->shared_bytes(), 0U);
  EXPECT_EQ(from->shared_bytes(), to->shared_bytes());
  EXPECT_EQ(seen != nullptr, receiving().counted().faults.unmapped == 0);
  if (seen == nullptr) return;
  for (const std::size_t offset : {std::size_t{0}, from->shared_bytes() - 1}) {
    EXPECT_EQ(seen[offset], std::byte{}) << "it begins as zeroes";
    own[offset] = std::byte{7};
    EXPECT_EQ(seen[offset], std::byte{7});
  }
}

TEST_P(promise, of_what_ranks_learn_by_shared_memory_is_kept) {
  net::memory_sharing* const sharing = receiving().sharing();
  if (sharing == nullptr) return;
  EXPECT_EQ(&sharing->shared_sleep_words(), &job().to().sleepers);
  for (const std::uint32_t rank : {sender(), target()}) {
    EXPECT_GT(sharing->processors_of(rank).count(), 0U) << "both are on this machine";
  }
  std::byte* const packets = sharing->packet_memory();
  EXPECT_EQ(packets, job().to().packets.data(0));
  EXPECT_EQ(sharing->reclaim_packets(), 0U) << "none is out";
}

TEST_P(promise, of_a_name_and_of_devices_is_kept) {
  EXPECT_STRNE(sending().name(), "");
  EXPECT_STREQ(sending().name(), receiving().name());
  EXPECT_GE(sending().devices_max(), devices_max);
  EXPECT_EQ(sending().devices_max(), receiving().devices_max());
}

TEST_P(promise, of_a_route_that_small_messages_may_be_pushed_into_is_kept) {
  // The first message finds the way.
  ASSERT_TRUE(posted(1, 8));
  ASSERT_TRUE(arrived(1));
  sink_.messages.clear();
  const net::route* const route = out().route_to(target());
  ASSERT_EQ(route != nullptr, promised().has_routes);
  if (route == nullptr) return;
  net::outgoing* const ring = route->known_ring(net::any_device);
  ASSERT_NE(ring, nullptr);
  for (std::uint64_t tag = 0; tag < 3 * ring_cells; ++tag) {
    const auto payload = pattern(tag % 41, tag);
    ASSERT_EQ(ring->push(true, header_of(tag), payload.data(), static_cast<std::uint32_t>(payload.size())),
              post_result::ok);
    ASSERT_TRUE(arrived(1));
    expect_whole(sink_.messages.front(), tag, payload.size());
    sink_.messages.clear();
  }
}

TEST_P(promise, to_wake_the_thread_that_sleeps_until_a_message_comes_is_kept) {
  ASSERT_EQ(receiving().wakes_sleepers(), promised().wakes_sleepers);
  EXPECT_EQ(sending().wakes_sleepers(), promised().wakes_sleepers);
  net::sleep_word& word = job().to().sleepers[0];
  net::sleep_word& doorbell = job().to().sleepers[net::sleep_word::doorbells_begin];
  for (std::uint64_t tag = 0; tag < 10; ++tag) {
    const std::uint32_t asleep = doorbell.mark();
    word.name(doorbell);
    ASSERT_TRUE(posted(tag, tag % 2 == 0 ? 8 : 200));
    // Immediately, whether a thread polls or not: the only one that polls may be the sleeper.
    if (promised().wakes_sleepers) {
      EXPECT_NE(doorbell.mark(), asleep);
    }
    ASSERT_TRUE(arrived(1));
    sink_.messages.clear();
  }
}

TEST_P(promise, to_reach_peers_is_kept_and_told_alike_on_both_sides) {
  EXPECT_TRUE(sending().reaches(target()));
  EXPECT_TRUE(receiving().reaches(sender()));
  EXPECT_EQ(sending().reaches(sender()), promised().reaches_itself);
  // Of the jobs of these tests every transport reaches all that its ranks reach together.
  EXPECT_TRUE(sending().reaches_all());
  EXPECT_TRUE(receiving().reaches_all());
}

TEST_P(promise, to_count_what_goes_over_a_fabric_is_kept) {
  const net::traffic_counts before = sending().counted().traffic;
  for (const std::size_t bytes : {std::size_t{8}, packet_bytes + std::size_t{0}}) {
    ASSERT_TRUE(posted(1, bytes));
    ASSERT_TRUE(arrived(1));
    sink_.messages.clear();
  }
  const net::traffic_counts after = sending().counted().traffic;
  if (promised().counts_traffic) {
    EXPECT_GE(after.messages, before.messages + 2);
    EXPECT_GE(after.bytes, before.bytes + 8 + packet_bytes);
  } else {
    EXPECT_EQ(after.messages, 0U);
    EXPECT_EQ(after.bytes, 0U);
  }
}

}  // namespace
}  // namespace weft::contract
