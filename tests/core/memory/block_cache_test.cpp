// SPDX-License-Identifier: BSD-3-Clause
// Blocks of memory that are used again.
// stages: release asan tsan
#include "core/memory/block_cache.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace weft::core {
namespace {

TEST(block_cache, a_block_is_used_again_for_its_size_alone) {
  block_cache cache;
  void* const first = cache.try_get(41);
  void* const second = cache.try_get(64);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  cache.put(first, 41);
  cache.put(second, 64);
  void* const longer = cache.try_get(65);
  EXPECT_NE(longer, first);
  EXPECT_NE(longer, second);
  EXPECT_EQ(cache.try_get(1), second);  // the last one is the warmest
  EXPECT_EQ(cache.try_get(0), first);
  cache.put(first, 0);
  cache.put(second, 1);
  cache.put(longer, 65);
}

TEST(block_cache, sizes_of_blocks) {
  EXPECT_EQ(block_cache::block_bytes(0), 64U);
  EXPECT_EQ(block_cache::block_bytes(64), 64U);
  EXPECT_EQ(block_cache::block_bytes(65), 128U);
  EXPECT_EQ(block_cache::block_bytes(8192), 8192U);
  EXPECT_EQ(block_cache::block_bytes(8193), 8256U);
}

// A sanitizer finds blocks that are lost, or released twice.
TEST(block_cache, more_than_it_keeps_and_longer_ones_go_back_to_the_system) {
  block_cache cache;
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (std::size_t i = 0; i < 400; ++i) {
    const std::size_t bytes = i % 2 == 0 ? block_cache::block_bytes_max : block_cache::block_bytes_max + 1 + i;
    blocks.emplace_back(cache.try_get(bytes), bytes);
    std::memset(blocks.back().first, 1, block_cache::block_bytes(bytes));
  }
  for (const auto& [block, bytes] : blocks) cache.put(block, bytes);
}

TEST(block_cache, threads_use_it_together) {
  block_cache cache;
  std::vector<std::jthread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&cache, number] {
      for (std::size_t i = 0; i < 2000; ++i) {
        const std::size_t bytes = 1 + i % 300;
        auto* const block = static_cast<unsigned char*>(cache.try_get(bytes));
        std::memset(block, number, bytes);
        for (std::size_t at = 0; at < bytes; ++at) ASSERT_EQ(block[at], number);
        cache.put(block, bytes);
      }
    });
  }
}

}  // namespace
}  // namespace weft::core
