// SPDX-License-Identifier: BSD-3-Clause
// Options of runtimes and devices that are wrong, or contradict each other. Ranges and texts:
// tests/base/config_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

using testing::HasSubstr;
using weft::errc;

void expect_refused(std::uint32_t ranks, const weft::runtime_options& options, errc expected, const char* words) {
  try {
    weft::test::local_job{ranks, options}.run([](weft::runtime&) {});
    ADD_FAILURE() << "nothing was thrown where '" << words << "' was expected";
  } catch (const weft::error& thrown) {
    EXPECT_STREQ(weft::name_of(thrown.code()), weft::name_of(expected)) << thrown.what();
    EXPECT_THAT(thrown.what(), HasSubstr(words));
  }
}

TEST(wrong_settings, out_of_range_name_the_member) {
  expect_refused(1, {.packet_bytes = 100}, errc::configuration,
                 "runtime_options::packet_bytes='100' is out of range; allowed: a whole number from 512 to 16777216");
}

TEST(wrong_settings, of_more_regions_than_the_shared_memory_has_room_for) {
  expect_refused(
      2, {.shared_bytes = std::size_t{4} << 20, .regions_max = std::size_t{1} << 20, .transport = "shm"},
      errc::configuration,
      "runtime_options::regions_max=1048576 takes 33558528 bytes, more than half of the 4194304 that a rank can "
      "share by runtime_options::shared_bytes");
}

TEST(wrong_settings, of_fewer_bytes_than_the_first_operations_take) {
  expect_refused(1, {.state_bytes_max = 1000}, errc::configuration,
                 "runtime_options::state_bytes_max=1000 is less than the");
  expect_refused(1, {.state_bytes_max = 1 << 20, .receives_max = 1 << 20}, errc::configuration,
                 "runtime_options::state_bytes_max=1048576 is less than the");
}

TEST(wrong_settings, that_choose_a_fault_of_a_network_that_is_not_simulated) {
  expect_refused(2, {.transport = "shm", .sim_fail = "read:1"}, errc::configuration,
                 "runtime_options::sim_fail=read:1 contradicts runtime_options::transport=shm");
}

TEST(wrong_settings, that_choose_a_provider_without_libfabric) {
  expect_refused(2, {.transport = "shm", .ofi_provider = "tcp"}, errc::configuration,
                 "runtime_options::ofi_provider=tcp contradicts runtime_options::transport=shm");
}

TEST(wrong_settings, without_a_transport_to_the_other_rank) {
  expect_refused(2, {.transport = "self"}, errc::transport_failed, "has no way to rank");
}

TEST(wrong_settings, of_a_device_whose_rings_are_longer_than_the_runtimes) {
  expect_refused(1, {.default_device = {.ring_cells = 128}, .ring_cells = 64}, errc::invalid_argument,
                 "device_options::ring_cells=128: allowed is a power of two from 8 to 64");
  weft::test::local_job{1, {.ring_cells = 64}}.run([](weft::runtime& rt) {
    for (const std::size_t wrong : {std::size_t{0}, std::size_t{4}, std::size_t{12}, std::size_t{65}, ~std::size_t{0},
                                    (std::size_t{1} << 32) + 8}) {
      EXPECT_THROW((weft::device{rt, {.ring_cells = wrong}}), weft::error) << wrong;
    }
    const weft::device right{rt, {.ring_cells = 8}};
  });
}

TEST(wrong_settings, of_a_progress_thread_for_a_runtime_of_one_thread) {
  weft::test::local_job{1, {.default_device = {.shared = false}}}.run(
      [](weft::runtime& rt) { EXPECT_THROW(weft::progress_thread{rt.default_device()}, weft::error); });
}

}  // namespace
