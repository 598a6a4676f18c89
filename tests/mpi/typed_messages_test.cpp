// SPDX-License-Identifier: BSD-3-Clause
// Messages whose data are not contiguous, end to end: their layouts at both sides may differ, their signatures agree
// (MPI 5.0, 3.3.1).
#include <array>
#include <functional>
#include <numeric>
#include <vector>

#include "mpi/ranks.hpp"
#include "mpi/types.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;
using test::type_owner;
using test::vector_type;

// Ints in memory: the offsets of all, in the order of their type map, in a block of `room` ints of which `origin` is
// the one that the buffer's address names.
struct ints {
  type_owner type;
  int count;
  std::vector<std::size_t> at;
  std::size_t room;
  std::size_t origin = 0;
};

std::vector<std::size_t> offsets(std::size_t count, const std::function<std::size_t(std::size_t)>& of) {
  std::vector<std::size_t> out(count);
  for (std::size_t each = 0; each < count; ++each) out[each] = of(each);
  return out;
}

ints contiguous(int count) {
  return {type_owner{[&](MPI_Datatype* to) { return MPI_Type_contiguous(count / 2, MPI_INT, to); }}, 2,
          offsets(static_cast<std::size_t>(count), [](std::size_t each) { return each; }),
          static_cast<std::size_t>(count)};
}

ints every_second(int count) {
  return {vector_type(count, 1, 2, MPI_INT), 1,
          offsets(static_cast<std::size_t>(count), [](std::size_t each) { return 2 * each; }),
          2 * static_cast<std::size_t>(count)};
}

ints triples_backwards(int count) {
  const auto last = static_cast<std::size_t>(count / 3 - 1) * 4;
  return {vector_type(count / 3, 3, -4, MPI_INT), 1,
          offsets(static_cast<std::size_t>(count), [&](std::size_t each) { return last - each / 3 * 4 + each % 3; }),
          last + 4, last};
}

// Blocks of one and two ints, the later ones before the earlier ones.
ints blocks_at_random(int count) {
  std::vector<int> lengths, at;
  std::vector<std::size_t> all;
  for (int block = 0; block < count / 3 * 2; ++block) {
    const int offset = 4 * (count / 3 * 2 - 1 - block);
    lengths.push_back(1 + block % 2);
    at.push_back(offset);
    for (int each = 0; each < lengths.back(); ++each) all.push_back(static_cast<std::size_t>(offset + each));
  }
  return {type_owner{[&](MPI_Datatype* to) {
            return MPI_Type_indexed(static_cast<int>(at.size()), lengths.data(), at.data(), MPI_INT, to);
          }},
          1, all, 4 * static_cast<std::size_t>(count)};
}

// {int; gap; int[2]; gap}, 24 bytes apart.
ints structs_with_gaps(int count) {
  const std::array lengths{1, 2};
  const std::array<MPI_Aint, 2> at{0, 8};
  const std::array<MPI_Datatype, 2> types{MPI_INT, MPI_INT};
  MPI_Datatype tight = MPI_DATATYPE_NULL;
  EXPECT_EQ(MPI_Type_create_struct(2, lengths.data(), at.data(), types.data(), &tight), MPI_SUCCESS);
  type_owner resized{[&](MPI_Datatype* to) { return MPI_Type_create_resized(tight, 0, 24, to); }};
  EXPECT_EQ(MPI_Type_free(&tight), MPI_SUCCESS);
  return {std::move(resized), count / 3,
          offsets(static_cast<std::size_t>(count),
                  [](std::size_t each) { return each / 3 * 6 + each % 3 + (each % 3 != 0 ? 1 : 0); }),
          2 * static_cast<std::size_t>(count)};
}

// Four columns of six, in a matrix of rows of ten.
ints part_of_a_matrix(int count) {
  const int rows = count / 4;
  const std::array sizes{rows, 10}, subsizes{rows, 4}, starts{0, 6};
  return {type_owner{[&](MPI_Datatype* to) {
            return MPI_Type_create_subarray(2, sizes.data(), subsizes.data(), starts.data(), MPI_ORDER_C, MPI_INT, to);
          }},
          1, offsets(static_cast<std::size_t>(count), [](std::size_t each) { return each / 4 * 10 + 6 + each % 4; }),
          10 * static_cast<std::size_t>(rows)};
}

// The blocks of two that the second of three processes has.
ints part_of_a_distributed_array(int count) {
  const int size = 3 * count, distribution = MPI_DISTRIBUTE_CYCLIC, block = 2, grid = 3;
  return {type_owner{[&](MPI_Datatype* to) {
            return MPI_Type_create_darray(3, 1, 1, &size, &distribution, &block, &grid, MPI_ORDER_C, MPI_INT, to);
          }},
          1, offsets(static_cast<std::size_t>(count), [](std::size_t each) { return each / 2 * 6 + 2 + each % 2; }),
          static_cast<std::size_t>(size)};
}

