// SPDX-License-Identifier: BSD-3-Clause
// Arguments of collectives that are wrong at one member, functions that throw, starts of one that runs, and messages
// that are no step of a collective.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/door/door.hpp"
#include "misuse/coll/outcome.hpp"
#include "weft/test/local_job.hpp"

namespace weft {
namespace {

using test::end_of;
using test::outcome;
using test::outcome_of;
using testing::HasSubstr;
using words = std::vector<std::uint64_t>;

void expect_refused(group& in, const collective& wrong, const char* text) {
  const outcome end = outcome_of([&] { wrong.run(in); });
  EXPECT_EQ(end.code, errc::invalid_argument) << text;
  EXPECT_THAT(end.text, HasSubstr(text));
  counter none{in.device().runtime()};
  EXPECT_THROW(static_cast<void>(wrong.post(in, none)), error) << text;
  EXPECT_THROW(static_cast<void>(wrong.keep(in)), error) << text;
}

TEST(wrong_collectives, name_a_root_that_is_no_member) {
  test::local_job{3, {.check = false}}.run([](runtime& rt) {
    group two = rt.world().split(rt.rank() == 2 ? 1 : 0);
    words some(4);
    if (rt.rank() == 2) return;
    expect_refused(two, collective::broadcast(some, 2), "there is no member 2; the group has members 0 to 1");
    expect_refused(two, collective::reduce(some, some, reduction::callable<std::uint64_t>(), ~0U),
                   "there is no member 4294967295");
    expect_refused(two, collective::gather(some, some, 3), "there is no member 3");
    expect_refused(two, collective::scatter(some, some, 3), "there is no member 3");
    EXPECT_EQ(outcome_of([&] { static_cast<void>(two.world_rank(2)); }).code, errc::invalid_argument);
    EXPECT_FALSE(two.member(2).has_value());
  });
}

TEST(wrong_collectives, have_input_and_output_that_overlap) {
  test::local_job{2, {.check = false}}.run([](runtime& rt) {
    group all = rt.world();
    words some(8);
    const auto in = [&](std::size_t from, std::size_t count) {
      return const_buffer_ref{some.data() + from, count * 8};
    };
    const auto out = [&](std::size_t from, std::size_t count) { return buffer_ref{some.data() + from, count * 8}; };
    const reduction sum = reduction::callable<std::uint64_t>();
    expect_refused(all, collective::allreduce(in(0, 4), out(0, 4), sum), "input and output overlap");
    expect_refused(all, collective::allreduce(in(0, 4), out(3, 4), sum), "input and output overlap");
    expect_refused(all, collective::allreduce(in(3, 4), out(0, 4), sum), "input and output overlap");
    expect_refused(all, collective::scan(in(0, 4), out(3, 4), sum), "input and output overlap");
    expect_refused(all, collective::exscan(in(0, 4), out(3, 4), sum), "input and output overlap");
    expect_refused(all, collective::alltoall(in(0, 4), out(2, 4)), "input and output overlap");
    expect_refused(all, collective::allgather(in(2, 4), out(0, 8)), "input and output overlap");
    expect_refused(all, collective::reduce_scatter(in(0, 4), out(3, 2), sum), "input and output overlap");
    // At the root alone.
    expect_refused(all, collective::reduce(in(0, 4), out(0, 4), sum, rt.rank()), "input and output overlap");
    expect_refused(all, collective::gather(in(0, 4), out(0, 8), rt.rank()), "input and output overlap");
    expect_refused(all, collective::scatter(in(0, 8), out(4, 4), rt.rank()), "input and output overlap");
    static_cast<void>(collective::reduce(in(0, 4), out(0, 4), sum, 1 - rt.rank()).keep(all));
    // Lists of blocks that lie between each other do not overlap.
    const words bytes{8, 8}, even{0, 16}, uneven{8, 24}, near{16, 24};
    some = {rt.rank(), 0, rt.rank() + 10, 0, 0, 0, 0, 0};
    collective::alltoall(in(0, 4), out(0, 4), {bytes, even}, {bytes, uneven}).run(all);
    EXPECT_EQ(some, (words{rt.rank(), rt.rank() * 10ULL, rt.rank() + 10ULL, 1 + rt.rank() * 10ULL, 0, 0, 0, 0}));
    expect_refused(all, collective::alltoall(in(0, 4), out(0, 4), {bytes, even}, {bytes, near}),
                   "input and output overlap");
    // Neighbours do not overlap.
    collective::allreduce(in(0, 4), out(4, 4), sum).run(all);
  });
}

TEST(wrong_collectives, have_sizes_whose_sums_overflow) {
  test::local_job{3, {.check = false}}.run([](runtime& rt) {
    group all = rt.world();
    std::array<std::byte, 8> few{};
    constexpr std::size_t huge = ~std::size_t{0} - 15;
    const reduction bytes{.combine = [](const void*, void*, std::size_t, void*) {}};
    for (const std::size_t each : {huge, huge / 2, huge / 3 / 8 + 8}) {
      const const_buffer_ref in{few.data(), each};
      const buffer_ref out{few.data(), each};
      expect_refused(all, collective::broadcast(out), "more than can be counted");
      expect_refused(all, collective::allreduce({}, out, bytes), "more than can be counted");
      expect_refused(all, collective::scan({}, out, bytes), "more than can be counted");
      expect_refused(all, collective::gather(in, {}, (rt.rank() + 1) % 3), "more than can be counted");
      expect_refused(all, collective::scatter({}, out, (rt.rank() + 1) % 3), "more than can be counted");
    }
    for (const std::uint64_t far : {~std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0} - 7}) {
      const words offsets{far, 0, 0}, sizes{8, 0, 0}, large{far, 8, 0}, zero{0, 0, 0};
      expect_refused(all, collective::alltoall(few, few, {sizes, offsets}, {sizes, offsets}), "leaves the buffer");
      expect_refused(all, collective::alltoall({}, few, {}, {sizes, offsets}), "leaves the buffer");
      expect_refused(all, collective::reduce_scatter({}, few, bytes, {large, zero}), "leaves the buffer");
      expect_refused(all, collective::allgather({}, few, {large, zero}), "leaves the buffer");
    }
  });
}

// Memory that no machine has.
TEST(wrong_collectives, that_need_more_memory_than_there_is_say_so) {
  test::local_job{1, {.check = false}}.run([](runtime& rt) {
    group all = rt.world();
    std::array<std::byte, 8> few{};
    const reduction bytes{.combine = [](const void*, void*, std::size_t, void*) {}, .is_commutative = false};
    const const_buffer_ref in{few.data(), std::size_t{1} << 59};
    EXPECT_THROW(static_cast<void>(collective::reduce_scatter(in, {few.data(), std::size_t{1} << 59}, bytes, {})
                                       .keep(all, {.algorithm = "recursive-halving"})),
                 std::exception);
  });
}

// A function that throws is the error of its member. No other member waits for ever, nor takes a sum that is wrong.
TEST(wrong_collectives, whose_function_throws_end_at_all_members) {
  const reduction throwing{.combine =
                               [](const void* /*in*/, void* /*inout*/, std::size_t /*count*/, void* context) {
                                 if (context == nullptr) return;
                                 *static_cast<bool*>(context) = true;
                                 throw std::runtime_error{"no sum today"};
                               },
                           .element_bytes = 8};
  for (const bool is_checked : {false, true}) {
    for (const std::uint32_t size : {3U, 4U}) {
      std::atomic<int> thrown{0};  // [stat]
      test::local_job{size, {.check = is_checked}}.run([&](runtime& rt) {
        group all = rt.world();
        bool has_thrown = false;
        reduction how = throwing;
        if (rt.rank() < 2) how.context = &has_thrown;  // one of both may have nothing to combine
        for (const std::size_t count : {1, 3000}) {    // with and without a graph
          const words in(count);
          words out(count);
          const auto sum = collective::allreduce({in.data(), count * 8}, {out.data(), count * 8}, how);
          for (const bool waits : {true, false}) {
            has_thrown = false;
            outcome end;
            if (waits) {
              end = outcome_of([&] { sum.run(all); });
              EXPECT_EQ(end.text == "no sum today", has_thrown);
            } else {
              end.code = end_of(sum, all);
            }
            if (has_thrown) {
              EXPECT_EQ(end.code, errc::user_exception) << count << " words";
            } else {
              EXPECT_TRUE(end.code == errc::peer_failed || end.code == errc::truncated) << count << " words";
            }
            thrown.fetch_add(has_thrown, std::memory_order_relaxed);  // [stat]
          }
        }
        collective::barrier().run(all);
      });
      EXPECT_GE(thrown.load(std::memory_order_relaxed), 4);  // [stat]
    }
  }
}

// Members of a group without comparison get no more than an error, at one of them at least: it says how to find the
// call.
TEST(wrong_collectives, of_other_sizes_name_the_comparison) {
  for (const std::size_t count : {4, 3000}) {  // without and with a schedule
    std::atomic<int> named{0};                 // [stat]
    test::local_job{2, {.check = false}}.run([&](runtime& rt) {
      group all = rt.world();
      const words in(count + rt.rank(), 1);
      words out(in.size());
      const outcome end = outcome_of([&] { collective::allreduce(in, out).run(all); });
      const bool is_named = end.text.find("WEFT_CHECK=1") != std::string::npos;
      EXPECT_EQ(is_named, end.code != errc::none) << end.text;
      named.fetch_add(is_named, std::memory_order_relaxed);  // [stat]
      rt.barrier();
    });
    EXPECT_GE(named.load(std::memory_order_relaxed), 1) << count;  // [stat]
  }
}

TEST(wrong_collectives, are_started_while_the_last_start_runs) {
  test::local_job{2}.run([](runtime& rt) {
    group all = rt.world();
    persistent_collective kept = collective::barrier().keep(all);
    if (rt.rank() == 0) {
      synchronizer end{rt};
      static_cast<void>(kept.start(end));  // member 1 waits for the barrier of the job
      for (const bool waits : {false, true}) {
        const outcome second = outcome_of([&] {
          if (waits) return kept.run();
          static_cast<void>(kept.start(end));
        });
        EXPECT_EQ(second.code, errc::invalid_state);
        EXPECT_THAT(second.text, HasSubstr("the last start is under way"));
      }
      rt.barrier();
      rt.default_device().wait(end);
    } else {
      rt.barrier();
      kept.run();
    }
    kept.run();
  });
}

// Tags tell 4096 collectives of a group apart: a member that posts without end is refused before that.
TEST(wrong_collectives, that_are_posted_without_end_are_refused_until_some_are_complete) {
  for (const bool is_checked : {false, true}) {
    test::local_job{2, {.check = is_checked}}.run([](runtime& rt) {
      group all = rt.world();
      counter ends{rt};
      if (rt.rank() == 0) {
        std::uint32_t posted = 0;
        outcome end;
        for (; end.code == errc::none && posted < 5000; ++posted)
          end = outcome_of([&] { static_cast<void>(collective::barrier().post(all, ends)); });
        --posted;  // the last one was refused
        EXPECT_EQ(end.code, errc::backlog_full);
        EXPECT_THAT(end.text, HasSubstr("collectives of this group are under way"));
        EXPECT_LT(posted, 4096U);
        device& dev = rt.default_device();
        const bool is_told = test::post(dev, [&] {
                               return dev.post_send(1, {&posted, sizeof posted}, ends);
                             }).is_done();
        ASSERT_TRUE(test::eventually(dev, [&] { return ends.value() == posted + (is_told ? 0 : 1); }));
        EXPECT_EQ(ends.failed(), 0U);
      } else {
        std::uint32_t count = 0;
        device& dev = rt.default_device();
        static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, {&count, sizeof count}, ends); }));
        ASSERT_TRUE(test::eventually(dev, [&] { return ends.value() == 1; }));
        for (std::uint32_t i = 0; i < count; ++i) collective::barrier().run(all);
      }
      collective::barrier().run(all);
    });
  }
}

