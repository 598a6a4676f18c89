// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm a collective uses: what the call names comes before the setting, and that before the rules.
#include "coll/choose/choose.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "weft/collectives.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using coll::choice;
using coll::chosen_by;
using coll::collective_args;

collective_args sum_of(std::uint64_t bytes, std::uint32_t size, bool is_commutative = true) {
  return {.operation = collective_operation::allreduce,
          .size = size,
          .block_bytes = bytes,
          .element_bytes = 8,
          .is_commutative = is_commutative};
}

std::string refusal(const collective_args& args, std::string_view wanted, std::string_view setting) {
  try {
    static_cast<void>(coll::choose(args, wanted, setting));
  } catch (const error& why) {
    EXPECT_EQ(why.code(), errc::invalid_argument);
    return why.what();
  }
  return "accepted";
}

TEST(choice_of_algorithm, is_the_calls_then_the_settings_then_the_rules) {
  const choice called = coll::choose(sum_of(8, 4), "rabenseifner", "barrier:tree,allreduce:ring");
  EXPECT_EQ(called.algorithm->name, "rabenseifner");
  EXPECT_EQ(called.why, chosen_by::call);
  const choice set = coll::choose(sum_of(8, 4), {}, "barrier:tree,allreduce:ring");
  EXPECT_EQ(set.algorithm->name, "ring");
  EXPECT_EQ(set.why, chosen_by::setting);
  EXPECT_TRUE(set.unable.empty());
  const choice ruled = coll::choose(sum_of(8, 4), {}, "barrier:tree,reduce:chain");
  EXPECT_EQ(ruled.why, chosen_by::rule);
  EXPECT_EQ(ruled.algorithm, coll::choose(sum_of(8, 4), {}, {}).algorithm);
  EXPECT_TRUE(ruled.unable.empty());
}

TEST(choice_of_algorithm, is_the_rules_where_the_settings_algorithm_can_not_do_it) {
  const collective_args args = sum_of(1024, 4, false);
  const choice chosen = coll::choose(args, {}, "allreduce:ring");
  EXPECT_EQ(chosen.algorithm, coll::choose(args, {}, {}).algorithm);
  EXPECT_EQ(chosen.why, chosen_by::rule);
  EXPECT_EQ(chosen.unable, "ring");
  EXPECT_NE(coll::reason_of(chosen).find("WEFT_COLL names ring, which can't do this"), std::string::npos);
  // A call has no second choice.
  EXPECT_NE(refusal(args, "ring", {}).find("this can't be done by algorithm 'ring'"), std::string::npos);
  EXPECT_NE(refusal(args, "rign", "allreduce:ring")
                .find("there is no algorithm 'rign'; there are linear, recursive-doubling"),
            std::string::npos);
}

TEST(choice_of_algorithm, of_few_ranks_that_share_cores_lets_one_rank_do_more_so_that_others_wait_less) {
  collective_args args = sum_of(64 * 1024, 4);
  EXPECT_EQ(coll::choose(args, {}, {}).algorithm->name, "rabenseifner");
  args.is_oversubscribed = true;
  const choice chosen = coll::choose(args, {}, {});
  EXPECT_EQ(chosen.algorithm->name, "linear");
  EXPECT_EQ(coll::reason_of(chosen), "the rule for blocks of up to 262144 bytes where up to 8 ranks share cores");
  args.size = 9;
  EXPECT_EQ(coll::choose(args, {}, {}).algorithm->name, "rabenseifner");
  args.size = 4;
  args.block_bytes = 1024 * 1024;
  EXPECT_EQ(coll::choose(args, {}, {}).algorithm->name, "rabenseifner");
}

TEST(choice_of_algorithm, is_the_first_that_can_where_no_rule_fits) {
  const std::uint64_t bytes[] = {8, 16}, offsets[] = {0, 8};
  collective_args args{
      .operation = collective_operation::scatter, .size = 2, .in_blocks = {bytes, offsets}, .root_has_list = true};
  EXPECT_EQ(coll::choose(args, {}, {}).algorithm->name, "linear");
  EXPECT_EQ(coll::text_of(args), "scatter of blocks of different sizes among 2 members");
  EXPECT_EQ(coll::text_of(sum_of(1, 1)), "allreduce of 1 byte among 1 member");
}

// Messages that this rank has sent since the last call.
class sent_messages {
 public:
  explicit sent_messages(const device& dev) : dev_{dev} { static_cast<void>(more()); }
  std::uint64_t more() {
    const std::uint64_t now = dev_.counters().posts.sends.operations;
    return now - std::exchange(last_, now);
  }

 private:
  const device& dev_;
  std::uint64_t last_ = 0;
};

// Of 4 members: recursive doubling has 2 messages of each, and a ring 6.
TEST(choice_of_algorithm, of_a_runtime_is_that_of_all_its_groups) {
  test::local_job{4, runtime_options{.transport = "self,shm", .coll = "allreduce:ring,barrier:tree"}}.run(
      [](runtime& rt) {
        group all = rt.world();
        group again = all.dup();
        std::uint64_t mine = rt.rank(), sum = 0;
        const collective add =
            collective::allreduce({&mine, sizeof mine}, {&sum, sizeof sum}, reduction::callable<std::uint64_t>());
        sent_messages sent{rt.default_device()};
        for (group* each : {&all, &again}) {
          add.run(*each);
          EXPECT_EQ(sent.more(), 6U);
          synchronizer end{rt};
          static_cast<void>(add.post(*each, end));
          rt.default_device().wait(end);
          EXPECT_EQ(sent.more(), 6U);
          add.keep(*each).run();
          EXPECT_EQ(sent.more(), 6U);
          add.run(*each, {.algorithm = "recursive-doubling"});
          EXPECT_EQ(sent.more(), 2U);
          collective::barrier().run(*each);
          EXPECT_EQ(sent.more(), rt.rank() == 0 ? 2U : rt.rank() == 2 ? 2U : 1U);
          EXPECT_EQ(sum, 6U);
        }
      });
}

}  // namespace
}  // namespace weft
