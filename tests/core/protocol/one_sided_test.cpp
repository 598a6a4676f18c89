// SPDX-License-Identifier: BSD-3-Clause
// Puts, gets and remote atomics between ranks that are threads: into memory that is mapped, copied, or asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

using weft::test::eventually;
using weft::test::post;

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>((i * 137 + seed * 19 + (i >> 8)) & 0xff);
  return out;
}

// Everybody learns everybody's handle, by active messages: it travels as bytes.
std::vector<weft::remote_region> exchange(weft::runtime& rt, const weft::memory_region& mine) {
  weft::completion_queue inbox{rt};
  weft::counter sent{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 77});
  std::vector<weft::remote_region> out(rt.size());
  for (std::uint32_t rank = 0; rank < rt.size(); ++rank) {
    static_cast<void>(
        weft::test::post_until_taken(rt.default_device(), rank, {77}, std::span{&mine.handle(), 1}, sent));
  }
  for (std::uint32_t i = 0; i < rt.size(); ++i) {
    std::optional<weft::completion_record> got;
    EXPECT_TRUE(eventually(rt.default_device(), [&] { return (got = inbox.pop()).has_value(); }));
    std::memcpy(&out[got->source()], got->data().data(), sizeof out[0]);
  }
  rt.barrier();
  return out;
}

enum class memory { of_weft, of_the_user };

class one_sided : public testing::TestWithParam<std::tuple<memory, std::size_t>> {};

