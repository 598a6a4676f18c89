// SPDX-License-Identifier: BSD-3-Clause
// The handler: a function with state, that may keep its record, and may say that it has no room.
#include "weft/handler.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>

#include "support/records.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"

namespace weft {
namespace {

TEST(handler, gets_each_record_and_gives_its_payload_back_afterwards) {
  test::local_job{1}.run([](runtime& rt) {
    test::counting_owner owner;
    std::array<std::byte, 60> bytes{};
    std::uint64_t tags = 0;
    handler sum{rt, [&, state = std::make_unique<int>(5)](completion_record&& got) {
                  EXPECT_EQ(owner.released, tags / 10);
                  tags += got.tag() * static_cast<unsigned>(*state);
                }};
    EXPECT_EQ(sum.signal(test::owned_record(owner, bytes, 2)), completion::answer::taken);
    EXPECT_EQ(sum.signal(test::owned_record(owner, bytes, 2)), completion::answer::taken);
    EXPECT_EQ(tags, 20U);
    EXPECT_EQ(owner.released, 2U);
  });
}

TEST(handler, may_keep_the_record) {
  test::local_job{1}.run([](runtime& rt) {
    test::counting_owner owner;
    std::array<std::byte, 60> bytes{};
    std::optional<completion_record> kept;
    handler keeping{rt, [&](completion_record&& got) { kept = std::move(got); }};
    EXPECT_EQ(keeping.signal(test::owned_record(owner, bytes, 2)), completion::answer::taken);
    EXPECT_EQ(owner.released, 0U);
    EXPECT_EQ(kept->data().data(), bytes.data());
    kept.reset();
    EXPECT_EQ(owner.released, 1U);
  });
}

TEST(handler, that_has_no_room_gets_the_same_message_again) {
  test::local_job{1}.run([](runtime& rt) {
    for (const std::size_t size : {8UL, 5000UL, 100'000UL}) {
      unsigned refused = 0, taken = 0;
      handler reluctant{rt, [&](completion_record&& got) {
                          EXPECT_EQ(got.bytes(), size);
                          EXPECT_EQ(got.data()[size - 1], std::byte{9});
                          if (refused < 3) {
                            ++refused;
                            return completion::answer::full;
                          }
                          const completion_record consumed{std::move(got)};
                          ++taken;
                          return completion::answer::taken;
                        }};
      counter sent{rt};
      const auto arrivals = rt.register_completion(reluctant, {.id = static_cast<std::uint32_t>(size)});
      const std::vector<std::byte> payload(size, std::byte{9});
      const bool posted = test::post_until_taken(rt.default_device(), 0, {arrivals.id()}, payload, sent);
      EXPECT_TRUE(
          test::eventually(rt.default_device(), [&] { return taken == 1 && sent.value() == (posted ? 1U : 0U); }));
      EXPECT_EQ(refused, 3U);
      for (int i = 0; i < 100; ++i) rt.default_device().progress();
      EXPECT_EQ(taken, 1U);
    }
  });
}

TEST(handler, may_make_progress_which_does_nothing_on_the_device_that_delivers) {
  test::local_job{1}.run([](runtime& rt) {
    unsigned calls = 0;
    handler polling{rt, [&](completion_record&&) {
                      ++calls;
                      EXPECT_FALSE(rt.default_device().progress());
                    }};
    counter sent{rt};
    const auto arrivals = rt.register_completion(polling, {.id = 1});
    for (int i = 0; i < 3; ++i) static_cast<void>(test::post_until_taken(rt.default_device(), 0, {1}, {}, sent));
    EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return calls == 3; }));
  });
}

// A completion object of the program's own asks for the device that signals it.
class asking final : public completion {
 public:
  explicit asking(weft::runtime& owner) : completion{owner} {}
  answer signal(completion_record&& record) noexcept override {
    const completion_record consumed{std::move(record)};
    last = &signalling_device();
    return answer::taken;
  }
  device* last = nullptr;
};

