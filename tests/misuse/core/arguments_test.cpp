// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls are answered with an exception that says what is wrong, and change nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/fixed_pools.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

using testing::HasSubstr;
using weft::errc;
using weft::test::eventually;

// The error that `call` throws; one of code `none` where it throws nothing.
template <class Call>
weft::error error_of(Call call) {
  try {
    call();
  } catch (const weft::error& thrown) {
    return thrown;
  }
  return {errc::none, "nothing was thrown"};
}

#define EXPECT_REFUSED(call, expected_code, words)                                      \
  do {                                                                                  \
    const weft::error thrown = error_of([&] { (void)(call); });                         \
    EXPECT_EQ(weft::name_of(thrown.code()), std::string{weft::name_of(expected_code)}); \
    EXPECT_THAT(thrown.what(), HasSubstr(words));                                       \
  } while (false)

const std::uint64_t word = 7;
const std::span<const std::uint64_t, 1> one_word{&word, 1};

TEST(post, to_a_rank_that_is_not_there_is_refused) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::counter sent{rt};
    weft::device& dev = rt.default_device();
    EXPECT_REFUSED(dev.post_am(2, {1}, one_word, sent), errc::invalid_argument, "no rank 2");
    EXPECT_REFUSED(dev.post_am(0xffff'ffff, {1}, one_word, sent), errc::invalid_argument, "ranks 0 to 1");
    rt.barrier();
  });
}

TEST(post, of_a_packet_twice_or_with_more_bytes_than_it_has_is_refused) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::counter inbox{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    weft::device& dev = rt.default_device();
    std::optional<weft::packet> mine = rt.try_take_packet();
    ASSERT_TRUE(mine.has_value());
    EXPECT_REFUSED(dev.post_am(0, {1}, *mine, mine->memory().size() + 1), errc::invalid_argument, "a packet has");
    EXPECT_REFUSED(dev.post_am(1, {1}, *mine, 1), errc::invalid_argument, "no rank 1");
    EXPECT_TRUE(weft::test::post(dev, [&] { return dev.post_am(0, {1}, *mine, 100); }).is_done());
    EXPECT_REFUSED(dev.post_am(0, {1}, *mine, 100), errc::invalid_state, "posted already");
    EXPECT_TRUE(eventually(dev, [&] { return inbox.value() == 1; }));
  });
}

TEST(post, of_another_runtimes_packet_is_refused) {
  weft::test::local_job{1}.run([](weft::runtime& mine) {
    weft::test::local_job{1}.run([&](weft::runtime& other) {
      std::optional<weft::packet> foreign = other.try_take_packet();
      ASSERT_TRUE(foreign.has_value());
      EXPECT_REFUSED(mine.default_device().post_am(0, {1}, *foreign, 1), errc::invalid_argument, "another runtime");
    });
  });
}

TEST(post, to_an_id_of_the_library_is_refused) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::counter sent{rt};
    weft::device& dev = rt.default_device();
    for (const std::uint32_t id : {weft::remote_completion_ids_max, weft::remote_completion_ids_max + 1, ~0U}) {
      EXPECT_REFUSED(dev.post_am(0, {id}, one_word, sent), errc::invalid_argument, "reserved for the library");
    }
  });
}

TEST(post, of_a_null_buffer_is_refused_unless_it_is_empty) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::counter sent{rt};
    weft::counter inbox{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    weft::device& dev = rt.default_device();
    for (const std::size_t bytes : {1UL, 40UL, 41UL, 100'000UL}) {
      EXPECT_REFUSED(dev.post_am(0, {1}, {nullptr, bytes}, sent), errc::invalid_argument,
                     "a buffer is null but has bytes");
    }
    EXPECT_FALSE(weft::test::post_until_taken(dev, 0, {1}, {nullptr, 0}, sent));
    EXPECT_TRUE(eventually(dev, [&] { return inbox.value() == 1; }));
    EXPECT_EQ(sent.outstanding(), 0U);
  });
}

class post_at_the_bound : public weft::test::fixed_pools {};

TEST_F(post_at_the_bound, without_retry_is_refused_and_all_before_it_go_through) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::counter sent{rt};
    weft::counter inbox{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    weft::device& dev = rt.default_device();
    const std::vector<std::byte> large(rt.attributes().packet_bytes + 1);
    std::uint32_t posted = 0;
    weft::error thrown{errc::none, "nothing was thrown"};
    while (thrown.code() == errc::none && posted <= rt.attributes().operations_max) {
      thrown = error_of([&] {
        EXPECT_TRUE(dev.post_am(0, {1}, large, sent, {.allow_retry = false}).is_posted());
        ++posted;
      });
    }
    EXPECT_EQ(thrown.code(), errc::backlog_full);
    EXPECT_THAT(thrown.what(), HasSubstr("WEFT_OPERATIONS_MAX"));
    EXPECT_EQ(posted, rt.attributes().operations_max);
    EXPECT_EQ(sent.outstanding(), posted);
    EXPECT_TRUE(eventually(dev, [&] { return sent.value() == posted && inbox.value() == posted; }));
    EXPECT_EQ(sent.failed(), 0U);
  });
}

