// SPDX-License-Identifier: BSD-3-Clause
// The gate of a kind of memory under the explorer: a function of the kind sees the writes before the kind began, the
// end of the kind waits for the function, and memory of an ended kind does not enter the next kind.
#include "core/memory/kind_gate.hpp"

#include <gtest/gtest.h>

#include <iostream>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using gate_word = weft::core::basic_kind_gate<model_atomics>;

class model_kind_gate : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

// One slot of the table of kinds.
struct slot {
  gate_word gate;
  std::uint64_t functions = 0;  // the number of their kind

  std::uint64_t read() {
    std::uint64_t out = 0;
    model_atomics::read_nonatomic(&out, &functions, sizeof out);
    return out;
  }
  void begin(std::uint32_t number) {
    const std::uint64_t of = number;
    model_atomics::write_nonatomic(&functions, &of, sizeof of);
    gate.open(number);
  }
  void end() {
    gate.close();
    while (!gate.is_left()) await_change();
    const std::uint64_t none = 0;
    model_atomics::write_nonatomic(&functions, &none, sizeof none);
  }
  // A copy of memory of kind `number`.
  bool call(std::uint32_t number) {
    if (!gate.try_enter(number)) return false;
    check(read() == number, "functions of another kind are called");
    gate.leave();
    return true;
  }
  // A post that looks for the kind of an address.
  void ask() {
    const std::uint32_t number = gate.number();
    if (number != 0) call(number);
  }
};

void a_kind_ends_while_it_is_called() {
  slot of;
  of.begin(1);
  threads(
      [&] {
        if (!of.call(1)) check(!of.call(1), "an ended kind is there again");
      },
      [&] { of.end(); });
  check(!of.call(1), "an ended kind is called");
  check(of.gate.is_left(), "a thread is inside for ever");
}

void a_kind_ends_while_two_call_it() {
  slot of;
  of.begin(1);
  threads([&] { of.call(1); }, [&] { of.call(1); }, [&] { of.end(); });
  check(of.gate.is_left(), "a thread is inside for ever");
}

void a_kind_follows_another() {
  slot of;
  of.begin(1);
  threads(
      [&] {
        of.call(1);
        of.call(1);
      },
      [&] {
        of.end();
        of.begin(2);
        check(of.call(2), "a kind that has begun is not there");
      });
  check(!of.call(1), "memory of an ended kind enters the next one");
  check(of.call(2), "a kind that has begun is not there");
}

void a_post_asks_while_kinds_come_and_go() {
  slot of;
  threads(
      [&] {
        of.ask();
        of.ask();
      },
      [&] {
        of.begin(1);
        of.end();
        of.begin(2);
      });
  check(of.call(2), "a kind that has begun is not there");
}

TEST_F(model_kind_gate, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"ends while called", a_kind_ends_while_it_is_called},
                                      {"ends while two call", a_kind_ends_while_two_call_it},
                                      {"follows another", a_kind_follows_another},
                                      {"a post asks", a_post_asks_while_kinds_come_and_go}};
  const planting_report report = plant_bugs(programs, {"/kind_gate.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
