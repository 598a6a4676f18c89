// SPDX-License-Identifier: BSD-3-Clause
// Collectives that combine elements: each in all forms, with commutative operations and others, in the order of ranks.
#include <algorithm>
#include <numeric>
#include <vector>

#include "mpi/ranks.hpp"
#include "mpi/typed_memory.hpp"

namespace weft {
namespace {

using namespace test;

// A function f(x) = a x + b, for numbers modulo 2^32: their composition is associative, and does not commute.
struct affine {
  std::uint32_t factor;
  std::uint32_t addend;
  friend bool operator==(const affine&, const affine&) = default;
};
affine after(affine first, affine then) {
  return {first.factor * then.factor, first.addend * then.factor + then.addend};
}

void compose(void* in, void* inout, int* length, MPI_Datatype*) {
  const auto* const from = static_cast<const affine*>(in);
  auto* const into = static_cast<affine*>(inout);
  for (int i = 0; i < *length; ++i) into[i] = after(from[i], into[i]);
}

affine given_by(int rank, int index) {
  const auto number = static_cast<std::uint32_t>(rank * 7919 + index * 104729);
  return {number | 1U, number ^ 0x5555U};
}
std::vector<affine> given(int rank, int count, int first = 0) {
  std::vector<affine> out;
  for (int index = 0; index < count; ++index) out.push_back(given_by(rank, first + index));
  return out;
}
// Of ranks `begin` to `end` - 1, in their order.
std::vector<affine> composed(int begin, int end, int count, int first = 0) {
  std::vector<affine> out = given(begin, count, first);
  for (int rank = begin + 1; rank < end; ++rank) {
    for (int index = 0; index < count; ++index) {
      affine& each = out[static_cast<std::size_t>(index)];
      each = after(each, given_by(rank, first + index));
    }
  }
  return out;
}

// An operation and a datatype of a rank, for the time of a test.
class operation_of_pairs {
 public:
  operation_of_pairs() {
    EXPECT_EQ(MPI_Op_create(compose, 0, &op), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_contiguous(2, MPI_UINT32_T, &type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
  }
  ~operation_of_pairs() {
    EXPECT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
    EXPECT_EQ(op, MPI_OP_NULL);
  }
  operation_of_pairs(const operation_of_pairs&) = delete;
  operation_of_pairs& operator=(const operation_of_pairs&) = delete;
  MPI_Op op = MPI_OP_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

template <class Body>
void for_each_reduction(const Body& body) {
  for (const std::uint32_t size : {1U, 2U, 3U, 5U, 8U}) {
    run_ranks(size, [&](numbers_of_rank mine) {
      const operation_of_pairs by;
      for (const form as : forms) {
        for (const int count : {0, 1, 4, 700}) {
          for (const bool is_inplace : {false, true}) body(mine, as, count, is_inplace, by);
        }
      }
    });
  }
}

std::vector<affine> untouched(std::size_t count) { return std::vector<affine>(count, affine{77, 78}); }

// The receive buffer before the call: the input where it is in place.
std::vector<affine> begun(numbers_of_rank mine, int count, bool is_inplace) {
  return is_inplace ? given(mine.rank, count) : untouched(static_cast<std::size_t>(count));
}

TEST(mpi_collective_reductions, allreduce_combines_in_the_order_of_ranks) {
  for_each_reduction([](numbers_of_rank mine, form as, int count, bool is_inplace, const operation_of_pairs& by) {
    const auto sent = given(mine.rank, count);
    auto received = begun(mine, count, is_inplace);
    EXPECT_EQ(carry_out(as, MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, is_inplace ? MPI_IN_PLACE : sent.data(),
                        received.data(), count, by.type, by.op, MPI_COMM_WORLD),
              MPI_SUCCESS);
    EXPECT_EQ(received, composed(0, mine.size, count));
  });
}

TEST(mpi_collective_reductions, reduce_gives_the_result_to_the_root_alone) {
  for_each_reduction([](numbers_of_rank mine, form as, int count, bool is_inplace, const operation_of_pairs& by) {
    for (int root = 0; root < mine.size; ++root) {
      const bool is_root = mine.rank == root;
      const auto sent = given(mine.rank, count);
      auto received = begun(mine, count, is_inplace && is_root);
      EXPECT_EQ(carry_out(as, MPI_Reduce_c, MPI_Ireduce_c, MPI_Reduce_init_c,
                          is_inplace && is_root ? MPI_IN_PLACE : sent.data(), is_root ? received.data() : nullptr,
                          count, by.type, by.op, root, MPI_COMM_WORLD),
                MPI_SUCCESS);
      EXPECT_EQ(received, is_root ? composed(0, mine.size, count) : untouched(static_cast<std::size_t>(count)));
    }
  });
}

TEST(mpi_collective_reductions, scan_combines_the_ranks_up_to_the_own_one) {
  for_each_reduction([](numbers_of_rank mine, form as, int count, bool is_inplace, const operation_of_pairs& by) {
    const auto sent = given(mine.rank, count);
    auto received = begun(mine, count, is_inplace);
    EXPECT_EQ(carry_out(as, MPI_Scan, MPI_Iscan, MPI_Scan_init, is_inplace ? MPI_IN_PLACE : sent.data(),
                        received.data(), count, by.type, by.op, MPI_COMM_WORLD),
              MPI_SUCCESS);
    EXPECT_EQ(received, composed(0, mine.rank + 1, count));
  });
}

TEST(mpi_collective_reductions, exscan_combines_the_ranks_below_and_leaves_rank_0_as_it_is) {
  for_each_reduction([](numbers_of_rank mine, form as, int count, bool is_inplace, const operation_of_pairs& by) {
    const auto sent = given(mine.rank, count);
    auto received = begun(mine, count, is_inplace);
    const auto before = received;
    EXPECT_EQ(carry_out(as, MPI_Exscan, MPI_Iexscan, MPI_Exscan_init, is_inplace ? MPI_IN_PLACE : sent.data(),
                        received.data(), count, by.type, by.op, MPI_COMM_WORLD),
              MPI_SUCCESS);
    EXPECT_EQ(received, mine.rank == 0 ? before : composed(0, mine.rank, count));
  });
}

TEST(mpi_collective_reductions, reduce_scatter_block_gives_each_rank_its_part_of_the_result) {
  for_each_reduction([](numbers_of_rank mine, form as, int count, bool is_inplace, const operation_of_pairs& by) {
    const auto sent = given(mine.rank, count * mine.size);
    auto received = begun(mine, count * mine.size, is_inplace);
    EXPECT_EQ(
        carry_out(as, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init,
                  is_inplace ? MPI_IN_PLACE : sent.data(), received.data(), count, by.type, by.op, MPI_COMM_WORLD),
        MPI_SUCCESS);
    auto expected = received;  // behind the own block, in place changes anything
    std::ranges::copy(composed(0, mine.size, count, mine.rank * count), expected.begin());
    EXPECT_EQ(received, expected);
    if (!is_inplace) {
      EXPECT_TRUE(std::equal(received.begin() + count, received.end(), untouched(5600).begin()));
    }
  });
}

TEST(mpi_collective_reductions, reduce_scatter_cuts_the_result_as_the_counts_say) {
  for_each_reduction([](numbers_of_rank mine, form as, int count, bool is_inplace, const operation_of_pairs& by) {
    std::vector<int> counts;
    for (int rank = 0; rank < mine.size; ++rank) counts.push_back(rank % 3 == 1 ? 0 : count / (rank + 1));
    const int all = std::accumulate(counts.begin(), counts.end(), 0);
    const int first = std::accumulate(counts.begin(), counts.begin() + mine.rank, 0);
    const int own = counts[static_cast<std::size_t>(mine.rank)];
    const auto sent = given(mine.rank, all);
    auto received = begun(mine, all, is_inplace);
    EXPECT_EQ(carry_out(as, MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init,
                        is_inplace ? MPI_IN_PLACE : sent.data(), received.data(), counts.data(), by.type, by.op,
                        MPI_COMM_WORLD),
              MPI_SUCCESS);
    auto expected = received;
    std::ranges::copy(composed(0, mine.size, own, first), expected.begin());
    EXPECT_EQ(received, expected);
  });
}

}  // namespace
}  // namespace weft
