// The table of regions, and the memory that it gives.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/runtime/runtime_state.hpp"
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

}  // namespace
}  // namespace weft
