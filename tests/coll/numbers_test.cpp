// SPDX-License-Identifier: BSD-3-Clause
// Members that are thousands of collectives ahead of others, or of their own: each collective gets its own bytes,
// though tags repeat after 4096 of them; none starts before its tags are free.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/runtime/runtime_state.hpp"
#include "support/random_seed.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr std::size_t many = test::under_sanitizer ? 5'000 : 9'000;
constexpr collective_options late{.allow_backlog_full = false};
using word = std::uint64_t;

void post(const collective& which, group& all, completion& local, const collective_options& options = {}) {
  EXPECT_TRUE(which.post(all, local, options).is_posted());
}

// A rank that is late begins when the first one has started all that it starts without waiting.
class late_rank {
 public:
  explicit late_rank(weft::runtime& rt) : rt_{rt} {}

  void begin(bool is_late) {
    if (!is_late) return;
    weft::counter arrived{rt_};
    std::byte none;
    static_cast<void>(rt_.default_device().post_recv(0, buffer_ref{&none, 0}, arrived, {.tag = 7}));
    ASSERT_TRUE(rt_.default_device().wait(arrived, 1, {.timeout = std::chrono::minutes{2}}));
  }
  void have_started(std::uint32_t rank) {
    weft::counter sent{rt_};
    std::byte none;
    rt_.default_device().until_accepted([&] {
      return rt_.default_device().post_send(rank, const_buffer_ref{&none, 0}, sent, {.tag = 7});
    });
    rt_.default_device().wait_all(sent);
  }

 private:
  weft::runtime& rt_;
};

// One of each operation after the other, with values of their own. The root of each is another member.
class all_operations {
 public:
  all_operations(const group& all, std::size_t count)
      : size_{all.size()}, rank_{all.rank()}, in_(count * size_), out_(count * size_, none) {}

  [[nodiscard]] collective make(std::size_t i) {
    const std::span<word> in = std::span{in_}.subspan(i * size_, size_),
                          out = std::span{out_}.subspan(i * size_, size_);
    for (std::uint32_t each = 0; each < size_; ++each) in[each] = given(i, rank_, each);
    const reduction sum = reduction::callable<word>();
    const const_buffer_ref own{in.data(), sizeof(word)};
    const buffer_ref result{out.data(), sizeof(word)};
    const std::uint32_t root = root_of(i);
    switch (operation_of(i)) {
      case collective_operation::barrier: return collective::barrier();
      case collective_operation::broadcast:
        if (rank_ == root) out[0] = in[0];
        return collective::broadcast(result, root);
      case collective_operation::reduce: return collective::reduce(own, result, sum, root);
      case collective_operation::allreduce: return collective::allreduce(own, result, sum);
      case collective_operation::gather: return collective::gather(own, buffer_ref{out}, root);
      case collective_operation::scatter: return collective::scatter(const_buffer_ref{in}, result, root);
      case collective_operation::allgather: return collective::allgather(own, buffer_ref{out});
      case collective_operation::alltoall: return collective::alltoall(const_buffer_ref{in}, buffer_ref{out});
      case collective_operation::reduce_scatter: return collective::reduce_scatter(const_buffer_ref{in}, result, sum);
      case collective_operation::scan: return collective::scan(own, result, sum);
      case collective_operation::exscan: return collective::exscan(own, result, sum);
    }
    return collective::barrier();
  }

  [[nodiscard]] bool is_right(std::size_t i) const {
    for (std::uint32_t each = 0; each < size_; ++each) {
      if (out_[i * size_ + each] != expected(i, each)) return false;
    }
    return true;
  }

 private:
  static constexpr word none = ~word{0};
  static word given(std::size_t i, std::uint32_t member, std::uint32_t block) { return i * 100 + member * 10 + block; }
  static collective_operation operation_of(std::size_t i) { return static_cast<collective_operation>(i % 11); }
  [[nodiscard]] std::uint32_t root_of(std::size_t i) const { return static_cast<std::uint32_t>(i / 11 % size_); }
  [[nodiscard]] word sum(std::size_t i, std::uint32_t members, std::uint32_t block) const {
    word out = 0;
    for (std::uint32_t each = 0; each < members; ++each) out += given(i, each, block);
    return out;
  }
  [[nodiscard]] word expected(std::size_t i, std::uint32_t at) const {
    const std::uint32_t root = root_of(i);
    const bool is_first = at == 0;
    switch (operation_of(i)) {
      case collective_operation::barrier: return none;
      case collective_operation::broadcast: return is_first ? given(i, root, 0) : none;
      case collective_operation::reduce: return is_first && rank_ == root ? sum(i, size_, 0) : none;
      case collective_operation::allreduce: return is_first ? sum(i, size_, 0) : none;
      case collective_operation::gather: return rank_ == root ? given(i, at, 0) : none;
      case collective_operation::scatter: return is_first ? given(i, root, rank_) : none;
      case collective_operation::allgather: return given(i, at, 0);
      case collective_operation::alltoall: return given(i, at, rank_);
      case collective_operation::reduce_scatter: return is_first ? sum(i, size_, rank_) : none;
      case collective_operation::scan: return is_first ? sum(i, rank_ + 1, 0) : none;
      case collective_operation::exscan: return is_first && rank_ != 0 ? sum(i, rank_, 0) : none;
    }
    return none;
  }