TEST(registration, of_an_id_of_the_library_is_refused) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::counter inbox{rt};
    for (const std::uint32_t id : {weft::remote_completion_ids_max, ~0U}) {
      EXPECT_REFUSED(rt.register_completion(inbox, {.id = id}), errc::invalid_argument, "reserved for the library");
    }
    const auto highest = rt.register_completion(inbox, {.id = weft::remote_completion_ids_max - 1});
    EXPECT_EQ(highest.id(), weft::remote_completion_ids_max - 1);
  });
}

TEST(registration, of_an_id_that_is_in_use_is_refused) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::counter first{rt}, second{rt};
    const auto arrivals = rt.register_completion(first, {.id = 5});
    EXPECT_REFUSED(rt.register_completion(second, {.id = 5}), errc::invalid_argument, "id 5 is in use");
    EXPECT_REFUSED(rt.register_completion(first, {.id = 5}), errc::invalid_argument, "id 5 is in use");
    weft::counter sent{rt};
    EXPECT_FALSE(weft::test::post_until_taken(rt.default_device(), 0, {5}, one_word, sent));
    EXPECT_TRUE(eventually(rt.default_device(), [&] { return first.value() == 1; }));
    EXPECT_EQ(second.value(), 0U);
  });
}

TEST(registration, of_an_id_that_was_withdrawn_is_refused) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::counter inbox{rt};
    { const auto arrivals = rt.register_completion(inbox, {.id = 5}); }
    EXPECT_REFUSED(rt.register_completion(inbox, {.id = 5}), errc::invalid_argument, "id 5 was withdrawn");
  });
}

TEST(registration, of_another_runtimes_completion_object_is_refused) {
  weft::test::local_job{1}.run([](weft::runtime& one) {
    weft::test::local_job{1}.run([&](weft::runtime& other) {
      weft::counter others{other};
      EXPECT_REFUSED(one.register_completion(others, {.id = 1}), errc::invalid_argument, "another runtime");
    });
  });
}

TEST(registration, that_was_refused_leaves_the_object_free_to_go) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::counter stays{rt};
    const auto arrivals = rt.register_completion(stays, {.id = 1});
    weft::counter goes{rt};
    EXPECT_REFUSED(rt.register_completion(goes, {.id = 1}), errc::invalid_argument, "in use");
  });
}

TEST(registration, that_was_moved_is_withdrawn_once) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::counter inbox{rt};
    weft::registration empty;
    {
      auto first = rt.register_completion(inbox, {.id = 1});
      weft::registration second{std::move(first)};
      empty = std::move(second);
      empty = std::move(*&empty);
      EXPECT_EQ(empty.id(), 1U);
    }
    weft::counter sent{rt};
    EXPECT_FALSE(weft::test::post_until_taken(rt.default_device(), 0, {1}, one_word, sent));
    EXPECT_TRUE(eventually(rt.default_device(), [&] { return inbox.value() == 1; }));
    empty = rt.register_completion(inbox, {.id = 2});
    EXPECT_REFUSED(rt.register_completion(inbox, {.id = 1}), errc::invalid_argument, "was withdrawn");
  });
}

TEST(synchronizer, that_expects_nothing_is_refused) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    EXPECT_REFUSED((weft::synchronizer{rt, {.expected = 0}}), errc::invalid_argument, "at least one signal");
  });
}

TEST(synchronizer, that_is_not_ready_gives_no_record_and_is_not_reset) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::synchronizer two{rt, {.expected = 2}};
    EXPECT_REFUSED(two.take(), errc::invalid_state, "ask is_ready() first");
    EXPECT_REFUSED(two.reset(), errc::invalid_state, "ask is_ready() first");
    EXPECT_EQ(two.signal(weft::completion_record{}), weft::completion::answer::taken);
    EXPECT_REFUSED(two.take(0), errc::invalid_state, "ask is_ready() first");
    EXPECT_REFUSED(two.reset(), errc::invalid_state, "ask is_ready() first");
    EXPECT_EQ(two.signal(weft::completion_record{}), weft::completion::answer::taken);
    EXPECT_TRUE(two.is_ready());
    EXPECT_REFUSED(two.take(2), errc::invalid_argument, "no record 2");
    EXPECT_TRUE(two.take(1).has_value());
    EXPECT_FALSE(two.take(1).has_value());
  });
}

TEST(devices, are_not_made_inside_a_hook_of_the_default_device) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    bool asked = false;
    const weft::hook makes = dev.add_hook([&] {
      EXPECT_REFUSED(weft::device{rt}, errc::invalid_state, "inside a handler or hook");
      asked = true;
      return weft::hook_answer::done;
    });
    EXPECT_TRUE(eventually(dev, [&] { return asked; }));
  });
}

TEST(devices, beyond_their_number_are_refused_until_one_goes) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    std::vector<std::unique_ptr<weft::device>> devices;
    while (devices.size() + 1 < rt.attributes().devices_max) devices.push_back(std::make_unique<weft::device>(rt));
    EXPECT_REFUSED(weft::device{rt}, errc::invalid_state, "WEFT_DEVICES_MAX");
    const std::uint32_t index = devices[3]->index();
    devices.erase(devices.begin() + 3);
    const weft::device again{rt};
    EXPECT_EQ(again.index(), index);
    EXPECT_REFUSED(weft::device{rt}, errc::invalid_state, "WEFT_DEVICES_MAX");
  });
}

}  // namespace
