// SPDX-License-Identifier: BSD-3-Clause
// Engines are cheap: ten thousand at a time work, an ordered one without traffic takes 2 KiB and 16 bytes a rank at
// most, and engines that have ended leave no memory behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <vector>

#include "core/matching/engine_state.hpp"
#include "support/random_seed.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// Bytes of this process that are in memory now.
std::size_t resident_bytes() {
  std::ifstream file{"/proc/self/statm"};
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  EXPECT_TRUE(file.good());
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

constexpr std::size_t engine_bytes_max = 2048;
constexpr std::size_t rank_bytes_max = 16;
constexpr std::size_t margin_bytes = std::size_t{1} << 20;  // for what the allocator and the test keep

// A sanitizer's allocator keeps what was released.
void expect_at_most(std::size_t bytes, std::size_t most) {
  if (test::under_sanitizer) return;
  EXPECT_LE(bytes, most);
}

TEST(engines, of_a_job_with_many_ranks_take_little_memory) {
  constexpr std::size_t count = 500;
  constexpr std::uint32_t ranks = 4096;
  std::vector<std::unique_ptr<core::engine_state>> all(count);
  const std::size_t before = resident_bytes();
  std::uint32_t id = 1;
  for (auto& each : all) {
    each = std::make_unique<core::engine_state>(id++, matching_engine_options{.ordered = true}, ranks);
  }
  expect_at_most(resident_bytes() - before, count * (engine_bytes_max + ranks * rank_bytes_max) + margin_bytes);
}

TEST(engines, work_by_thousands_and_take_little_memory) {
  constexpr std::size_t count = test::under_sanitizer ? 1000 : 10'000;
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter done{rt};
    std::vector<std::uint64_t> words(count);
    std::vector<std::unique_ptr<matching_engine>> all(count);
    // Pages that are touched the first time do not count.
    const auto use = [&](matching_engine& engine, std::size_t i) {
      const std::uint64_t goes = i + 1;
      static_cast<void>(test::post(dev, [&] {
        return dev.post_recv(0, std::span{&words[i], 1}, done, {.engine = engine.id()});
      }));
      static_cast<void>(test::post(dev, [&] {
        return dev.post_send(0, std::span{&goes, 1}, done, {.engine = engine.id()});
      }));
      ASSERT_TRUE(test::eventually(dev, [&] { return words[i] == goes; }));
    };
    {
      matching_engine brief{rt, {.ordered = true}};
      use(brief, 0);
    }
    const std::size_t before = resident_bytes();
    for (auto& each : all) each = std::make_unique<matching_engine>(rt, matching_engine_options{.ordered = true});
    expect_at_most(resident_bytes() - before, count * (engine_bytes_max + rank_bytes_max) + margin_bytes);
    for (std::size_t i = 0; i < count; ++i) use(*all[i], i);
    expect_at_most(resident_bytes() - before, count * (engine_bytes_max + rank_bytes_max) + 2 * margin_bytes);
    while (done.outstanding() != 0) dev.progress();
  });
}

TEST(engines, that_have_ended_leave_memory_as_it_was) {
  constexpr std::uint32_t count = test::under_sanitizer ? 2000 : 100'000;
  test::local_job{1}.run([](runtime& rt) {
    std::size_t before = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i == count / 100) before = resident_bytes();
      const matching_engine brief{rt, {.ordered = i % 3 == 0, .receiver_first = i % 3 == 1}};
    }
    expect_at_most(resident_bytes(), before + margin_bytes);
  });
}

// A receive wants one of three messages. The others are dropped: their sender gets its buffers back.
TEST(engines, drop_messages_that_no_receive_has_matched) {
  for (const bool is_ordered : {true, false}) {
    test::local_job{2}.run([&](runtime& rt) {
      constexpr std::size_t words = 100'000;
      device& dev = rt.default_device();
      matching_engine engine{rt, {.id = 5, .ordered = is_ordered}};
      EXPECT_EQ(engine.drop_messages(), 0U);
      std::vector<std::uint64_t> numbers(words, rt.rank());
      counter done{rt};
      rt.barrier();
      if (rt.rank() == 1) {
        for (const std::uint64_t tag : {1, 2, 3}) {
          const std::span<std::uint64_t> part{numbers.data(), tag == 3 ? 1 : words};
          dev.until_accepted([&] {
            return dev.post_send(
                0, part, done,
                {.tag = tag, .engine = engine, .complete_at = completion_level::delivered, .allow_done = false});
          });
        }
        dev.wait(done, 3);
        EXPECT_EQ(done.failed(), 0U);
      } else {
        dev.until_accepted([&] { return dev.post_recv(1, numbers, done, {.tag = 2, .engine = engine}); });
        std::size_t dropped = 0;
        EXPECT_TRUE(test::eventually(dev, [&] {
          dropped += engine.drop_messages();
          return dropped == 2;
        }));
        dev.wait(done, 1);
        EXPECT_EQ(numbers.back(), 1U);
        EXPECT_EQ(engine.drop_messages(), 0U);
      }
      rt.barrier();
    });
  }
}

}  // namespace
}  // namespace weft