  std::uint32_t size_;
  std::uint32_t rank_;
  std::vector<word> in_, out_;
};

enum class form { posted, persistent, blocking_behind };

// The last rank begins when rank 0 has started all.
void run_with_a_late_rank(std::uint32_t ranks, std::size_t count, form how, const runtime_options& options = {}) {
  test::local_job{ranks, options}.run([&](runtime& rt) {
    group all = rt.world();
    device& dev = rt.default_device();
    all_operations operations{all, count + 100};
    counter ended{rt};
    late_rank pace{rt};
    std::vector<persistent_collective> kept;
    if (how == form::persistent) {
      for (std::size_t i = 0; i < count; ++i) kept.push_back(operations.make(i).keep(all, late));
    }
    pace.begin(rt.rank() == ranks - 1);
    for (std::size_t i = 0; i < count; ++i) {
      if (how == form::persistent) {
        static_cast<void>(kept[i].start(ended));
      } else {
        post(operations.make(i), all, ended, late);
      }
    }
    if (rt.rank() == 0) pace.have_started(ranks - 1);
    // Waits for all that were posted before: their tags are in use.
    for (std::size_t i = count; i < count + 100; ++i) {
      if (how == form::blocking_behind) {
        operations.make(i).run(all);
      } else {
        post(operations.make(i), all, ended, late);
      }
    }
    const std::size_t posted = how == form::blocking_behind ? count : count + 100;
    ASSERT_TRUE(dev.wait(ended, posted, {.timeout = std::chrono::minutes{2}}));
    EXPECT_EQ(ended.failed(), 0U);
    for (std::size_t i = 0; i < count + 100; ++i) ASSERT_TRUE(operations.is_right(i)) << "collective " << i;
    rt.barrier();
  });
}

TEST(numbers_of_collectives, posted_ones_far_ahead_of_a_late_rank_get_their_own_values) {
  for (const std::uint32_t ranks : {2U, 3U}) run_with_a_late_rank(ranks, many, form::posted, {.check = false});
}

TEST(numbers_of_collectives, persistent_ones_far_ahead_of_a_late_rank_get_their_own_values) {
  run_with_a_late_rank(3, test::under_sanitizer ? 5'000 : 9'000, form::persistent, {.check = false});
}

