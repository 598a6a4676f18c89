// SPDX-License-Identifier: BSD-3-Clause
// Operations that wait for their end, from and to every kind of memory: by fibers of one worker.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "support/stored_message.hpp"
#include "support/waiting.hpp"
#include "weft/blocking_device.hpp"
#include "weft/fiber.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::storage;
using test::stored_message;

void expect(const std::optional<std::string>& problem) { EXPECT_EQ(problem, std::nullopt); }

TEST(blocking_kinds_of_memory, arrive_whole) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    blocking_device io{dev};
    const std::size_t packet = rt.attributes().packet_bytes;
    std::array<device*, 1> served{&dev};
    fiber_scheduler fibers{{.devices = served}};
    std::uint64_t key = 0;
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{40}, std::size_t{41}, packet, 3 * packet}) {
      const memory_region region{rt, bytes + 1};
      for (std::size_t i = 0; i < test::storage_count; ++i) {
        test::kinds_of_memory kinds{rt, 4 * (bytes + 4096), {.knows_addresses = i % 2 == 0}};
        const auto at = [&](std::size_t index) {
          return stored_message{kinds, static_cast<storage>(index % test::storage_count), bytes};
        };
        stored_message from = at(i), received = at(i + bytes), probed = at(i + bytes + 1), got = at(i + bytes + 3);
        from.fill(++key);
        const std::uint64_t tag = 2 * key;
        fiber sender = fibers.spawn([&] {
          from.with_source([&](const auto& source) {
            io.send(0, source, {.tag = tag});
            io.send(0, source, {.tag = tag + 1, .complete_at = completion_level::delivered});
            io.put(0, source, region.at(0), {.complete_at = completion_level::delivered});
          });
          got.with_target([&](const auto& into) { io.get(0, into, region.at(0)); });
        });
        fiber receiver = fibers.spawn([&] {
          received.with_target(
              [&](const auto& into) { expect(received.problem_of(io.recv(0, into, {.tag = tag}), bytes)); });
          EXPECT_EQ(io.peek(0, {.tag = tag + 1}).bytes, bytes);
          matched_message found = io.probe(0, {.tag = tag + 1});
          probed.with_target([&](const auto& into) { expect(probed.problem_of(io.recv(found, into), bytes)); });
        });
        sender.join();
        receiver.join();
        for (const stored_message* each : {&from, &received, &probed, &got}) expect(each->difference(key, bytes));
      }
    }
  });
}

}  // namespace
}  // namespace weft
