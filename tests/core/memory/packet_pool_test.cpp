// SPDX-License-Identifier: BSD-3-Clause
// The packet pool: each packet is in one place, and one that is anywhere can be found.
#include "core/memory/packet_pool.hpp"
#include "net/packet_stride.hpp"
#include "support/between_threads.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace weft::core {
namespace {

constexpr std::uint32_t count = 96, packet_bytes = 200;

struct pool_with_memory {
  std::vector<std::byte> memory = std::vector<std::byte>(net::packet_stride(packet_bytes) * count);
  packet_pool pool{memory.data(), count, packet_bytes};
};

std::vector<std::uint32_t> take_all(packet_pool& pool) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t packet; (packet = pool.try_get()) != packet_pool::none;) out.push_back(packet);
  return out;
}

TEST(packet_pool, gives_out_every_packet_once_and_then_none) {
  pool_with_memory fixture;
  const auto taken = take_all(fixture.pool);
  EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), count);
  EXPECT_EQ(taken.size(), count);
  EXPECT_EQ(fixture.pool.try_get(), packet_pool::none);
  fixture.pool.put(taken[5]);
  EXPECT_EQ(fixture.pool.try_get(), taken[5]);
}

TEST(packet_pool, gives_the_warmest_packet_out_first) {
  pool_with_memory fixture;
  const std::uint32_t first = fixture.pool.try_get(), second = fixture.pool.try_get();
  fixture.pool.put(second);
  fixture.pool.put(first);
  EXPECT_EQ(fixture.pool.try_get(), first);
  EXPECT_EQ(fixture.pool.try_get(), second);
}

TEST(packet_pool, keeps_packets_apart_and_takes_them_back_by_their_address) {
  pool_with_memory fixture;
  const auto taken = take_all(fixture.pool);
  for (const std::uint32_t packet : taken)
    std::memset(fixture.pool.data(packet), static_cast<int>(packet), packet_bytes);
  for (const std::uint32_t packet : taken) {
    for (std::uint32_t i = 0; i < packet_bytes; ++i) {
      ASSERT_EQ(fixture.pool.data(packet)[i], static_cast<std::byte>(packet));
    }
    fixture.pool.owner().release(fixture.pool.data(packet), packet_bytes);
  }
  EXPECT_EQ(take_all(fixture.pool).size(), count);
}

// The end of a runtime asserts this, wherever packets are: at the thread's own, in its deque, with no thread.
TEST(packet_pool, knows_of_a_packet_that_is_free_twice) {
  for (const std::size_t others : {0U, 4U, 50U, 95U}) {
    for (const bool is_twice : {false, true}) {
      pool_with_memory fixture;
      const auto taken = take_all(fixture.pool);
      fixture.pool.put(taken.back());
      for (std::size_t i = 0; i < others; ++i) fixture.pool.put(taken[i]);
      if (is_twice) std::thread{[&] { fixture.pool.put(taken.back()); }}.join();
      EXPECT_EQ(fixture.pool.is_consistent(), !is_twice) << others;
    }
  }
}

TEST(packet_pool, finds_packets_that_another_thread_has_put_back) {
  pool_with_memory fixture;
  for (const std::uint32_t packet : take_all(fixture.pool)) {
    std::thread{[&] { fixture.pool.put(packet); }}.join();
  }
  const auto again = take_all(fixture.pool);
  EXPECT_EQ(std::set(again.begin(), again.end()).size(), count);
}

// A thread's cache keeps at most a sixteenth of the packets; the next thread of its slot gets them, so none is lost.
TEST(packet_pool, lets_threads_keep_a_few_at_hand) {
  constexpr std::uint32_t many = 1024;
  std::vector<std::byte> memory(net::packet_stride(packet_bytes) * many);
  packet_pool pool{memory.data(), many, packet_bytes};
  auto taken = take_all(pool);
  EXPECT_EQ(taken.size(), many) << "by one thread, all";
  for (int round = 0; round < 3; ++round) {
    std::set<std::uint32_t> all(taken.begin(), taken.end());
    EXPECT_EQ(all.size(), taken.size());
    std::thread{[&] {
      for (const std::uint32_t packet : taken) pool.put(packet);
    }}.join();
    taken = take_all(pool);
    EXPECT_GE(taken.size(), many - many / 16) << "another thread has put them back";
    all = {taken.begin(), taken.end()};
    std::thread{[&] {  // in its place, and with its cached packets
      const auto left = take_all(pool);
      all.insert(left.begin(), left.end());
      taken.insert(taken.end(), left.begin(), left.end());
    }}
        .join();
    EXPECT_EQ(taken.size(), many);
    EXPECT_EQ(all.size(), many);
  }
}

