// SPDX-License-Identifier: BSD-3-Clause
// Kinds of memory: which buffers a runtime's posts may name, the end of a kind, and copies by functions that fail.
#include "core/memory/memory_kinds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/runtime/rank_memory.hpp"
#include "core/runtime/runtime_state.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"

namespace weft {
namespace {

using core::memory_copies;
using core::memory_kinds;
using core::memory_refusal;
using testing::HasSubstr;

std::size_t copy_out(const memory& /*of*/, const void* address, std::uint64_t offset, std::byte* to,
                     std::size_t bytes) {
  std::copy_n(static_cast<const std::byte*>(address) + offset, bytes, to);
  return bytes;
}
std::size_t copy_in(const memory& /*of*/, void* address, std::uint64_t offset, const std::byte* from,
                    std::size_t bytes) {
  std::copy_n(from, bytes, static_cast<std::byte*>(address) + offset);
  return bytes;
}
constexpr memory_functions by_functions{.copy_out = copy_out, .copy_in = copy_in};

// Says that some of 16 bytes are of its kind, and counts how often it was asked.
struct owner_of_bytes {
  alignas(16) std::array<std::byte, 16> bytes{};
  test::tally<std::uint32_t> asked;

  static bool contains(void* context, const void* address, std::size_t bytes) {
    auto& self = *static_cast<owner_of_bytes*>(context);
    self.asked.add();
    const auto from = reinterpret_cast<std::uintptr_t>(address);
    const auto own = reinterpret_cast<std::uintptr_t>(self.bytes.data());
    return from < own + self.bytes.size() && own < from + bytes;
  }
  [[nodiscard]] memory_functions functions() {
    return {.copy_out = copy_out, .copy_in = copy_in, .contains = contains, .context = this};
  }
};

memory_kinds& kinds_of(runtime& rt) { return test::local_job::state_of(rt).memory().kinds(); }

void with_runtime(const std::function<void(runtime&)>& body) { test::local_job{1}.run(body); }

TEST(memory_kind, is_refused_once_it_has_ended_even_where_another_one_took_its_place) {
  with_runtime([](runtime& rt) {
    std::optional<memory_kind> first{std::in_place, rt, "first", by_functions};
    const memory in_first{*first};
    std::uint64_t word = 0;
    EXPECT_EQ(kinds_of(rt).check(&in_first, &word, 8).why, memory_refusal::none);
    EXPECT_EQ(in_first.kind(), "first");
    EXPECT_EQ(first->name(), "first");
    first.reset();
    const memory_kind second{rt, "second", by_functions};  // the same place: the first free one
    const memory in_second{second};
    EXPECT_EQ(kinds_of(rt).check(&in_first, &word, 8).why, memory_refusal::ended);
    EXPECT_EQ(in_first.kind(), "ended");
    EXPECT_EQ(kinds_of(rt).check(&in_second, &word, 8).why, memory_refusal::none);
    std::byte out[8];
    testing::internal::CaptureStderr();
    EXPECT_FALSE(memory_copies::copy_out(in_first, &word, 0, out, 8));
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("has ended before its memory was copied"));
    EXPECT_TRUE(memory_copies::copy_out(in_second, &word, 0, out, 8));
  });
}

TEST(memory_kind, is_of_one_runtime_and_has_an_alignment) {
  with_runtime([](runtime& rt) {
    with_runtime([&](runtime& other) {
      memory_functions functions = by_functions;
      functions.alignment = 8;
      const memory_kind kind{rt, "by eights", functions};
      const memory in{kind};
      alignas(8) std::array<std::byte, 16> bytes{};
      EXPECT_EQ(kinds_of(rt).check(&in, bytes.data(), 8).why, memory_refusal::none);
      EXPECT_EQ(kinds_of(rt).check(&in, bytes.data() + 8, 3).why, memory_refusal::none);
      const core::refused_memory unaligned = kinds_of(rt).check(&in, bytes.data() + 4, 8);
      EXPECT_EQ(unaligned.why, memory_refusal::unaligned);
      EXPECT_EQ(unaligned.kind, "by eights");
      EXPECT_EQ(kinds_of(other).check(&in, bytes.data(), 8).why, memory_refusal::foreign);
    });
  });
}

TEST(memory_kind, that_knows_addresses_finds_those_that_do_not_name_it) {
  with_runtime([](runtime& rt) {
    with_runtime([&](runtime& other) {
      owner_of_bytes owned;
      std::uint64_t elsewhere = 0;
      EXPECT_FALSE(kinds_of(rt).knows_addresses());
      {
        const memory_kind kind{rt, "owned", owned.functions()};
        const memory in{kind};
        EXPECT_TRUE(kinds_of(rt).knows_addresses());
        EXPECT_FALSE(kinds_of(other).knows_addresses());
        const core::refused_memory unnamed = kinds_of(rt).check(nullptr, owned.bytes.data() + 15, 1);
        EXPECT_EQ(unnamed.why, memory_refusal::unnamed);
        EXPECT_EQ(unnamed.kind, "owned");
        EXPECT_EQ(kinds_of(rt).check(&in, owned.bytes.data(), 16).why, memory_refusal::none);
        EXPECT_EQ(kinds_of(rt).check(nullptr, &elsewhere, 8).why, memory_refusal::none);
        const std::uint32_t asked = owned.asked.value();
        EXPECT_EQ(kinds_of(rt).check(nullptr, owned.bytes.data(), 0).why, memory_refusal::none);
        EXPECT_EQ(kinds_of(other).check(nullptr, owned.bytes.data(), 16).why, memory_refusal::none);
        EXPECT_EQ(owned.asked.value(), asked);  // no bytes, and a runtime that it is not of
      }
      EXPECT_FALSE(kinds_of(rt).knows_addresses());
      EXPECT_EQ(kinds_of(rt).check(nullptr, owned.bytes.data(), 16).why, memory_refusal::none);
    });
  });
}

TEST(memory_kind, whose_contains_throws_does_not_know_the_address) {
  with_runtime([](runtime& rt) {
    memory_functions functions = by_functions;
    functions.contains = [](void*, const void*, std::size_t) -> bool { throw std::runtime_error{"no idea"}; };
    const memory_kind kind{rt, "unsure", functions};
    std::uint64_t word = 0;
    EXPECT_EQ(kinds_of(rt).check(nullptr, &word, 8).why, memory_refusal::none);
  });
}

TEST(memory_kind, is_one_of_at_most_64_at_once) {
  with_runtime([](runtime& rt) {
    std::vector<std::unique_ptr<memory_kind>> all;
    while (all.size() < memory_kinds::kinds_max)
      all.push_back(std::make_unique<memory_kind>(rt, "one of many", by_functions));
    EXPECT_EQ(kinds_of(rt).try_make("one more", by_functions), nullptr);
    std::uint64_t word = 0;
    for (const auto& each : all) {
      const memory in{*each};
      EXPECT_EQ(kinds_of(rt).check(&in, &word, 8).why, memory_refusal::none);
    }
    all.erase(all.begin() + 17);
    all.push_back(std::make_unique<memory_kind>(rt, "in its place", by_functions));
    EXPECT_EQ(kinds_of(rt).try_make("one more", by_functions), nullptr);
  });
}

// A function that is called waits until the test lets it return.
struct slow_copy {
  test::flag is_inside, may_return;
  bool was_over_at_return = false;
  test::flag is_over;

