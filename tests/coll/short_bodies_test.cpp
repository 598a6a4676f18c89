// SPDX-License-Identifier: BSD-3-Clause
// A member that waits may take a body of its own, while another one takes the schedule of the algorithm: because it has
// posted the collective, or its buffers have a layout. Both send equal messages, for each number of members.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "coll/algorithms/short/bodies.hpp"
#include "coll/choose/choose.hpp"
#include "coll/schedule/counts.hpp"
#include "support/random_seed.hpp"

namespace weft::coll {
namespace {

// Writes the messages of a body down as a schedule: all steps behind a wait begin after the receives before it.
class written_messages {
 public:
  explicit written_messages(schedule& steps) : steps_{steps} {}

  void expect(std::uint32_t member, std::uint32_t label, void* /*into*/, std::size_t bytes) {
    expected_.push_back(behind_waits(steps_.receive(member, label, {location::output, 0, bytes})));
  }
  void send(std::uint32_t member, std::uint32_t label, const void* /*from*/, std::size_t bytes) {
    behind_waits(steps_.send(member, label, {location::input, 0, bytes}));
  }
  void wait() {
    before_ = expected_;
    expected_.clear();
  }
  void fail(const std::exception_ptr& /*why*/) { FAIL() << "a function of the test has thrown"; }
  [[nodiscard]] static bool has_failed() { return false; }
  void finish() const { EXPECT_TRUE(expected_.empty()) << "a receive that none waits for"; }

 private:
  step_ref behind_waits(step_ref added) {
    for (const step_ref each : before_) steps_.add_edge(each, added);
    return added;
  }

  schedule& steps_;
  std::vector<step_ref> before_;
  std::vector<step_ref> expected_;
};

schedule body_of(const collective_args& args) {
  schedule out;
  element_room input{}, result{};
  const reduction none{.combine = [](const void*, void*, std::size_t, void*) {}, .element_bytes = args.element_bytes};
  run_short_body<written_messages>(out, args, input.data(), args.is_inplace ? input.data() : result.data(), none);
  return out;
}

schedule schedule_of(const collective_args& args) {
  schedule out;
  choose(args, {}, {}).algorithm->function(out, args);
  return out;
}

using message = std::tuple<bool, std::uint32_t, std::uint32_t, std::uint64_t>;  // sent, peer, label, bytes

std::vector<message> messages_of(const schedule& steps) {
  std::vector<message> out;
  for (const step& each : steps.steps()) {
    if (each.action == action::send) out.emplace_back(true, each.peer, each.label, each.from.bytes);
    if (each.action == action::receive) out.emplace_back(false, each.peer, each.label, each.into.bytes);
  }
  std::ranges::sort(out);
  return out;
}

// All members of a collective by either; and by a choice of each member, in several drawn worlds.
void compare(collective_args args, std::mt19937& random) {
  std::vector<schedule> bodies, schedules;
  for (args.rank = 0; args.rank < args.size; ++args.rank) {
    bodies.push_back(body_of(args));
    schedules.push_back(schedule_of(args));
    ASSERT_EQ(messages_of(bodies.back()), messages_of(schedules.back())) << "member " << args.rank;
  }
  const counts wanted = count(schedules);
  ASSERT_EQ(wanted.wrong, "");
  for (int drawn = 0; drawn < 4; ++drawn) {
    std::vector<schedule> mixed;
    for (std::uint32_t rank = 0; rank < args.size; ++rank)
      mixed.push_back(drawn == 0 || random() % 2 == 0 ? bodies[rank] : schedules[rank]);
    const counts found = count(mixed);
    ASSERT_EQ(found.wrong, "");
    ASSERT_EQ(found.messages, wanted.messages);
    ASSERT_EQ(found.bytes, wanted.bytes);
  }
}

TEST(short_bodies, send_the_messages_of_their_schedules_whichever_members_take_which) {
  std::mt19937 random{static_cast<std::mt19937::result_type>(test::random_seed())};
  std::set<algorithm_function> compared;
  for (const operation kind : {operation::barrier, operation::broadcast, operation::allreduce}) {
    for (std::uint32_t size = 1; size <= 130; size += size < 68 ? 1U : 17U) {
      for (const bool is_oversubscribed : {false, true}) {
        collective_args args{.operation = kind,
                             .size = size,
                             .root = kind == operation::broadcast ? static_cast<std::uint32_t>(random() % size) : 0,
                             .block_bytes = kind == operation::barrier ? 0 : 1 + random() % short_bytes_max,
                             .is_commutative = random() % 2 == 0,
                             .is_inplace = kind == operation::allreduce && random() % 2 == 0,
                             .is_oversubscribed = is_oversubscribed};
        ASSERT_TRUE(has_short_body(args));
        compared.insert(choose(args, {}, {}).algorithm->function);
        compare(args, random);
        ASSERT_FALSE(HasFatalFailure()) << name_of(kind) << " of " << args.block_bytes << " bytes among " << size
                                        << " members, root " << args.root << ", oversubscribed: " << is_oversubscribed;
      }
    }
  }
  EXPECT_EQ(compared,
            (std::set<algorithm_function>{linear_barrier, dissemination_barrier, linear_broadcast, binomial_broadcast,
                                          linear_allreduce, recursive_doubling_allreduce}));
}

}  // namespace
}  // namespace weft::coll