std::vector<ints> all_layouts(int count) {
  std::vector<ints> out;
  for (const auto& make : {contiguous, every_second, triples_backwards, blocks_at_random, structs_with_gaps,
                           part_of_a_matrix, part_of_a_distributed_array})
    out.push_back(make(count));
  return out;
}

std::vector<int> filled(const ints& of, int first) {
  std::vector<int> out(of.room, -1);
  for (std::size_t each = 0; each < of.at.size(); ++each) out[of.at[each]] = first + static_cast<int>(each);
  return out;
}

void exchange(const ints& sent, const ints& received, int peer, MPI_Comm in, int first, int expected) {
  const std::vector<int> from = filled(sent, first);
  std::vector<int> into(received.room, -1);
  MPI_Status status{};
  EXPECT_EQ(MPI_Sendrecv(&from[sent.origin], sent.count, sent.type, peer, 0, &into[received.origin], received.count,
                         received.type, peer, 0, in, &status),
            MPI_SUCCESS);
  EXPECT_TRUE(into == filled(received, expected)) << "of " << sent.at.size();
  int elements = 0, count = 0;
  EXPECT_EQ(MPI_Get_elements(&status, received.type, &elements), MPI_SUCCESS);
  EXPECT_EQ(MPI_Get_count(&status, received.type, &count), MPI_SUCCESS);
  EXPECT_EQ(static_cast<std::size_t>(elements), received.at.size());
  EXPECT_EQ(count, received.count);
}