  static std::size_t out(const memory& of, const void* /*address*/, std::uint64_t /*offset*/, std::byte* /*to*/,
                         std::size_t bytes) {
    auto& self = *static_cast<slow_copy*>(of.context());
    self.is_inside.raise();
    EXPECT_TRUE(test::eventually([&] { return self.may_return.is_raised(); }));
    self.was_over_at_return = self.is_over.is_raised();
    return bytes;
  }
};

TEST(memory_kind, ends_once_its_functions_have_returned) {
  with_runtime([](runtime& rt) {
    slow_copy slow;
    std::optional<memory_kind> kind{std::in_place, rt, "slow",
                                    memory_functions{.copy_out = slow_copy::out, .copy_in = copy_in}};
    const memory in{*kind, &slow};
    bool is_copied = false;
    std::thread copies{[&] {
      std::byte out[8];
      is_copied = memory_copies::copy_out(in, nullptr, 0, out, 8);
    }};
    ASSERT_TRUE(test::eventually([&] { return slow.is_inside.is_raised(); }));
    std::thread ends{[&] {
      kind.reset();
      slow.is_over.raise();
    }};
    // No copy begins any more while the end waits.
    EXPECT_TRUE(test::eventually([&] { return in.kind() == "ended"; }));
    EXPECT_FALSE(slow.is_over.is_raised());
    slow.may_return.raise();
    copies.join();
    ends.join();
    EXPECT_TRUE(is_copied);
    EXPECT_FALSE(slow.was_over_at_return);
  });
}

// A kind that ends while posts look at its memory: each look sees a whole kind, or none. Meant for ThreadSanitizer.
TEST(memory_kind, is_looked_at_while_others_end_and_begin) {
  with_runtime([](runtime& rt) {
    std::optional<memory_kind> kind{std::in_place, rt, "first", by_functions};
    const memory in{*kind};
    test::flag is_over;
    std::uint64_t word = 0;
    std::thread looks{[&] {
      while (!is_over.is_raised()) {
        const core::refused_memory found = kinds_of(rt).check(&in, &word, 8);
        EXPECT_TRUE(found.why == memory_refusal::none || found.why == memory_refusal::ended);
        const std::string name{in.kind()};
        EXPECT_TRUE(name == "first" || name == "ended");
        EXPECT_FALSE(memory_copies::is_for_peers(in));
      }
    }};
    for (int i = 0; i < 200; ++i) {
      kind.reset();
      memory_functions functions = by_functions;
      functions.peers_may_copy = true;
      functions.alignment = 4096;
      kind.emplace(rt, "another one, whose name is longer", functions);
    }
    is_over.raise();
    looks.join();
  });
}

TEST(memory_copies, are_the_librarys_where_a_processor_may_touch_and_functions_are_null) {
  with_runtime([](runtime& rt) {
    const memory_kind kind{rt, "touchable", {.processor_may_touch = true, .peers_may_copy = true}};
    const memory in{kind};
    std::array<std::uint8_t, 8> bytes{1, 2, 3, 4, 5, 6, 7, 8}, copied{};
    EXPECT_TRUE(memory_copies::copy_out(in, bytes.data(), 3, reinterpret_cast<std::byte*>(copied.data()), 2));
    EXPECT_EQ(copied[0], 4);
    EXPECT_EQ(copied[1], 5);
    EXPECT_EQ(copied[2], 0);
    EXPECT_TRUE(memory_copies::copy_in(in, bytes.data(), 6, reinterpret_cast<const std::byte*>(copied.data()), 2));
    EXPECT_EQ(bytes, (std::array<std::uint8_t, 8>{1, 2, 3, 4, 5, 6, 4, 5}));
    EXPECT_TRUE(memory_copies::is_for_peers(in));
    EXPECT_FALSE(memory_copies::is_ordinary(in));
  });
}

enum class fault : std::uint8_t { none, throws, is_short, says_too_many };
struct faulty_shape {
  fault how = fault::none;
  mutable int calls = 0;

