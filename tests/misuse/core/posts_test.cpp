// SPDX-License-Identifier: BSD-3-Clause
// Wrong sends, receives, puts, gets and atomics are answered with an exception that says what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

using testing::HasSubstr;
using weft::errc;

template <class Call>
void expect_refused(const Call& call, errc expected, const char* words) {
  try {
    static_cast<void>(call());
    ADD_FAILURE() << "nothing was thrown where '" << words << "' was expected";
  } catch (const weft::error& thrown) {
    EXPECT_STREQ(weft::name_of(thrown.code()), weft::name_of(expected)) << thrown.what();
    EXPECT_THAT(thrown.what(), HasSubstr(words));
  }
}

std::uint64_t word = 7;
const weft::const_buffer_ref out{&word, sizeof word};
const weft::buffer_ref in{&word, sizeof word};

TEST(wrong_post, names_an_engine_object_of_another_runtime) {
  std::array<const weft::matching_engine*, 2> own{}, ordered{};
  weft::test::local_job{2}.run([&](weft::runtime& rt) {
    weft::counter local{rt};
    const weft::matching_engine unordered{rt, {.id = 3}};
    const weft::matching_engine in_order{rt, {.id = 4, .ordered = true}};
    own[rt.rank()] = &unordered;
    ordered[rt.rank()] = &in_order;
    rt.barrier();
    weft::device alone{rt, {.shared = false}};
    const auto wrong = errc::invalid_argument;
    for (weft::device* const dev : {&rt.default_device(), &alone}) {
      for (const auto& engines : {own, ordered}) {
        const weft::matching_engine& theirs = *engines[1 - rt.rank()];
        const char* const words = "belongs to another runtime";
        expect_refused([&] { return dev->post_send(0, out, local, {.engine = theirs}); }, wrong, words);
        expect_refused([&] { return dev->post_send(0, out, local, {.engine = theirs, .allow_retry = false}); }, wrong,
                       words);
        expect_refused([&] { return dev->post_recv(0, in, local, {.engine = theirs}); }, wrong, words);
        expect_refused([&] { return dev->post_recv(0, in, local, {.engine = theirs, .any_tag = true}); }, wrong, words);
        expect_refused([&] { return dev->probe(0, {.engine = theirs}); }, wrong, words);
        const auto in_direction = [&] {
          return dev->post_comm(weft::direction::outgoing, 0, out, local, {.engine = theirs});
        };
        expect_refused(in_direction, wrong, words);
      }
    }
    rt.barrier();
  });
}

