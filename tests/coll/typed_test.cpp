// SPDX-License-Identifier: BSD-3-Clause
// The typed front ends: every operation that reduces, with types of elements and operations on them, callables with
// state, and the forms in place; operations that move elements of any type.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr std::uint32_t members = 3;

// Small numbers, whose products fit any type.
template <class Element>
Element given(std::uint32_t member, std::size_t i) {
  return static_cast<Element>(static_cast<float>((member * 2 + i) % 4));
}

// Each member's elements in the order of members, combined one after the other.
template <class Element, class Callable>
void expect_combined(group& all, const Callable& how) {
  constexpr std::size_t count = 100;
  std::vector<Element> mine(count), sum(count), wanted(count);
  for (std::size_t i = 0; i < count; ++i) {
    mine[i] = given<Element>(all.rank(), i);
    wanted[i] = given<Element>(0, i);
    for (std::uint32_t member = 1; member < members; ++member)
      wanted[i] = static_cast<Element>(how(wanted[i], given<Element>(member, i)));
  }
  collective::allreduce(mine, sum, how).run(all);
  EXPECT_EQ(sum, wanted) << __PRETTY_FUNCTION__;
  collective::allreduce({}, mine, how).run(all);
  EXPECT_EQ(mine, wanted) << __PRETTY_FUNCTION__;
}

template <class... Elements>
struct each_of {
  template <class Callable>
  static void expect(group& all, const Callable& how) {
    (expect_combined<Elements>(all, how), ...);
  }
};
using integers = each_of<char, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                         std::int64_t, std::uint64_t>;
using floats = each_of<float, double, long double>;
using complex_numbers = each_of<std::complex<float>, std::complex<double>>;

TEST(typed_collectives, combine_numbers_of_every_type) {
  test::local_job{members}.run([](runtime& rt) {
    group all = rt.world();
    integers::expect(all, std::plus<>{});
    integers::expect(all, std::multiplies<>{});
    integers::expect(all, reductions::min{});
    integers::expect(all, reductions::max{});
    integers::expect(all, std::bit_and<>{});
    integers::expect(all, std::bit_or<>{});
    integers::expect(all, std::bit_xor<>{});
    integers::expect(all, std::logical_and<>{});
    integers::expect(all, std::logical_or<>{});
    integers::expect(all, reductions::logical_xor{});
    floats::expect(all, std::plus<>{});
    floats::expect(all, std::multiplies<>{});
    floats::expect(all, reductions::min{});
    floats::expect(all, reductions::max{});
    complex_numbers::expect(all, std::plus<>{});
    complex_numbers::expect(all, std::multiplies<>{});
    floats::expect(all, [](auto a, auto b) { return a + b; });
  });
}

TEST(typed_collectives, find_the_smallest_and_largest_with_their_places) {
  test::local_job{members}.run([](runtime& rt) {
    group all = rt.world();
    using value = reductions::located<double, std::uint32_t>;
    const double numbers[members] = {2, 7, 7};
    const value mine[] = {{numbers[rt.rank()], rt.rank()}};
    value found[1];
    collective::allreduce(mine, found, reductions::max_located{}).run(all);
    EXPECT_EQ(found[0].value, 7);
    EXPECT_EQ(found[0].index, 1U) << "of equal ones the first";
    collective::allreduce(mine, found, reductions::min_located{}).run(all);
    EXPECT_EQ(found[0].value, 2);
    EXPECT_EQ(found[0].index, 0U);
  });
}

