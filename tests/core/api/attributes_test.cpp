// SPDX-License-Identifier: BSD-3-Clause
// What objects were made with can be read afterwards.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/config.hpp"
#include "support/records.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

TEST(attributes, of_a_runtime_are_its_settings) {
  test::local_job{2}.run([](runtime& rt) {
    const base::settings& settings = base::process_settings();
    const runtime_attributes& is = rt.attributes();
    EXPECT_EQ(is.packet_count, settings.packet_count);
    EXPECT_EQ(is.packet_bytes, settings.packet_bytes);
    EXPECT_EQ(is.inject_bytes_max, 40U);
    EXPECT_EQ(is.ring_cells, settings.ring_cells);
    EXPECT_EQ(is.operations_max, settings.operations_max.value_or(is.operations_max));
    EXPECT_EQ(is.receives_max, settings.receives_max.value_or(is.receives_max));
    EXPECT_LE(is.devices_max, settings.devices_max);
    EXPECT_GE(is.devices_max, 1U);
    EXPECT_EQ(is.matching_buckets, base::matching_bucket_count(settings));
    EXPECT_EQ(is.queue_capacity, settings.queue_capacity);
    EXPECT_EQ(is.unexpected_sends_max, settings.unexpected_sends_max.value_or(is.unexpected_sends_max));
    EXPECT_EQ(is.state_bytes_max, settings.state_bytes_max.value_or(is.state_bytes_max));
    EXPECT_EQ(is.unexpected_packets_max, settings.unexpected_packets_max);
    EXPECT_EQ(is.foreign_packets_max, settings.foreign_packets_max);
    EXPECT_EQ(is.unexpected_bytes_max, settings.unexpected_bytes_max);
    EXPECT_EQ(is.regions_max, settings.regions_max);
    EXPECT_EQ(is.shared_bytes, settings.shared_bytes);
    EXPECT_EQ(is.progress_policy, settings.policy);
    EXPECT_EQ(rt.default_device().policy(), is.progress_policy);
  });
}

TEST(attributes, of_completion_objects) {
  test::local_job{1}.run([](runtime& rt) {
    const completion_queue usual{rt}, small{rt, {.capacity = 3}}, unbounded{rt, {.capacity = 3, .unbounded = true}};
    EXPECT_EQ(usual.capacity(), rt.attributes().queue_capacity);
    EXPECT_FALSE(usual.is_unbounded());
    EXPECT_EQ(small.capacity(), 3U);
    EXPECT_FALSE(small.is_unbounded());
    EXPECT_EQ(unbounded.capacity(), 0U);
    EXPECT_TRUE(unbounded.is_unbounded());
    const synchronizer three{rt, {.expected = 3}};
    EXPECT_EQ(three.expected(), 3U);
    counter object{rt};
    const registration named = rt.register_completion(object, {.id = 7});
    EXPECT_EQ(named.id(), 7U);
  });
}

// Asked about, a queue gives nothing out and makes no progress.
TEST(completion_queue, says_whether_it_is_empty) {
  test::local_job{1}.run([](runtime& rt) {
    for (const bool unbounded : {false, true}) {
      completion_queue queue{rt, {.unbounded = unbounded}};
      const completion_queue& asked = queue;
      EXPECT_TRUE(asked.is_empty());
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(queue.signal(test::failed_record(errc::none)), completion::answer::taken);
      }
      for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(asked.is_empty());
        EXPECT_TRUE(queue.pop().has_value());
      }
      EXPECT_TRUE(asked.is_empty());
    }
    // Not before progress has delivered it.
    device& dev = rt.default_device();
    completion_queue inbox{rt};
    counter sent{rt};
    const registration mail = rt.register_completion(inbox, {.id = 1});
    static_cast<void>(test::post(dev, [&] { return dev.post_am(0, {1}, const_buffer_ref{}, sent); }));
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(inbox.is_empty());
    EXPECT_TRUE(test::eventually(dev, [&] { return !inbox.is_empty(); }));
    EXPECT_TRUE(inbox.pop().has_value());
  });
}

TEST(attributes, of_engines_regions_and_devices) {
  test::local_job{1}.run([](runtime& rt) {
    const matching_engine unordered{rt, {.id = 5}}, ordered{rt, {.ordered = true}};
    const match_key_function by_tag = [](std::uint32_t, std::uint64_t tag) noexcept { return tag; };
    const matching_engine keyed{rt, {.make_key = by_tag}};
    EXPECT_EQ(unordered.id(), 5U);
    EXPECT_FALSE(unordered.is_ordered());
    EXPECT_EQ(unordered.make_key(), nullptr);
    EXPECT_TRUE(ordered.is_ordered());
    EXPECT_EQ(ordered.make_key(), nullptr);
    EXPECT_FALSE(keyed.is_ordered());
    EXPECT_EQ(keyed.make_key(), by_tag);

    std::array<std::byte, 100> mine{};
    const memory_region opened{rt, mine}, allocated{rt, std::size_t{200}};
    EXPECT_EQ(opened.memory().data(), mine.data());
    EXPECT_EQ(opened.bytes(), 100U);
    EXPECT_EQ(allocated.bytes(), 200U);
    EXPECT_EQ(allocated.handle().bytes, 200U);

    const device own{rt, {.shared = false, .policy = progress_policy::all}};
    EXPECT_FALSE(own.is_shared());
    EXPECT_EQ(own.policy(), progress_policy::all);
    EXPECT_EQ(own.index(), 1U);
    EXPECT_TRUE(rt.default_device().is_shared());
    EXPECT_EQ(rt.default_device().index(), 0U);
  });
}

TEST(attributes, of_a_progress_thread) {
  test::local_job{1}.run([](runtime& rt) {
    device shared{rt};
    const progress_thread polls{shared, {.mode = wait_mode::yield, .spins = 9}};
    EXPECT_EQ(polls.options().mode, wait_mode::yield);
    EXPECT_EQ(polls.options().spins, 9U);
    EXPECT_EQ(&polls.device(), &shared);
  });
}

}  // namespace
}  // namespace weft