// Peers that give back lent packets when they are asked.
class lender final : public net::memory_sharing {
 public:
  explicit lender(packet_pool& pool) : pool_{pool} { pool.reclaim_from(*this); }
  [[nodiscard]] std::byte* packet_memory() noexcept override { return nullptr; }
  [[nodiscard]] std::byte* shared_memory(std::uint32_t) noexcept override { return nullptr; }
  [[nodiscard]] std::size_t shared_bytes() const noexcept override { return 0; }
  [[nodiscard]] net::sleep_words& shared_sleep_words() noexcept override { return words_; }
  [[nodiscard]] const base::processor_set& processors_of(std::uint32_t) const noexcept override { return processors_; }
  unsigned reclaim_packets() noexcept override {
    const auto back = static_cast<unsigned>(lent.size());
    for (const std::uint32_t packet : lent) pool_.put(packet);
    lent.clear();
    return back;
  }
  std::vector<std::uint32_t> lent;

 private:
  packet_pool& pool_;
  net::sleep_words words_;
  base::processor_set processors_;
};

// For many bytes that peers read, a thread goes around many packets; for few it takes the one that it had just now.
TEST(packet_pool, gives_out_rested_packets_for_many_bytes) {
  constexpr std::uint32_t many = 1024, bytes = 2048, round = many / 8;
  std::vector<std::byte> memory(net::packet_stride(bytes) * many);
  packet_pool pool{memory.data(), many, bytes};
  lender peers{pool};
  const auto distinct = [&](std::uint64_t of_bytes) {
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < 8 * round; ++i) {
      const std::uint32_t packet = pool.try_get_for(of_bytes);
      EXPECT_NE(packet, packet_pool::none);
      seen.insert(packet);
      peers.lent.push_back(packet);
    }
    return seen.size();
  };
  EXPECT_GE(distinct(bytes), round);
  EXPECT_LE(distinct(bytes), round + 16) << "no more of them than make a round";
  pool.put(pool.try_get());
  const std::uint32_t warm = pool.try_get_for(bytes - 1);
  pool.put(warm);
  EXPECT_EQ(pool.try_get_for(bytes - 1), warm);
  pool.put(warm);
  (void)peers.reclaim_packets();
  EXPECT_EQ(take_all(pool).size(), many) << "all of them are there for whoever needs them";
}

// So neighbours in memory are written one after the other, also after many rounds.
TEST(packet_pool, keeps_the_order_of_rested_packets_from_round_to_round) {
  constexpr std::uint32_t many = 1024, bytes = 8192, round = many / 8, rounds = 10;
  std::vector<std::byte> memory(net::packet_stride(bytes) * many);
  packet_pool pool{memory.data(), many, bytes};
  lender peers{pool};
  std::vector<std::uint32_t> taken;
  for (std::uint32_t i = 0; i < rounds * round; ++i) {
    taken.push_back(pool.try_get_for(bytes));
    ASSERT_NE(taken.back(), packet_pool::none);
    peers.lent.push_back(taken.back());
  }
  for (std::uint32_t i = round; i < taken.size(); ++i) ASSERT_EQ(taken[i], taken[i - round]) << i;
  (void)peers.reclaim_packets();
  EXPECT_EQ(take_all(pool).size(), many);
}

TEST(packet_pool, gives_out_warm_packets_where_no_peer_reads_them) {
  pool_with_memory fixture;
  const std::uint32_t warm = fixture.pool.try_get_for(1 << 20);
  fixture.pool.put(warm);
  EXPECT_EQ(fixture.pool.try_get_for(1 << 20), warm);
}

TEST(packet_pool, gives_no_packet_to_two_threads_at_once) {
  pool_with_memory fixture;
  std::array<test::flag, count> taken;
  test::tally<> short_of;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::uint32_t> mine;
      for (unsigned i = 0; i < 20'000; ++i) {
        if ((i / 37 + t) % 2 == 0) {
          const std::uint32_t packet = fixture.pool.try_get();
          if (packet == packet_pool::none) {
            short_of.add();
          } else {
            ASSERT_TRUE(taken[packet].try_raise());
            mine.push_back(packet);
          }
        } else if (!mine.empty()) {
          ASSERT_TRUE(taken[mine.back()].try_lower());
          fixture.pool.put(mine.back());
          mine.pop_back();
        }
      }
      for (const std::uint32_t packet : mine) {
        EXPECT_TRUE(taken[packet].try_lower());
        fixture.pool.put(packet);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(take_all(fixture.pool).size(), count);
}

}  // namespace
}  // namespace weft::core
