// SPDX-License-Identifier: BSD-3-Clause
// Wrong uses of kinds of memory and layouts: what posts refuse, and operations whose kind has ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "misuse/core/faulty_memory.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::faulty_allocator;
using test::faulty_memory;
using testing::HasSubstr;

constexpr errc wrong = errc::invalid_argument;

template <class Call>
void expect_refused(const Call& call, errc expected, const char* words) {
  try {
    static_cast<void>(call());
    ADD_FAILURE() << "nothing was thrown where '" << words << "' was expected";
  } catch (const error& thrown) {
    EXPECT_STREQ(name_of(thrown.code()), name_of(expected)) << thrown.what();
    EXPECT_THAT(thrown.what(), HasSubstr(words));
  }
}

template <class Functions>
auto making(runtime& rt, std::string_view name, const Functions& functions) {
  return [&rt, name, functions] { return memory_kind{rt, name, functions}.name(); };
}

TEST(wrong_memory_kind, has_null_functions_no_name_or_an_alignment_that_is_no_power_of_two) {
  test::local_job{1}.run([](runtime& rt) {
    const memory_functions right = faulty_memory::functions();
    EXPECT_EQ(making(rt, "right", right)(), "right");
    expect_refused(making(rt, "", right), wrong, "the name is empty");
    memory_functions no_out = right, no_in = right;
    no_out.copy_out = nullptr;
    no_in.copy_in = nullptr;
    expect_refused(making(rt, "bad", no_out), wrong, "memory_kind 'bad': copy_out is null");
    expect_refused(making(rt, "bad", no_in), wrong, "copy_in is null");
    expect_refused(making(rt, "bad", memory_functions{}), wrong, "is null");
    EXPECT_EQ(making(rt, "touchable", memory_functions{.processor_may_touch = true})(), "touchable");
    for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, ~std::size_t{0}}) {
      memory_functions unaligned = right;
      unaligned.alignment = alignment;
      expect_refused(making(rt, "bad", unaligned), wrong, "not a power of two");
    }
  });
}

TEST(wrong_memory_kind, is_one_too_many_for_the_process) {
  test::local_job{1}.run([](runtime& rt) {
    test::local_job{1}.run([&](runtime& other) {
      std::vector<std::unique_ptr<memory_kind>> all;
      const memory_functions functions = faulty_memory::functions();
      for (int i = 0; i < 64; ++i)
        all.push_back(std::make_unique<memory_kind>(i % 2 == 0 ? rt : other, "one", functions));
      expect_refused(making(rt, "65th", functions), errc::invalid_state, "has 64 kinds of memory already");
      expect_refused(making(other, "65th", functions), errc::invalid_state, "has 64 kinds of memory already");
      all.pop_back();
      EXPECT_EQ(making(rt, "64th", functions)(), "64th");
    });
  });
}

TEST(wrong_layout, has_null_functions) {
  const auto pack = [](const void*, const void*, std::uint64_t, std::byte*, std::size_t bytes) { return bytes; };
  const auto unpack = [](const void*, void*, std::uint64_t, const std::byte*, std::size_t bytes) { return bytes; };
  const auto make = [](const layout_functions& functions) {
    return [functions] { return layout{functions}.is_contiguous(); };
  };
  EXPECT_FALSE(make({.pack = pack, .unpack = unpack})());
  expect_refused(make({.pack = pack}), wrong, "layout: ");
  expect_refused(make({.unpack = unpack}), wrong, "layout: ");
  expect_refused(make({}), wrong, "layout: ");
}

// Every call that takes a buffer, with a buffer that is wrong.
class refusals {
 public:
  explicit refusals(runtime& rt) : dev_{rt.default_device()}, local_{rt}, region_{rt, std::size_t{256}}, rt_{rt} {}

