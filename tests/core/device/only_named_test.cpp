// SPDX-License-Identifier: BSD-3-Clause
// Devices at which only messages arrive that name them.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr std::uint32_t count = 20;

// Rank 1 has such a device with the index of the sender's, or as the last of its devices. No thread polls it at first.
TEST(only_named, messages_arrive_there_that_name_the_device_and_no_others) {
  for (const bool has_index_of_sender : {true, false}) {
    test::local_job{2}.run([&](runtime& rt) {
      counter unnamed{rt}, named{rt}, sent{rt};
      const registration first = rt.register_completion(unnamed, {.id = 1});
      const registration second = rt.register_completion(named, {.id = 2});
      std::optional<device> before, own;
      if (rt.rank() == 0 || !has_index_of_sender) before.emplace(rt);
      if (rt.rank() == 1) own.emplace(rt, device_options{.shared = false, .only_named = true});
      if (rt.rank() == 0 && !has_index_of_sender) own.emplace(rt);
      const std::uint32_t index = has_index_of_sender ? 1 : 2;
      if (rt.rank() == 1) {
        EXPECT_EQ(own->index(), index);
      }
      rt.barrier();
      if (rt.rank() == 0) {
        device& from = own ? *own : *before;
        EXPECT_EQ(from.index(), index);
        for (std::uint64_t i = 0; i < count; ++i) {
          from.until_accepted([&] { return from.post_am(1, {1}, {&i, sizeof i}, sent); });
          from.until_accepted([&] { return from.post_am(1, {2}, {&i, sizeof i}, sent, {.device = index}); });
        }
      } else {
        EXPECT_TRUE(test::eventually(rt.default_device(), [&] {
          if (before) before->progress();
          return unnamed.value() == count;
        }));
        EXPECT_EQ(named.value(), 0U);
        EXPECT_TRUE(test::eventually(*own, [&] { return named.value() == count; }));
        EXPECT_EQ(unnamed.value(), count);
      }
      rt.barrier();
    });
  }
}

// The index of one that has gone is an ordinary device's again.
TEST(only_named, a_device_that_takes_the_index_gets_all_messages) {
  test::local_job{2}.run([](runtime& rt) {
    counter arrived{rt}, sent{rt};
    const registration known = rt.register_completion(arrived, {.id = 1});
    if (rt.rank() == 1) {
      const device gone{rt, {.only_named = true}};
    }
    device own{rt};
    EXPECT_EQ(own.index(), 1U);
    rt.barrier();
    const std::uint64_t word = 1;
    own.until_accepted([&] { return own.post_am(1 - rt.rank(), {1}, {&word, sizeof word}, sent); });
    EXPECT_TRUE(test::eventually(own, [&] { return arrived.value() == 1; }));
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