TEST(wrong_collectives, are_waited_for_inside_a_node) {
  test::local_job{1}.run([](runtime& rt) {
    group all = rt.world();
    graph nodes{rt.default_device()};
    outcome end;
    nodes.add([&] { end = outcome_of([&] { collective::barrier().run(all); }); });
    synchronizer done{rt};
    nodes.start(done);
    rt.default_device().wait(done);
    EXPECT_EQ(end.code, errc::invalid_state);
  });
}

TEST(wrong_collectives, cannot_be_joined_by_messages_of_the_program) {
  test::local_job{2}.run([](runtime& rt) {
    group all = rt.world();
    collective::barrier().run(all);
    device& dev = rt.default_device();
    counter end{rt};
    std::uint64_t word = 0;
    for (const std::uint64_t tag : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      EXPECT_THROW(
          static_cast<void>(dev.post_send(0, {&word, sizeof word}, end, {.tag = tag, .engine = group_matching_engine})),
          error);
      EXPECT_THROW(
          static_cast<void>(dev.post_recv(0, {&word, sizeof word}, end, {.tag = tag, .engine = group_matching_engine})),
          error);
    }
    EXPECT_THROW((matching_engine{rt, {.id = group_matching_engine}}), error);
    EXPECT_EQ(end.value(), 0U);
    collective::barrier().run(all);
  });
}