TEST(wrong_post, names_a_rank_an_engine_or_memory_that_is_not_there) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::counter local{rt};
    const weft::memory_region region{rt, std::size_t{64}};
    const auto wrong = errc::invalid_argument;
    expect_refused([&] { return dev.post_send(2, out, local); }, wrong, "no rank 2");
    expect_refused([&] { return dev.post_send(weft::any_rank, out, local); }, wrong, "no rank");
    expect_refused([&] { return dev.post_recv(2, in, local); }, wrong, "no rank 2");
    expect_refused([&] { return dev.post_put(2, out, region.at(0), local); }, wrong, "no rank 2");
    expect_refused([&] { return dev.post_get(2, in, region.at(0), local); }, wrong, "no rank 2");
    expect_refused(
        [&] {
          dev.flush(2);
          return 0;
        },
        wrong, "no rank 2");
    expect_refused([&] { return dev.post_send(0, out, local, {.engine = 9}); }, wrong, "no matching engine 9");
    expect_refused([&] { return dev.post_recv(0, in, local, {.engine = 9}); }, wrong, "no matching engine 9");
    expect_refused([&] { return dev.probe(0, {.engine = 9}); }, wrong, "no matching engine 9");
    expect_refused([&] { return dev.peek(0, {.engine = 9}); }, wrong, "has no matching engine 9");
    expect_refused([&] { return dev.peek(2); }, wrong, "peek: there is no rank 2");
    expect_refused([&] { return dev.peek(weft::any_rank); }, wrong, "not ordered");
    expect_refused([&] { return dev.peek(0, {.any_tag = true}); }, wrong, "not ordered");
    expect_refused([&] { return dev.post_recv(weft::any_rank, in, local); }, wrong, "not ordered");
    expect_refused([&] { return dev.post_recv(0, in, local, {.any_tag = true}); }, wrong, "not ordered");
    expect_refused([&] { return dev.post_send(0, {nullptr, 8}, local); }, wrong, "null");
    expect_refused([&] { return dev.post_recv(0, {nullptr, 8}, local); }, wrong, "null");
    for (const std::size_t bytes : {static_cast<std::size_t>(-1), (std::size_t{1} << 62) + 1}) {
      expect_refused([&] { return dev.post_am(0, {1}, {&word, bytes}, local); }, wrong, "negative");
      expect_refused([&] { return dev.post_send(0, {&word, bytes}, local); }, wrong, "negative");
      expect_refused([&] { return dev.post_recv(0, {&word, bytes}, local); }, wrong, "negative");
      expect_refused([&] { return dev.post_put(rt.rank(), {&word, bytes}, region.at(0), local); }, wrong, "negative");
      expect_refused([&] { return dev.post_get(rt.rank(), {&word, bytes}, region.at(0), local); }, wrong, "negative");
      // Whose sum is too large to tell: it must not come out as the 16 bytes of the second one.
      const std::array<weft::const_buffer_ref, 2> wraps{weft::const_buffer_ref{&word, bytes}, {&word, 0 - bytes + 16}};
      expect_refused([&] { return dev.post_am(0, {1}, weft::const_buffer_list{wraps}, local); }, wrong, "negative");
      expect_refused([&] { return dev.post_send(0, weft::const_buffer_list{wraps}, local); }, wrong, "negative");
      const std::array<weft::buffer_ref, 2> wraps_in{weft::buffer_ref{&word, bytes}, {&word, 0 - bytes + 16}};
      expect_refused([&] { return dev.post_recv(0, weft::buffer_list{wraps_in}, local); }, wrong, "negative");
      expect_refused([&] { return dev.post_put(rt.rank(), weft::const_buffer_list{wraps}, region.at(0), local); },
                     wrong, "negative");
      expect_refused([&] { return dev.post_get(rt.rank(), weft::buffer_list{wraps_in}, region.at(0), local); }, wrong,
                     "negative");
    }
    // Lists of more buffers than there may be: no call reads the first one.
    const std::span<const weft::const_buffer_ref> endless{reinterpret_cast<const weft::const_buffer_ref*>(8),
                                                          weft::buffer_list_pieces_max + 1};
    const std::span<const weft::buffer_ref> endless_in{reinterpret_cast<const weft::buffer_ref*>(8),
                                                       weft::buffer_list_pieces_max + 1};
    const char* const long_list = "more than 4294967294 buffers";
    expect_refused([&] { return dev.post_am(0, {1}, weft::const_buffer_list{endless}, local); }, wrong, long_list);
    expect_refused([&] { return dev.post_send(0, weft::const_buffer_list{endless}, local); }, wrong, long_list);
    expect_refused([&] { return dev.post_recv(0, weft::buffer_list{endless_in}, local); }, wrong, long_list);
    expect_refused([&] { return dev.post_put(rt.rank(), weft::const_buffer_list{endless}, region.at(0), local); },
                   wrong, long_list);
    expect_refused([&] { return dev.post_get(rt.rank(), weft::buffer_list{endless_in}, region.at(0), local); }, wrong,
                   long_list);
    const std::array<weft::const_buffer_ref, 2> pieces{out, weft::const_buffer_ref{nullptr, 3}};
    expect_refused([&] { return dev.post_send(0, weft::const_buffer_list{pieces}, local); }, wrong, "null");
    expect_refused([&] { return dev.post_am(0, {1}, weft::const_buffer_list{pieces}, local); }, wrong, "null");
    const std::array<weft::buffer_ref, 2> pieces_in{in, weft::buffer_ref{nullptr, 3}};
    expect_refused([&] { return dev.post_recv(0, weft::buffer_list{pieces_in}, local); }, wrong, "null");
    expect_refused([&] { return dev.post_get(rt.rank(), weft::buffer_list{pieces_in}, region.at(0), local); }, wrong,
                   "null");
    expect_refused([&] { return dev.post_put(rt.rank(), out, region.at(0), local, {.signal = {0xffff'ffff}}); }, wrong,
                   "reserved");
    EXPECT_EQ(dev.cancel(0), weft::cancel_result::too_late);
    EXPECT_EQ(dev.cancel(~std::uint64_t{0}), weft::cancel_result::too_late);
    EXPECT_EQ(local.outstanding(), 0U);
    rt.barrier();
  });
}

// A range beyond a region, and a handle of nothing, of another job, or of a rank that is not there.
TEST(wrong_map, names_no_part_of_a_region) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    const weft::memory_region region{rt, std::size_t{64}};
    const auto refused = errc::region_refused;
    expect_refused([&] { return rt.mapped(region.at(0), 65).size(); }, refused, "beyond the 64 bytes");
    expect_refused([&] { return rt.mapped(region.at(60), 8).size(); }, refused, "beyond the 64 bytes");
    expect_refused([&] { return rt.mapped(region.at(~std::uint64_t{0}), 2).size(); }, refused, "beyond the 64 bytes");
    expect_refused([&] { return rt.mapped(region.at(8), ~std::size_t{0}).size(); }, refused, "beyond the 64 bytes");
    expect_refused([&] { return rt.mapped({}, 0).size(); }, refused, "it is empty");
    weft::remote_buffer wrong = region.at(0);
    ++wrong.region.job;
    expect_refused([&] { return rt.mapped(wrong, 1).size(); }, refused, "not of a region of this job");
    wrong = region.at(0);
    wrong.region.rank = 2;
    expect_refused([&] { return rt.mapped(wrong, 1).size(); }, errc::invalid_argument, "mapped: there is no rank 2");
    // The size of a handle is bytes of a message: this rank knows the region's own.
    wrong = region.at(0);
    wrong.region.bytes = ~std::uint64_t{0};
    expect_refused([&] { return rt.mapped(wrong, 65).size(); }, refused, "does not reach that far");
    for (const std::uint64_t name : {std::uint64_t{1}, region.handle().name + 1, ~std::uint64_t{0}}) {
      wrong = region.at(0);
      wrong.region.name = name;
      expect_refused([&] { return rt.mapped(wrong, 1).size(); }, refused, "has been withdrawn");
    }
    for (const std::uint32_t rank : {2U, weft::any_rank}) {
      expect_refused([&] { return rt.node_of(rank); }, errc::invalid_argument, "node_of: there is no rank");
    }
    rt.barrier();
  });
}

