// SPDX-License-Identifier: BSD-3-Clause
// post_comm: every row of table 1 of yan2025-lci has the effects of its own operation, and no others; the other rows
// are refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

using testing::HasSubstr;
using weft::direction;
using weft::operation;
using weft::test::eventually;
using weft::test::post;

constexpr std::uint32_t notified = 5;
constexpr std::uint64_t tag = 0xfedc'ba98'7654'3210;
constexpr std::size_t offset = 16;

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>((i * 137 + seed * 19 + (i >> 8)) & 0xff);
  return out;
}

// One of two ranks. Rank 0 posts the row, rank 1 is its peer.
class rank {
 public:
  rank(weft::runtime& rt, std::size_t message_bytes)
      : runtime_{rt},
        bytes{message_bytes},
        region{rt, bytes + 2 * offset},
        arrivals_{rt.register_completion(inbox, {.id = notified})} {
    std::ranges::copy(pattern(region.bytes(), 40 + rt.rank()), region.memory().begin());
    learn_region();
  }

  [[nodiscard]] bool posts() const { return runtime_.rank() == 0; }
  [[nodiscard]] weft::device& dev() { return runtime_.default_device(); }
  [[nodiscard]] weft::remote_buffer there() const { return {peer_region_, offset}; }
  // The first content of the peer's buffer.
  [[nodiscard]] std::vector<std::byte> at_the_peer() const {
    const auto all = pattern(region.bytes(), 41);
    return {all.begin() + offset, all.end() - offset};
  }

  [[nodiscard]] weft::completion_record next(weft::completion_queue& from) {
    std::optional<weft::completion_record> got;
    const bool came = eventually(dev(), [&] { return (got = from.pop()).has_value(); });
    EXPECT_TRUE(came) << "a completion did not come";
    return came ? std::move(*got) : weft::completion_record{};  // no exception: the other rank waits for this one
  }

  // Posts the row; it completes here as `what`, with the context that it was given.
  template <class Buffer>
  void post_row(direction toward, Buffer buffer, weft::post_comm_options options, operation expected) {
    options.tag = tag;
    options.context = &bytes;
    options.allow_done = false;
    EXPECT_TRUE(post(dev(), [&] { return dev().post_comm(toward, 1, buffer, local, options); }).is_posted());
    const auto done = next(local);
    EXPECT_EQ(done.operation(), expected);
    EXPECT_EQ(done.error(), weft::errc::none);
    EXPECT_EQ(done.context(), &bytes);
  }

  // The peer's completion object gets a record of the row, as `expected`.
  void expect_notified(operation expected) {
    const auto got = next(inbox);
    EXPECT_EQ(got.operation(), expected);
    EXPECT_EQ(got.source(), 0U);
    EXPECT_EQ(got.tag(), tag);
    EXPECT_EQ(got.bytes(), bytes);
    if (expected == operation::message) {
      EXPECT_TRUE(std::ranges::equal(got.data(), pattern(bytes, 1)));
    }
  }

  // Both ranks: no completion object is signalled beside the expected ones.
  void expect_nothing_else() {
    runtime_.barrier();
    for (int i = 0; i < 100; ++i) dev().progress();
    EXPECT_FALSE(inbox.pop().has_value());
    EXPECT_FALSE(local.pop().has_value());
    runtime_.barrier();
  }

  // The region has its first content, except the bytes that were put.
  void expect_region(bool was_put) {
    auto expected = pattern(region.bytes(), 40 + runtime_.rank());
    if (was_put) std::ranges::copy(pattern(bytes, 1), expected.begin() + offset);
    EXPECT_TRUE(std::ranges::equal(region.memory(), expected));
  }

 private:
  weft::runtime& runtime_;

 public:
  std::size_t bytes;
  weft::memory_region region;
  weft::completion_queue inbox{runtime_}, local{runtime_};

 private:
  // By a message that is the first of all.
  void learn_region() {
    const std::uint32_t peer = 1 - runtime_.rank();
    weft::counter sent{runtime_};
    static_cast<void>(weft::test::post_until_taken(dev(), peer, {notified}, std::span{&region.handle(), 1}, sent));
    const auto told = next(inbox);
    if (told.bytes() == sizeof peer_region_) std::memcpy(&peer_region_, told.data().data(), sizeof peer_region_);
    runtime_.barrier();
  }