  void expect(void* address, std::size_t bytes, const memory* in, const char* words) {
    const const_buffer_ref from =
        in != nullptr ? const_buffer_ref{address, bytes, *in} : const_buffer_ref{address, bytes};
    const buffer_ref into = in != nullptr ? buffer_ref{address, bytes, *in} : buffer_ref{address, bytes};
    const std::array froms{const_buffer_ref{&word_, 8}, from};
    const std::array intos{buffer_ref{&word_, 8}, into};
    for (const bool retry : {true, false}) {
      expect_refused([&] { return dev_.post_am(0, {1}, from, local_, {.allow_retry = retry}); }, wrong, words);
      expect_refused([&] { return dev_.post_send(0, from, local_, {.allow_retry = retry}); }, wrong, words);
      expect_refused([&] { return dev_.post_recv(0, into, local_, {.allow_retry = retry}); }, wrong, words);
      expect_refused([&] { return dev_.post_put(0, from, region_.at(0), local_, {.allow_retry = retry}); }, wrong,
                     words);
      expect_refused([&] { return dev_.post_get(0, into, region_.at(0), local_, {.allow_retry = retry}); }, wrong,
                     words);
    }
    for (const matching_engine* const engine : {&ordered_, &receiver_first_}) {
      expect_refused([&] { return dev_.post_send(0, from, local_, {.engine = *engine}); }, wrong, words);
      expect_refused([&] { return dev_.post_recv(0, into, local_, {.engine = *engine}); }, wrong, words);
    }
    expect_refused([&] { return dev_.post_am(0, {1}, const_buffer_list{froms}, local_); }, wrong, words);
    expect_refused([&] { return dev_.post_send(0, const_buffer_list{froms}, local_); }, wrong, words);
    expect_refused([&] { return dev_.post_recv(0, buffer_list{intos}, local_); }, wrong, words);
    expect_refused([&] { return dev_.post_put(0, const_buffer_list{froms}, region_.at(0), local_); }, wrong, words);
    expect_refused([&] { return dev_.post_get(0, buffer_list{intos}, region_.at(0), local_); }, wrong, words);
    expect_refused([&] { return dev_.post_comm(direction::outgoing, 0, from, local_); }, wrong, words);
    expect_refused([&] { return dev_.post_comm(direction::incoming, 0, into, local_); }, wrong, words);
    expect_refused(
        [&] {
          dev_.reply(0, {1}, from);
          return 0;
        },
        wrong, words);
    std::optional<matched_message> found = message();
    expect_refused([&] { return found->receive(into, local_); }, wrong, words);
    expect_refused([&] { return found->receive(buffer_list{intos}, local_); }, wrong, words);
    found.reset();
    EXPECT_EQ(local_.outstanding(), 0U);
  }

  // A message of 8 bytes to this rank, found by a probe.
  std::optional<matched_message> message() {
    static_cast<void>(test::post(dev_, [&] { return dev_.post_send(0, std::span{&word_, 1}, local_, {.tag = 9}); }));
    std::optional<matched_message> found;
    EXPECT_TRUE(test::eventually(dev_, [&] { return (found = dev_.probe(0, {.tag = 9})).has_value(); }));
    return found;
  }

 private:
  device& dev_;
  counter local_;
  memory_region region_;
  runtime& rt_;
  matching_engine ordered_{rt_, {.ordered = true}};
  matching_engine receiver_first_{rt_, {.receiver_first = true}};
  std::uint64_t word_ = 7;
};

TEST(wrong_buffer, names_memory_of_a_kind_that_has_ended_or_of_another_runtime) {
  test::local_job{1}.run([](runtime& rt) {
    test::local_job{1}.run([&](runtime& other) {
      refusals all{rt};
      std::uint64_t word = 0;
      std::optional<memory_kind> kind{std::in_place, rt, "brief", faulty_memory::functions()};
      const memory in{*kind};
      kind.reset();
      all.expect(&word, sizeof word, &in, "of a kind that has ended");
      EXPECT_EQ(in.kind(), "ended");
      kind.emplace(rt, "in its place", faulty_memory::functions());
      all.expect(&word, sizeof word, &in, "of a kind that has ended");
      const memory_kind theirs{other, "theirs", faulty_memory::functions()};
      const memory foreign{theirs};
      all.expect(&word, sizeof word, &foreign, "another runtime");
    });
  });
}

TEST(wrong_buffer, of_a_kind_is_null_or_not_aligned_or_too_large) {
  test::local_job{1}.run([](runtime& rt) {
    refusals all{rt};
    memory_functions functions = faulty_memory::functions();
    functions.alignment = 16;
    const memory_kind kind{rt, "by sixteens", functions};
    const memory in{kind};
    alignas(16) std::array<std::byte, 64> bytes{};
    all.expect(bytes.data() + 8, 8, &in, "not aligned as its kind of memory demands (kind: by sixteens)");
    all.expect(nullptr, 8, &in, "null");
    all.expect(bytes.data(), (std::size_t{1} << 62) + 1, &in, "negative");
    all.expect(bytes.data(), ~std::size_t{0}, &in, "negative");
    faulty_memory scattered{nullptr, 8};
    all.expect(nullptr, (std::size_t{1} << 62) + 1, &scattered.in(), "negative");
    all.expect(nullptr, ~std::size_t{0}, &scattered.in(), "negative");
    const layout side_by_side{layout::contiguous{}};
    all.expect(nullptr, 8, &side_by_side, "null");
  });
}

