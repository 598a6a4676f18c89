// SPDX-License-Identifier: BSD-3-Clause
// The kind of memory that no processor may touch, and what posts refuse of it.
#include "weft/test/guarded_memory.hpp"

#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::guarded_memory;

template <class Call>
void expect_error(errc expected, const Call& call) {
  try {
    static_cast<void>(call());
    ADD_FAILURE() << "no error";
  } catch (const error& thrown) {
    EXPECT_EQ(thrown.code(), expected) << thrown.what();
  }
}

TEST(guarded_memory, has_the_bytes_that_were_written) {
  test::local_job{1}.run([](runtime& rt) {
    guarded_memory guarded{rt, 5000};
    std::vector<std::byte> got(5000, std::byte{1});
    guarded.read(0, got);
    EXPECT_EQ(got, std::vector<std::byte>(5000));
    const std::vector<std::byte> some(100, std::byte{7});
    guarded.write(4900, some);
    guarded.read(0, got);
    EXPECT_EQ(std::ranges::count(got, std::byte{7}), 100);
    EXPECT_EQ(got.back(), std::byte{7});
    EXPECT_EQ(guarded.memory().kind(), "guarded");
    EXPECT_EQ(guarded.buffer(10, 20).address(), guarded.address() + 10);
    EXPECT_EQ(guarded.buffer(10, 20).memory(), &guarded.memory());
    EXPECT_EQ(guarded.copied_in() + guarded.copied_out(), 0U);  // the library's alone
  });
}

TEST(guarded_memory, says_what_is_wrong_with_a_range) {
  test::local_job{1}.run([](runtime& rt) {
    guarded_memory guarded{rt, 100};
    const std::vector<std::byte> some(101);
    std::vector<std::byte> got(2);
    expect_error(errc::invalid_argument, [&] { guarded.write(0, some); });
    expect_error(errc::invalid_argument, [&] { guarded.read(99, got); });
    expect_error(errc::invalid_argument, [&] { guarded.read(~std::size_t{0}, got); });
    expect_error(errc::invalid_argument, [&] { static_cast<void>(guarded.buffer(1, 100)); });
    expect_error(errc::invalid_argument, [&] { static_cast<void>(guarded.buffer(50, ~std::size_t{0} - 10)); });
    expect_error(errc::invalid_argument, [&] { guarded_memory{rt, 0}; });
    expect_error(errc::out_of_memory, [&] { guarded_memory{rt, ~std::size_t{0} >> 1}; });
    EXPECT_EQ(guarded.buffer(100, 0).bytes(), 0U);
  });
}

// A system call must not reach it either: the kernel copies for long messages.
TEST(guarded_memory, is_not_touched_by_system_calls) {
  test::local_job{1}.run([](runtime& rt) {
    guarded_memory guarded{rt, 100};
    std::array<std::byte, 8> here{};
    const iovec mine{here.data(), here.size()}, theirs{guarded.address(), here.size()};
    errno = 0;
    EXPECT_EQ(process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0), -1);
    EXPECT_EQ(errno, EFAULT);
    EXPECT_EQ(process_vm_writev(getpid(), &mine, 1, &theirs, 1, 0), -1);
    EXPECT_EQ(errno, EFAULT);
  });
}

TEST(guarded_memory_death, ends_a_process_that_touches_it) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(test::local_job{1}.run([](runtime& rt) {
    const guarded_memory guarded{rt, 100};
    *static_cast<volatile std::byte*>(guarded.address()) = std::byte{1};
  }),
               "");
}

