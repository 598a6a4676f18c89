// SPDX-License-Identifier: BSD-3-Clause
// Segments: what is mapped is as large as was agreed on, and stays so.
// stages: release asan
#include "net/shm/segment.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "weft/error.hpp"

namespace weft::net::shm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t segment_bytes = 64 * 4096;

std::string refusal(const base::descriptor& file, std::size_t size) {
  try {
    static_cast<void>(segment::map(file, size));
  } catch (const error& thrown) {
    EXPECT_EQ(thrown.code(), errc::transport_failed);
    return thrown.what();
  }
  return "";
}

TEST(segment, is_zero_shared_and_gone_with_its_last_owner) {
  auto [own, file] = segment::create(segment_bytes);
  const segment other = segment::map(file, segment_bytes);
  ASSERT_NE(own.memory(), other.memory());
  for (std::size_t i = 0; i < segment_bytes; ++i) ASSERT_EQ(other.memory()[i], std::byte{0});
  own.memory()[segment_bytes - 1] = std::byte{42};
  EXPECT_EQ(other.memory()[segment_bytes - 1], std::byte{42});
}

TEST(segment, can_be_neither_shrunk_nor_grown_nor_unsealed) {
  const auto [own, file] = segment::create(segment_bytes);
  EXPECT_NE(ftruncate(file.get(), segment_bytes / 2), 0);
  EXPECT_NE(ftruncate(file.get(), segment_bytes * 2), 0);
  EXPECT_NE(fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

// Without the check, the kernel sends SIGXFSZ, which ends this process.
TEST(segment, beyond_the_limit_on_file_sizes_is_refused_with_advice) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit low{segment_bytes, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  std::string text;
  try {
    static_cast<void>(segment::create(segment_bytes));
    static_cast<void>(segment::create(segment_bytes + 4096));
  } catch (const error& thrown) {
    EXPECT_EQ(thrown.code(), errc::out_of_memory);
    text = thrown.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(text, AllOf(HasSubstr("266240 bytes"), HasSubstr("a file may have 262144"),
                          HasSubstr("WEFT_SHARED_BYTES"), HasSubstr("ulimit -f")));
}

TEST(segment, of_another_size_is_refused) {
  const auto [own, file] = segment::create(segment_bytes);
  EXPECT_THAT(refusal(file, segment_bytes + 4096), HasSubstr("has 262144 bytes where 266240 were expected"));
  EXPECT_THAT(refusal(file, segment_bytes - 4096), HasSubstr("same WEFT_*"));
}

TEST(segment, that_could_shrink_is_refused) {
  const base::descriptor file{memfd_create("weft-test", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  ASSERT_EQ(ftruncate(file.get(), segment_bytes), 0);
  EXPECT_THAT(refusal(file, segment_bytes), HasSubstr("not sealed against shrinking"));
  ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW), 0);
  EXPECT_THAT(refusal(file, segment_bytes), HasSubstr("not sealed against shrinking"));
  ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(refusal(file, segment_bytes), "");
}

TEST(segment, is_no_file_of_another_kind) {
  EXPECT_NE(refusal(base::descriptor{}, segment_bytes), "");
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const base::descriptor in{ends[0]}, out{ends[1]};
  EXPECT_NE(refusal(in, segment_bytes), "");
}

TEST(descriptor, closes_what_it_owns_once) {
  const int raw = memfd_create("weft-test", MFD_CLOEXEC);
  {
    base::descriptor first{raw};
    base::descriptor second{std::move(first)};
    EXPECT_FALSE(first);
    EXPECT_EQ(second.get(), raw);
    EXPECT_NE(fcntl(raw, F_GETFD), -1);
  }
  EXPECT_EQ(fcntl(raw, F_GETFD), -1);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace weft::net::shm