TEST(wrong_map, is_of_a_region_after_its_end) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::counter done{rt};
    std::optional<weft::memory_region> region{std::in_place, rt, std::size_t{64}};
    weft::remote_region theirs;
    static_cast<void>(weft::test::post(dev, [&] {
      return dev.post_recv(1 - rt.rank(), std::span{&theirs, 1}, done, {.tag = 1});
    }));
    const weft::remote_region mine = region->handle();
    static_cast<void>(weft::test::post(dev, [&] {
      return dev.post_send(1 - rt.rank(), std::span{&mine, 1}, done, {.tag = 1});
    }));
    ASSERT_TRUE(weft::test::eventually(dev, [&] { return done.value() >= 1 && done.outstanding() == 0; }));
    rt.barrier();
    const bool was_mapped = !rt.mapped({theirs, 0}, 64).empty();  // a simulated network may deny it
    rt.barrier();
    region.reset();
    rt.barrier();
    expect_refused([&] { return rt.mapped({mine, 0}, 64).size(); }, errc::region_refused, "has been withdrawn");
    if (was_mapped) {
      expect_refused([&] { return rt.mapped({theirs, 0}, 64).size(); }, errc::region_refused, "has been withdrawn");
    }
    const auto flush = [&](const weft::remote_region& of) { return dev.flush({.region = of}); };
    const auto post_flush = [&](const weft::remote_region& of) { return dev.post_flush(done, {.region = of}); };
    expect_refused([&] { return flush(mine); }, errc::region_refused, "flush: the region of rank");
    expect_refused([&] { return post_flush(mine); }, errc::region_refused, "has been withdrawn");
    if (was_mapped) {
      expect_refused([&] { return flush(theirs); }, errc::region_refused, "has been withdrawn");
      expect_refused([&] { return post_flush(theirs); }, errc::region_refused, "has been withdrawn");
    }
    EXPECT_EQ(done.outstanding(), 0U);
    // Its memory is another region's now: the old handle does not name that one.
    const weft::memory_region next{rt, std::size_t{64}};
    expect_refused([&] { return rt.mapped({mine, 0}, 64).size(); }, errc::region_refused, "has been withdrawn");
    rt.barrier();
  });
}

