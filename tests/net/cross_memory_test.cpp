// SPDX-License-Identifier: BSD-3-Clause
// Copies by the system between lists of pieces: here of a process with itself, which the system copies alike.
#include "net/shm/cross_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "support/random_seed.hpp"

namespace weft::net::shm {
namespace {

// `bytes` bytes of `memory` in up to `pieces` pieces, some of them empty, some right behind the one before.
std::vector<memory_piece> cut(std::vector<std::byte>& memory, std::size_t bytes, std::size_t pieces,
                              std::mt19937_64& random) {
  std::vector<memory_piece> out;
  std::size_t at = 0;
  while (bytes > 0) {
    const bool is_last = out.size() + 1 == pieces;
    const std::size_t next = is_last ? bytes : std::min<std::size_t>(bytes, random() % 3000);
    at += random() % 4 == 0 ? 0 : random() % 1000;
    out.push_back(piece_of(memory.data() + at, next));
    at += next;
    bytes -= next;
  }
  if (random() % 2 == 0) std::ranges::shuffle(out, random);
  return out;
}

std::vector<std::byte> bytes_at(memory_pieces pieces) {
  std::vector<std::byte> out;
  for (const memory_piece& each : pieces) {
    const auto* const from = reinterpret_cast<const std::byte*>(each.address);
    out.insert(out.end(), from, from + each.bytes);
  }
  return out;
}

std::vector<std::byte> random_bytes(std::size_t count, std::mt19937_64& random) {
  std::vector<std::byte> out(count);
  for (std::byte& each : out) each = static_cast<std::byte>(random());
  return out;
}

TEST(cross_memory, copies_lists_of_pieces_and_nothing_between_them) {
  std::mt19937_64 random{test::random_seed()};
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> mine = random_bytes(400'000, random), theirs = random_bytes(400'000, random);
    const std::size_t bytes = 1 + random() % 90'000;
    const auto here = cut(mine, bytes, 1 + random() % copy_pieces_max, random);
    const auto there = cut(theirs, bytes, 1 + random() % copy_pieces_max, random);
    const bool is_read = round % 2 == 0;
    std::vector<std::byte> mine_wanted = mine, theirs_wanted = theirs;
    const auto move = [&](memory_piece of, const std::vector<std::byte>& from, std::vector<std::byte>& wanted) {
      return wanted.data() + (reinterpret_cast<const std::byte*>(of.address) - from.data());
    };
    auto sent = bytes_at(is_read ? there : here);
    const std::byte* next = sent.data();
    for (const memory_piece& each : is_read ? here : there) {
      std::byte* const to = is_read ? move(each, mine, mine_wanted) : move(each, theirs, theirs_wanted);
      std::copy_n(next, each.bytes, to);
      next += each.bytes;
    }
    EXPECT_EQ(is_read ? read_process(::getpid(), here, there) : write_process(::getpid(), here, there),
              copy_result::done);
    EXPECT_EQ(mine, mine_wanted);
    EXPECT_EQ(theirs, theirs_wanted);
  }
}

// Pages that are not there: pieces right before and behind them are copied; a piece in them is an error.
TEST(cross_memory, ends_at_a_page_that_is_not_there) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const memory =
      static_cast<std::byte*>(::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  std::fill_n(memory, 4 * page, std::byte{7});
  ASSERT_EQ(::mprotect(memory + 2 * page, page, PROT_NONE), 0);
  std::array<std::byte, 400> own{};
  const std::array here{piece_of(own.data(), 400)};
  const std::array good{piece_of(memory + page - 200, 100), piece_of(memory + page + 50, 100),
                        piece_of(memory + 2 * page - 100, 100), piece_of(memory + 3 * page, 100)};
  EXPECT_EQ(read_process(::getpid(), here, good), copy_result::done);
  EXPECT_EQ(std::ranges::count(own, std::byte{7}), 400);
  std::array bad = good;
  bad[3].address = reinterpret_cast<std::uint64_t>(memory + 3 * page - 50);
  EXPECT_EQ(read_process(::getpid(), here, bad), copy_result::bad_address);
  EXPECT_EQ(write_process(::getpid(), here, bad), copy_result::bad_address);
  std::array far = good;
  far[1].address = ~std::uint64_t{0} - 20;
  EXPECT_EQ(read_process(::getpid(), here, far), copy_result::bad_address);
  ::munmap(memory, 4 * page);
}

}  // namespace
}  // namespace weft::net::shm
