// SPDX-License-Identifier: BSD-3-Clause
// A message over a fabric that can't be delivered: its sender is told which one, to whom, and why.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/leave_to_parent.hpp"
#include "contract/job.hpp"
#include "support/time_limit.hpp"
#include "support/waiting.hpp"

namespace weft::contract {
namespace {

using net::post_result;

class lost_over_a_fabric : public testing::TestWithParam<kind> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().absent(); !why.empty()) GTEST_SKIP() << why;
    job_ = std::make_unique<test_job>(GetParam());
    out_ = job_->from().open(0, seen_sink::whole);
    in_ = job_->to().open(0, seen_sink::whole);
  }

  void meet() {
    const auto posted = [&] { return post(1) == post_result::ok; };
    ASSERT_TRUE(poll_until(posted));
    ASSERT_TRUE(poll_until([&] { return !into_.messages.empty(); }));
    into_.messages.clear();
  }

  void end_target() {
    in_.reset();
    job_->end_target();
  }

  [[nodiscard]] post_result post(std::uint32_t note) {
    const std::uint64_t word = note;
    return out_->try_send_inline(1, net::any_device, header_of(note), &word, sizeof word);
  }
  [[nodiscard]] static net::header header_of(std::uint32_t note) {
    return {.kind = 7, .id = 8, .sequence = 9, .note = note, .tag = 10};
  }

  template <class Condition>
  [[nodiscard]] bool poll_until(const Condition& done) {
    weft::test::time_limit limit;
    while (!done()) {
      if (limit.is_over()) return false;
      unsigned moved = out_->poll(told_, 16);
      if (in_) moved += in_->poll(into_, 16);
      if (moved == 0) std::this_thread::yield();
    }
    return true;
  }

  // Posts until nothing moves any more, since the target does not poll: some of it has not left then. How many.
  [[nodiscard]] std::uint32_t fill() {
    std::uint32_t posted = 1;
    for (int refused = 0; refused < 2000;) {
      const std::uint32_t packet = job_->from().packets.try_get();
      if (out_->try_send(1, net::any_device, header_of(posted + 1), packet, packet_bytes) == post_result::ok) {
        ++posted;
        refused = 0;
      } else {
        job_->from().packets.put(packet);
        ++refused;
      }
      out_->poll(told_, 16);
    }
    return posted;
  }

  void expect_losses_of(std::uint32_t posted) {
    EXPECT_TRUE(poll_until([&] { return !told_.losses.empty(); }));
    for (const sink::lost& each : told_.losses) {
      EXPECT_EQ(each.peer, 1U);
      EXPECT_EQ(each.header.kind, 7U);
      EXPECT_EQ(each.header.id, 8U);
      EXPECT_EQ(each.header.sequence, 9U);
      EXPECT_EQ(each.header.tag, 10U);
      EXPECT_GT(each.header.note, 1U) << "a message that has arrived";
      EXPECT_LE(each.header.note, posted) << "a message that was not accepted";
      EXPECT_FALSE(each.cause.empty());
    }
    EXPECT_NE(post(posted + 1), post_result::ok);
  }

  std::unique_ptr<test_job> job_;
  std::unique_ptr<endpoint> out_, in_;
  sink told_, into_;
};

INSTANTIATE_TEST_SUITE_P(contract, lost_over_a_fabric,
                         testing::Values(over_ofi("net"), over_ofi("tcp;ofi_rxm"), simulated(over_ofi("tcp;ofi_rxm"))),
                         [](const auto& test) { return test.param.name; });

TEST_P(lost_over_a_fabric, is_a_message_to_a_peer_that_has_gone) {
  meet();
  const std::uint32_t posted = fill();
  end_target();
  expect_losses_of(posted);
}

TEST_P(lost_over_a_fabric, is_none_of_those_that_arrive) {
  for (int i = 0; i < 100; ++i) meet();
  EXPECT_TRUE(told_.losses.empty());
}

class child_over_a_fabric : public lost_over_a_fabric {};

INSTANTIATE_TEST_SUITE_P(contract, child_over_a_fabric,
                         testing::Values(over_ofi("net"), over_ofi("tcp;ofi_rxm"), over_ofi("shm")),
                         [](const auto& test) { return test.param.name; });

// It has copies of the connections, and leaves them to its parent, as a runtime's copy does.
TEST_P(child_over_a_fabric, ends_and_takes_nothing_from_its_parent) {
  if constexpr (test::under_sanitizer) GTEST_SKIP() << "a child of a process with threads, that allocates";
  meet();
  const pid_t child = ::fork();
  if (child == 0) {
    base::leave_to_parent(in_);
    base::leave_to_parent(out_);
    base::leave_to_parent(job_);
    std::exit(0);  // libfabric's own destructors run
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (int i = 0; i < 10 && !HasFatalFailure(); ++i) meet();
  EXPECT_TRUE(told_.losses.empty());
}

// A message that fits its sender's packets and not its receiver's would break the connection.
TEST(set_up_of_a_fabric, refuses_ranks_with_packets_of_other_sizes) {
  const kind tested = over_ofi("net");
  if (const std::string why = tested.absent(); !why.empty()) GTEST_SKIP() << why;
  const auto boots = boot::make_local_job(2);
  const auto refusal = [&](std::uint32_t rank) -> std::string {
    base::settings settings = small_settings();
    settings.ofi_provider = tested.provider;
    settings.packet_bytes = packet_bytes * (rank + 1);
    try {
      static_cast<void>(tested.make({*boots[rank], settings, "contract"}));
    } catch (const error& reason) {
      return reason.what();
    }
    return "";
  };
  auto other = std::async(std::launch::async, refusal, 1U);
  EXPECT_EQ(refusal(0), "libfabric: rank 0 has WEFT_PACKET_BYTES=512 and rank 1 1024: give all ranks the same");
  EXPECT_EQ(other.get(), "libfabric: rank 1 has WEFT_PACKET_BYTES=1024 and rank 0 512: give all ranks the same");
}

}  // namespace
}  // namespace weft::contract
