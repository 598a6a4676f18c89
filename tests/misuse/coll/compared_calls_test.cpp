// SPDX-License-Identifier: BSD-3-Clause
// With WEFT_CHECK=1, members that call different collectives all end with an error that names two of them and both
// calls; nothing is sent by the steps, and the group can be used further.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "misuse/coll/outcome.hpp"
#include "support/random_seed.hpp"
#include "weft/test/local_job.hpp"

namespace weft {
namespace {

using test::end_of;
using test::outcome;
using test::outcome_of;
using testing::AllOf;
using testing::HasSubstr;
using words = std::vector<std::uint64_t>;

// The usual algorithms, whether or not ranks share cores.
const runtime_options checked{.coll = "barrier:dissemination,broadcast:binomial,allreduce:recursive-doubling",
                              .check = true};

// The buffers of a member, which no refused collective touches.
struct buffers {
  words in = words(12, 3);
  words out = words(12, 4);

  [[nodiscard]] const_buffer_ref given(std::size_t count = 12) const { return {in.data(), count * 8}; }
  [[nodiscard]] buffer_ref wanted(std::size_t count = 12) { return {out.data(), count * 8}; }
};

struct call {
  std::function<collective(buffers&)> make;
  const char* text;  // as the error has it
  std::string_view algorithm = {};
};

// All members end alike, whether they post or wait, and go on with the group.
void expect_both_named(const call& usual, const call& other, std::uint32_t size = 4, std::uint32_t odd = 2) {
  test::local_job{size, checked}.run([&](runtime& rt) {
    group all = rt.world();
    const call& mine = rt.rank() == odd ? other : usual;
    buffers own;
    const outcome end = outcome_of([&] { mine.make(own).run(all, {.algorithm = mine.algorithm}); });
    EXPECT_EQ(end.code, errc::invalid_argument);
    EXPECT_THAT(end.text, HasSubstr(std::string{"calls "} + usual.text));
    EXPECT_THAT(end.text,
                HasSubstr("member " + std::to_string(odd) + " (rank " + std::to_string(odd) + ") calls " + other.text));
    EXPECT_EQ(end_of(mine.make(own), all, {.algorithm = mine.algorithm}), errc::invalid_argument);
    EXPECT_EQ(own.in, words(12, 3));
    EXPECT_EQ(own.out, words(12, 4));
    collective::barrier().run(all);
  });
}

call broadcast_of(std::size_t count, std::uint32_t root, const char* text, std::string_view algorithm = {}) {
  return {[=](buffers& own) { return collective::broadcast(own.wanted(count), root); }, text, algorithm};
}
call allreduce_by(const reduction& how, const char* text) {
  return {[=](buffers& own) { return collective::allreduce(own.given(), own.wanted(), how); }, text};
}

TEST(compared_calls, of_different_operations_are_refused) {
  const call barrier{[](buffers& /*own*/) { return collective::barrier(); }, "barrier by dissemination"};
  expect_both_named(barrier, broadcast_of(12, 1, "broadcast by binomial, root 1, 96 bytes"));
  expect_both_named(broadcast_of(12, 1, "broadcast by binomial, root 1, 96 bytes"), barrier, 2, 0);
}

TEST(compared_calls, with_different_roots_are_refused) {
  expect_both_named(broadcast_of(12, 1, "broadcast by binomial, root 1, 96 bytes"),
                    broadcast_of(12, 0, "broadcast by binomial, root 0, 96 bytes"));
}

TEST(compared_calls, with_different_sizes_are_refused) {
  expect_both_named(broadcast_of(12, 0, "broadcast by binomial, root 0, 96 bytes"),
                    broadcast_of(11, 0, "broadcast by binomial, root 0, 88 bytes"), 5, 4);
}

TEST(compared_calls, with_different_algorithms_are_refused) {
  expect_both_named(broadcast_of(12, 0, "broadcast by chain, root 0, 96 bytes", "chain"),
                    broadcast_of(12, 0, "broadcast by k-nomial, root 0, 96 bytes", "k-nomial"));
}

TEST(compared_calls, with_elements_of_different_types_are_refused) {
  expect_both_named(allreduce_by(reduction::callable<std::uint64_t>(),
                                 "allreduce by recursive-doubling, 96 bytes, elements "
                                 "of 8 bytes"),
                    allreduce_by(reduction::callable<std::uint32_t>(),
                                 "allreduce by recursive-doubling, 96 bytes, elements "
                                 "of 4 bytes"));
  // The size is the same, the type is not.
  expect_both_named(allreduce_by(reduction::callable<std::uint64_t>(), "allreduce"),
                    allreduce_by(reduction::callable<double>(), "allreduce"));
}

TEST(compared_calls, with_different_functions_are_refused) {
  expect_both_named(allreduce_by(reduction::callable<std::uint64_t>(), "allreduce"),
                    allreduce_by(reduction::callable<std::uint64_t>(reductions::max{}), "allreduce"));
  reduction in_order = reduction::callable<std::uint64_t>();
  in_order.is_commutative = false;
  expect_both_named(allreduce_by(reduction::callable<std::uint64_t>(), "allreduce"),
                    allreduce_by(in_order, "allreduce"));
}

TEST(compared_calls, whose_functions_have_no_name_are_taken) {
  test::local_job{3, checked}.run([](runtime& rt) {
    group all = rt.world();
    reduction sum = reduction::callable<std::uint64_t>();
    sum.identity = 0;
    const std::uint64_t mine = 5;
    std::uint64_t out = 0;
    collective::allreduce({&mine, sizeof mine}, {&out, sizeof out}, sum).run(all);
    EXPECT_EQ(out, 15U);
  });
}

// Member 1 has one collective more, or both in another order.
TEST(compared_calls, in_another_order_are_refused) {
  test::local_job{3, checked}.run([](runtime& rt) {
    group all = rt.world();
    buffers own;
    const collective first = collective::broadcast(own.wanted(), 1);
    const collective second = collective::allgather(own.given(4), own.wanted());
    const bool is_odd = rt.rank() == 1;
    const outcome one = outcome_of([&] { (is_odd ? second : first).run(all); });
    const outcome two = outcome_of([&] { (is_odd ? first : second).run(all); });
    EXPECT_EQ(one.code, errc::invalid_argument);
    EXPECT_EQ(two.code, errc::invalid_argument);
    EXPECT_THAT(one.text, AllOf(HasSubstr("member 1 (rank 1) calls allgather"), HasSubstr("calls broadcast")));
    EXPECT_THAT(two.text, AllOf(HasSubstr("member 1 (rank 1) calls broadcast"), HasSubstr("calls allgather")));
  });
}

TEST(compared_calls, of_a_member_that_is_one_behind_are_refused) {
  test::local_job{3, checked}.run([](runtime& rt) {
    group all = rt.world();
    buffers own;
    if (rt.rank() != 2) {
      // Several are in flight: each is compared with the collective of its number.
      counter ends{rt};
      static_cast<void>(collective::barrier().post(all, ends));
      static_cast<void>(collective::broadcast(own.wanted(), 0).post(all, ends));
      ASSERT_TRUE(test::eventually(all.device(), [&] { return ends.value() == 2; }));
      EXPECT_EQ(ends.failed(), 2U);
    } else {
      EXPECT_EQ(end_of(collective::broadcast(own.wanted(), 0), all), errc::invalid_argument);
      EXPECT_EQ(end_of(collective::barrier(), all), errc::invalid_argument);
    }
  });
}

TEST(compared_calls, with_different_lists_are_refused) {
  test::local_job{2, checked}.run([](runtime& rt) {
    group all = rt.world();
    buffers own;
    const words sizes = rt.rank() == 0 ? words{8, 16} : words{16, 16}, offsets{0, 16};
    const outcome end = outcome_of([&] {
      collective::allgather(own.given(rt.rank() == 0 ? 1 : 2), own.wanted(), {sizes, offsets}).run(all);
    });
    EXPECT_EQ(end.code, errc::invalid_argument);
    EXPECT_THAT(end.text, HasSubstr("calls allgather by"));
    EXPECT_THAT(end.text, HasSubstr("a list of blocks"));
  });
}

// Two lists of an alltoall are compared where messages arrive: both a longer one and a shorter one than the receiver
// wants are refused.
TEST(compared_calls, whose_blocks_have_other_sizes_than_their_receiver_wants_are_refused) {
  test::local_job{2, checked}.run([](runtime& rt) {
    group all = rt.world();
    for (const bool is_long : {false, true}) {
      buffers own;
      const std::uint64_t bytes = rt.rank() == 1 ? 16 : is_long ? 24 : 8;
      const words sent{bytes, bytes}, offsets{0, 24}, received{bytes, 16};
      const outcome end = outcome_of([&] {
        collective::alltoall(own.given(), own.wanted(), {sent, offsets}, {received, offsets}).run(all);
      });
      if (rt.rank() == 0) {
        EXPECT_EQ(end.code, errc::none) << end.text;
      } else {
        EXPECT_EQ(end.code, errc::invalid_argument);
        EXPECT_THAT(end.text, HasSubstr("member 0 (rank 0) sends " + std::to_string(is_long ? 24 : 8) +
                                        " bytes to member 1 (rank 1), which receives 16 bytes"));
        EXPECT_EQ(own.out[0], is_long ? 4U : 3U);  // a message that is too long is not written
      }
      rt.barrier();
    }
  });
}

// A member that refuses its own arguments tells the others, which wait for it.
TEST(compared_calls, that_one_member_has_refused_end_at_all) {
  test::local_job{4, checked}.run([](runtime& rt) {
    group all = rt.world();
    buffers own;
    for (const bool posts : {false, true}) {
      const std::uint32_t root = rt.rank() == 3 ? 4 : 0;
      const outcome end = outcome_of([&] {
        const collective one = collective::broadcast(own.wanted(), root);
        if (!posts) return one.run(all);
        const errc code = end_of(one, all);
        if (code != errc::none)
          throw error{code, "member 3 (rank 3) calls broadcast with arguments that it has refused"};
      });
      EXPECT_EQ(end.code, errc::invalid_argument);
      EXPECT_THAT(end.text, HasSubstr(rt.rank() == 3 ? "there is no member 4"
                                                     : "member 3 (rank 3) calls broadcast with arguments that it has "
                                                       "refused"));
    }
    collective::barrier().run(all);
  });
}

TEST(compared_calls, are_named_by_ranks_of_the_job_in_smaller_groups) {
  test::local_job{5, checked}.run([](runtime& rt) {
    group odd = rt.world().split(rt.rank() % 2);
    if (rt.rank() % 2 == 0) return;
    buffers own;
    const outcome end = outcome_of([&] { collective::broadcast(own.wanted(), rt.rank() == 3 ? 1 : 0).run(odd); });
    EXPECT_THAT(end.text, AllOf(HasSubstr("member 0 (rank 1) calls broadcast by binomial, root 0"),
                                HasSubstr("member 1 (rank 3) calls broadcast by binomial, root 1")));
  });
}

// Any member, in groups of any size: all members hear of it.
TEST(compared_calls, are_refused_at_all_members_wherever_they_differ) {
  std::mt19937 random{static_cast<std::mt19937::result_type>(test::random_seed())};
  for (std::uint32_t size = 2; size <= 9; ++size) {
    const std::uint32_t odd = static_cast<std::uint32_t>(random() % size);
    test::local_job{size, checked}.run([&](runtime& rt) {
      group all = rt.world();
      buffers own;
      EXPECT_EQ(end_of(collective::broadcast(own.wanted(), rt.rank() == odd ? 1 : 0), all), errc::invalid_argument)
          << size << " members, member " << odd << " differs";
      collective::barrier().run(all);
    });
  }
}

TEST(compared_calls, that_are_kept_are_compared_at_each_start) {
  test::local_job{2, checked}.run([](runtime& rt) {
    group all = rt.world();
    buffers own;
    persistent_collective one = collective::broadcast(own.wanted(), 0).keep(all);
    persistent_collective other = collective::broadcast(own.wanted(), 1).keep(all);
    for (int i = 0; i < 3; ++i) {
      one.run();
      EXPECT_EQ(outcome_of([&] { (rt.rank() == 0 ? one : other).run(); }).code, errc::invalid_argument);
    }
  });
}

// The calls of both threads wait for member 1, which waits until one of them was refused.
TEST(compared_calls, of_two_threads_in_one_group_are_refused) {
  std::atomic<int> refused{0};  // [stat]
  test::local_job{2, checked}.run([&](runtime& rt) {
    group all = rt.world();
    if (rt.rank() == 1) {
      ASSERT_TRUE(test::eventually([&] { return refused.load(std::memory_order_relaxed) != 0; }));  // [stat]
      return collective::barrier().run(all);
    }
    const auto call = [&] {
      const outcome end = outcome_of([&] { collective::barrier().run(all); });
      if (end.code == errc::none) return;
      EXPECT_EQ(end.code, errc::invalid_state);
      EXPECT_THAT(end.text, HasSubstr("another thread is in a call of this group"));
      refused.fetch_add(1, std::memory_order_relaxed);  // [stat]
    };
    std::thread other{call};
    call();
    other.join();
    EXPECT_EQ(refused.load(std::memory_order_relaxed), 1);  // [stat]
  });
}

TEST(compared_calls, need_one_setting_at_all_ranks) {
  EXPECT_EQ(outcome_of([] {
              test::local_job{2, [](std::uint32_t rank) { return runtime_options{.check = rank == 0}; }}.run(
                  [](runtime& /*rt*/) {});
            }).code,
            errc::configuration);
}

}  // namespace
}  // namespace weft