struct sixteen_bytes {
  std::array<std::byte, 16> bytes{};

  static bool contains(void* context, const void* address, std::size_t bytes) {
    const auto own = reinterpret_cast<std::uintptr_t>(static_cast<sixteen_bytes*>(context)->bytes.data());
    const auto from = reinterpret_cast<std::uintptr_t>(address);
    return from < own + 16 && own < from + bytes;
  }
};

TEST(wrong_buffer, is_of_a_kind_that_it_does_not_name) {
  test::local_job{1}.run([](runtime& rt) {
    sixteen_bytes owned;
    std::array<std::byte, 16> others{};
    refusals all{rt};
    memory_functions functions = faulty_memory::functions();
    functions.contains = sixteen_bytes::contains;
    functions.context = &owned;
    counter local{rt};
    device& dev = rt.default_device();
    {
      const memory_kind kind{rt, "sixteen", functions};
      all.expect(owned.bytes.data(), 16, nullptr, "the buffer does not name it (kind: sixteen)");
      all.expect(owned.bytes.data() + 15, 1, nullptr, "the buffer does not name it (kind: sixteen)");
      const layout side_by_side{layout::contiguous{}};
      all.expect(owned.bytes.data(), 8, &side_by_side, "the buffer does not name it");
      // Other addresses, which no kind knows, are ordinary memory still.
      static_cast<void>(test::post(dev, [&] { return dev.post_send(0, others, local, {.tag = 4}); }));
      static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, others, local, {.tag = 4}); }));
      EXPECT_TRUE(test::eventually(dev, [&] { return local.value() >= 1 && local.outstanding() == 0; }));
    }
    // Without the kind, so are these.
    static_cast<void>(test::post(dev, [&] { return dev.post_send(0, owned.bytes, local, {.tag = 4}); }));
    static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, others, local, {.tag = 4}); }));
    EXPECT_TRUE(test::eventually(dev, [&] { return local.outstanding() == 0; }));
  });
}

TEST(null_address, is_right_for_a_layout) {
  test::local_job{1}.run([](runtime& rt) {
    std::uint64_t here = 5, there = 0;
    const auto pack = [](const void* context, const void* address, std::uint64_t offset, std::byte* to,
                         std::size_t bytes) {
      EXPECT_EQ(address, nullptr);
      std::copy_n(static_cast<const std::byte*>(context) + offset, bytes, to);
      return bytes;
    };
    const auto unpack = [](const void* context, void* address, std::uint64_t offset, const std::byte* from,
                           std::size_t bytes) {
      EXPECT_EQ(address, nullptr);
      std::copy_n(from, bytes, static_cast<std::byte*>(const_cast<void*>(context)) + offset);
      return bytes;
    };
    const layout out{{.pack = pack, .unpack = unpack}, &here};
    const layout in{{.pack = pack, .unpack = unpack}, &there};
    counter done{rt};
    device& dev = rt.default_device();
    static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, {nullptr, 8, in}, done); }));
    static_cast<void>(test::post(dev, [&] { return dev.post_send(0, {nullptr, 8, out}, done); }));
    EXPECT_TRUE(test::eventually(dev, [&] { return done.value() >= 1 && done.outstanding() == 0; }));
    EXPECT_EQ(there, 5U);
  });
}

TEST(wrong_allocator, gives_memory_of_a_kind_that_has_ended_or_of_another_runtime) {
  test::local_job{1}.run([](runtime& rt) {
    test::local_job{1}.run([&](runtime& other) {
      counter inbox{rt};
      std::uint32_t next = 3;
      const auto registering = [&](faulty_allocator& allocator) {
        return [&] { return rt.register_completion(inbox, {.id = next++, .allocator = &allocator}).id(); };
      };
      std::optional<memory_kind> kind{std::in_place, rt, "brief", faulty_memory::functions()};
      faulty_memory ended{&*kind, 8};
      faulty_allocator gives_ended{ended};
      EXPECT_EQ(registering(gives_ended)(), 3U);
      kind.reset();
      expect_refused(registering(gives_ended), wrong, "of a kind that has ended");
      const memory_kind theirs{other, "theirs", faulty_memory::functions()};
      faulty_memory foreign{&theirs, 8};
      faulty_allocator gives_foreign{foreign};
      expect_refused(registering(gives_foreign), wrong, "another runtime has made (kind: theirs)");
      faulty_memory scattered{nullptr, 8};
      faulty_allocator gives_layout{scattered};
      EXPECT_EQ(registering(gives_layout)(), 6U);
    });
  });
}