TEST(wrong_flush, names_a_rank_a_scope_a_region_or_an_object_that_is_not_there) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::counter done{rt};
    const weft::memory_region region{rt, std::size_t{64}};
    const auto wrong = errc::invalid_argument;
    const auto scope = static_cast<weft::flush_scope>(2);
    expect_refused([&] { return dev.flush(2, {.timeout = {}}); }, wrong, "no rank 2");
    expect_refused([&] { return dev.post_flush(weft::any_rank, done); }, wrong, "no rank");
    expect_refused([&] { return dev.flush(0, {.scope = scope}); }, wrong, "no flush scope 2");
    expect_refused([&] { return dev.post_flush(done, {.scope = scope}); }, wrong, "no flush scope 2");
    expect_refused([&] { return dev.flush(1 - rt.rank(), {.region = region.handle()}); }, errc::region_refused,
                   "the region belongs to rank");
    expect_refused([&] { return dev.flush({.region = weft::remote_region{}}); }, errc::region_refused, "it is empty");
    weft::remote_region foreign = region.handle();
    ++foreign.job;
    expect_refused([&] { return dev.post_flush(done, {.region = foreign}); }, errc::region_refused, "of this job");
    foreign = region.handle();
    foreign.rank = weft::any_rank;
    expect_refused([&] { return dev.flush({.region = foreign}); }, wrong, "no rank");
    weft::test::local_job{1}.run([&](weft::runtime& other) {
      weft::counter others{other};
      expect_refused([&] { return dev.post_flush(others, {.allow_done = false}); }, wrong, "post_flush");
      expect_refused([&] { return rt.post_barrier(others); }, wrong, "post_barrier");
    });
    bool has_asked = false;
    const weft::hook asks = dev.add_hook([&] {
      expect_refused([&] { return dev.flush(0, {.timeout = {}}); }, errc::invalid_state, "flush");
      expect_refused([&] { return rt.barrier({.timeout = {}}); }, errc::invalid_state, "barrier");
      EXPECT_TRUE(dev.post_flush(done).is_done());
      has_asked = true;
      return weft::hook_answer::done;
    });
    EXPECT_TRUE(weft::test::eventually(dev, [&] { return has_asked; }));
    EXPECT_EQ(done.outstanding(), 0U);
    rt.barrier();
  });
}

// Silently ignored, one side would wait for ever.
TEST(wrong_post, names_a_policy_that_there_is_not) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::counter local{rt};
    const weft::matching_engine ordered{rt, {.id = 3, .ordered = true}};
    const auto wrong = errc::invalid_argument;
    const auto nine = static_cast<weft::match_policy>(9);
    for (const std::uint32_t engine : {weft::default_matching_engine, ordered.id()}) {
      const auto send = [&] { return dev.post_send(0, out, local, {.engine = engine, .policy = nine}); };
      expect_refused(send, wrong, "no match policy 9");
      const auto receive = [&] { return dev.post_recv(0, in, local, {.engine = engine, .policy = nine}); };
      expect_refused(receive, wrong, "no match policy 9");
      expect_refused([&] { return dev.probe(0, {.engine = engine, .policy = nine}); }, wrong, "no match policy 9");
      expect_refused([&] { return dev.peek(0, {.engine = engine, .policy = nine}); }, wrong, "no match policy 9");
    }
    for (const auto policy : {weft::match_policy::rank_only, weft::match_policy::tag_only, weft::match_policy::none}) {
      const auto send = [&] { return dev.post_send(0, out, local, {.engine = 3, .policy = policy}); };
      expect_refused(send, wrong, "engine 3 is ordered");
      for (const std::uint32_t peer : {0U, weft::any_rank}) {
        const auto receive = [&] {
          return dev.post_recv(peer, in, local, {.engine = 3, .policy = policy, .any_tag = true});
        };
        expect_refused(receive, wrong, "any_rank and .any_tag");
        expect_refused([&] { return dev.probe(peer, {.engine = 3, .policy = policy}); }, wrong, "engine 3 is ordered");
      }
    }
    expect_refused([&] { return dev.post_comm(weft::direction::outgoing, 0, out, local, {.any_tag = true}); }, wrong,
                   "a send has a tag");
    EXPECT_EQ(local.outstanding(), 0U);
  });
}