TEST(handler, learns_the_device_that_runs_it) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    device other{rt, {.shared = false}};
    device* last = nullptr;
    asking own{rt};
    handler learning{
        rt, [&](completion_record&&, device& by) {
          last = &by;
          // A post inside, on the other device, that is complete at once: a signal inside the signal.
          device& beside = &by == &dev ? other : dev;
          memory_region memory{rt, 8};
          const std::uint64_t word = 1;
          const status posted = beside.post_put(0, {&word, 8}, {memory.handle(), 0}, own, {.allow_done = false});
          if (posted.is_posted() && own.outstanding() == 0) {
            EXPECT_EQ(own.last, &beside);
          }
          EXPECT_EQ(last, &by);
        }};
    const auto arrivals = rt.register_completion(own, {.id = 1});
    counter sent{rt};
    for (device* to : {&dev, &other, &dev}) {
      own.last = nullptr;
      static_cast<void>(test::post_until_taken(*to, 0, {1}, {}, sent, {.device = to->index()}));
      EXPECT_TRUE(test::eventually(*to, [&] { return own.last != nullptr; }));
      EXPECT_EQ(own.last, to);
    }
    own.last = nullptr;
    EXPECT_EQ(own.signal(completion_record{}), completion::answer::taken);  // outside of callbacks
    EXPECT_EQ(own.last, &dev);
    std::uint64_t word = 0, got = 0;
    for (device* to : {&dev, &other}) {  // a signal inside a post
      static_cast<void>(test::post(dev, [&] { return to->post_send(0, {&word, 8}, sent); }));
      while (dev.progress() || other.progress()) {
      }
      static_cast<void>(test::post(*to, [&] { return to->post_recv(0, {&got, 8}, learning); }));
      EXPECT_TRUE(test::eventually(*to, [&] {
        dev.progress();
        return last == to;
      }));
      EXPECT_TRUE(test::eventually(dev, [&] {
        other.progress();
        return own.outstanding() == 0 && learning.outstanding() == 0;
      }));
      last = nullptr;
    }
    hook look = other.add_hook([&] {
      static_cast<void>(own.signal(completion_record{}));
      return hook_answer::done;
    });
    EXPECT_TRUE(test::eventually([&] { return (other.progress(), own.last == &other); }));
  });
}

TEST(handler, that_learns_its_device_may_say_full) {
  test::local_job{1}.run([](runtime& rt) {
    unsigned calls = 0;
    handler reluctant{rt, [&](completion_record&& record, device& by) {
                        EXPECT_EQ(&by, &rt.default_device());
                        if (++calls < 4) return completion::answer::full;
                        const completion_record consumed{std::move(record)};
                        return completion::answer::taken;
                      }};
    const auto arrivals = rt.register_completion(reluctant, {.id = 1});
    counter sent{rt};
    static_cast<void>(test::post_until_taken(rt.default_device(), 0, {1}, {}, sent));
    EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return calls == 4; }));
  });
}

TEST(handler, takes_a_function_of_a_plain_reference) {
  test::local_job{1}.run([](runtime& rt) {
    std::uint64_t tags = 0;
    handler short_one{rt, [&](completion_record& record) { tags += record.tag(); }};
    handler with_device{rt, [&](completion_record& record, device& by) { tags += record.tag() + by.index(); }};
    const registration first = rt.register_completion(short_one, {.id = 1});
    const registration second = rt.register_completion(with_device, {.id = 2});
    device& dev = rt.default_device();
    counter sent{rt};
    dev.until_accepted([&] { return dev.post_am(0, {1}, {}, sent, {.tag = 5}); });
    dev.until_accepted([&] { return dev.post_am(0, {2}, {}, sent, {.tag = 7}); });
    EXPECT_TRUE(test::eventually(dev, [&] { return tags == 12; }));
  });
}

}  // namespace
}  // namespace weft
