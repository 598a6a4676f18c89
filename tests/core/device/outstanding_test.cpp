// SPDX-License-Identifier: BSD-3-Clause
// How many signals an object has yet to get: none only once the last one has been given, and its function has returned.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/operation/operation_state.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

const std::vector<std::byte> large(100'000);

// A program that waits for none destroys the handler next.
TEST(outstanding, is_not_zero_while_a_handler_runs) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter inbox{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    std::uint32_t seen = 0;
    completion* signalled = nullptr;
    handler given{rt, [&](completion_record&&) { seen = signalled->outstanding(); }};
    signalled = &given;
    ASSERT_TRUE(test::post_until_taken(dev, 0, {1}, large, given));
    EXPECT_TRUE(test::eventually(dev, [&] { return given.outstanding() == 0; }));
    EXPECT_EQ(seen, 1U);
    EXPECT_TRUE(test::eventually(dev, [&] { return inbox.value() == 1; }));
  });
}

TEST(outstanding, counts_signals_that_wait_for_room) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter inbox{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    bool has_room = false;
    unsigned given = 0;
    handler reluctant{rt, [&](completion_record&&) {
                        given += has_room;
                        return has_room ? completion::answer::taken : completion::answer::full;
                      }};
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(test::post_until_taken(dev, 0, {1}, large, reluctant));
    EXPECT_TRUE(test::eventually(dev, [&] { return inbox.value() == 5; }));
    for (int i = 0; i < 100; ++i) {
      dev.progress();
      EXPECT_EQ(reluctant.outstanding(), 5U);
    }
    has_room = true;
    EXPECT_TRUE(test::eventually(dev, [&] { return reluctant.outstanding() == 0; }));
    EXPECT_EQ(given, 5U);
  });
}

// One thread promises, another one ends, and never the last: so there is always one.
TEST(outstanding, is_never_zero_where_there_is_always_one) {
  test::local_job{1}.run([](runtime& rt) {
    counter object{rt};
    test::flag stop;
    test::tally<unsigned> promised{1};
    core::promise::make(object);
    const auto end_one = [&] {
      core::promise::begin(object);
      core::promise::end(object);
    };
    std::jthread promising{[&] {
      while (!stop.is_raised()) {
        if (promised.value() >= 3) continue;
        core::promise::make(object);
        promised.add();
      }
    }};
    std::jthread ending{[&] {
      while (!stop.is_raised()) {
        if (promised.value() < 2) continue;
        promised.subtract();
        end_one();
      }
    }};
    unsigned none = 0;
    for (int i = 0; i < 300'000; ++i) none += object.outstanding() == 0;
    stop.raise();
    promising.join();
    ending.join();
    EXPECT_EQ(none, 0U);
    while (object.outstanding() != 0) end_one();
  });
}

// Seen and destroyed at once, by another thread than the one that gives the signal.
TEST(outstanding, lets_an_object_go_that_has_been_seen_to_be_signalled) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter inbox{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    test::flag stop;
    std::jthread polling{[&] {
      while (!stop.is_raised()) dev.progress();
    }};
    for (int i = 0; i < 300; ++i) {
      const auto sent = std::make_unique<counter>(rt);
      const bool posted = test::post_until_taken(dev, 0, {1}, large, *sent);
      if (posted && !test::eventually([&] { return sent->value() == 1; })) std::abort();
    }
    EXPECT_TRUE(test::eventually([&] { return inbox.value() == 300; }));
    stop.raise();
  });
}

}  // namespace
}  // namespace weft