// A receive has to know whom to tell of its buffer, and a message is nowhere before that.
TEST(wrong_post, leaves_rank_or_tag_open_where_the_receiver_begins) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::counter local{rt};
    const weft::matching_engine engine{rt, {.id = 3, .receiver_first = true}};
    const auto wrong = errc::invalid_argument;
    for (const auto policy : {weft::match_policy::rank_only, weft::match_policy::tag_only, weft::match_policy::none}) {
      expect_refused([&] { return dev.post_send(0, out, local, {.engine = 3, .policy = policy}); }, wrong,
                     "engine 3 is receiver-first");
      expect_refused([&] { return dev.post_recv(0, in, local, {.engine = 3, .policy = policy}); }, wrong,
                     "engine 3 is receiver-first");
    }
    expect_refused([&] { return dev.post_recv(weft::any_rank, in, local, {.engine = 3}); }, wrong,
                   "engine 3 is receiver-first");
    expect_refused([&] { return dev.post_recv(0, in, local, {.engine = 3, .any_tag = true}); }, wrong,
                   "engine 3 is receiver-first");
    expect_refused([&] { return dev.post_recv(7, in, local, {.engine = 3}); }, wrong, "no rank 7");
    expect_refused([&] { return dev.probe(0, {.engine = 3}); }, wrong, "stays with its sender");
    expect_refused([&] { return dev.peek(0, {.engine = 3}); }, wrong, "peek: engine 3 is receiver-first");
    EXPECT_EQ(local.outstanding(), 0U);
  });
}

TEST(wrong_post, of_an_atomic_names_an_operation_that_there_is_not_or_a_word_that_is_not_aligned) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::counter local{rt};
    alignas(8) std::array<std::byte, 32> memory{};
    const weft::memory_region aligned{rt, std::span{memory}};
    const weft::memory_region shifted{rt, std::span{memory}.subspan(4)};
    const auto add = [&](const weft::memory_region& region, auto operand, weft::atomic_op op) {
      return dev.post_atomic<decltype(operand)>(0, op, operand, region.at(0), local);
    };
    for (const unsigned op : {6U, 77U, 255U}) {
      expect_refused([&] { return add(aligned, std::uint64_t{1}, static_cast<weft::atomic_op>(op)); },
                     errc::invalid_argument, "no atomic operation");
    }
    expect_refused([&] { return add(shifted, std::uint64_t{1}, weft::atomic_op::fetch_add); }, errc::region_refused,
                   "not a multiple of 8");
    EXPECT_FALSE(add(shifted, std::uint32_t{1}, weft::atomic_op::fetch_add).is_retry());
    dev.flush();
    EXPECT_EQ(std::to_integer<int>(memory[4]), 1);
    EXPECT_EQ(std::to_integer<int>(memory[0]), 0);
  });
}

TEST(wrong_region, is_of_no_memory) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    const auto open = [&](std::byte* at, std::size_t bytes) {
      const weft::memory_region made{rt, std::span{at, bytes}};
      return made.handle().bytes;
    };
    std::byte one{};
    EXPECT_EQ(open(&one, 1), 1U);
    expect_refused([&] { return open(nullptr, 100); }, errc::invalid_argument, "null but has 100 bytes");
    expect_refused([&] { return open(&one, 0); }, errc::invalid_argument, "empty");
  });
}

TEST(wrong_engine, has_an_id_that_is_reserved_or_was_used_or_a_kind_that_there_is_not) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    const auto wrong = errc::invalid_argument;
    const auto make = [&](const weft::matching_engine_options& options) {
      const weft::matching_engine made{rt, options};
      return made.id();
    };
    EXPECT_EQ(make({.id = 4}), 4U);
    expect_refused([&] { return make({.id = 4}); }, wrong, "never used twice");
    expect_refused([&] { return make({.id = weft::matching_engine_ids_max}); }, wrong, "reserved");
    expect_refused(
        [&] {
          return make({.ordered = true, .make_key = [](std::uint32_t, std::uint64_t tag) noexcept { return tag; }});
        },
        wrong, "ordered");
    expect_refused([&] { return make({.ordered = true, .receiver_first = true}); }, wrong, "receiver-first");
  });
}