TEST_P(one_sided, put_and_get_move_every_byte_and_signal) {
  const auto [kind, bytes] = GetParam();
  weft::test::local_job{2}.run([&, kind = kind, bytes = bytes](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    constexpr std::size_t margin = 24;
    std::vector<std::byte> own(kind == memory::of_the_user ? bytes + 2 * margin : 0, std::byte{});
    std::optional<weft::memory_region> region;
    if (kind == memory::of_weft) {
      region.emplace(rt, bytes + 2 * margin);
    } else {
      region.emplace(rt, std::span{own});
    }
    weft::completion_queue signals{rt}, local{rt};
    const auto arrivals = rt.register_completion(signals, {.id = 5});
    const auto handles = exchange(rt, *region);
    const std::uint32_t peer = 1 - rt.rank();
    const auto payload = pattern(bytes, rt.rank());
    const weft::remote_buffer there{handles[peer], margin};

    const auto check = [&](weft::operation expected, std::uint64_t tag) {
      std::optional<weft::completion_record> got;
      ASSERT_TRUE(eventually(dev, [&] { return (got = signals.pop()).has_value(); }));
      EXPECT_EQ(got->operation(), expected);
      EXPECT_EQ(got->source(), peer);
      EXPECT_EQ(got->tag(), tag);
      ASSERT_EQ(got->bytes(), bytes);
      if (expected == weft::operation::put_signal) {
        EXPECT_EQ(got->data().data(), region->memory().data() + margin);
        EXPECT_TRUE(std::ranges::equal(got->data(), pattern(bytes, peer)));
      }
    };
    const auto finish = [&](const weft::status& s, weft::operation expected) {
      if (!s.is_posted()) return;
      std::optional<weft::completion_record> got;
      ASSERT_TRUE(eventually(dev, [&] { return (got = local.pop()).has_value(); }));
      EXPECT_EQ(got->operation(), expected);
      EXPECT_EQ(got->error(), weft::errc::none);
    };
    constexpr std::uint64_t tag = 0xfedc'ba98'7654'3210;
    finish(post(dev, [&] { return dev.post_put(peer, payload, there, local, {.signal = {5}, .tag = tag}); }),
           weft::operation::put);
    check(weft::operation::put_signal, tag);
    EXPECT_TRUE(std::ranges::all_of(region->memory().first(margin), [](std::byte b) { return b == std::byte{}; }));
    EXPECT_TRUE(std::ranges::all_of(region->memory().last(margin), [](std::byte b) { return b == std::byte{}; }));
    rt.barrier();

    std::vector<std::byte> back(bytes + 1, std::byte{0xee});
    finish(post(dev,
                [&] {
                  return dev.post_get(peer, std::span{back}.first(bytes), there, local,
                                      {.signal = {5}, .tag = tag + 1});
                }),
           weft::operation::get);
    EXPECT_TRUE(std::ranges::equal(std::span{back}.first(bytes), payload));
    EXPECT_EQ(back[bytes], std::byte{0xee});
    check(weft::operation::get_signal, tag + 1);
    rt.barrier();

    // Without signal, delivered by a flush; from a list.
    const auto other = pattern(bytes, 10 + rt.rank());
    const std::array<weft::const_buffer_ref, 2> pieces{
        weft::const_buffer_ref{other.data(), bytes / 2},
        weft::const_buffer_ref{other.data() + bytes / 2, bytes - bytes / 2}};
    finish(post(dev, [&] { return dev.post_put(peer, weft::const_buffer_list{pieces}, there, local); }),
           weft::operation::put);
    dev.flush(peer);
    rt.barrier();
    EXPECT_TRUE(std::ranges::equal(region->memory().subspan(margin, bytes), pattern(bytes, 10 + peer)));
    rt.barrier();
    finish(post(dev,
                [&] {
                  return dev.post_put(peer, payload, there, local,
                                      {.complete_at = weft::completion_level::delivered, .allow_done = false});
                }),
           weft::operation::put);
    rt.barrier();
    EXPECT_TRUE(std::ranges::equal(region->memory().subspan(margin, bytes), pattern(bytes, peer)));
    EXPECT_EQ(rt.counters().messages_refused, 0U);
    rt.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(around_every_threshold, one_sided,
                         testing::Combine(testing::Values(memory::of_weft, memory::of_the_user),
                                          testing::Values(0, 1, 8, 16, 17, 40, 4000, 8168, 8169, 8192, 100'000, 524'288,
                                                          1'500'001)));

template <class Word>
void combine_from_all_ranks(memory kind) {
  weft::test::local_job{3}.run([&](weft::runtime& rt) {
    constexpr Word each = 300;
    weft::device& dev = rt.default_device();
    std::vector<Word> own(8);
    std::optional<weft::memory_region> region;
    if (kind == memory::of_weft) {
      region.emplace(rt, 8 * sizeof(Word));
    } else {
      region.emplace(rt, std::as_writable_bytes(std::span{own}));
    }
    const auto handles = exchange(rt, *region);
    weft::counter local{rt};
    std::uint64_t posted = 0;
    const auto apply = [&](weft::atomic_op op, Word operand, std::size_t index,
                           const weft::post_atomic_options<Word>& options = {}) {
      const weft::remote_buffer at{handles[0], index * sizeof(Word)};
      const auto s = post(dev, [&] { return dev.post_atomic(0, op, operand, at, local, options); });
      posted += s.is_posted();
      ASSERT_TRUE(eventually(dev, [&] { return local.value() == posted; }));
    };
    std::vector<Word> seen;
    for (Word i = 0; i < each; ++i) {
      Word old = 0;
      apply(weft::atomic_op::fetch_add, 1, 0, {.result = &old});
      seen.push_back(old);
      apply(weft::atomic_op::fetch_add, static_cast<Word>(-1), 1);
      // A sum by compare-and-swap.
      Word expected = 0;
      for (;;) {
        apply(weft::atomic_op::compare_and_swap, expected + 2, 2, {.result = &old, .compare = expected});
        if (old == expected) break;
        expected = old;
      }
    }
    EXPECT_TRUE(std::ranges::is_sorted(seen));
    EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
    apply(weft::atomic_op::fetch_or, Word{1} << rt.rank(), 3);
    apply(weft::atomic_op::fetch_xor, Word{1} << rt.rank(), 4);
    dev.flush();
    rt.barrier();
    if (rt.rank() == 1) {
      Word old = 0;
      apply(weft::atomic_op::fetch_and, 5, 3, {.result = &old});
      EXPECT_EQ(old, Word{7});
      apply(weft::atomic_op::swap, 42, 5, {.result = &old, .complete_at = weft::completion_level::delivered});
      EXPECT_EQ(old, Word{0});
    }
    rt.barrier();
    if (rt.rank() == 0) {
      const auto words = region->as<Word>();
      EXPECT_EQ(words[0], 3 * each);
      EXPECT_EQ(words[1], static_cast<Word>(-3 * static_cast<std::int64_t>(each)));
      EXPECT_EQ(words[2], 6 * each);
      EXPECT_EQ(words[3], Word{5});
      EXPECT_EQ(words[4], Word{7});
      EXPECT_EQ(words[5], Word{42});
    }
    rt.barrier();
  });
}

TEST(remote_atomics, of_32_bits_are_atomic_in_mapped_memory) { combine_from_all_ranks<std::uint32_t>(memory::of_weft); }
TEST(remote_atomics, of_64_bits_are_atomic_in_mapped_memory) { combine_from_all_ranks<std::uint64_t>(memory::of_weft); }
TEST(remote_atomics, of_32_bits_are_atomic_by_messages) { combine_from_all_ranks<std::uint32_t>(memory::of_the_user); }
TEST(remote_atomics, of_64_bits_are_atomic_by_messages) { combine_from_all_ranks<std::uint64_t>(memory::of_the_user); }

TEST(remote_handles, that_do_not_fit_are_refused) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::counter local{rt};
    std::optional<weft::memory_region> region{std::in_place, rt, std::size_t{64}};
    const auto handles = exchange(rt, *region);
    const std::uint32_t peer = 1 - rt.rank();
    std::array<std::byte, 65> bytes{};
    const auto refused = [&](std::uint32_t rank, weft::remote_buffer at, std::size_t count) {
      try {
        static_cast<void>(dev.post_put(rank, std::span{bytes}.first(count), at, local));
        ADD_FAILURE() << "put of " << count << " bytes was taken";
      } catch (const weft::error& reason) {
        EXPECT_EQ(reason.code(), weft::errc::region_refused) << reason.what();
      }
      EXPECT_THROW(static_cast<void>(dev.post_get(rank, std::span{bytes}.first(count), at, local)), weft::error);
    };
    refused(peer, {handles[peer], 0}, 65);
    refused(peer, {handles[peer], 60}, 5);
    refused(peer, {handles[peer], ~std::uint64_t{0}}, 2);
    refused(rt.rank(), {handles[peer], 0}, 8);
    refused(peer, {weft::remote_region{}, 0}, 8);
    auto foreign = handles[peer];
    ++foreign.job;
    refused(peer, {foreign, 0}, 8);
    EXPECT_THROW(
        static_cast<void>(dev.post_atomic(peer, weft::atomic_op::swap, std::uint64_t{1}, {handles[peer], 4}, local)),
        weft::error);
    EXPECT_THROW(static_cast<void>(dev.post_put(2, std::span{bytes}.first(8), {handles[peer], 0}, local)), weft::error);
    rt.barrier();
    region.reset();
    rt.barrier();
    // Withdrawn: thrown where that can be known here, else told by the completion.
    try {
      const auto s = post(dev, [&] {
        return dev.post_put(peer, std::span{bytes}.first(8), {handles[peer], 0}, local,
                            {.complete_at = weft::completion_level::delivered});
      });
      ASSERT_TRUE(s.is_posted());
      EXPECT_TRUE(eventually(dev, [&] { return local.value() == 1; }));
      EXPECT_EQ(local.failed(), 1U);
    } catch (const weft::error& reason) {
      EXPECT_EQ(reason.code(), weft::errc::region_refused);
    }
    rt.barrier();
  });
}

