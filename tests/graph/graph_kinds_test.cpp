// SPDX-License-Identifier: BSD-3-Clause
// Nodes of graphs that post from and to every kind of memory.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "support/stored_message.hpp"
#include "support/waiting.hpp"
#include "weft/graph.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::storage;
using test::stored_message;

void expect(const std::optional<std::string>& problem) { EXPECT_EQ(problem, std::nullopt); }

TEST(graph_kinds_of_memory, arrive_whole_in_each_run) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const std::size_t packet = rt.attributes().packet_bytes;
    counter ended{rt};
    std::uint64_t key = 0;
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{40}, std::size_t{41}, packet, 3 * packet}) {
      const memory_region region{rt, bytes + 1};
      for (std::size_t i = 0; i < test::storage_count; ++i) {
        test::kinds_of_memory kinds{rt, 3 * (bytes + 4096), {.knows_addresses = i % 2 == 0}};
        const auto at = [&](std::size_t index) {
          return stored_message{kinds, static_cast<storage>(index % test::storage_count), bytes};
        };
        stored_message from = at(i), received = at(i + bytes), got = at(i + bytes + 3);
        graph all{dev};
        const graph_node receive = all.add_post([&](completion& local) {
          return received.with_target([&](const auto& into) { return dev.post_recv(0, into, local); });
        });
        const graph_node send = all.add_post([&](completion& local) {
          return from.with_source([&](const auto& source) {
            return dev.post_send(0, source, local, {.complete_at = completion_level::delivered, .allow_done = false});
          });
        });
        const graph_node put = all.add_post([&](completion& local) {
          return from.with_source([&](const auto& source) {
            return dev.post_put(0, source, region.at(0), local, {.complete_at = completion_level::delivered});
          });
        });
        const graph_node get = all.add_post([&](completion& local) {
          return got.with_target(
              [&](const auto& into) { return dev.post_get(0, into, region.at(0), local, {.allow_done = false}); });
        });
        all.add_edge(put, get);
        for (int run = 0; run < 2; ++run) {
          from.fill(++key);
          all.start(ended);
          ASSERT_TRUE(test::eventually(dev, [&] { return ended.value() == key; }));
          const auto look = [&](graph_node node, const stored_message& of) {
            const std::optional<completion_record> record = all.take(node);
            ASSERT_TRUE(record.has_value());
            expect(of.problem_of(*record, bytes));
            expect(of.difference(key, bytes));
          };
          look(receive, received);
          look(send, from);
          look(get, got);
        }
      }
    }
  });
}

}  // namespace
}  // namespace weft
