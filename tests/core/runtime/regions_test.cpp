// SPDX-License-Identifier: BSD-3-Clause
// The table of regions, and the memory that it gives.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/runtime/runtime_state.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// Pieces of which one alone fits: if a region that isn't made kept its piece, the last one would find none.
TEST(regions, leave_no_memory_behind_where_the_table_is_full) {
  test::local_job{2}.run([](runtime& rt) {
    const std::size_t most = rt.attributes().shared_bytes / 4 * 3;
    std::array<std::byte, 8> own{};
    std::vector<std::unique_ptr<memory_region>> all;
    for (std::uint32_t i = 0; i < rt.attributes().regions_max; ++i) {
      all.push_back(std::make_unique<memory_region>(rt, std::span{own}));
    }
    for (int i = 0; i < 2; ++i) {
      try {
        const memory_region refused{rt, most};
        ADD_FAILURE() << "a region beyond the last one";
      } catch (const error& full) {
        EXPECT_EQ(full.code(), errc::invalid_state) << full.what();
      }
    }
    all.pop_back();
    const memory_region fits{rt, most};
    EXPECT_EQ(fits.bytes(), most);
    EXPECT_THROW(memory_region(rt, most), error) << "the table is full, and the memory is given";
    all.pop_back();
    // Where ranks share memory, it is bounded.
    if (test::local_job::state_of(rt).memory().regions().common(rt.rank()) != nullptr) {
      try {
        const memory_region refused{rt, most};
        ADD_FAILURE() << "memory that is given already";
      } catch (const error& gone) {
        EXPECT_EQ(gone.code(), errc::out_of_memory) << gone.what();
      }
    }
    const memory_region small{rt, 4096};
    EXPECT_EQ(small.bytes(), 4096U);
    rt.barrier();
  });
}

// A program may have a region for each of its arrays, and make and end them all the time.
TEST(regions, are_as_many_as_a_program_wants_and_use_the_entries_of_ended_ones) {
  test::local_job{1}.run([](runtime& rt) {
    std::array<std::uint64_t, 2> words{};
    const auto memory = std::as_writable_bytes(std::span{words}.first(1));
    const auto index_of = [&](const memory_region& of) { return of.handle().name % rt.attributes().regions_max; };
    const memory_region stays{rt, std::as_writable_bytes(std::span{words}.last(1))};
    std::uint64_t before = 0;
    for (int i = 0; i < 10'000; ++i) {
      const memory_region brief{rt, memory};
      EXPECT_EQ(index_of(brief), index_of(stays) + 1) << "it takes an entry of its own each time";
      EXPECT_NE(brief.handle().name, before) << "a name comes again";
      before = brief.handle().name;
    }
    std::vector<std::unique_ptr<memory_region>> all;
    for (int i = 0; i < 100'000; ++i) all.push_back(std::make_unique<memory_region>(rt, memory));
    device& dev = rt.default_device();
    counter done{rt};
    const std::uint64_t value = 7;
    static_cast<void>(test::post(dev, [&] { return dev.post_put(0, std::span{&value, 1}, all.back()->at(0), done); }));
    EXPECT_TRUE(dev.flush());
    EXPECT_EQ(words[0], value);
    EXPECT_EQ(words[1], 0U);
    EXPECT_TRUE(test::eventually(dev, [&] { return done.outstanding() == 0; }));
  });
}

}  // namespace
}  // namespace weft