// A peer that breaks all rules sends a step of its own before the right one: one that is too long ends the collective
// with an error and writes nothing.
TEST(wrong_collectives, whose_step_is_forged_end_with_an_error_and_write_nothing) {
  test::local_job{2, {.check = false}}.run([](runtime& rt) {
    group all = rt.world();
    device& dev = rt.default_device();
    const words long_one(2000, 7);
    for (const std::size_t count : {6, 1000, 2000}) {  // of the forged message
      if (rt.rank() == 0) {
        counter sent{rt};
        // The tag of the first broadcast of the world: its group's name, and number and label 0.
        const engine_ref engine = core::door::engine_of_groups(test::local_job::state_of(rt));
        const std::uint64_t number = count == 6 ? 0 : count == 1000 ? 1 : 2;
        const std::uint64_t tag = std::uint64_t{0xfffff} << 44 | number << 12;
        const bool is_posted =
            test::post(dev, [&] {
              return dev.post_send(1, {long_one.data(), count * 8}, sent, {.tag = tag, .engine = engine});
            }).is_posted();
        ASSERT_TRUE(!is_posted || test::eventually(dev, [&] { return sent.value() == 1; }));
      } else {
        words out(16, 1);
        EXPECT_EQ(end_of(collective::broadcast({out.data(), 5 * 8}), all), errc::truncated) << count;
        EXPECT_EQ(out, words(16, 1));
      }
    }
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
