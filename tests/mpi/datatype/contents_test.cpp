// SPDX-License-Identifier: BSD-3-Clause
// Envelope and contents of each constructor in both forms, by the tables of the standard (5.1.13); and how long types
// live.
#include "mpi/datatype/contents.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "mpi/datatype/known_types.hpp"

namespace weft::test {
namespace {

using namespace mpi;

// All arguments that a type was constructed with; `types`: without references.
struct all_contents {
  std::vector<int> integers;
  longs addresses, large_counts;
  std::vector<const datatype*> types;

  bool operator==(const all_contents&) const = default;
};

all_contents contents(const datatype& type) {
  const type_envelope has = envelope_of(type);
  all_contents out;
  out.integers.resize(static_cast<std::size_t>(has.integers));
  out.addresses.resize(static_cast<std::size_t>(has.addresses));
  out.large_counts.resize(static_cast<std::size_t>(has.large_counts));
  out.types.resize(static_cast<std::size_t>(has.types));
  EXPECT_EQ(contents_of(type, out.integers, out.addresses, out.large_counts, out.types), success);
  for (const datatype* each : out.types) datatype::remove_reference(each);  // the type has its own
  return out;
}

void expect_contents(combiner by, const std::function<error_class(width, datatype_ref&)>& make,
                     const all_contents& expected_narrow, const all_contents& expected_wide) {
  datatype_ref type;
  for (const width form : {narrow, wide}) {
    ASSERT_EQ(make(form, type), success);
    EXPECT_EQ(envelope_of(*type).kind, by);
    EXPECT_EQ(contents(*type), form == narrow ? expected_narrow : expected_wide) << static_cast<int>(by);
  }
}

TEST(datatype_contents, are_the_arguments_of_the_constructor_in_the_order_of_the_standard) {
  const datatype* const old = int_type();
  const std::vector<const datatype*> one{old}, two{old, double_type()};
  const int lengths[] = {2, 1};
  const longs at{0, 16};
  expect_contents(combiner::dup, [&](width, datatype_ref& out) { return make_dup(old, out); }, {{}, {}, {}, one},
                  {{}, {}, {}, one});
  expect_contents(combiner::contiguous, [&](width w, datatype_ref& out) { return make_contiguous(3, old, w, out); },
                  {{3}, {}, {}, one}, {{}, {}, {3}, one});
  expect_contents(combiner::vector, [&](width w, datatype_ref& out) { return make_vector(3, 2, 4, old, w, out); },
                  {{3, 2, 4}, {}, {}, one}, {{}, {}, {3, 2, 4}, one});
  expect_contents(combiner::hvector, [&](width w, datatype_ref& out) { return make_hvector(3, 2, 40, old, w, out); },
                  {{3, 2}, {40}, {}, one}, {{}, {}, {3, 2, 40}, one});
  expect_contents(combiner::indexed,
                  [&](width w, datatype_ref& out) { return make_indexed(2, lengths, at.data(), old, w, out); },
                  {{2, 2, 1, 0, 16}, {}, {}, one}, {{}, {}, {2, 2, 1, 0, 16}, one});
  expect_contents(combiner::hindexed,
                  [&](width w, datatype_ref& out) { return make_hindexed(2, lengths, at.data(), old, w, out); },
                  {{2, 2, 1}, {0, 16}, {}, one}, {{}, {}, {2, 2, 1, 0, 16}, one});
  expect_contents(combiner::indexed_block,
                  [&](width w, datatype_ref& out) { return make_indexed_block(2, 3, at.data(), old, w, out); },
                  {{2, 3, 0, 16}, {}, {}, one}, {{}, {}, {2, 3, 0, 16}, one});
  expect_contents(combiner::hindexed_block,
                  [&](width w, datatype_ref& out) { return make_hindexed_block(2, 3, at.data(), old, w, out); },
                  {{2, 3}, {0, 16}, {}, one}, {{}, {}, {2, 3, 0, 16}, one});
  expect_contents(combiner::structure,
                  [&](width w, datatype_ref& out) { return make_struct(2, lengths, at.data(), two.data(), w, out); },
                  {{2, 2, 1}, {0, 16}, {}, two}, {{}, {}, {2, 2, 1, 0, 16}, two});
  expect_contents(combiner::resized, [&](width w, datatype_ref& out) { return make_resized(old, -4, 12, w, out); },
                  {{}, {-4, 12}, {}, one}, {{}, {}, {-4, 12}, one});
}

TEST(datatype_contents, of_arrays_keep_ints_for_all_but_counts_in_the_wide_form) {
  const datatype* const old = int_type();
  const std::vector<const datatype*> one{old};
  const int sizes[] = {4, 6}, subsizes[] = {2, 3}, starts[] = {1, 2};
  expect_contents(
      combiner::subarray,
      [&](width w, datatype_ref& out) { return make_subarray(2, sizes, subsizes, starts, order_c, old, w, out); },
      {{2, 4, 6, 2, 3, 1, 2, order_c}, {}, {}, one}, {{2, order_c}, {}, {4, 6, 2, 3, 1, 2}, one});
  const int distributions[] = {distribute_block, distribute_cyclic}, arguments[] = {distribute_default, 2};
  const int grid[] = {2, 3};
  expect_contents(combiner::darray,
                  [&](width w, datatype_ref& out) {
                    return make_darray({6, 4, 2, sizes, distributions, arguments, grid, order_fortran}, old, w, out);
                  },
                  {{6, 4, 2, 4, 6, 17, 18, 19, 2, 2, 3, order_fortran}, {}, {}, one},
                  {{6, 4, 2, 17, 18, 19, 2, 2, 3, order_fortran}, {}, {4, 6}, one});
}

TEST(datatype_contents, of_named_types_and_into_short_arrays_are_refused) {
  EXPECT_EQ(envelope_of(*int_type()).kind, combiner::named);
  EXPECT_EQ(contents_of(*int_type(), {}, {}, {}, {}), error_class::type);
  datatype_ref type;
  ASSERT_EQ(make_contiguous(3, int_type(), narrow, type), success);
  EXPECT_EQ(contents_of(*type, {}, {}, {}, {}), error_class::argument);
}

TEST(datatype_lifetime, a_type_lives_on_in_those_made_of_it_and_in_references) {
  datatype_ref inner, outer;
  ASSERT_EQ(make_vector(2, 1, 2, int_type(), narrow, inner), success);
  inner->set_name("inner");
  ASSERT_EQ(make_contiguous(2, inner.get(), narrow, outer), success);
  inner = {};  // freed
  const datatype* found = nullptr;
  int count = 0;
  ASSERT_EQ(contents_of(*outer, {&count, 1}, {}, {}, {&found, 1}), success);
  const datatype_ref held = datatype_ref::adopt(found);
  const const_buffer_ref in_use = outer->buffer(static_cast<const void*>(nullptr), 3);
  const datatype_ref of_message = outer;
  outer = {};
  EXPECT_EQ(in_use.memory()->kind(), "layout");
  EXPECT_EQ(of_message->size(), 16);
  EXPECT_EQ(held->name(), "inner");
}

TEST(datatype_lifetime, a_chain_of_many_types_is_made_and_destroyed_without_recursion) {
  datatype_ref type{*double_type()};
  for (int i = 0; i < 200'000; ++i) {
    if (i % 2 == 0) {
      ASSERT_EQ(make_dup(type.get(), type), success);
    } else {
      ASSERT_EQ(make_resized(type.get(), 0, 16, narrow, type), success);
    }
  }
  EXPECT_EQ(type->size(), 8);
}

TEST(datatype_lifetime, threads_use_a_type_that_its_owner_has_freed) {
  datatype_ref owner;
  ASSERT_EQ(make_vector(4, 1, 2, int_type(), narrow, owner), success);
  const int values[] = {1, 0, 2, 0, 3, 0, 4, 0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&values, held = owner] {
      for (int round = 0; round < 200; ++round) {
        const datatype_ref of_message = held;
        datatype_ref derived;
        ASSERT_EQ(make_dup(of_message.get(), derived), success);
        int packed[4] = {};
        derived->pack(values, 0, reinterpret_cast<std::byte*>(packed), sizeof packed);
        ASSERT_EQ(packed[3], 4);
      }
    });
  }
  owner = {};
  for (std::thread& each : threads) each.join();
}

TEST(datatype_lifetime, a_duplicate_is_committed_if_its_original_is) {
  datatype_ref type, first, second;
  ASSERT_EQ(make_contiguous(2, int_type(), narrow, type), success);
  ASSERT_EQ(make_dup(type.get(), first), success);
  type->commit();
  ASSERT_EQ(make_dup(type.get(), second), success);
  EXPECT_FALSE(first->is_committed());
  EXPECT_TRUE(second->is_committed());
}

}  // namespace
}  // namespace weft::test
