// SPDX-License-Identifier: BSD-3-Clause
// Memory of a rank that has ended: every put, get and atomic to it is refused, also where its memory is still mapped
// here. The rank is declared ended, and is still there. (tests/process/ended_ranks.cpp has ranks that end.)
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/runtime_state.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace ended_memory_parts {
namespace {

constexpr std::size_t region_bytes = std::size_t{4} << 20;  // more than a call of progress copies

struct regions {
  remote_region allocated;  // by Weft: mapped by rank 0
  remote_region own;        // memory of rank 1's program
};

struct rank_parts {
  explicit rank_parts(runtime& of) : rt{of} {}
  runtime& rt;
  device& dev{rt.default_device()};
  completion_queue inbox{rt}, over{rt};
  counter sent{rt};
  registration arrivals{rt.register_completion(inbox, {.id = 1})};

  void declare_ended(std::uint32_t rank, bool in_order) {
    test::local_job::state_of(rt).peer_ends().note({.rank = rank, .in_order = in_order});
  }
};

// Runs `at_first` at rank 0, with the regions of rank 1, which makes progress meanwhile.
void beside_regions(const std::function<void(rank_parts&, const regions&)>& at_first) {
  test::flag is_over;
  test::tally<> left;
  test::local_job{2}.run([&](runtime& rt) {
    std::optional<memory_region> allocated, own;
    std::vector<std::byte> memory(region_bytes);
    rank_parts mine{rt};
    if (rt.rank() == 1) {
      allocated.emplace(rt, region_bytes);
      own.emplace(rt, memory);
      for (const memory_region* each : {&*allocated, &*own}) {
        const remote_region handle = each->handle();
        static_cast<void>(test::post_until_taken(mine.dev, 0, {1}, {&handle, sizeof handle}, mine.sent,
                                                 {.tag = each == &*own ? 1U : 0U}));
      }
      EXPECT_TRUE(test::eventually(mine.dev, [&] { return is_over.is_raised(); }));
      mine.declare_ended(0, false);  // what rank 1 has begun with rank 0 has to end, too
    } else {
      regions theirs;
      for (int i = 0; i < 2; ++i) {
        std::optional<completion_record> got;
        ASSERT_TRUE(test::eventually(mine.dev, [&] { return (got = mine.inbox.pop()).has_value(); }));
        std::memcpy(got->tag() == 1 ? &theirs.own : &theirs.allocated, got->data().data(), sizeof(remote_region));
      }
      at_first(mine, theirs);
      is_over.raise();
    }
    bool is_done = false;
    EXPECT_TRUE(test::eventually(mine.dev, [&] {
      while (mine.inbox.pop()) continue;
      if (!is_done && mine.dev.counters().backlog.operations == 0 && mine.over.outstanding() == 0) left.add(1);
      is_done = is_done || (mine.dev.counters().backlog.operations == 0 && mine.over.outstanding() == 0);
      return left.value() == 2;
    }));
  });
}

void expect_refusal(const std::string& call, const std::function<void()>& post) {
  try {
    post();
    ADD_FAILURE() << call << ": was not refused";
  } catch (const error& reason) {
    EXPECT_EQ(reason.code(), errc::peer_failed) << call << ": " << reason.what();
    EXPECT_NE(std::string{reason.what()}.find("rank 1 "), std::string::npos) << reason.what();
  }
}

task<> put_in(run_loop& loop, remote_buffer to, std::uint64_t& word) {
  static_cast<void>(co_await loop.post_put(1, {&word, sizeof word}, to));
}

void expect_transfers_refused(rank_parts& mine, const std::string& name, const remote_region& region) {
  device& dev = mine.dev;
  completion_queue& over = mine.over;
  std::uint64_t word = 7, old = 0;
  std::uint32_t half = 0;
  std::vector<std::byte> page(2000), large(region_bytes);
  const remote_buffer there{region, 0};
  const const_buffer_ref pieces[] = {{&word, 8}, {page.data(), page.size()}};
  const buffer_ref into[] = {{&word, 8}, {page.data(), page.size()}};
  const auto refuses = [&](const char* call, const auto& post) {
    expect_refusal(name + ": " + call, [&] { static_cast<void>(post()); });
  };
  constexpr completion_level delivered = completion_level::delivered;
  refuses("put of a word", [&] { return dev.post_put(1, {&word, 8}, there, over); });
  refuses("put of a page", [&] { return dev.post_put(1, page, there, over); });
  refuses("put of much", [&] { return dev.post_put(1, large, there, over); });
  refuses("put of nothing", [&] { return dev.post_put(1, {&word, 0}, there, over); });
  refuses("put, delivered", [&] { return dev.post_put(1, {&word, 8}, there, over, {.complete_at = delivered}); });
  refuses("put with signal", [&] { return dev.post_put(1, {&word, 8}, there, over, {.signal = {1}}); });
  refuses("put, signalled", [&] { return dev.post_put(1, {&word, 8}, there, over, {.allow_done = false}); });
  refuses("put, never retry", [&] { return dev.post_put(1, {&word, 8}, there, over, {.allow_retry = false}); });
  refuses("put of a list", [&] { return dev.post_put(1, const_buffer_list{pieces}, there, over); });
  refuses("get of a word", [&] { return dev.post_get(1, {&word, 8}, there, over); });
  refuses("get of a page", [&] { return dev.post_get(1, page, there, over); });
  refuses("get of much", [&] { return dev.post_get(1, large, there, over); });
  refuses("get of nothing", [&] { return dev.post_get(1, {&word, 0}, there, over); });
  refuses("get with signal", [&] { return dev.post_get(1, {&word, 8}, there, over, {.signal = {1}}); });
  refuses("get, signalled", [&] { return dev.post_get(1, {&word, 8}, there, over, {.allow_done = false}); });
  refuses("get, never retry", [&] { return dev.post_get(1, {&word, 8}, there, over, {.allow_retry = false}); });
  refuses("get into a list", [&] { return dev.post_get(1, buffer_list{into}, there, over); });
  for (unsigned op = 0; op <= static_cast<unsigned>(atomic_op::compare_and_swap); ++op) {
    const auto kind = static_cast<atomic_op>(op);
    refuses("atomic", [&] { return dev.post_atomic<std::uint64_t>(1, kind, 1, there, over, {.result = &old}); });
    refuses("atomic of 4 bytes",
            [&] { return dev.post_atomic<std::uint32_t>(1, kind, 1, there, over, {.result = &half}); });
    refuses("atomic, delivered",
            [&] { return dev.post_atomic<std::uint64_t>(1, kind, 1, there, over, {.complete_at = delivered}); });
    refuses("atomic, never retry", [&] {
      return dev.post_atomic<std::uint64_t>(1, kind, 1, there, over, {.allow_done = false, .allow_retry = false});
    });
  }
  blocking_device blocking{dev};
  expect_refusal(name + ": a blocking put", [&] { blocking.put(1, {&word, 8}, there); });
  expect_refusal(name + ": a blocking get", [&] { blocking.get(1, {&word, 8}, there); });
  run_loop loop{dev};
  expect_refusal(name + ": an awaited put", [&] { loop.run(put_in(loop, there, word)); });
  graph steps{dev};
  static_cast<void>(steps.add_post([&](completion& local) { return dev.post_put(1, {&word, 8}, there, local); }));
  steps.start(over);
  std::optional<completion_record> end;
  ASSERT_TRUE(test::eventually(dev, [&] { return (end = over.pop()).has_value(); }));
  EXPECT_EQ(end->error(), errc::peer_failed) << name << ": the node of a graph";
  EXPECT_TRUE(mine.rt.mapped(there, 8).empty()) << name;
  EXPECT_EQ(old, 0U) << name;
  EXPECT_EQ(word, 7U) << name;
  EXPECT_EQ(over.outstanding(), 0U) << name;
}

void find_all_refused(bool in_order) {
  beside_regions([&](rank_parts& mine, const regions& theirs) {
    std::uint64_t word = 5;
    const std::span<std::byte> before = mine.rt.mapped({theirs.allocated, 0}, sizeof word);
    for (const remote_region& each : {theirs.allocated, theirs.own}) {
      static_cast<void>(test::post(mine.dev, [&] { return mine.dev.post_put(1, {&word, 8}, {each, 0}, mine.sent); }));
    }
    mine.dev.flush(1);
    mine.declare_ended(1, in_order);
    expect_transfers_refused(mine, "allocated", theirs.allocated);
    expect_transfers_refused(mine, "own", theirs.own);
    // A pointer that was taken before stays readable.
    if (!before.empty()) {
      EXPECT_EQ(std::memcmp(before.data(), &word, sizeof word), 0);
    }
  });
}

TEST(ended_memory, of_a_rank_that_died_is_refused_by_every_post) { find_all_refused(false); }
TEST(ended_memory, of_a_rank_that_left_is_refused_by_every_post) { find_all_refused(true); }

TEST(ended_memory, ends_a_put_and_a_get_of_it_that_had_begun) {
  beside_regions([](rank_parts& mine, const regions& theirs) {
    // Over a simulated network memory may not be mapped: then messages ask for it, and the rank may answer in time.
    if (mine.rt.mapped({theirs.allocated, 0}, 8).empty()) return;
    std::vector<std::byte> from(region_bytes, std::byte{1}), into(region_bytes);
    device& dev = mine.dev;
    ASSERT_TRUE(dev.post_put(1, from, {theirs.allocated, 0}, mine.over).is_posted());
    ASSERT_TRUE(dev.post_get(1, into, {theirs.allocated, 0}, mine.over).is_posted());
    mine.declare_ended(1, false);
    for (int i = 0; i < 2; ++i) {
      std::optional<completion_record> got;
      ASSERT_TRUE(test::eventually(dev, [&] { return (got = mine.over.pop()).has_value(); }));
      EXPECT_EQ(got->error(), errc::peer_failed) << name_of(got->operation());
      EXPECT_EQ(got->peer(), 1U);
    }
  });
}

}  // namespace
}  // namespace ended_memory_parts
}  // namespace weft