  [[nodiscard]] std::size_t answer(std::size_t bytes) const {
    ++calls;
    if (how == fault::throws) throw std::runtime_error{"no such column"};
    return how == fault::is_short ? bytes - 1 : how == fault::says_too_many ? bytes + 1 : bytes;
  }
  std::size_t pack(const void* /*address*/, std::uint64_t /*offset*/, std::byte* /*to*/, std::size_t bytes) const {
    return answer(bytes);
  }
  std::size_t unpack(void* /*address*/, std::uint64_t /*offset*/, const std::byte* /*from*/, std::size_t bytes) const {
    return answer(bytes);
  }
};

TEST(memory_copies, by_functions_that_fail_are_failures_of_which_the_log_says_one) {
  std::array<std::byte, 8> bytes{};
  testing::internal::CaptureStderr();
  for (const fault how : {fault::none, fault::throws, fault::is_short, fault::says_too_many}) {
    for (const bool is_out : {true, false}) {
      const faulty_shape shape{.how = how};
      const layout in{shape};
      const bool copied = is_out ? memory_copies::copy_out(in, nullptr, 0, bytes.data(), 8)
                                 : memory_copies::copy_in(in, nullptr, 0, bytes.data(), 8);
      EXPECT_EQ(copied, how == fault::none);
      EXPECT_EQ(shape.calls, 1);
      EXPECT_TRUE(memory_copies::copy_out(in, nullptr, 3, bytes.data(), 0));
      EXPECT_TRUE(memory_copies::copy_in(in, nullptr, 3, bytes.data(), 0));
      EXPECT_EQ(shape.calls, 1);  // no call for no bytes
    }
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("memory of kind 'layout' has thrown: no such column"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
}

TEST(layout, that_is_contiguous_is_ordinary_memory) {
  const layout side_by_side{layout::contiguous{}};
  EXPECT_TRUE(side_by_side.is_contiguous());
  EXPECT_TRUE(memory_copies::is_ordinary(side_by_side));
  EXPECT_TRUE(memory_copies::is_layout(side_by_side));
  EXPECT_EQ(side_by_side.kind(), "layout");
  const faulty_shape shape;
  const layout scattered{shape};
  EXPECT_FALSE(scattered.is_contiguous());
  EXPECT_FALSE(memory_copies::is_ordinary(scattered));
  EXPECT_FALSE(memory_copies::is_for_peers(scattered));
  EXPECT_EQ(scattered.context(), &shape);
}

}  // namespace
}  // namespace weft
