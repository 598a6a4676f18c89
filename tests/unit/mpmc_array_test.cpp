#include "weft/detail/mpmc_array.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

using weft::detail::mpmc_array;

TEST(mpmc_array, reads_back_what_was_appended_and_written) {
  mpmc_array<std::uint64_t> array(1);
  EXPECT_EQ(array.size(), 0u);
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(array.append(i * 3), i);
  EXPECT_EQ(array.size(), 1000u);
  for (std::uint64_t i = 0; i < 1000; i += 2) array.write(i, i);
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(array.read(i), i % 2 == 0 ? i : i * 3);
}

TEST(mpmc_array, answers_a_default_for_an_index_that_it_does_not_have) {
  mpmc_array<void*> array(2);
  EXPECT_EQ(array.read(0), nullptr);
  int object = 0;
  array.append(&object);
  EXPECT_EQ(array.read(0), &object);
  EXPECT_EQ(array.read(1), nullptr);
  EXPECT_EQ(array.read(1000), nullptr);
}

TEST(mpmc_array, every_element_below_the_size_is_visible_while_others_append) {
  mpmc_array<std::uint64_t*> array(1);
  constexpr std::size_t per_writer = 2000;
  std::atomic<bool> failed{false};
  std::atomic<int> writers{2};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < per_writer; ++i) array.append(new std::uint64_t{42});
      writers.fetch_sub(1);
    });
  }
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&] {
      while (writers.load() > 0) {
        const std::size_t size = array.size();
        for (std::size_t i = size > 64 ? size - 64 : 0; i < size; ++i) {
          const std::uint64_t* element = array.read(i);
          if (element == nullptr || *element != 42) failed = true;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(failed.load());
  ASSERT_EQ(array.size(), 2 * per_writer);
  for (std::size_t i = 0; i < array.size(); ++i) delete array.read(i);
}

}  // namespace