// Which of the two runtimes of a process a thing belongs to is checked.
TEST(wrong_runtime, of_a_completion_object_is_refused) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::test::local_job{1}.run([&](weft::runtime& other) {
      weft::device& dev = rt.default_device();
      weft::counter foreign{other}, local{rt};
      const weft::memory_region region{other, std::size_t{64}};
      const auto wrong = errc::invalid_argument;
      const std::vector<std::byte> large(100'000);
      expect_refused([&] { return dev.post_am(0, {1}, large, foreign); }, wrong, "another runtime");
      expect_refused([&] { return dev.post_send(0, out, foreign); }, wrong, "another runtime");
      expect_refused([&] { return dev.post_recv(0, in, foreign); }, wrong, "another runtime");
      static_cast<void>(weft::test::post(dev, [&] { return dev.post_send(0, out, local, {.tag = 3}); }));
      std::optional<weft::matched_message> found;
      ASSERT_TRUE(weft::test::eventually(dev, [&] { return (found = dev.probe(0, {.tag = 3})).has_value(); }));
      expect_refused([&] { return found->receive(in, foreign); }, wrong, "another runtime");
      expect_refused([&] { return found->receive({&word, static_cast<std::size_t>(-1)}, local); }, wrong, "negative");
      const std::array<weft::buffer_ref, 2> wraps{weft::buffer_ref{&word, static_cast<std::size_t>(-1)}, {&word, 9}};
      expect_refused([&] { return found->receive(weft::buffer_list{wraps}, local); }, wrong, "negative");
      EXPECT_EQ(found->tag(), 3U);  // still there
      static_cast<void>(weft::test::post(dev, [&] { return found->receive(in, local); }));
      EXPECT_TRUE(weft::test::eventually(dev, [&] { return local.value() == 1; }));
      expect_refused([&] { return dev.post_put(0, out, region.at(0), foreign); }, wrong, "another runtime");
      expect_refused([&] { return dev.post_get(0, in, region.at(0), foreign); }, wrong, "another runtime");
      expect_refused([&] { return dev.post_put(0, out, region.at(0), local); }, errc::region_refused, "this job");
    });
  });
}

class wrong_end : public testing::Test {
 protected:
  wrong_end() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

std::unique_ptr<weft::runtime> lone_runtime() {
  ::setenv("WEFT_BOOT", "single", 1);
  return std::make_unique<weft::runtime>();
}

TEST_F(wrong_end, of_an_engine_with_receives_posted_in_it_is_fatal) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    weft::counter local{*rt};
    std::optional<weft::matching_engine> engine{std::in_place, *rt};
    static_cast<void>(rt->default_device().post_recv(0, in, local, {.engine = engine->id()}));
    engine.reset();
  };
  EXPECT_DEATH(wrong(), "wrong use: .*receives are posted");
}

TEST_F(wrong_end, of_a_receiver_first_engine_with_posts_that_wait_in_it_is_fatal) {
  const auto wrong = [](bool sends) {
    const auto rt = lone_runtime();
    weft::counter local{*rt};
    std::optional<weft::matching_engine> engine{std::in_place, *rt,
                                                weft::matching_engine_options{.receiver_first = true}};
    if (sends) {
      static_cast<void>(rt->default_device().post_send(0, out, local, {.engine = engine->id()}));
    } else {
      static_cast<void>(rt->default_device().post_recv(0, in, local, {.engine = engine->id()}));
    }
    engine.reset();
  };
  EXPECT_DEATH(wrong(true), "wrong use: .*sends wait in it");
  EXPECT_DEATH(wrong(false), "wrong use: .*receives are posted");
}

TEST_F(wrong_end, of_a_completion_object_before_its_receive_is_fatal) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    std::optional<weft::counter> local{std::in_place, *rt};
    static_cast<void>(rt->default_device().post_recv(0, in, *local));
    local.reset();
  };
  EXPECT_DEATH(wrong(), "wrong use: .*operations that will signal it are under way");
}

TEST_F(wrong_end, of_a_runtime_before_its_regions_and_engines_is_fatal) {
  const auto region_left = [] {
    auto rt = lone_runtime();
    const weft::memory_region region{*rt, std::size_t{64}};
    rt.reset();
  };
  EXPECT_DEATH(region_left(), "wrong use: .*before a memory region");
  const auto engine_left = [] {
    auto rt = lone_runtime();
    const weft::matching_engine engine{*rt};
    rt.reset();
  };
  EXPECT_DEATH(engine_left(), "wrong use: .*before a matching engine");
}

}  // namespace
