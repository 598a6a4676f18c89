// SPDX-License-Identifier: BSD-3-Clause
// The operands of reductions are in the order of ranks, also if the operation is commutative: so all ranks of an
// allreduce get the same bits where these depend on the order, as of zeros with signs and of NaNs.
#include <gtest/gtest.h>

#include <bit>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "coll/algorithms/table.hpp"
#include "coll/args/collective_args.hpp"
#include "coll/bytes.hpp"
#include "coll/some_nodes.hpp"
#include "support/random_seed.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using coll::algorithm;
using coll::collective_args;

// Algorithms that combine from another rank than the first on, or ranks that are no neighbours.
bool keeps_order(const algorithm& which, const collective_args& args) {
  if (which.name == "ring") return args.size <= 1;
  if (which.operation == collective_operation::reduce && which.name != "linear" && which.name != "rabenseifner")
    return args.root == 0;
  return which.operation != collective_operation::reduce_scatter || which.name != "recursive-halving" || args.size <= 2;
}

bool reduces(const algorithm& which) {
  return which.operation == collective_operation::reduce || which.operation == collective_operation::allreduce ||
         which.operation == collective_operation::reduce_scatter || which.operation == collective_operation::scan ||
         which.operation == collective_operation::exscan;
}

// Calls `body` with the arguments of all ranks, some of them in place.
template <class Body>
void for_each_args(const algorithm& which, std::mt19937& random, const Body& body) {
  constexpr std::uint32_t most = test::under_sanitizer ? 6 : 12;
  for (std::uint32_t size = 1; size <= most; ++size) {
    const coll::node_map nodes = coll::test::nodes_of(size, 2 + size % 3);
    for (const std::uint32_t root : {0U, size - 1}) {
      for (const std::uint64_t elements : {1, 3, 64}) {
        collective_args args{.operation = which.operation,
                             .size = size,
                             .root = root,
                             .block_bytes = elements * 8,
                             .element_bytes = 8,
                             .nodes = &nodes};
        if (!which.can(args)) continue;
        std::vector<collective_args> all(size, args);
        for (std::uint32_t rank = 0; rank < size; ++rank) {
          all[rank].rank = rank;
          all[rank].is_inplace = random() % 2 == 0;
        }
        body(all);
      }
    }
  }
}

TEST(order_of_operands, is_that_of_ranks_where_an_operation_commutes) {
  std::mt19937 random{static_cast<std::uint32_t>(test::random_seed())};
  for (const algorithm& which : coll::algorithms()) {
    if (!reduces(which)) continue;
    for_each_args(which, random, [&](std::span<const collective_args> members) {
      if (!keeps_order(which, members[0])) return;
      EXPECT_EQ(coll::test::check(which, members, random, coll::test::operands::are_in_order), "")
          << name_of(which.operation) << ' ' << which.name << ", " << members.size() << " ranks, root "
          << members[0].root << ", " << members[0].block_bytes << " bytes";
    });
  }
}

TEST(order_of_operands, and_brackets_are_one_for_all_ranks_of_an_allreduce) {
  std::mt19937 random{static_cast<std::uint32_t>(test::random_seed())};
  for (const algorithm& which : coll::algorithms()) {
    if (which.operation != collective_operation::allreduce) continue;
    for_each_args(which, random, [&](std::span<const collective_args> members) {
      EXPECT_EQ(coll::test::check(which, members, random, coll::test::operands::have_brackets), "")
          << which.name << ", " << members.size() << " ranks, " << members[0].block_bytes << " bytes";
    });
  }
}

// Values of which two have no order, or compare equal with other bits; NaNs have the payload of their rank.
template <class Number>
Number unusual(std::uint32_t rank, std::size_t i) {
  switch ((rank * 7 + i * 3 + i / 5) % 5) {
    case 0: return -Number{0};
    case 1: return Number{0};
    case 2: return static_cast<Number>(rank + i % 3);
    case 3: return std::numeric_limits<Number>::infinity();
    default: break;
  }
  Number out = std::numeric_limits<Number>::quiet_NaN();
  std::uint16_t low = 0;
  std::memcpy(&low, &out, sizeof low);
  low = static_cast<std::uint16_t>(low | (rank + 1));
  std::memcpy(&out, &low, sizeof low);
  return rank % 2 == 0 ? out : -out;
}

template <class Number>
struct maker {
  static Number make(std::uint32_t rank, std::size_t i) { return unusual<Number>(rank, i); }
};
template <class Part>
struct maker<std::complex<Part>> {
  static std::complex<Part> make(std::uint32_t rank, std::size_t i) {
    return {unusual<Part>(rank, i), unusual<Part>(rank, i + 2)};
  }
};
template <class Value, class Index>
struct maker<reductions::located<Value, Index>> {
  static reductions::located<Value, Index> make(std::uint32_t rank, std::size_t i) {
    return {unusual<Value>(rank, i), static_cast<Index>(rank / 2)};
  }
};

// Bytes of an element that have a value. A long double leaves its last ones as they are.
template <class Element>
constexpr std::size_t part_bytes = sizeof(Element);
template <>
constexpr std::size_t part_bytes<long double> = 10;

template <class Element>
bool have_same_bits(const std::vector<Element>& a, const std::vector<Element>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], part_bytes<Element>) != 0) return false;
  return true;
}