TEST(memory_region, gives_its_memory_back_zeroed_and_in_one_piece) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    for (int round = 0; round < 3; ++round) {
      weft::memory_region a{rt, std::size_t{10'000}}, b{rt, std::size_t{1}};
      weft::memory_region c{rt, std::size_t{1} << 20};
      for (const auto* each : {&a, &b, &c}) {
        EXPECT_TRUE(std::ranges::all_of(each->memory(), [](std::byte x) { return x == std::byte{}; }));
        std::ranges::fill(each->memory(), std::byte{0xff});
      }
    }
    EXPECT_THROW(weft::memory_region(rt, std::size_t{0}), weft::error);
    EXPECT_THROW(weft::memory_region(rt, ~std::size_t{0} - 5000), weft::error);
    EXPECT_THROW(weft::memory_region(rt, std::span<std::byte>{}), weft::error);
    rt.barrier();
  });
}

TEST(one_sided, a_flush_waits_for_a_put_that_takes_several_calls_of_progress) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    constexpr std::size_t bytes = std::size_t{4} << 20;
    weft::device& dev = rt.default_device();
    weft::memory_region region{rt, bytes};
    weft::counter local{rt};
    const std::uint32_t peer = 1 - rt.rank();
    const auto handles = exchange(rt, region);
    const auto payload = pattern(bytes, rt.rank());
    const auto s = post(dev, [&] { return dev.post_put(peer, payload, {handles[peer], 0}, local); });
    dev.flush(peer);
    EXPECT_EQ(local.value(), s.is_posted() ? 1U : 0U);
    rt.barrier();
    EXPECT_TRUE(std::ranges::equal(region.memory(), pattern(bytes, peer)));
    rt.barrier();
  });
}

TEST(one_sided, a_flush_does_not_wait_for_room_in_a_completion_queue) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::memory_region region{rt, std::size_t{2} << 20};
    weft::completion_queue local{rt, {.capacity = 1}};
    const auto payload = pattern(region.memory().size(), 1);
    std::uint32_t posted = 0;
    for (int i = 0; i < 4; ++i) {
      posted += post(dev, [&] { return dev.post_put(0, payload, region.at(0), local); }).is_posted();
    }
    dev.flush();
    EXPECT_TRUE(std::ranges::equal(region.memory(), payload));
    EXPECT_TRUE(eventually(dev, [&] {
      posted -= local.pop().has_value();
      return posted == 0;
    }));
  });
}

}  // namespace
