// Members that carry out one collective in different forms, and with buffers in different memory: each operation, by
// the rules for ranks that share cores and by those for ranks on cores of their own, whatever this machine has.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>

#include "support/exchange.hpp"
#include "support/random_seed.hpp"
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
  device& dev = all.through();
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

void carry_out_each_operation(group& all, std::uint64_t seed, bool is_crowded) {
  std::mt19937 random{static_cast<std::uint32_t>(seed)};
  std::mt19937 own{static_cast<std::uint32_t>(seed + 1000 * (all.rank() + 1))};
  std::uint32_t number = 0;
  for (int operation = 0; operation <= static_cast<int>(collective_operation::exscan); ++operation) {
    const test::exchange drawn =
        exchange_of(static_cast<collective_operation>(operation), random, ++number, all.size());
    test::member_side mine{drawn, all.rank()};
    const form chosen = forms[own() % forms.size()];
    const bool has_layout = own() % 3 == 0;
    const errc end = carry_out(all, mine.call(has_layout ? &test::layout_of_bytes() : nullptr), chosen);
    EXPECT_EQ(end, errc::none);
    EXPECT_TRUE(mine.is_right()) << drawn << ", member " << all.rank() << ", "
                                 << names[static_cast<std::size_t>(chosen)] << ", crowded: " << is_crowded
                                 << ", layout: " << has_layout;
  }
}

void mix_forms(std::uint32_t ranks, int rounds, std::uint64_t seed) {
  test::local_job{ranks}.run([&](runtime& rt) {
    for (const bool is_crowded : {false, true}) {
      test::local_job::assume_beyond_processors(rt, is_crowded);
      group all = rt.world().dup();
      for (int round = 0; round < rounds; ++round)
        carry_out_each_operation(all, seed + 100 * ranks + static_cast<std::uint64_t>(round), is_crowded);
    }
  });
}

TEST(mixed_forms, of_few_members_give_what_an_oracle_gives) {
  const std::uint64_t seed = test::random_seed();
  for (std::uint32_t ranks = 1; ranks <= 9; ++ranks) mix_forms(ranks, test::under_sanitizer ? 2 : 6, seed);
}

// More members than those for which one member does all.
TEST(mixed_forms, of_many_members_give_what_an_oracle_gives) { mix_forms(65, 1, test::random_seed()); }

}  // namespace
}  // namespace weft
