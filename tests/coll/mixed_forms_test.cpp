// SPDX-License-Identifier: BSD-3-Clause
// Members that carry out one collective in different forms, and with buffers in different memory: each operation, by
// the rules for ranks that share cores and by those for ranks on cores of their own, whatever this machine has; with
// calls compared, and over a network that delays and refuses.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <optional>
#include <random>

#include "support/exchange.hpp"
#include "support/random_seed.hpp"
#include "support/stored_message.hpp"
#include "weft/run_loop.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

enum class form : std::uint8_t { run, post, kept_run, kept_start, node, awaited };
constexpr std::array forms{form::run, form::post, form::kept_run, form::kept_start, form::node, form::awaited};
constexpr std::array names{"run", "posted", "kept and run", "kept and started", "a node of a graph", "awaited"};

task<void> await_one(run_loop& loop, group all, collective which, errc& end) {
  end = (co_await which.await(loop, std::move(all))).error();
}

errc error_of(device& dev, synchronizer& end) {
  const bool is_over = dev.wait(end, {.timeout = std::chrono::minutes{3}});
  return is_over ? end.take()->error() : errc::invalid_state;
}

errc carry_out(group& all, const collective& which, form chosen) {
  device& dev = all.device();
  synchronizer end{dev.runtime()};
  switch (chosen) {
    case form::run: which.run(all); return errc::none;
    case form::post: static_cast<void>(which.post(all, end)); return error_of(dev, end);
    case form::kept_run: which.keep(all).run(); return errc::none;
    case form::kept_start: {
      persistent_collective kept = which.keep(all);
      static_cast<void>(kept.start(end));
      return error_of(dev, end);
    }
    case form::node: {
      graph steps{dev};
      static_cast<void>(steps.add_post([&](completion& local) { return which.post(all, local); }));
      steps.start(end);
      return error_of(dev, end);
    }
    case form::awaited: {
      errc out = errc::invalid_state;
      run_loop loop{dev};
      loop.spawn(await_one(loop, all, which, out));
      loop.run();
      return out;
    }
  }
  return errc::invalid_state;
}

// The rules choose its algorithm.
test::exchange exchange_of(collective_operation wanted, std::mt19937& random, std::uint32_t number,
                           std::uint32_t members) {
  constexpr std::uint32_t many_members = 10;
  constexpr std::size_t bytes_of_many = 128;  // a block's, so that all ranks of this test have room
  for (;;) {
    test::exchange out = test::any_exchange(random, number, members);
    if (out.operation != wanted || (members > many_members && out.block_bytes() > bytes_of_many)) continue;
    out.algorithm = {};
    return out;
  }
}

// What the members of one group share, and what this one draws for itself.
class mixing_member {
 public:
  mixing_member(const group& all, std::uint64_t seed)
      : all_{all},
        random_{static_cast<std::uint32_t>(seed)},
        own_{static_cast<std::uint32_t>(seed + 1000 * (all_.rank() + 1))} {
    if (all_.rank() < members_with_kinds) kinds_.emplace(all_.device().runtime(), 4096);
  }

  void carry_out_one(collective_operation wanted) {
    const test::exchange drawn = exchange_of(wanted, random_, ++number_, all_.size());
    test::member_side mine{drawn, all_.rank()};
    const form chosen = forms[own_() % forms.size()];
    const std::size_t memory_drawn = own_() % 5;
    EXPECT_EQ(carry_out(all_, mine.call(memory_by(memory_drawn)), chosen), errc::none);
    EXPECT_TRUE(mine.is_right()) << drawn << ", member " << all_.rank() << ", "
                                 << names[static_cast<std::size_t>(chosen)] << ", memory " << memory_drawn;
  }
  void carry_out_each() {
    for (int operation = 0; operation <= static_cast<int>(collective_operation::exscan); ++operation)
      carry_out_one(static_cast<collective_operation>(operation));
  }

 private:
  static constexpr std::uint32_t members_with_kinds = 9;  // a process has room for some tens of kinds

  [[nodiscard]] const memory* memory_by(std::size_t drawn) const {
    switch (drawn) {
      case 0: return &test::layout_of_bytes();
      case 1: return kinds_ ? kinds_->in(test::storage::touchable) : nullptr;
      case 2: return kinds_ ? kinds_->in(test::storage::for_peers) : nullptr;
      default: return nullptr;
    }
  }

  group all_;
  std::optional<test::kinds_of_memory> kinds_;
  std::mt19937 random_;
  std::mt19937 own_;
  std::uint32_t number_ = 0;
};

void mix_forms(std::uint32_t ranks, int rounds, std::uint64_t seed, const runtime_options& options = {}) {
  test::local_job{ranks, options}.run([&](runtime& rt) {
    for (const bool is_oversubscribed : {false, true}) {
      test::local_job::assume_beyond_processors(rt, is_oversubscribed);
      mixing_member mine{rt.world().dup(), seed + 100 * ranks + (is_oversubscribed ? 50 : 0)};
      for (int round = 0; round < rounds; ++round) mine.carry_out_each();
    }
  });
}

TEST(mixed_forms, of_few_members_give_what_an_oracle_gives) {
  const std::uint64_t seed = test::random_seed();
  for (std::uint32_t ranks = 1; ranks <= 9; ++ranks) mix_forms(ranks, test::under_sanitizer ? 2 : 6, seed);
}

TEST(mixed_forms, of_members_that_compare_their_calls_give_what_an_oracle_gives) {
  const std::uint64_t seed = test::random_seed();
  for (const std::uint32_t ranks : {2U, 3U, 5U, 8U}) mix_forms(ranks, 2, seed, {.check = true});
}

TEST(mixed_forms, over_a_network_that_delays_give_what_an_oracle_gives) {
  const std::uint64_t seed = test::random_seed();
  const std::size_t seed_of_network = seed % 1'000'000'000 + 1;
  for (const std::uint32_t ranks : {2U, 3U, 5U, 6U})
    mix_forms(ranks, 2, seed, {.transport = "sim:self,sim:shm", .sim_seed = seed_of_network});
}

// More members than those for which one member does all.
TEST(mixed_forms, of_many_members_give_what_an_oracle_gives) { mix_forms(65, 1, test::random_seed()); }

// A start may take part in a barrier first, so that numbers of collectives are not used too early: in each form.
TEST(mixed_forms, of_more_collectives_than_there_are_numbers_give_what_an_oracle_gives) {
  const std::uint64_t seed = test::random_seed();
  test::local_job{3}.run([&](runtime& rt) {
    test::local_job::assume_beyond_processors(rt, seed % 2 == 0);
    mixing_member mine{rt.world().dup(), seed};
    for (int i = 0; i < (test::under_sanitizer ? 1500 : 5000) && !testing::Test::HasFailure(); ++i)
      mine.carry_out_one(i % 2 == 0 ? collective_operation::allreduce : collective_operation::broadcast);
  });
}

}  // namespace
}  // namespace weft
