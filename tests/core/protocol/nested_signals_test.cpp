// SPDX-License-Identifier: BSD-3-Clause
// Posts whose completion is signalled inside the post, by handlers that post the next one: the stack stays bounded.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr long links = test::under_sanitizer ? 2'000 : 15'000;

// A handler that posts again each time that it is signalled, until `count` signals have come. `post` answers whether
// the post was accepted as *posted*; *retry* is answered with `full`, and the signal comes again.
class chain final : public completion {
 public:
  chain(weft::runtime& rt, long count, std::function<status(completion&)> post)
      : completion{rt}, left_{count}, post_{std::move(post)} {}

  void begin(device& dev) {
    while (post_(*this).is_retry()) dev.progress();
  }
  answer signal(completion_record&& record) noexcept override {
    // The stack grows towards lower addresses.
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    lowest_ = std::min(lowest_, here);
    highest_ = std::max(highest_, here);
    EXPECT_EQ(record.error(), errc::none);
    if (left_ > 1) {
      --left_;
      if (post_(*this).is_retry()) {
        ++left_;
        return answer::full;
      }
    } else {
      left_ = 0;
    }
    const completion_record consumed{std::move(record)};
    return answer::taken;
  }
  [[nodiscard]] long left() const noexcept { return left_; }
  [[nodiscard]] std::uintptr_t stack_bytes() const noexcept { return highest_ - lowest_; }

 private:
  long left_;
  std::function<status(completion&)> post_;
  std::uintptr_t lowest_ = ~std::uintptr_t{0}, highest_ = 0;
};

// Within one call of progress, or one post, signals nest some levels deep.
constexpr std::uintptr_t stack_bytes_max = test::under_sanitizer ? 64'000 : 16'000;

void run_chain(device& dev, long count, const std::function<status(completion&)>& post) {
  chain all{dev.runtime(), count, post};
  all.begin(dev);
  EXPECT_TRUE(test::eventually(dev, [&] { return all.left() == 0; }));
  EXPECT_LE(all.stack_bytes(), stack_bytes_max);
}

// On the stack of a thread, and on that of a fiber.
void run_on_both(const std::function<void()>& body) {
  body();
  fiber_scheduler fibers{{.workers = 1, .stack_bytes = test::under_sanitizer ? 1U << 18 : 1U << 16}};
  fibers.spawn([&] { body(); }).join();
}

void send_to_self(runtime& rt, device& dev, long count, std::uint64_t tag, std::uint32_t engine) {
  counter sent{rt};
  std::uint64_t word = 0;
  for (long i = 0; i < count; ++i) {
    while (dev.post_send(rt.rank(), {&word, 8}, sent, {.tag = tag, .engine = engine}).is_retry()) dev.progress();
  }
}

TEST(nested_signals, of_receives_whose_messages_wait_need_no_stack_for_each) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine in_order{rt, {.id = 7, .ordered = true}};
    for (const std::uint32_t engine : {default_matching_engine, 7U}) {
      run_on_both([&] {
        send_to_self(rt, dev, links, 7, engine);
        while (dev.progress()) {
        }
        std::uint64_t word = 0;
        run_chain(dev, links, [&](completion& local) {
          return dev.post_recv(rt.rank(), {&word, 8}, local, {.tag = 7, .engine = engine});
        });
      });
    }
  });
}

TEST(nested_signals, of_probed_messages_need_no_stack_for_each) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    run_on_both([&] {
      send_to_self(rt, dev, links, 7, default_matching_engine);
      while (dev.progress()) {
      }
      std::uint64_t word = 0;
      run_chain(dev, links, [&](completion& local) {
        std::optional<matched_message> found = dev.probe(rt.rank(), {.tag = 7});
        if (!found) return status::retry(shortage::lock);
        return found->receive({&word, 8}, local);
      });
    });
  });
}

TEST(nested_signals, of_posts_that_are_complete_at_once_need_no_stack_for_each) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    memory_region memory{rt, 4096};
    const remote_buffer at{memory.handle(), 0};
    counter arrived{rt};
    const registration here = rt.register_completion(arrived, {.id = 3});
    std::uint64_t word = 5, old = 0;
    const std::vector<std::function<status(completion&)>> posts{
        [&](completion& local) {
          return dev.post_put(0, {&word, 8}, at, local, {.allow_done = false});
        },
        [&](completion& local) {
          return dev.post_get(0, {&word, 8}, at, local, {.allow_done = false});
        },
        [&](completion& local) {
          return dev.post_atomic(0, atomic_op::fetch_add, std::uint64_t{1}, at, local,
                                 {.result = &old, .allow_done = false});
        },
        [&](completion& local) {
          return dev.post_am(0, {3}, {&word, 8}, local, {.allow_done = false});
        }};
    run_on_both([&] {
      for (const auto& post : posts) run_chain(dev, links, post);
    });
  });
}

TEST(nested_signals, of_receiver_first_sends_need_no_stack_for_each) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine engine{rt, {.id = 9, .receiver_first = true}};
    constexpr long count = test::under_sanitizer ? 300 : 2'000;
    run_on_both([&] {
      std::vector<std::uint64_t> words(count);
      counter got{rt};
      for (std::uint64_t& word : words) {
        while (dev.post_recv(rt.rank(), {&word, 8}, got, {.tag = 7, .engine = 9}).is_retry()) dev.progress();
      }
      while (dev.progress()) {
      }
      std::uint64_t word = 1;
      run_chain(dev, count, [&](completion& local) {
        return dev.post_send(rt.rank(), {&word, 8}, local, {.tag = 7, .engine = 9, .allow_done = false});
      });
      EXPECT_TRUE(test::eventually(dev, [&] { return got.value() == static_cast<std::uint64_t>(count); }));
    });
  });
}

// A handler that takes back the next receive each time.
TEST(nested_signals, of_cancelled_receives_need_no_stack_for_each) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    constexpr std::size_t count = 3'000;
    std::vector<std::uint64_t> tickets;
    std::size_t ended = 0;
    std::uintptr_t lowest = ~std::uintptr_t{0}, highest = 0;
    std::uint64_t word = 0;
    handler next{rt, [&](completion_record&& record) {
                   EXPECT_EQ(record.error(), errc::cancelled);
                   const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
                   lowest = std::min(lowest, here);
                   highest = std::max(highest, here);
                   if (++ended < count) {
                     EXPECT_EQ(dev.cancel(tickets[ended]), cancel_result::cancelled);
                   }
                 }};
    for (std::size_t i = 0; i < count; ++i) {
      const status answer = dev.post_recv(rt.rank(), {&word, 8}, next, {.tag = i});
      ASSERT_TRUE(answer.is_posted());
      tickets.push_back(answer.ticket());
    }
    EXPECT_EQ(dev.cancel(tickets[0]), cancel_result::cancelled);
    EXPECT_TRUE(test::eventually(dev, [&] { return ended == count; }));
    EXPECT_LE(highest - lowest, stack_bytes_max);
  });
}

}  // namespace
}  // namespace weft