// A layout that has fewer bytes than its buffer says, or more.
struct row {
  std::array<std::byte, 100> cells{};

  std::size_t pack(const void* /*address*/, std::uint64_t offset, std::byte* to, std::size_t bytes) const {
    const std::size_t there = offset < cells.size() ? std::min<std::size_t>(bytes, cells.size() - offset) : 0;
    std::copy_n(cells.data() + offset, there, to);
    return there;
  }
  std::size_t unpack(void* /*address*/, std::uint64_t offset, const std::byte* from, std::size_t bytes) const {
    const std::size_t there = offset < cells.size() ? std::min<std::size_t>(bytes, cells.size() - offset) : 0;
    std::copy_n(from, there, const_cast<std::byte*>(cells.data()) + offset);
    return there;
  }
};

TEST(layout_size, beyond_what_its_functions_give_fails_and_below_is_a_part) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    row from, into;
    from.cells.fill(std::byte{7});
    const layout out{from}, in{into};
    completion_queue over{rt};
    std::vector<std::byte> ordinary(200'000);
    const auto exchange = [&](const_buffer_ref source, buffer_ref target) {
      static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, target, over, {.tag = 1}); }));
      static_cast<void>(
          test::post(dev, [&] { return dev.post_send(0, source, over, {.tag = 1, .allow_done = false}); }));
      std::array<errc, 2> errors{};
      for (int i = 0; i < 2; ++i) {
        std::optional<completion_record> record;
        EXPECT_TRUE(test::eventually(dev, [&] { return (record = over.pop()).has_value(); }));
        if (record) errors[record->operation() == operation::send ? 0 : 1] = record->error();
      }
      return errors;
    };
    constexpr std::array both{errc::memory_failed, errc::memory_failed}, none{errc::none, errc::none};
    constexpr std::array receiver{errc::none, errc::memory_failed};
    for (const std::size_t bytes : {std::size_t{101}, std::size_t{9000}, std::size_t{200'000}}) {
      EXPECT_EQ(exchange({nullptr, bytes, out}, ordinary), both) << bytes;
      EXPECT_EQ(exchange(std::span{ordinary}.first(bytes), {nullptr, bytes, in}), receiver) << bytes;
    }
    EXPECT_EQ(exchange({nullptr, 60, out}, {nullptr, 80, in}), none);
    EXPECT_EQ(into.cells[59], std::byte{7});
    EXPECT_EQ(into.cells[60], std::byte{0});
    EXPECT_EQ(exchange({nullptr, 100, out}, {nullptr, 100, in}), none);
    EXPECT_EQ(into.cells, from.cells);
  });
}