// Each call that takes an address gets one of the guarded bytes as if it were of ordinary memory.
TEST(guarded_memory, is_refused_where_it_comes_without_its_name) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    guarded_memory guarded{rt, 8192};
    completion_queue over{rt}, inbox{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    const memory_region region{rt, std::size_t{4096}};
    const remote_buffer there = region.at(0);
    const auto refused = [&](const auto& call) { expect_error(errc::invalid_argument, call); };
    for (const std::size_t bytes : {8U, 40U, 1000U, 4000U}) {
      buffer_ref buffer{guarded.address() + 1, bytes};
      const const_buffer_ref source = buffer;
      std::vector<std::byte> own(8);
      const std::array from{const_buffer_ref{std::span{own}}, source};
      const std::array into{buffer_ref{std::span{own}}, buffer};
      refused([&] { return dev.post_send(0, source, over); });
      refused([&] { return dev.post_send(0, source, over, {.engine = default_matching_engine, .allow_done = false}); });
      refused([&] { return dev.post_send(0, const_buffer_list{from}, over); });
      refused([&] { return dev.post_recv(0, buffer, over); });
      refused([&] { return dev.post_recv(0, buffer, over, {.allow_retry = false}); });
      refused([&] { return dev.post_recv(0, buffer_list{into}, over); });
      refused([&] { return dev.post_am(0, {1}, source, over); });
      refused([&] { return dev.post_am(0, {1}, const_buffer_list{from}, over); });
      refused([&] { dev.reply(0, {1}, source, {.copy_long = true}); });
      refused([&] { return dev.post_put(0, source, there, over); });
      refused([&] { return dev.post_put(0, const_buffer_list{from}, there, over); });
      refused([&] { return dev.post_get(0, buffer, there, over); });
      refused([&] { return dev.post_get(0, buffer_list{into}, there, over); });
      refused([&] { return dev.post_comm(direction::outgoing, 0, source, over); });
      refused([&] { return dev.post_comm(direction::incoming, 0, buffer, over); });
      // A message that waits.
      static_cast<void>(test::post(dev, [&] { return dev.post_send(0, std::span{own}, over, {.tag = bytes}); }));
      std::optional<matched_message> found;
      ASSERT_TRUE(test::eventually(dev, [&] { return (found = dev.probe(0, {.tag = bytes})).has_value(); }));
      refused([&] { return found->receive(buffer, over); });
      EXPECT_TRUE(found->receive(std::span{own}, over).is_posted());
      while (over.pop()) {
      }
    }
    refused([&] { memory_region{rt, std::span{guarded.address(), 100}}; });
    auto* const word = reinterpret_cast<std::uint64_t*>(guarded.address());
    refused([&] { return dev.post_atomic<std::uint64_t>(0, atomic_op::fetch_add, 1, there, over, {.result = word}); });
    EXPECT_FALSE(inbox.pop().has_value());
  });
}

// The bytes before and behind it are ordinary memory, or not mapped.
TEST(guarded_memory, is_refused_where_one_byte_of_it_is_named) {
  test::local_job{1}.run([](runtime& rt) {
    const guarded_memory guarded{rt, 8192};
    std::byte* const begin = guarded.address();
    std::byte* const end = begin + guarded.bytes();
    const auto refused = [&](std::byte* address, std::size_t bytes) {
      expect_error(errc::invalid_argument, [&] { memory_region{rt, std::span{address, bytes}}; });
    };
    refused(begin, 1);
    refused(begin - 1, 2);
    refused(begin - 4096, 3 * 8192);
    refused(end - 1, 1);
    refused(end - 1, 4096);
    EXPECT_NO_THROW((memory_region{rt, std::span{begin - 1, 1}}));
    EXPECT_NO_THROW((memory_region{rt, std::span{end, 1}}));
  });
}

TEST(guarded_memory, that_does_not_know_its_addresses_refuses_none) {
  test::local_job{1}.run([](runtime& rt) {
    const guarded_memory guarded{rt, 8192, {.knows_addresses = false}};
    EXPECT_NO_THROW((memory_region{rt, std::span{guarded.address(), 100}}));
  });
}

// A buffer may name the memory with a range beyond it: then its copies fail, and nothing else does.
TEST(guarded_memory, fails_copies_beyond_it) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    guarded_memory guarded{rt, 4096};
    completion_queue over{rt};
    std::vector<std::byte> own(1000, std::byte{5});
    const buffer_ref beyond{guarded.address() + 4000, 1000, guarded.memory()};
    static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, beyond, over, {.tag = 1}); }));
    static_cast<void>(test::post(dev, [&] { return dev.post_send(0, std::span{own}, over, {.tag = 1}); }));
    std::optional<completion_record> record;
    ASSERT_TRUE(test::eventually(dev, [&] { return (record = over.pop()).has_value(); }));
    EXPECT_EQ(record->error(), errc::memory_failed);
    EXPECT_EQ(record->bytes(), 0U);
    EXPECT_EQ(record->memory(), &guarded.memory());
    EXPECT_EQ(guarded.copied_in(), 0U);
  });
}

}  // namespace
}  // namespace weft