// Members in place and others, members that wait and others that post it. Results are written before the barrier.
template <class Element, class Callable>
void expect_same_bits(group& all, std::vector<std::vector<Element>>& of_ranks, std::size_t count,
                      const collective_options& options, const char* text) {
  const std::uint32_t me = all.rank();
  std::vector<Element> in(count);
  for (std::size_t i = 0; i < count; ++i) in[i] = maker<Element>::make(me, i);
  std::vector<Element>& out = of_ranks[me];
  out = in;
  const bool is_inplace = (me + count) % 3 == 0;
  const collective which =
      is_inplace ? collective::allreduce({}, out, Callable{}) : collective::allreduce(in, out, Callable{});
  if ((me + count / 2) % 2 == 0) {
    which.run(all, options);
  } else {
    synchronizer end{all.device().runtime()};
    static_cast<void>(which.post(all, end, options));
    EXPECT_TRUE(test::eventually(all.device(), [&] { return end.is_ready(); }));
    EXPECT_EQ(end.take()->error(), errc::none);
  }
  all.device().runtime().barrier();
  EXPECT_TRUE(have_same_bits(out, of_ranks[0]))
      << text << " of " << count << " elements, member " << me << " of " << all.size() << ", " << options.algorithm;
  all.device().runtime().barrier();
}

template <class Element, class... Callables>
void expect_same_bits_of_all(std::uint32_t ranks, const char* type) {
  std::vector<std::vector<Element>> of_ranks(ranks);
  test::local_job{ranks}.run([&](runtime& rt) {
    for (const bool is_oversubscribed : {false, true}) {
      test::local_job::assume_beyond_processors(rt, is_oversubscribed);
      group all = rt.world().dup();
      for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{77}, 3000 / sizeof(Element)})
        (expect_same_bits<Element, Callables>(all, of_ranks, count, {}, type), ...);
    }
    group all = rt.world();
    for (const char* const name : {"linear", "recursive-doubling", "rabenseifner", "ring"})
      (expect_same_bits<Element, Callables>(all, of_ranks, 77, {.algorithm = name}, type), ...);
  });
}

TEST(results_of_an_allreduce, have_the_same_bits_at_all_ranks) {
  for (const std::uint32_t ranks : {2U, 3U, 5U}) {
    expect_same_bits_of_all<float, std::plus<>, std::multiplies<>, reductions::min, reductions::max>(ranks, "float");
    expect_same_bits_of_all<double, std::plus<>, std::multiplies<>, reductions::min, reductions::max>(ranks, "double");
    expect_same_bits_of_all<long double, std::plus<>, std::multiplies<>, reductions::min, reductions::max>(
        ranks, "long double");
    expect_same_bits_of_all<std::complex<float>, std::plus<>, std::multiplies<>>(ranks, "complex float");
    expect_same_bits_of_all<std::complex<double>, std::plus<>, std::multiplies<>>(ranks, "complex double");
    expect_same_bits_of_all<reductions::located<double, std::uint64_t>, reductions::min_located,
                            reductions::max_located>(ranks, "located double");
    expect_same_bits_of_all<reductions::located<float, std::uint32_t>, reductions::min_located,
                            reductions::max_located>(ranks, "located float");
  }
}

// Both functions of a reduction combine with the same instructions, whichever array they write.
TEST(results_of_an_allreduce, do_not_depend_on_the_array_that_is_written) {
  const reduction sum = reduction::callable<double>(), product = reduction::callable<double, std::multiplies<>>();
  for (const reduction& op : {sum, product}) {
    for (std::size_t count = 0; count < 40; ++count) {
      std::vector<double> lower(count), higher(count);
      for (std::size_t i = 0; i < count; ++i) {
        lower[i] = unusual<double>(1, i);
        higher[i] = unusual<double>(2, i + count);
      }
      std::vector<double> into_higher = higher, into_lower = lower;
      op.combine(lower.data(), into_higher.data(), count, op.context);
      op.combine_higher(higher.data(), into_lower.data(), count, op.context);
      EXPECT_TRUE(have_same_bits(into_higher, into_lower)) << count;
    }
  }
}

// An operation of a program that is called commutative, and depends on the order in its last bits.
TEST(results_of_an_allreduce, are_one_for_all_ranks_by_a_function_of_two_arrays) {
  const reduction mixed{.combine =
                            [](const void* in, void* inout, std::size_t count, void* /*context*/) {
                              const auto* const lower = static_cast<const std::uint64_t*>(in);
                              auto* const higher = static_cast<std::uint64_t*>(inout);
                              for (std::size_t i = 0; i < count; ++i) higher[i] = 3 * lower[i] + 5 * higher[i] + 1;
                            },
                        .element_bytes = 8};
  for (const std::uint32_t ranks : {2U, 3U, 6U}) {
    std::vector<std::vector<std::uint64_t>> of_ranks(ranks);
    test::local_job{ranks}.run([&](runtime& rt) {
      group all = rt.world();
      for (const std::size_t count : {1U, 6U, 700U, 3000U}) {
        for (const char* const name : {"", "linear", "recursive-doubling", "rabenseifner", "ring"}) {
          std::vector<std::uint64_t>& out = of_ranks[rt.rank()];
          out.assign(count, rt.rank() + 1);
          collective::allreduce({}, out, mixed).run(all, {.algorithm = name});
          rt.barrier();
          EXPECT_EQ(out, of_ranks[0]) << name << ", " << count << " elements of " << ranks << " ranks";
          rt.barrier();
        }
      }
    });
  }
}

}  // namespace
}  // namespace weft