// Operations that need a function of their kind after its end fail, and no other.
TEST(end_of_a_kind, fails_operations_that_wait) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const std::size_t packet = rt.attributes().packet_bytes;
    completion_queue over{rt}, inbox{rt};
    const auto error_of = [&](completion_queue& from) {
      std::optional<completion_record> record;
      EXPECT_TRUE(test::eventually(dev, [&] { return (record = from.pop()).has_value(); }));
      return record ? record->error() : errc::none;
    };
    std::uint64_t tag = 0;
    for (const std::size_t bytes : {std::size_t{8}, packet, 4 * packet}) {
      std::vector<std::byte> ordinary(bytes);
      // A receive whose kind ends before the message comes.
      ++tag;
      if (rt.rank() == 1) {
        std::optional<memory_kind> kind{std::in_place, rt, "brief", faulty_memory::functions()};
        faulty_memory into{&*kind, bytes};
        static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, into.into(), over, {.tag = tag}); }));
        kind.reset();
        rt.barrier();
        EXPECT_EQ(error_of(over), errc::memory_failed);
        EXPECT_TRUE(into.is_whole());
      } else {
        rt.barrier();
        static_cast<void>(test::post(dev, [&] {
          return dev.post_send(1, ordinary, over, {.tag = tag, .complete_at = completion_level::delivered});
        }));
        const errc error = error_of(over);
        // Of a message that was sent with its bytes the sender learns no more than that it has matched.
        EXPECT_EQ(error, errc::memory_failed) << bytes;
      }
      // A long send whose kind ends before it is received.
      ++tag;
      if (rt.rank() == 0) {
        std::optional<memory_kind> kind{std::in_place, rt, "brief", faulty_memory::functions()};
        faulty_memory from{&*kind, bytes};
        static_cast<void>(test::post(dev, [&] {
          return dev.post_send(1, from.from(), over, {.tag = tag, .complete_at = completion_level::delivered});
        }));
        kind.reset();
        rt.barrier();
        EXPECT_EQ(error_of(over), errc::memory_failed);
      } else {
        rt.barrier();
        static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, ordinary, over, {.tag = tag}); }));
        EXPECT_EQ(error_of(over), errc::memory_failed);
      }
      // Messages without such memory are as before.
      ++tag;
      static_cast<void>(test::post(dev, [&] {
        return rt.rank() == 0 ? dev.post_send(1, ordinary, over, {.tag = tag, .allow_done = false})
                              : dev.post_recv(0, ordinary, over, {.tag = tag});
      }));
      EXPECT_EQ(error_of(over), errc::none);
      rt.barrier();
    }
    // An allocator whose kind ends before the message.
    if (rt.rank() == 1) {
      std::optional<memory_kind> kind{std::in_place, rt, "brief", faulty_memory::functions()};
      faulty_memory into{&*kind, 4 * packet};
      faulty_allocator allocator{into};
      const auto arrivals = rt.register_completion(inbox, {.id = 5, .allocator = &allocator});
      kind.reset();
      rt.barrier();
      EXPECT_EQ(error_of(inbox), errc::memory_failed);
      EXPECT_TRUE(allocator.has_all_back());
      rt.barrier();
    } else {
      const std::vector<std::byte> ordinary(4 * packet);
      rt.barrier();
      static_cast<void>(test::post(dev, [&] { return dev.post_am(1, {5}, ordinary, over, {.allow_done = false}); }));
      EXPECT_EQ(error_of(over), errc::none);
      rt.barrier();
    }
  });
}

// A function that waits until the test lets it return.
struct slow_memory {
  test::flag is_inside, may_return;

  static std::size_t out(const memory& of, const void* address, std::uint64_t offset, std::byte* to,
                         std::size_t bytes) {
    auto& self = *static_cast<slow_memory*>(of.context());
    self.is_inside.raise();
    EXPECT_TRUE(test::eventually([&] { return self.may_return.is_raised(); }));
    std::copy_n(static_cast<const std::byte*>(address) + offset, bytes, to);
    return bytes;
  }
};

// Over shared memory: a simulated network may refuse a post whose bytes it has copied, and the next attempt of this
// test's post would then meet a kind that has ended.
TEST(end_of_a_kind, waits_for_a_function_that_another_thread_has_called) {
  test::local_job{1, {.transport = "self,shm"}}.run([](runtime& rt) {
    slow_memory slow;
    memory_functions functions = faulty_memory::functions();
    functions.copy_out = slow_memory::out;
    std::optional<memory_kind> kind{std::in_place, rt, "slow", functions};
    const memory in{*kind, &slow};
    std::uint64_t word = 5, received = 0;
    counter done{rt};
    device& dev = rt.default_device();
    test::flag is_over;
    std::thread posts{[&] {
      static_cast<void>(test::post(dev, [&] { return dev.post_send(0, {&word, 8, in}, done); }));
    }};
    ASSERT_TRUE(test::eventually([&] { return slow.is_inside.is_raised(); }));
    std::thread ends{[&] {
      kind.reset();
      is_over.raise();
    }};
    EXPECT_TRUE(test::eventually([&] { return in.kind() == "ended"; }));
    EXPECT_FALSE(is_over.is_raised());
    slow.may_return.raise();
    posts.join();
    ends.join();
    static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, std::span{&received, 1}, done); }));
    EXPECT_TRUE(test::eventually(dev, [&] { return done.value() >= 1 && done.outstanding() == 0; }));
    EXPECT_EQ(received, 5U);
  });
}

}  // namespace
}  // namespace weft
