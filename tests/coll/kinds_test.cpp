// SPDX-License-Identifier: BSD-3-Clause
// Collectives with buffers in every kind of memory, by a printed seed: each operation and algorithm, or the one that
// the rules choose, in place or not. Each gives the bytes that it gives with ordinary buffers, which other tests
// compare with an oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "coll/algorithms/table.hpp"
#include "coll/args/collective_args.hpp"
#include "support/random_seed.hpp"
#include "support/stored_message.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using bytes = std::vector<std::byte>;
using test::kinds_of_memory;
using test::storage;

constexpr std::size_t word = 8;

// Does not commute: x -> a x + b, where a is the low half of a word, and b the high one.
struct composed {
  std::uint64_t operator()(std::uint64_t first, std::uint64_t second) const noexcept {
    const auto a1 = static_cast<std::uint32_t>(first), b1 = static_cast<std::uint32_t>(first >> 32);
    const auto a2 = static_cast<std::uint32_t>(second), b2 = static_cast<std::uint32_t>(second >> 32);
    return std::uint64_t{a2 * b1 + b2} << 32 | static_cast<std::uint32_t>(a1 * a2);
  }
};

// The buffer of a collective, in one kind of memory.
class stored_buffer {
 public:
  stored_buffer(kinds_of_memory& kinds, storage where, const bytes& content)
      : kinds_{kinds}, where_{where}, size_{content.size()}, guarded_begin_{kinds.free_guarded} {
    const test::strided* const shape = kinds.shape_of(where);
    if (where == storage::guarded) {
      kinds.free_guarded += size_ + 1;
      kinds.guarded.write(guarded_begin_, content);
      return;
    }
    memory_.resize((shape != nullptr ? shape->extent(size_) : size_) + 1);
    if (shape != nullptr) {
      shape->unpack(memory_.data(), 0, content.data(), size_);
    } else {
      std::ranges::copy(content, memory_.begin());
    }
  }

  [[nodiscard]] buffer_ref all() noexcept {
    if (size_ == 0) return {};
    void* const at = where_ == storage::guarded ? kinds_.guarded.address() + guarded_begin_ : memory_.data();
    const memory* const in = kinds_.in(where_);
    return in == nullptr ? buffer_ref{at, size_} : buffer_ref{at, size_, *in};
  }
  [[nodiscard]] bytes content() const {
    bytes out(size_);
    const test::strided* const shape = kinds_.shape_of(where_);
    if (where_ == storage::guarded) {
      kinds_.guarded.read(guarded_begin_, out);
    } else if (shape != nullptr) {
      shape->pack(memory_.data(), 0, out.data(), size_);
    } else {
      std::copy_n(memory_.begin(), size_, out.begin());
    }
    return out;
  }

 private:
  kinds_of_memory& kinds_;
  storage where_;
  std::size_t size_;
  std::size_t guarded_begin_;
  bytes memory_;
};

// One collective, as all members know it.
struct trial {
  coll::algorithm algorithm;
  std::uint32_t size;
  std::uint32_t root;
  std::size_t block;  // bytes
  bool is_commutative;
  bool is_inplace;
  bool is_named;  // the algorithm, by the call

  // The sizes of this member's buffers.
  [[nodiscard]] std::array<std::size_t, 2> sizes(std::uint32_t member) const {
    const bool is_root = member == root;
    switch (algorithm.operation) {
      case collective_operation::barrier: return {0, 0};
      case collective_operation::broadcast: return {0, block};
      case collective_operation::reduce: return {is_inplace && is_root ? 0 : block, is_root ? block : 0};
      case collective_operation::gather: return {is_inplace && is_root ? 0 : block, is_root ? size * block : 0};
      case collective_operation::scatter: return {is_root ? size * block : 0, is_inplace && is_root ? 0 : block};
      case collective_operation::allgather: return {is_inplace ? 0 : block, size * block};
      case collective_operation::alltoall: return {is_inplace ? 0 : size * block, size * block};
      case collective_operation::reduce_scatter:
        return {is_inplace ? 0 : size * block, is_inplace ? size * block : block};
      default: return {is_inplace ? 0 : block, block};
    }
  }
  [[nodiscard]] collective parts(std::uint32_t member, const buffer_ref& in, const buffer_ref& out) const {
    const bool is_at_root = algorithm.operation == collective_operation::reduce ||
                            algorithm.operation == collective_operation::gather ||
                            algorithm.operation == collective_operation::scatter;
    const reduction by = is_commutative ? reduction::callable<std::uint64_t>(std::plus<>{})
                                        : reduction::callable<std::uint64_t>(composed{}, false);
    return collective{{.operation = algorithm.operation,
                       .is_inplace = is_inplace && (!is_at_root || member == root),
                       .root = root,
                       .input = algorithm.operation == collective_operation::broadcast ? out : in,
                       .out = out,
                       .op = by}};
  }
  // Of a reduce-scatter in place, what is behind the result does not matter.
  [[nodiscard]] bytes result(bytes out) const {
    if (algorithm.operation == collective_operation::reduce_scatter) out.resize(block);
    return out;
  }
};

