// SPDX-License-Identifier: BSD-3-Clause
// Awaits of operations from and to every kind of memory.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "support/stored_message.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"
#include "weft/when_all.hpp"

namespace weft {
namespace {

using test::storage;
using test::stored_message;

void expect(const std::optional<std::string>& problem) { EXPECT_EQ(problem, std::nullopt); }

// Of this rank to itself, and through a region of its own.
class awaited_messages {
 public:
  awaited_messages(runtime& rt, std::size_t bytes) : loop_{rt.default_device()}, sent_{rt}, region_{rt, bytes + 1} {}

  // Moves the bytes of `from` into each of the others.
  void run(const stored_message& from, stored_message& received, stored_message& probed, stored_message& got) {
    device& dev = loop_.device();
    const post_send_options options{.tag = 2, .complete_at = completion_level::delivered, .allow_done = false};
    static_cast<void>(test::post(dev, [&] {
      return from.with_source([&](const auto& bytes) { return dev.post_send(0, bytes, sent_, options); });
    }));
    std::optional<matched_message> found;
    ASSERT_TRUE(test::eventually(dev, [&] { return (found = dev.probe(0, {.tag = 2})).has_value(); }));
    loop_.run(receive(*found, probed));
    loop_.run(exchange(from, received));
    loop_.run(put_and_get(from, got));
    EXPECT_TRUE(test::eventually(dev, [&] { return sent_.value() == 1; }));
  }

 private:
  task<> send(const stored_message& from) {
    const completion_record record = from.is_list() ? co_await loop_.post_send(0, from.source())
                                                    : co_await loop_.post_send(0, const_buffer_ref{from.one()});
    EXPECT_EQ(record.error(), errc::none);  // without a buffer, if the post was done at once
  }
  task<> receive(stored_message& into) {
    const completion_record record =
        into.is_list() ? co_await loop_.post_recv(0, into.target()) : co_await loop_.post_recv(0, into.one());
    expect(into.problem_of(record, into.bytes()));
    EXPECT_EQ(record.context(), nullptr);
  }
  task<> receive(matched_message& found, stored_message& into) {
    const completion_record record =
        into.is_list() ? co_await loop_.receive(found, into.target()) : co_await loop_.receive(found, into.one());
    expect(into.problem_of(record, into.bytes()));
    EXPECT_EQ(record.context(), nullptr);
  }
  task<> exchange(const stored_message& from, stored_message& into) {
    static_cast<void>(co_await when_all(receive(into), send(from)));
  }
  task<> put_and_get(const stored_message& from, stored_message& into) {
    const post_put_options options{.complete_at = completion_level::delivered};
    const remote_buffer there = region_.at(0);
    const completion_record put = from.is_list()
                                      ? co_await loop_.post_put(0, from.source(), there, options)
                                      : co_await loop_.post_put(0, const_buffer_ref{from.one()}, there, options);
    EXPECT_EQ(put.error(), errc::none);
    const completion_record get = into.is_list() ? co_await loop_.post_get(0, into.target(), there)
                                                 : co_await loop_.post_get(0, into.one(), there);
    EXPECT_EQ(get.error(), errc::none);
  }

  run_loop loop_;
  counter sent_;
  memory_region region_;
};

TEST(await_kinds_of_memory, arrive_whole) {
  test::local_job{1}.run([](runtime& rt) {
    const std::size_t packet = rt.attributes().packet_bytes;
    std::uint64_t key = 0;
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{40}, std::size_t{41}, packet, 3 * packet}) {
      for (std::size_t i = 0; i < test::storage_count; ++i) {
        test::kinds_of_memory kinds{rt, 4 * (bytes + 4096), {.knows_addresses = i % 2 == 0}};
        const auto at = [&](std::size_t index) {
          return stored_message{kinds, static_cast<storage>(index % test::storage_count), bytes};
        };
        stored_message from = at(i), received = at(i + bytes), probed = at(i + bytes + 1), got = at(i + bytes + 3);
        from.fill(++key);
        awaited_messages{rt, bytes}.run(from, received, probed, got);
        for (const stored_message* each : {&from, &received, &probed, &got}) expect(each->difference(key, bytes));
      }
    }
  });
}

}  // namespace
}  // namespace weft