TEST(typed_collectives, are_there_for_each_operation_that_reduces) {
  test::local_job{members}.run([](runtime& rt) {
    group all = rt.world();
    const std::uint32_t me = all.rank();
    const std::array<int, 2> mine{static_cast<int>(me) + 1, 10};
    std::vector<int> sums(me == 1 ? 2 : 0);
    collective::reduce(mine, sums, std::plus<>{}, 1).run(all);
    if (me == 1) {
      EXPECT_EQ(sums, (std::vector<int>{6, 30}));
    }
    std::array<int, 2> at_root = mine;
    (me == 0 ? collective::reduce({}, at_root) : collective::reduce(mine, at_root)).run(all);
    if (me == 0) {
      EXPECT_EQ(at_root, (std::array<int, 2>{6, 30}));
    }
    std::array<int, 2> out{-1, -1};
    collective::scan(mine, out).run(all);
    EXPECT_EQ(out, (std::array<int, 2>{static_cast<int>((me + 1) * (me + 2) / 2), static_cast<int>(me + 1) * 10}));
    out = {-1, -1};
    collective::exscan(mine, out, reductions::max{}).run(all);
    EXPECT_EQ(out, me == 0 ? (std::array<int, 2>{-1, -1}) : (std::array<int, 2>{static_cast<int>(me), 10}));
    std::vector<int> parts{1, 2, 3};
    int part[1] = {0};
    collective::reduce_scatter(parts, part).run(all);
    EXPECT_EQ(part[0], static_cast<int>(3 * (me + 1)));
    collective::reduce_scatter({}, parts, std::multiplies<>{}).run(all);
    const int products[] = {1, 8, 27};
    EXPECT_EQ(parts[0], products[me]);
  });
}

// Adds modulo a number that is known at run time.
struct modulo {
  std::uint64_t divisor;
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const noexcept { return (a + b) % divisor; }
};

// Composes maps x -> a x + b modulo a number: not commutative.
struct map {
  std::uint64_t a, b;
  bool operator==(const map&) const = default;
};
struct composed {
  std::uint64_t divisor;
  map operator()(const map& first, const map& second) const noexcept {
    return {first.a * second.a % divisor, (second.a * first.b + second.b) % divisor};
  }
};

TEST(typed_collectives, take_callables_with_state) {
  test::local_job{members}.run([](runtime& rt) {
    group all = rt.world();
    for (const std::uint64_t divisor : {7U, 11U}) {
      const modulo how{divisor};
      const std::vector<std::uint64_t> mine(20, 5 + rt.rank());
      std::vector<std::uint64_t> sum(20);
      collective::allreduce(mine, sum, how).run(all);
      EXPECT_EQ(sum, std::vector<std::uint64_t>(20, 18 % divisor));
      const composed in_order{divisor};
      const std::array<map, 1> one{{{rt.rank() + 2U, rt.rank() + 1U}}};
      std::array<map, 1> chain{};
      collective::allreduce(one, chain, reduction::callable_ref<map>(in_order, false)).run(all);
      EXPECT_EQ(chain[0], in_order(in_order({2, 1}, {3, 2}), {4, 3}));
    }
  });
}

template <class Callable>
concept taken_by_ref = requires(Callable&& how) {
  reduction::callable_ref<std::uint64_t>(std::forward<Callable>(how));
};
static_assert(taken_by_ref<const modulo&> && taken_by_ref<modulo&>);
static_assert(!taken_by_ref<modulo>, "a temporary ends before the collective");
static_assert(!combines<std::plus<>, map>, "elements that can't be added");

TEST(typed_collectives, move_elements_of_any_type) {
  struct point {
    float x, y;
    std::int16_t id;
    bool operator==(const point&) const = default;
  };
  test::local_job{members}.run([](runtime& rt) {
    group all = rt.world();
    const std::uint32_t me = all.rank();
    const auto point_of = [](std::uint32_t from, std::uint32_t to) {
      return point{static_cast<float>(from), static_cast<float>(to), 3};
    };
    std::vector<point> mine, wanted_of_all, got(members);
    for (std::uint32_t other = 0; other < members; ++other) {
      mine.push_back(point_of(me, other));
      wanted_of_all.push_back(point_of(other, me));
    }
    collective::alltoall(mine, got).run(all);
    EXPECT_EQ(got, wanted_of_all);
    std::array<point, 1> one{point_of(me, 9)};
    collective::allgather(one, got).run(all);
    EXPECT_EQ(got, (std::vector<point>{point_of(0, 9), point_of(1, 9), point_of(2, 9)}));
    std::vector<point> gathered(me == 2 ? members : 0);
    collective::gather(one, gathered, 2).run(all);
    EXPECT_EQ(gathered, me == 2 ? got : std::vector<point>{});
    collective::scatter(gathered, one, 2).run(all);
    EXPECT_EQ(one[0], point_of(me, 9));
    collective::broadcast(one, 1).run(all);
    EXPECT_EQ(one[0], point_of(1, 9));
    collective::broadcast(std::span{got}.first(2), 0).run(all);
  });
}

}  // namespace
}  // namespace weft