bytes some_bytes(std::uint64_t seed, std::size_t count) {
  std::mt19937 random{static_cast<std::uint32_t>(seed)};
  bytes out(count);
  for (std::byte& each : out) each = static_cast<std::byte>(random());
  return out;
}

// Runs it twice, and compares. Two members need not use one kind of memory.
void compare(group& all, const trial& tried, kinds_of_memory& kinds, std::uint64_t seed) {
  const auto [in_bytes, out_bytes] = tried.sizes(all.rank());
  const std::uint64_t mine = seed * 64 + all.rank();
  bytes in = some_bytes(mine, in_bytes), out = some_bytes(mine + 32, out_bytes);
  const auto one_of = [&](std::uint64_t shift) { return static_cast<storage>((mine * 0x9e37'79b9U >> shift) % 6); };
  kinds.free_guarded = 0;
  stored_buffer stored_in{kinds, one_of(8), in}, stored_out{kinds, one_of(16), out};
  const collective_options options{.algorithm = tried.is_named ? tried.algorithm.name : std::string_view{}};
  tried.parts(all.rank(), {in.data(), in.size()}, {out.data(), out.size()}).run(all, options);
  tried.parts(all.rank(), stored_in.all(), stored_out.all()).run(all, options);
  EXPECT_EQ(stored_in.content(), in);
  EXPECT_EQ(tried.result(stored_out.content()), tried.result(out))
      << name_of(tried.algorithm.operation) << ' ' << tried.algorithm.name << " of " << tried.block << " bytes, member "
      << all.rank() << " of " << tried.size << ", root " << tried.root << ", from " << test::name_of(one_of(8))
      << " to " << test::name_of(one_of(16)) << ", in place: " << tried.is_inplace << ", named: " << tried.is_named;
}

void compare_all(runtime& rt, std::uint64_t seed, const test::guarded_memory_options& options) {
  constexpr std::size_t blocks[] = {0, word, 5 * word, 6 * word, 1024 * word, 1025 * word, 9000 * word};
  std::mt19937 random{static_cast<std::uint32_t>(seed)};
  test::local_job::assume_beyond_processors(rt, random() % 2 == 0);
  group all = rt.world();
  kinds_of_memory kinds{rt, std::size_t{2} << 20, options};
  for (int round = 0; round < (test::under_sanitizer ? 1 : 3); ++round) {
    for (const coll::algorithm& algorithm : coll::algorithms()) {
      const trial tried{.algorithm = algorithm,
                        .size = all.size(),
                        .root = static_cast<std::uint32_t>(random() % all.size()),
                        .block = blocks[random() % std::size(blocks)],
                        .is_commutative = random() % 2 == 0,
                        .is_inplace = random() % 2 == 0,
                        .is_named = random() % 3 != 0};
      const std::uint64_t content = random();
      const coll::collective_args args{.operation = algorithm.operation,
                                       .size = tried.size,
                                       .root = tried.root,
                                       .block_bytes = tried.block,
                                       .element_bytes = word,
                                       .is_commutative = tried.is_commutative,
                                       .is_inplace = tried.is_inplace};
      if (algorithm.can(args)) compare(all, tried, kinds, content);
    }
  }
}

TEST(collectives_of_kinds, give_what_they_give_in_ordinary_memory) {
  const std::uint64_t seed = test::random_seed();
  for (const std::uint32_t ranks : {1U, 2U, 3U, 4U, 5U}) {
    test::local_job{ranks}.run(
        [&](runtime& rt) { compare_all(rt, seed + ranks, {.knows_addresses = ranks % 2 == 0}); });
  }
}

TEST(collectives_of_kinds, combine_elements_that_are_longer_than_a_piece) {
  struct wide {
    std::array<std::uint64_t, 1000> words;
  };
  struct add {
    wide operator()(const wide& a, const wide& b) const noexcept {
      wide out;
      for (std::size_t i = 0; i < out.words.size(); ++i) out.words[i] = a.words[i] + b.words[i];
      return out;
    }
  };
  test::local_job{3}.run([](runtime& rt) {
    group all = rt.world();
    kinds_of_memory kinds{rt, std::size_t{1} << 20};
    std::array<wide, 3> mine{};
    for (wide& each : mine) each.words.fill(rt.rank() + 1);
    bytes content(sizeof mine);
    std::ranges::copy(std::as_bytes(std::span{mine}), content.begin());
    stored_buffer in{kinds, storage::guarded, content}, out{kinds, storage::words, content};
    collective::allreduce(in.all(), out.all(), reduction::callable<wide>(add{})).run(all);
    for (wide& each : mine) each.words.fill(6);
    std::ranges::copy(std::as_bytes(std::span{mine}), content.begin());
    EXPECT_EQ(out.content(), content);
  });
}

TEST(collectives_of_kinds, are_kept_and_posted) {
  test::local_job{2}.run([](runtime& rt) {
    group all = rt.world();
    kinds_of_memory kinds{rt, std::size_t{1} << 20};
    stored_buffer out{kinds, storage::guarded, bytes(1000)};
    persistent_collective again = collective::broadcast(out.all(), 1).keep(all);
    for (std::uint8_t i = 1; i < 100; ++i) {
      const bytes wanted(1000, std::byte{i});
      if (rt.rank() == 1) kinds.guarded.write(0, wanted);
      again.run();
      ASSERT_EQ(out.content(), wanted);
    }
    synchronizer end{rt};
    static_cast<void>(collective::broadcast(out.all(), 0).post(all, end));
    rt.default_device().wait(end);
    EXPECT_EQ(out.content(), bytes(1000, std::byte{99}));
    collective::barrier().run(all);
  });
}

// A layout whose functions fail from some byte on.
struct failing_shape {
  std::size_t pack(const void* /*address*/, std::uint64_t /*offset*/, std::byte* to, std::size_t count) const {
    std::fill_n(to, count, std::byte{1});
    return fails_out ? count - 1 : count;
  }
  std::size_t unpack(void* /*address*/, std::uint64_t /*offset*/, const std::byte* /*from*/, std::size_t count) const {
    return fails_in ? count - 1 : count;
  }
  bool fails_out;
  bool fails_in;
};

errc error_of(group& in, const collective& which, std::string_view algorithm) {
  synchronizer end{in.device().runtime()};
  static_cast<void>(which.post(in, end, {.algorithm = algorithm}));
  in.device().wait(end);
  return end.take()->error();
}

TEST(collectives_of_kinds, end_with_memory_failed_if_a_function_fails) {
  test::local_job{2}.run([](runtime& rt) {
    group all = rt.world();
    std::vector<std::uint64_t> mine(3000, 1), sum(3000);
    for (const bool fails_out : {false, true}) {
      const failing_shape shape{fails_out, !fails_out};
      const layout failing{shape};
      const buffer_ref bad{nullptr, sum.size() * word, failing};
      const bool fails_here = rt.rank() == 0;
      // Rank 0 can't read its input, or can't write its output.
      const errc reduced = error_of(
          all,
          collective::allreduce(fails_here && fails_out ? const_buffer_ref{bad} : const_buffer_ref{mine},
                                fails_here && !fails_out ? bad : buffer_ref{sum}, reduction::callable<std::uint64_t>()),
          "recursive-doubling");
      if (fails_here) {
        EXPECT_EQ(reduced, errc::memory_failed);
      }
      // If a message can't be read, both of its members fail.
      const errc sent = error_of(all, collective::broadcast(fails_here ? bad : buffer_ref{sum}), "binomial");
      EXPECT_EQ(sent, fails_out ? errc::memory_failed : errc::none);
      const errc received = error_of(all, collective::broadcast(fails_here ? bad : buffer_ref{sum}, 1), "binomial");
      if (fails_here) {
        EXPECT_EQ(received, fails_out ? errc::none : errc::memory_failed);
      }
      collective::barrier().run(all);
    }
  });
}

TEST(collectives_of_kinds, refuse_memory_that_they_may_not_use) {
  test::local_job{1}.run([](runtime& rt) {
    group all = rt.world();
    test::guarded_memory guarded{rt, 100};
    const auto refused = [&](const buffer_ref& wrong) {
      try {
        collective::broadcast(wrong).run(all);
      } catch (const error& why) {
        return why.code() == errc::invalid_argument;
      }
      return false;
    };
    EXPECT_FALSE(refused(guarded.buffer(0, 100)));
    EXPECT_TRUE(refused({guarded.address(), 100}));
    std::array<std::byte, 64> some{};
    std::optional<memory_kind> kind{std::in_place, rt, "aligned",
                                    memory_functions{.processor_may_touch = true, .alignment = 64}};
    const memory tried{*kind};
    const std::size_t ahead = 64 - reinterpret_cast<std::uintptr_t>(some.data()) % 64;
    EXPECT_TRUE(refused({some.data() + ahead % 64 + 1, 1, tried}));
    kind.reset();
    EXPECT_TRUE(refused({some.data(), 1, tried}));
    const layout ordinary{layout::contiguous{}};
    EXPECT_FALSE(refused({some.data(), 1, ordinary}));
  });
}

}  // namespace
}  // namespace weft