TEST(numbers_of_collectives, blocking_ones_wait_behind_a_backlog) {
  for (const std::size_t count : {3'069U, 4'092U, 9'000U})
    run_with_a_late_rank(2, count, form::blocking_behind, {.check = false});
}

TEST(numbers_of_collectives, of_checked_groups_are_two_and_do_not_meet_either) {
  for (const form how : {form::posted, form::blocking_behind}) run_with_a_late_rank(2, 5'000, how, {.check = true});
}

TEST(numbers_of_collectives, hold_over_a_network_that_delays_and_refuses) {
  const std::uint64_t seed = test::random_seed() % 1'000'000'000 + 1;
  run_with_a_late_rank(3, test::under_sanitizer ? 4'500 : 9'000, form::posted,
                       {.transport = "sim:self,sim:shm", .check = false, .sim_seed = static_cast<std::size_t>(seed)});
}

TEST(numbers_of_collectives, a_start_whose_number_is_in_use_is_refused_and_starts_later) {
  test::local_job{2, {.check = false}}.run([&](runtime& rt) {
    constexpr std::size_t count = 6'000;
    group all = rt.world();
    device& dev = rt.default_device();
    late_rank pace{rt};
    counter ended{rt};
    std::vector<word> values(count);
    std::size_t refused = 0, first_refused = 0;
    const auto try_post = [&](std::size_t i) {
      try {
        post(collective::broadcast(std::span{&values[i], 1}), all, ended);
        return true;
      } catch (const error& why) {
        EXPECT_EQ(why.code(), errc::backlog_full) << why.what();
        return false;
      }
    };
    pace.begin(rt.rank() == 1);
    for (std::size_t i = 0; i < count; ++i) {
      if (rt.rank() == 0) values[i] = i + 1;
      while (!try_post(i)) {
        if (refused++ == 0) first_refused = i;
        if (rt.rank() == 0 && refused == 1) pace.have_started(1);
        dev.progress();
      }
    }
    if (rt.rank() == 0) {
      EXPECT_GE(first_refused, 2'000U);
      EXPECT_LE(first_refused, 4'096U);
    }
    ASSERT_TRUE(dev.wait(ended, count, {.timeout = std::chrono::minutes{2}}));
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(values[i], i + 1);
    rt.barrier();
  });
}

TEST(numbers_of_collectives, of_one_that_was_destroyed_before_its_end_stay_in_use) {
  test::local_job{2, {.check = false}}.run([&](runtime& rt) {
    group all = rt.world(), own = all.dup();
    word value = 0;
    counter ended{rt};
    if (rt.rank() == 1) {
      // Rank 0 never starts it.
      std::optional<persistent_collective> destroyed{collective::broadcast(std::span{&value, 1}).keep(own)};
      static_cast<void>(destroyed->start(ended));
      destroyed.reset();
      std::size_t started = 0;
      errc end = errc::none;
      while (end == errc::none && started < 5'000) {
        try {
          post(collective::broadcast(std::span{&value, 1}, 1), own, ended);
          ++started;
        } catch (const error& why) {
          end = why.code();
        }
      }
      EXPECT_EQ(end, errc::invalid_state);
      EXPECT_GT(started, 1'000U);
      ASSERT_TRUE(rt.default_device().wait(ended, started + 1, {.timeout = std::chrono::minutes{2}}));
      EXPECT_THROW(collective::broadcast(std::span{&value, 1}, 1).run(own), error);
    }
    rt.barrier();
  });
}

TEST(numbers_of_collectives, a_start_that_waits_for_its_number_ends_early_with_its_object) {
  test::local_job{2, {.check = false}}.run([&](runtime& rt) {
    constexpr std::size_t count = 4'092;  // all numbers but those of barriers
    group all = rt.world(), own = all.dup();
    late_rank pace{rt};
    word value = 0;
    std::vector<word> values(count);
    counter ended{rt};
    synchronizer destroyed{rt};
    pace.begin(rt.rank() == 1);
    for (word& each : values) post(collective::allreduce({}, std::span{&each, 1}), own, ended);
    if (rt.rank() == 0) {
      std::optional<persistent_collective> last{collective::allreduce({}, std::span{&value, 1}).keep(own, late)};
      static_cast<void>(last->start(destroyed));
      EXPECT_TRUE(last->is_running());
      last.reset();
      ASSERT_TRUE(destroyed.is_ready());
      EXPECT_EQ(destroyed.take()->error(), errc::cancelled);
      pace.have_started(1);
    }
    ASSERT_TRUE(rt.default_device().wait(ended, count, {.timeout = std::chrono::minutes{2}}));
    EXPECT_EQ(ended.failed(), 0U);
    rt.barrier();
  });
}

TEST(numbers_of_collectives, starts_that_wait_for_a_member_fail_when_it_has_ended) {
  test::local_job{2, {.check = false}}.run([](runtime& rt) {
    group all = rt.world();
    collective::barrier().run(all);
    if (rt.rank() == 1) return;  // it takes no further part
    constexpr std::size_t count = 6'000;
    std::vector<word> values(count);
    counter ended{rt};
    for (word& each : values) post(collective::broadcast(std::span{&each, 1}), all, ended, late);
    test::local_job::state_of(rt).peer_ends().note({.rank = 1, .in_order = false});
    ASSERT_TRUE(rt.default_device().wait(ended, count, {.timeout = std::chrono::minutes{2}}));
    EXPECT_GE(ended.failed(), count - 4'096);
    const auto error_of = [&](const auto& start) {
      try {
        start();
      } catch (const error& why) {
        return why.code();
      }
      return errc::none;
    };
    EXPECT_EQ(error_of([&] { post(collective::broadcast(std::span{values}), all, ended); }), errc::peer_failed);
    EXPECT_EQ(error_of([&] { post(collective::broadcast(std::span{values}), all, ended, late); }), errc::peer_failed);
    EXPECT_EQ(error_of([&] { collective::barrier().run(all); }), errc::peer_failed);
  });
}

}  // namespace
}  // namespace weft
