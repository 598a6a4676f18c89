// SPDX-License-Identifier: BSD-3-Clause
// A long message that both ranks copy: a sender that has begun to help, and makes no progress any more, holds nobody
// up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

TEST(shared_copy, is_completed_by_the_receiver_whatever_the_sender_does_meanwhile) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  for (int calls = 0; calls < 6; ++calls) {
    test::flag offered, asked, computes, received;
    test::local_job{2, {.long_messages = long_messages::both}}.run([&](runtime& rt) {
      device& dev = rt.default_device();
      std::vector<std::byte> memory(bytes, std::byte{static_cast<unsigned char>(rt.rank() + 1)});
      counter local{rt};
      rt.barrier();
      if (rt.rank() == 0) {
        static_cast<void>(test::post(dev, [&] { return dev.post_send(1, std::span{memory}, local); }));
        offered.raise();
        EXPECT_TRUE(test::eventually([&] { return asked.is_raised(); }));
        for (int i = 0; i < calls; ++i) dev.progress();
        computes.raise();
        EXPECT_TRUE(test::eventually([&] { return received.is_raised(); }))
            << "after " << calls << " calls of progress";
        EXPECT_TRUE(test::eventually(dev, [&] { return local.value() == 1; }));
      } else {
        EXPECT_TRUE(test::eventually([&] { return offered.is_raised(); }));
        static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, std::span{memory}, local); }));
        for (int i = 0; i < 2; ++i) dev.progress();  // the RTS, and the first pieces
        asked.raise();
        EXPECT_TRUE(test::eventually([&] { return computes.is_raised(); }));
        EXPECT_TRUE(test::eventually(dev, [&] { return local.value() == 1; }));
        EXPECT_EQ(std::ranges::count(memory, std::byte{1}), static_cast<std::ptrdiff_t>(bytes));
        received.raise();
      }
      rt.barrier();
    });
  }
}

}  // namespace
}  // namespace weft
