// SPDX-License-Identifier: BSD-3-Clause
// Which processes are on one machine: this decides whether ranks share memory.
// stages: release asan
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "base/this_machine.hpp"

namespace weft::base {
namespace {

enum outcome : int { not_found, found, refused };

// The answer in a child process, which is on another machine if `is_elsewhere`.
outcome seen_by_child(const machine_mark::name_type& name, bool is_elsewhere) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (is_elsewhere && ::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) ::_exit(refused);
    ::_exit(is_on_this_machine(name) ? found : not_found);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? static_cast<outcome>(WEXITSTATUS(status)) : refused;
}

TEST(this_machine, has_the_marks_of_its_processes_and_only_while_these_hold_them) {
  std::optional<machine_mark> mark{std::in_place};
  const machine_mark other;
  const machine_mark::name_type name = mark->name();
  EXPECT_NE(name, other.name());
  EXPECT_TRUE(is_on_this_machine(name));
  EXPECT_TRUE(is_on_this_machine(name)) << "to look takes nothing away";
  EXPECT_EQ(seen_by_child(name, false), found);
  mark.reset();
  EXPECT_FALSE(is_on_this_machine(name));
  EXPECT_TRUE(is_on_this_machine(other.name()));
  EXPECT_FALSE(is_on_this_machine({}));
}

// A namespace of the network stands for a machine: whatever else the two have in common, they can't reach each other.
TEST(this_machine, is_another_one_where_the_mark_is_not_found_though_the_kernel_is_the_same) {
  const machine_mark mark;
  const outcome seen = seen_by_child(mark.name(), true);
  if (seen == refused) GTEST_SKIP() << "namespaces of the network are not permitted here";
  EXPECT_EQ(seen, not_found);
}

}  // namespace
}  // namespace weft::base