  weft::registration arrivals_;
  weft::remote_region peer_region_;
};

// For a size that fits its message, one that takes a packet, and one that takes a rendezvous.
class post_comm : public testing::TestWithParam<std::size_t> {
 protected:
  template <class Body>
  static void with_two_ranks(const Body& body) {
    weft::test::local_job{2}.run([&](weft::runtime& rt) {
      rank mine{rt, GetParam()};
      body(mine);
      mine.expect_nothing_else();
    });
  }
};

INSTANTIATE_TEST_SUITE_P(of, post_comm, testing::Values(8, 4000, 100'000),
                         [](const auto& each) { return std::to_string(each.param) + "_bytes"; });

TEST_P(post_comm, out_without_buffer_and_completion_there_is_a_send) {
  with_two_ranks([](rank& mine) {
    const auto payload = pattern(mine.bytes, 1);
    if (mine.posts()) {
      mine.post_row(direction::outgoing, weft::const_buffer_ref{payload}, {}, operation::send);
    } else {
      std::vector<std::byte> here(mine.bytes);
      static_cast<void>(post(
          mine.dev(), [&] { return mine.dev().post_recv(0, here, mine.local, {.tag = tag, .context = nullptr}); }));
      EXPECT_EQ(mine.next(mine.local).operation(), operation::receive);
      EXPECT_EQ(here, payload);
    }
    mine.expect_region(false);
  });
}

TEST_P(post_comm, out_with_a_completion_there_is_an_active_message) {
  with_two_ranks([](rank& mine) {
    const auto payload = pattern(mine.bytes, 1);
    if (mine.posts()) {
      mine.post_row(direction::outgoing, weft::const_buffer_ref{payload}, {.notify = {notified}},
                    operation::active_message);
    } else {
      mine.expect_notified(operation::message);
    }
    mine.expect_region(false);
  });
}

TEST_P(post_comm, out_with_a_buffer_there_is_a_put) {
  weft::test::local_job{2}.run([&](weft::runtime& rt) {
    rank mine{rt, GetParam()};
    const auto payload = pattern(mine.bytes, 1);
    if (mine.posts()) {
      mine.post_row(direction::outgoing, weft::const_buffer_ref{payload}, {.remote = mine.there()}, operation::put);
      mine.dev().flush(1);
    }
    mine.expect_nothing_else();
    mine.expect_region(!mine.posts());
    rt.barrier();
  });
}

TEST_P(post_comm, out_with_both_is_a_put_with_signal) {
  with_two_ranks([](rank& mine) {
    const auto payload = pattern(mine.bytes, 1);
    if (mine.posts()) {
      mine.post_row(direction::outgoing, weft::const_buffer_ref{payload},
                    {.remote = mine.there(), .notify = {notified}}, operation::put);
    } else {
      mine.expect_notified(operation::put_signal);
    }
    mine.expect_region(!mine.posts());
  });
}

TEST_P(post_comm, in_without_buffer_and_completion_there_is_a_receive) {
  with_two_ranks([](rank& mine) {
    const auto payload = pattern(mine.bytes, 1);
    if (mine.posts()) {
      std::vector<std::byte> here(mine.bytes);
      mine.post_row(direction::incoming, weft::buffer_ref{here}, {}, operation::receive);
      EXPECT_EQ(here, payload);
    } else {
      const auto sent = post(mine.dev(), [&] { return mine.dev().post_send(0, payload, mine.local, {.tag = tag}); });
      if (sent.is_posted()) static_cast<void>(mine.next(mine.local));
    }
    mine.expect_region(false);
  });
}

TEST_P(post_comm, in_with_a_buffer_there_is_a_get) {
  with_two_ranks([](rank& mine) {
    if (mine.posts()) {
      std::vector<std::byte> here(mine.bytes + 1);
      mine.post_row(direction::incoming, weft::buffer_ref{here.data(), mine.bytes}, {.remote = mine.there()},
                    operation::get);
      EXPECT_TRUE(std::ranges::equal(std::span{here}.first(mine.bytes), mine.at_the_peer()));
      EXPECT_EQ(here.back(), std::byte{});
    }
    mine.expect_region(false);
  });
}

TEST_P(post_comm, in_with_both_is_a_get_with_signal) {
  with_two_ranks([](rank& mine) {
    if (mine.posts()) {
      std::vector<std::byte> here(mine.bytes + 1);
      mine.post_row(direction::incoming, weft::buffer_ref{here.data(), mine.bytes},
                    {.remote = mine.there(), .notify = {notified}}, operation::get);
      EXPECT_TRUE(std::ranges::equal(std::span{here}.first(mine.bytes), mine.at_the_peer()));
      EXPECT_EQ(here.back(), std::byte{});
    } else {
      mine.expect_notified(operation::get_signal);
    }
    mine.expect_region(false);
  });
}

// The text of the refusal of `call`, an invalid argument; empty where nothing was refused.
template <class Call>
std::string refusal_of(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const weft::error& problem) {
    EXPECT_EQ(problem.code(), weft::errc::invalid_argument);
    return problem.what();
  }
  return {};
}

