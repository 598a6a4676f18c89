// SPDX-License-Identifier: BSD-3-Clause
// Long active messages that there is no memory for: both ends learn of it, or it waits and holds nobody up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/memory_limit.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// Addresses, and no memory behind them.
class promised_bytes {
 public:
  explicit promised_bytes(std::size_t bytes)
      : bytes_{bytes}, at_{mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)} {}
  promised_bytes(const promised_bytes&) = delete;
  promised_bytes& operator=(const promised_bytes&) = delete;
  ~promised_bytes() { munmap(at_, bytes_); }
  [[nodiscard]] bool are_there() const { return at_ != MAP_FAILED; }
  [[nodiscard]] const_buffer_ref all() const { return {at_, bytes_}; }

 private:
  std::size_t bytes_;
  void* at_;
};

TEST(no_memory, for_a_message_that_is_larger_than_all_fails_at_both_ends_and_what_is_behind_it_goes_on) {
  const promised_bytes beyond{static_cast<std::size_t>(base::memory_limit()) + 4096};
  if (!beyond.are_there()) GTEST_SKIP() << "there are no addresses for so many bytes";
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue inbox{rt}, sent{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    if (rt.rank() == 0) {
      const std::uint64_t word = 7;
      const post_am_options delivered{.tag = 3, .complete_at = completion_level::delivered};
      ASSERT_TRUE(test::post_until_taken(dev, 1, {1}, beyond.all(), sent, delivered));
      static_cast<void>(test::post_until_taken(dev, 1, {1}, {&word, sizeof word}, sent));
      std::optional<completion_record> got;
      ASSERT_TRUE(test::eventually(dev, [&] { return (got = sent.pop()).has_value(); }));
      EXPECT_EQ(got->error(), errc::out_of_memory);
    } else {
      bool has_failed = false, has_come = false;
      EXPECT_TRUE(test::eventually(dev, [&] {
        while (const auto got = inbox.pop()) {
          if (got->error() == errc::none) {
            has_come = got->data().size() == 8;
          } else {
            has_failed = got->error() == errc::out_of_memory && got->tag() == 3 && got->data().empty() &&
                         got->message_bytes() == beyond.all().bytes();
          }
        }
        return has_failed && has_come;
      }));
    }
    rt.barrier();
  });
}

// Has nothing until it is told otherwise.
class late_allocator final : public buffer_allocator {
 public:
  void* allocate(std::size_t bytes, std::uint32_t, std::uint64_t) noexcept override {
    asked.add();
    return has_some.is_raised() ? std::malloc(bytes) : nullptr;
  }
  void deallocate(void* memory, std::size_t) noexcept override { std::free(memory); }
  test::tally<unsigned> asked;
  test::flag has_some;
};

TEST(no_memory, of_an_allocator_lets_messages_wait_and_those_behind_them_go_on_and_is_told_once) {
  late_allocator memory;
  testing::internal::CaptureStderr();
  test::local_job{1}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    counter sent{rt};
    completion_queue large{rt}, small{rt};
    const registration of_large = rt.register_completion(large, {.id = 1, .allocator = &memory});
    const registration of_small = rt.register_completion(small, {.id = 2});
    const std::vector<std::byte> bytes(100'000, std::byte{5});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(test::post_until_taken(dev, 0, {1}, bytes, sent));
    const std::uint64_t word = 7;
    static_cast<void>(test::post_until_taken(dev, 0, {2}, {&word, sizeof word}, sent));
    EXPECT_TRUE(test::eventually(dev, [&] { return small.pop().has_value(); })) << "it is held up";
    EXPECT_TRUE(test::eventually(dev, [&] { return memory.asked.value() > 10; })) << "it is not tried again";
    EXPECT_FALSE(large.pop().has_value());
    memory.has_some.raise();
    for (int i = 0; i < 3; ++i) {
      std::optional<completion_record> got;
      ASSERT_TRUE(test::eventually(dev, [&] { return (got = large.pop()).has_value(); }));
      EXPECT_EQ(got->data().size(), bytes.size());
      EXPECT_EQ(got->data().back(), std::byte{5});
    }
    EXPECT_TRUE(test::eventually(dev, [&] { return sent.value() == 3; }));
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::HasSubstr("a message of 100000 bytes from rank 0 for id 1 waits"));
  EXPECT_EQ(said.find("waits"), said.rfind("waits")) << said;
}

// Counts its pieces that have not come back.
class counting_allocator final : public buffer_allocator {
 public:
  void* allocate(std::size_t bytes, std::uint32_t, std::uint64_t) noexcept override {
    most = std::max(most, ++out);
    return std::malloc(bytes);
  }
  void deallocate(void* data, std::size_t) noexcept override {
    --out;
    std::free(data);
  }
  std::uint32_t out = 0, most = 0;
};

// However many a peer may post: memory for the others is taken when those before them are complete. Here no message is
// taken until so many wait, and as many more could have come.
TEST(no_memory, is_taken_for_more_than_a_thousand_long_messages_at_a_time) {
  constexpr std::uint32_t count = 4000;
  const std::vector<std::byte> bytes(20'000, std::byte{7});
  counting_allocator memory;
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    std::uint32_t arrived = 0;
    bool is_open = false;
    handler take{rt, [&](completion_record&& message) {
                   if (!is_open) return completion::answer::full;
                   const completion_record taken{std::move(message)};
                   arrived += taken.bytes() == bytes.size();
                   return completion::answer::taken;
                 }};
    counter sent{rt};
    std::optional<registration> arrivals;
    if (rt.rank() == 1) arrivals = rt.register_completion(take, {.id = 1, .allocator = &memory});
    rt.barrier();
    if (rt.rank() == 0) {
      for (std::uint32_t i = 0; i < count; ++i) {
        EXPECT_FALSE(dev.post_am(1, {1}, bytes, sent, {.allow_retry = false}).is_retry());
      }
    } else {
      EXPECT_TRUE(test::eventually(dev, [&] { return memory.out == 1024; }));
      for (int i = 0; i < 3000; ++i) dev.progress();
      EXPECT_EQ(memory.out, 1024U);
      is_open = true;
    }
    EXPECT_TRUE(test::eventually(dev, [&] { return sent.outstanding() == 0 && (rt.rank() == 0 || arrived == count); }));
    EXPECT_EQ(sent.failed(), 0U);
    rt.barrier();
  });
  EXPECT_LE(memory.most, 1024U);
  EXPECT_EQ(memory.out, 0U);
}

}  // namespace
}  // namespace weft