constexpr std::array counts{12, 1200, 120'000};  // inline, in a packet, and in many pieces

// Calls `each(sent, received)` for all pairs of layouts; of the longest, for every third.
template <class Each>
void exchange_all(const Each& each) {
  for (const int count : counts) {
    const std::vector<ints> layouts = all_layouts(count);
    const std::size_t step = count == counts.back() ? 3 : 1;
    for (std::size_t pair = 0; pair < layouts.size() * layouts.size(); pair += step)
      each(layouts[pair / layouts.size()], layouts[pair % layouts.size()]);
  }
}

TEST(mpi_typed_messages, arrive_where_the_receivers_type_says_whatever_the_senders) {
  run_ranks(2, [](numbers_of_rank mine) {
    exchange_all([&](const ints& sent, const ints& received) {
      exchange(sent, received, 1 - mine.rank, MPI_COMM_WORLD, mine.rank, 1 - mine.rank);
    });
  });
}

TEST(mpi_typed_messages, of_a_rank_to_itself_arrive_too) {
  run_ranks(1, [](numbers_of_rank) {
    exchange_all([](const ints& sent, const ints& received) { exchange(sent, received, 0, MPI_COMM_SELF, 7, 7); });
  });
}

// MPI 5.0, 5.1.12: displacements are addresses where the buffer is MPI_BOTTOM.
TEST(mpi_typed_messages, have_absolute_addresses_where_the_buffer_is_the_bottom) {
  run_ranks(2, [](numbers_of_rank mine) {
    int number = 5 + mine.rank;
    std::vector<double> reals(1000, 0.5 + mine.rank);
    const std::array lengths{1, 1000};
    const std::array<MPI_Datatype, 2> types{MPI_INT, MPI_DOUBLE};
    std::array<MPI_Aint, 2> at{};
    EXPECT_EQ(MPI_Get_address(&number, &at[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_address(reals.data(), &at[1]), MPI_SUCCESS);
    const type_owner type{
        [&](MPI_Datatype* to) { return MPI_Type_create_struct(2, lengths.data(), at.data(), types.data(), to); }};
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Send(MPI_BOTTOM, 1, type, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    } else {
      EXPECT_EQ(MPI_Recv(MPI_BOTTOM, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    EXPECT_EQ(number, 5);
    EXPECT_EQ(reals, std::vector<double>(1000, 0.5));
    EXPECT_EQ(MPI_Send(MPI_BOTTOM, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Send(MPI_IN_PLACE, 1, type, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  });
}

// MPI 5.0, 5.1.9: operations that use a type complete as if it had not been freed.
TEST(mpi_typed_messages, are_complete_though_their_types_were_freed_before) {
  run_ranks(2, [](numbers_of_rank mine) {
    constexpr int count = 30'000;
    std::vector<int> numbers(2 * count, mine.rank == 0 ? 3 : -1);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_vector(count, 1, 2, MPI_INT, &type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
    MPI_Request request = MPI_REQUEST_NULL;
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Isend(numbers.data(), 1, type, 1, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    } else {
      EXPECT_EQ(MPI_Irecv(numbers.data(), 1, type, 0, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (std::size_t each = 0; each < numbers.size(); each += 2) EXPECT_EQ(numbers[each], 3);
    if (mine.rank == 0) return;
    EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), 0), 3 * count - count) << "gaps were written";
  });
}

// MPI 5.0, 5.1.11: a receive of fewer elements than it has room for. Its last element may be a part of one.
TEST(mpi_typed_messages, of_a_part_of_a_type_have_elements_and_no_count) {
  run_ranks(2, [](numbers_of_rank mine) {
    const std::array lengths{1, 1};
    const std::array<MPI_Aint, 2> at{0, 8};
    const std::array<MPI_Datatype, 2> types{MPI_INT, MPI_DOUBLE};
    const type_owner type{
        [&](MPI_Datatype* to) { return MPI_Type_create_struct(2, lengths.data(), at.data(), types.data(), to); }};
    struct pair {
      int number;
      double real;
    };
    std::array<pair, 3> pairs{};
    if (mine.rank == 0) {
      pairs = {{{1, 1.5}, {2, 2.5}, {3, 3.5}}};
      MPI_Datatype one_and_a_half = MPI_DATATYPE_NULL;
      const std::array more{1, 1, 1};
      const std::array<MPI_Aint, 3> where{0, 8, 16};
      const std::array<MPI_Datatype, 3> parts{MPI_INT, MPI_DOUBLE, MPI_INT};
      EXPECT_EQ(MPI_Type_create_struct(3, more.data(), where.data(), parts.data(), &one_and_a_half), MPI_SUCCESS);
      EXPECT_EQ(MPI_Type_commit(&one_and_a_half), MPI_SUCCESS);
      EXPECT_EQ(MPI_Send(pairs.data(), 1, one_and_a_half, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
      EXPECT_EQ(MPI_Send(pairs.data(), 2, type, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
      EXPECT_EQ(MPI_Type_free(&one_and_a_half), MPI_SUCCESS);
      return;
    }
    MPI_Status status{};
    int count = 0, elements = 0;
    MPI_Count elements_c = 0;
    EXPECT_EQ(MPI_Recv(pairs.data(), 3, type, 0, 0, MPI_COMM_WORLD, &status), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_count(&status, type, &count), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_elements(&status, type, &elements), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_elements_c(&status, type, &elements_c), MPI_SUCCESS);
    EXPECT_EQ(std::make_tuple(count, elements, elements_c), std::make_tuple(MPI_UNDEFINED, 3, 3));
    EXPECT_EQ(std::make_tuple(pairs[0].number, pairs[0].real, pairs[1].number, pairs[1].real),
              std::make_tuple(1, 1.5, 2, 0.));
    EXPECT_EQ(MPI_Recv(pairs.data(), 3, type, 0, 0, MPI_COMM_WORLD, &status), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_count(&status, type, &count), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_elements(&status, type, &elements), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_elements(&status, MPI_CHAR, &elements), MPI_SUCCESS);
    EXPECT_EQ(std::make_pair(count, elements), std::make_pair(2, 24));
  });
}

TEST(mpi_typed_messages, longer_than_their_type_are_an_error_and_write_nothing_behind_it) {
  run_ranks(2, [](numbers_of_rank mine) {
    for (const int count : counts) {
      std::vector<int> numbers(2 * static_cast<std::size_t>(count), mine.rank == 0 ? 3 : -1);
      if (mine.rank == 0) {
        EXPECT_EQ(MPI_Send(numbers.data(), count, MPI_INT, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
        continue;
      }
      const type_owner type = vector_type(count / 2, 1, 2, MPI_INT);
      EXPECT_EQ(MPI_Recv(numbers.data(), 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
      for (std::size_t each = 1; each < numbers.size(); each += 2) EXPECT_EQ(numbers[each], -1);
      for (std::size_t each = static_cast<std::size_t>(count); each < numbers.size(); ++each)
        EXPECT_EQ(numbers[each], -1);
    }
  });
}

TEST(mpi_typed_messages, of_a_type_that_is_not_committed_are_an_error) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_vector(2, 1, 2, MPI_INT, &type), MPI_SUCCESS);
    std::array<int, 3> numbers{};
    EXPECT_EQ(MPI_Send(numbers.data(), 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    EXPECT_EQ(MPI_Recv(numbers.data(), 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
    EXPECT_EQ(MPI_Send(numbers.data(), 1, MPI_REAL, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
  });
}

// 2^33 elements over and over in the same bytes: a type that has no more memory than one of them.
TEST(mpi_typed_messages, have_counts_above_the_range_of_int) {
  run_ranks(1, [](numbers_of_rank) {
    constexpr MPI_Count many = MPI_Count{1} << 33;
    const type_owner nothing{[](MPI_Datatype* to) { return MPI_Type_contiguous(0, MPI_INT, to); }};
    int number = 0, count = 0;
    MPI_Status status{};
    EXPECT_EQ(MPI_Sendrecv_c(&number, many, nothing, 0, 0, &number, many, nothing, 0, 0, MPI_COMM_SELF, &status),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_count(&status, nothing, &count), MPI_SUCCESS);
    EXPECT_EQ(count, 0);
    EXPECT_EQ(MPI_Send_c(&number, INT64_MAX, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF), MPI_ERR_COUNT);
  });
}

}  // namespace
}  // namespace weft
