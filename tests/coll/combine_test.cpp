// SPDX-License-Identifier: BSD-3-Clause
// Reductions of arrays of all lengths around the runs in which elements are combined.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <functional>
#include <vector>

#include "weft/collectives.hpp"

namespace weft {
namespace {

template <class Element, class Callable, class Make>
void expect_each_length(Callable how, const Make& make) {
  const reduction by = reduction::callable<Element>(how);
  for (std::size_t count = 0; count < 300; count = count < 140 ? count + 1 : count + 37) {
    std::vector<Element> in, inout, expected;
    for (std::size_t i = 0; i <= count; ++i) {
      in.push_back(make(3 * i + 1));
      inout.push_back(make(5 * i + 2));
      expected.push_back(i < count ? static_cast<Element>(how(in[i], inout[i])) : inout[i]);
    }
    by.combine(in.data(), inout.data(), count, by.context);
    for (std::size_t i = 0; i <= count; ++i) EXPECT_TRUE(expected[i] == inout[i]) << i << " of " << count;
  }
}

template <class Element>
Element number(std::size_t of) {
  return static_cast<Element>(of % 11);
}

struct large {
  std::uint64_t words[11];
  bool operator==(const large&) const = default;
};
struct sum_of_large {
  large operator()(const large& a, const large& b) const {
    large out{};
    for (std::size_t i = 0; i < 11; ++i) out.words[i] = a.words[i] + 2 * b.words[i];
    return out;
  }
};

TEST(CollCombine, arrays_of_each_length_are_combined_to_their_end) {
  expect_each_length<std::int8_t>(std::plus<>{}, number<std::int8_t>);
  expect_each_length<std::uint16_t>(std::multiplies<>{}, number<std::uint16_t>);
  expect_each_length<std::int32_t>(reductions::min{}, number<std::int32_t>);
  expect_each_length<std::uint64_t>(std::bit_xor<>{}, number<std::uint64_t>);
  expect_each_length<std::uint64_t>(std::logical_and<>{}, number<std::uint64_t>);
  expect_each_length<float>(std::minus<>{}, number<float>);
  expect_each_length<double>(reductions::max{}, number<double>);
  expect_each_length<std::complex<double>>(std::multiplies<>{}, [](std::size_t i) {
    return std::complex<double>{number<double>(i), number<double>(i + 1)};
  });
  expect_each_length<large>(sum_of_large{}, [](std::size_t i) { return large{{i, i + 1, i + 2}}; });
}

TEST(CollCombine, of_equal_values_the_smaller_index_counts) {
  using pair = reductions::located<double>;
  const auto is = [](const pair& a, double value, std::uint64_t index) { return a.value == value && a.index == index; };
  EXPECT_TRUE(is(reductions::min_located{}(pair{1, 7}, pair{2, 3}), 1, 7));
  EXPECT_TRUE(is(reductions::min_located{}(pair{2, 3}, pair{1, 7}), 1, 7));
  EXPECT_TRUE(is(reductions::min_located{}(pair{1, 7}, pair{1, 3}), 1, 3));
  EXPECT_TRUE(is(reductions::min_located{}(pair{1, 3}, pair{1, 7}), 1, 3));
  EXPECT_TRUE(is(reductions::max_located{}(pair{1, 7}, pair{2, 3}), 2, 3));
  EXPECT_TRUE(is(reductions::max_located{}(pair{2, 3}, pair{1, 7}), 2, 3));
  EXPECT_TRUE(is(reductions::max_located{}(pair{2, 7}, pair{2, 3}), 2, 3));
  EXPECT_TRUE(is(reductions::max_located{}(pair{2, 3}, pair{2, 7}), 2, 3));
}

}  // namespace
}  // namespace weft