TEST(post_comm_refuses, the_row_that_means_nothing_and_memory_that_is_constant) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    rank mine{rt, 8};
    const std::uint64_t constant = 1;
    std::uint64_t word = 0;
    const weft::const_buffer_ref readable{std::span{&constant, 1}};
    const weft::buffer_ref writable{&word, sizeof word};
    const weft::post_comm_options rows[] = {
        {}, {.notify = {notified}}, {.remote = mine.there()}, {.remote = mine.there(), .notify = {notified}}};
    const std::uint32_t peer = 1 - rt.rank();
    for (const auto& row : rows) {
      EXPECT_THAT(
          refusal_of([&] { return mine.dev().post_comm(direction::incoming, peer, readable, mine.local, row); }),
          HasSubstr("post_comm: what comes in needs memory that can be written"));
    }
    EXPECT_THAT(
        refusal_of([&] { return mine.dev().post_comm(direction::incoming, peer, writable, mine.local, rows[1]); }),
        HasSubstr("post_comm: a receive with a remote completion means nothing"));
    mine.expect_nothing_else();
    mine.expect_region(false);
    EXPECT_EQ(word, 0U);
  });
}

// Each option of a send and its receive counts; where one of them did not, one of two would get the other's message.
TEST(post_comm_passes_on, engine_policy_and_any_tag) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::matching_engine keyed{rt}, ordered{rt, {.ordered = true}};
    weft::device& dev = rt.default_device();
    weft::counter done{rt};
    const std::uint32_t peer = 1 - rt.rank();
    const std::uint64_t sent[] = {1, 2, 3, 4};
    std::uint64_t received[4] = {};
    const weft::post_comm_options out[] = {{.tag = 9},
                                           {.tag = 9, .engine = keyed.id()},
                                           {.tag = 9, .policy = weft::match_policy::tag_only},
                                           {.tag = 77, .engine = ordered.id()}};
    const weft::post_comm_options in[] = {{.tag = 9},
                                          {.tag = 9, .engine = keyed.id()},
                                          {.tag = 9, .policy = weft::match_policy::tag_only},
                                          {.engine = ordered.id(), .any_tag = true}};
    std::uint64_t posted = 0;
    for (std::size_t i = 0; i < std::size(in); ++i) {
      posted += post(dev, [&] {
                  return dev.post_comm(direction::incoming, peer, weft::buffer_ref{&received[i], 8}, done, in[i]);
                }).is_posted();
    }
    EXPECT_EQ(posted, std::size(in));
    rt.barrier();
    for (std::size_t i = std::size(out); i-- > 0;) {
      posted += post(dev, [&] {
                  return dev.post_comm(direction::outgoing, peer, weft::const_buffer_ref{std::span{&sent[i], 1}}, done,
                                       out[i]);
                }).is_posted();
    }
    EXPECT_TRUE(eventually(dev, [&] { return done.value() == posted; }));
    EXPECT_TRUE(std::ranges::equal(received, sent));
    rt.barrier();
  });
}

}  // namespace
