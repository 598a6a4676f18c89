// A child of fork() that ends, or lives on, with copies of all that its parent has: the parent doesn't notice.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "core/runtime/runtime_state.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// Runs `work` in a child, and waits until it has ended.
template <class Work>
void in_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// What follows in a test is what the destructors of a runtime's objects call; a child of a process with threads can't
// run the whole of them.

TEST(child_of_fork, does_not_take_its_parents_devices_away) {
  test::local_job{2}.run([](runtime& rt) {
    completion_queue inbox{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    if (rt.rank() == 1) {
      in_child([&] {
        for (const auto& each : test::local_job::state_of(rt).transports()) each->close(0);
      });
    }
    rt.barrier();
    counter sent{rt};
    const std::uint64_t word = 7;
    static_cast<void>(
        test::post_until_taken(rt.default_device(), 1 - rt.rank(), {1}, const_buffer_ref{&word, sizeof word}, sent));
    EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return inbox.pop().has_value(); }));
    rt.barrier();
  });
}

TEST(child_of_fork, does_not_give_its_parents_packets_back) {
  test::local_job{2}.run([](runtime& rt) {
    completion_queue inbox{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    if (rt.rank() == 1) {
      std::optional<completion_record> got;
      EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return (got = inbox.pop()).has_value(); }));
      in_child([&] { got.reset(); });
      rt.barrier();
      rt.barrier();
    } else {
      counter sent{rt};
      const std::vector<std::byte> bytes(rt.attributes().packet_bytes);
      static_cast<void>(test::post_until_taken(rt.default_device(), 1, {1}, bytes, sent));
      rt.barrier();
      unsigned returned = 0;  // while rank 1 has the message still
      for (const auto& each : test::local_job::state_of(rt).transports()) {
        if (net::memory_sharing* const sharing = each->sharing(); sharing != nullptr) {
          returned += sharing->reclaim_packets();
        }
      }
      EXPECT_EQ(returned, 0U);
      rt.barrier();
    }
  });
}

TEST(child_of_fork, does_not_take_its_parents_regions_away) {
  test::local_job{2}.run([](runtime& rt) {
    if (rt.rank() == 0) {
      core::region_table& regions = test::local_job::state_of(rt).regions();
      const memory_region region{rt, std::size_t{4096}};
      std::ranges::fill(region.memory(), std::byte{7});
      in_child([&] { regions.close(region.handle().name); });
      EXPECT_EQ(regions.locate(0, region.handle().name, 0, 4096).by, regions.locate(0, region.handle().name, 0, 8).by);
      EXPECT_NE(regions.find(region.handle().name, 0, 4096), nullptr);
      EXPECT_TRUE(std::ranges::all_of(region.memory(), [](std::byte each) { return each == std::byte{7}; }));
    }
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
