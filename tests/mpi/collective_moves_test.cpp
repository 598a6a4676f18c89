// SPDX-License-Identifier: BSD-3-Clause
// Collectives that move blocks: each in all forms, with layouts of each rank's own, compared with what every rank can
// compute by itself. Gaps of receive buffers are not written.
#include <algorithm>
#include <numeric>
#include <vector>

#include "mpi/ranks.hpp"
#include "mpi/typed_memory.hpp"

namespace weft {
namespace {

using namespace test;

constexpr std::array sizes{1, 2, 3, 5, 8};

// Runs `body` at all ranks of jobs of all sizes, with each form and counts of elements from none to long ones.
template <class Body>
void for_each_move(const Body& body) {
  for (const int size : sizes) {
    run_ranks(static_cast<std::uint32_t>(size), [&](numbers_of_rank mine) {
      for (const form as : forms) {
        for (const int count : {0, 1, 3, 40}) body(mine, as, count);
      }
    });
  }
}

MPI_Datatype type_of(numbers_of_rank mine, int salt) { return pair_types::get(mine.rank + salt); }

// Offsets in elements of blocks that do not lie in the order of ranks, with gaps between them.
std::vector<int> scattered_offsets(int size, int longest) {
  std::vector<int> out(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) out[static_cast<std::size_t>(rank)] = (size - 1 - rank) * (longest + 1);
  return out;
}
// Some are 0.
std::vector<int> various_counts(int size, int count) {
  std::vector<int> out(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) out[static_cast<std::size_t>(rank)] = rank % 3 == 1 ? 0 : count / (1 + rank);
  return out;
}
int longest(const std::vector<int>& counts) { return *std::max_element(counts.begin(), counts.end()); }
std::vector<MPI_Count> wide(const std::vector<int>& of) { return {of.begin(), of.end()}; }

TEST(mpi_collective_moves, broadcast_copies_between_any_two_layouts) {
  for_each_move([](numbers_of_rank mine, form as, int count) {
    for (int root = 0; root < mine.size; ++root) {
      typed_memory buffer{type_of(mine, root), count}, expected = buffer;
      expected.write(0, numbers(root, 2 * count));
      if (mine.rank == root) buffer.write(0, numbers(root, 2 * count));
      EXPECT_EQ(carry_out(as, MPI_Bcast, MPI_Ibcast, MPI_Bcast_init, buffer.address(), count, buffer.type(), root,
                          MPI_COMM_WORLD),
                MPI_SUCCESS);
      EXPECT_EQ(buffer.bytes(), expected.bytes());
    }
  });
}

TEST(mpi_collective_moves, gather_puts_the_blocks_of_all_ranks_in_their_order) {
  for_each_move([](numbers_of_rank mine, form as, int count) {
    for (int root = 0; root < mine.size; ++root) {
      const bool is_root = mine.rank == root;
      const bool is_inplace = is_root && root % 2 == 1;
      typed_memory sent{type_of(mine, 0), count}, received{type_of(mine, 2), count * mine.size};
      sent.write(0, numbers(mine.rank, 2 * count));
      typed_memory expected = received;
      if (is_inplace) received.write(mine.rank * count, numbers(mine.rank, 2 * count));
      for (int rank = 0; is_root && rank < mine.size; ++rank) expected.write(rank * count, numbers(rank, 2 * count));
      // What the root alone gives is not looked at elsewhere.
      EXPECT_EQ(carry_out(as, MPI_Gather_c, MPI_Igather_c, MPI_Gather_init_c,
                          is_inplace ? MPI_IN_PLACE : sent.address(), is_inplace ? -1 : count,
                          is_inplace ? MPI_DATATYPE_NULL : sent.type(), is_root ? received.address() : nullptr,
                          is_root ? count : -1, is_root ? received.type() : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD),
                MPI_SUCCESS);
      EXPECT_EQ(received.bytes(), expected.bytes());
    }
  });
}

TEST(mpi_collective_moves, gatherv_puts_blocks_of_different_sizes_anywhere) {
  for_each_move([](numbers_of_rank mine, form as, int count) {
    for (int root = 0; root < mine.size; ++root) {
      const bool is_root = mine.rank == root;
      const bool is_inplace = is_root && root % 2 == 0;
      const auto counts = various_counts(mine.size, count);
      const auto offsets = scattered_offsets(mine.size, longest(counts));
      const int own = counts[static_cast<std::size_t>(mine.rank)];
      typed_memory sent{type_of(mine, 1), own}, received{type_of(mine, 3), (longest(counts) + 1) * mine.size};
      sent.write(0, numbers(mine.rank, 2 * own));
      typed_memory expected = received;
      for (std::size_t rank = 0; is_root && rank < counts.size(); ++rank)
        expected.write(offsets[rank], numbers(static_cast<int>(rank), 2 * counts[rank]));
      if (is_inplace) received.write(offsets[static_cast<std::size_t>(root)], numbers(mine.rank, 2 * own));
      EXPECT_EQ(carry_out(as, MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init, is_inplace ? MPI_IN_PLACE : sent.address(),
                          own, sent.type(), received.address(), is_root ? counts.data() : nullptr,
                          is_root ? offsets.data() : nullptr, is_root ? received.type() : MPI_DATATYPE_NULL, root,
                          MPI_COMM_WORLD),
                MPI_SUCCESS);
      EXPECT_EQ(received.bytes(), expected.bytes());
    }
  });
}

TEST(mpi_collective_moves, scatter_gives_each_rank_its_block) {
  for_each_move([](numbers_of_rank mine, form as, int count) {
    for (int root = 0; root < mine.size; ++root) {
      const bool is_root = mine.rank == root;
      const bool is_inplace = is_root && root % 2 == 1;
      typed_memory sent{type_of(mine, 1), count * mine.size}, received{type_of(mine, 4), count};
      for (int rank = 0; rank < mine.size; ++rank) sent.write(rank * count, numbers(rank + root, 2 * count));
      typed_memory expected = received;
      if (!is_inplace) expected.write(0, numbers(mine.rank + root, 2 * count));
      EXPECT_EQ(carry_out(as, MPI_Scatter, MPI_Iscatter, MPI_Scatter_init, is_root ? sent.address() : nullptr,
                          is_root ? count : -7, is_root ? sent.type() : MPI_DATATYPE_NULL,
                          is_inplace ? MPI_IN_PLACE : received.address(), is_inplace ? -1 : count,
                          is_inplace ? MPI_DATATYPE_NULL : received.type(), root, MPI_COMM_WORLD),
                MPI_SUCCESS);
      EXPECT_EQ(received.bytes(), expected.bytes());
    }
  });
}

TEST(mpi_collective_moves, scatterv_takes_blocks_of_different_sizes_from_anywhere) {
  for_each_move([](numbers_of_rank mine, form as, int count) {
    for (int root = 0; root < mine.size; ++root) {
      const bool is_root = mine.rank == root;
      const bool is_inplace = is_root && root % 2 == 1;
      const auto counts = various_counts(mine.size, count);
      const auto offsets = scattered_offsets(mine.size, longest(counts));
      const auto wide_counts = wide(counts);
      const std::vector<MPI_Aint> wide_offsets{offsets.begin(), offsets.end()};
      const int own = counts[static_cast<std::size_t>(mine.rank)];
      typed_memory sent{type_of(mine, 2), (longest(counts) + 1) * mine.size}, received{type_of(mine, 0), own};
      for (std::size_t rank = 0; rank < counts.size(); ++rank)
        sent.write(offsets[rank], numbers(static_cast<int>(rank), 2 * counts[rank]));
      typed_memory expected = received;
      if (!is_inplace) expected.write(0, numbers(mine.rank, 2 * own));
      EXPECT_EQ(carry_out(as, MPI_Scatterv_c, MPI_Iscatterv_c, MPI_Scatterv_init_c, sent.address(),
                          is_root ? wide_counts.data() : nullptr, is_root ? wide_offsets.data() : nullptr, sent.type(),
                          is_inplace ? MPI_IN_PLACE : received.address(), own, received.type(), root, MPI_COMM_WORLD),
                MPI_SUCCESS);
      EXPECT_EQ(received.bytes(), expected.bytes());
    }
  });
}

TEST(mpi_collective_moves, allgather_gives_all_ranks_all_blocks) {
  for_each_move([](numbers_of_rank mine, form as, int count) {
    for (const bool is_inplace : {false, true}) {
      typed_memory sent{type_of(mine, 1), count}, received{type_of(mine, 2), count * mine.size};
      sent.write(0, numbers(mine.rank, 2 * count));
      typed_memory expected = received;
      for (int rank = 0; rank < mine.size; ++rank) expected.write(rank * count, numbers(rank, 2 * count));
      if (is_inplace) received.write(mine.rank * count, numbers(mine.rank, 2 * count));
      EXPECT_EQ(
          carry_out(as, MPI_Allgather, MPI_Iallgather, MPI_Allgather_init, is_inplace ? MPI_IN_PLACE : sent.address(),
                    is_inplace ? -1 : count, is_inplace ? MPI_DATATYPE_NULL : sent.type(), received.address(), count,
                    received.type(), MPI_COMM_WORLD),
          MPI_SUCCESS);
      EXPECT_EQ(received.bytes(), expected.bytes());
    }
  });
}

TEST(mpi_collective_moves, allgatherv_puts_blocks_of_different_sizes_anywhere) {
  for_each_move([](numbers_of_rank mine, form as, int count) {
    for (const bool is_inplace : {false, true}) {
      const auto counts = various_counts(mine.size, count);
      const auto offsets = scattered_offsets(mine.size, longest(counts));
      const int own = counts[static_cast<std::size_t>(mine.rank)];
      typed_memory sent{type_of(mine, 3), own}, received{type_of(mine, 4), (longest(counts) + 1) * mine.size};
      sent.write(0, numbers(mine.rank, 2 * own));
      typed_memory expected = received;
      for (std::size_t rank = 0; rank < counts.size(); ++rank)
        expected.write(offsets[rank], numbers(static_cast<int>(rank), 2 * counts[rank]));
      if (is_inplace) received.write(offsets[static_cast<std::size_t>(mine.rank)], numbers(mine.rank, 2 * own));
      EXPECT_EQ(carry_out(as, MPI_Allgatherv, MPI_Iallgatherv, MPI_Allgatherv_init,
                          is_inplace ? MPI_IN_PLACE : sent.address(), is_inplace ? -1 : own,
                          is_inplace ? MPI_DATATYPE_NULL : sent.type(), received.address(), counts.data(),
                          offsets.data(), received.type(), MPI_COMM_WORLD),
                MPI_SUCCESS);
      EXPECT_EQ(received.bytes(), expected.bytes());
    }
  });
}

// The numbers that rank `from` sends to rank `to`.
std::vector<int> between(int from, int to, int count) { return numbers(100 * from + to, 2 * count); }

TEST(mpi_collective_moves, alltoall_exchanges_a_block_of_each_pair) {
  for_each_move([](numbers_of_rank mine, form as, int count) {
    for (const bool is_inplace : {false, true}) {
      typed_memory sent{type_of(mine, 3), count * mine.size}, received{type_of(mine, 1), count * mine.size};
      typed_memory expected = received;
      for (int rank = 0; rank < mine.size; ++rank) {
        (is_inplace ? received : sent).write(rank * count, between(mine.rank, rank, count));
        expected.write(rank * count, between(rank, mine.rank, count));
      }
      EXPECT_EQ(
          carry_out(as, MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init, is_inplace ? MPI_IN_PLACE : sent.address(),
                    is_inplace ? -1 : count, is_inplace ? MPI_DATATYPE_NULL : sent.type(), received.address(), count,
                    received.type(), MPI_COMM_WORLD),
          MPI_SUCCESS);
      EXPECT_EQ(received.bytes(), expected.bytes());
    }
  });
}

// How many elements each of two ranks sends to the other; some exchange none.
int exchanged(int one, int other, int count) {
  return (one + other) % 4 == 3 ? 0 : (count + one * other) % (count + 1);
}

struct exchange {
  exchange(numbers_of_rank mine, int count)
      : counts(static_cast<std::size_t>(mine.size)), offsets{scattered_offsets(mine.size, count)} {
    for (int rank = 0; rank < mine.size; ++rank)
      counts[static_cast<std::size_t>(rank)] = exchanged(mine.rank, rank, count);
  }
  std::vector<int> counts;
  std::vector<int> offsets;  // of blocks, in elements
};

TEST(mpi_collective_moves, alltoallv_exchanges_blocks_of_different_sizes) {
  for_each_move([](numbers_of_rank mine, form as, int count) {
    for (const bool is_inplace : {false, true}) {
      const exchange with{mine, count};
      const int room = (count + 1) * mine.size;
      typed_memory sent{type_of(mine, 0), room}, received{type_of(mine, 2), room}, expected = received;
      for (std::size_t rank = 0; rank < with.counts.size(); ++rank) {
        const int other = static_cast<int>(rank);
        (is_inplace ? received : sent).write(with.offsets[rank], between(mine.rank, other, with.counts[rank]));
        expected.write(with.offsets[rank], between(other, mine.rank, with.counts[rank]));
      }
      EXPECT_EQ(carry_out(as, MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init,
                          is_inplace ? MPI_IN_PLACE : sent.address(), is_inplace ? nullptr : with.counts.data(),
                          is_inplace ? nullptr : with.offsets.data(), is_inplace ? MPI_DATATYPE_NULL : sent.type(),
                          received.address(), with.counts.data(), with.offsets.data(), received.type(), MPI_COMM_WORLD),
                MPI_SUCCESS);
      EXPECT_EQ(received.bytes(), expected.bytes());
    }
  });
}

// Blocks of alltoallw: each has a type of its own, and all lie in one piece of memory.
class mixed_memory {
 public:
  mixed_memory(numbers_of_rank mine, const exchange& with, int salt) {
    int end = 0;
    for (std::size_t rank = 0; rank < with.counts.size(); ++rank) {
      types.push_back(pair_types::get(mine.rank + static_cast<int>(rank) + salt));
      offsets.push_back(end + 64);  // data may begin below the address of an element
      end += 64 + 32 * (with.counts[rank] + 1);
    }
    memory.assign(static_cast<std::size_t>(end + 64), std::byte{0xab});
  }
  void write(std::size_t block, const std::vector<int>& values) {
    mpi::find_datatype(types[block])
        ->unpack(memory.data() + offsets[block], 0, reinterpret_cast<const std::byte*>(values.data()),
                 values.size() * sizeof(int));
  }
  std::vector<MPI_Datatype> types;
  std::vector<int> offsets;
  std::vector<std::byte> memory;
};

TEST(mpi_collective_moves, alltoallw_exchanges_blocks_of_different_types) {
  for_each_move([](numbers_of_rank mine, form as, int count) {
    for (const bool is_inplace : {false, true}) {
      const exchange with{mine, count};
      mixed_memory sent{mine, with, 0}, received{mine, with, 3}, expected = received;
      for (std::size_t rank = 0; rank < with.counts.size(); ++rank) {
        const int other = static_cast<int>(rank);
        (is_inplace ? received : sent).write(rank, between(mine.rank, other, with.counts[rank]));
        expected.write(rank, between(other, mine.rank, with.counts[rank]));
      }
      EXPECT_EQ(carry_out(as, MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init,
                          is_inplace ? MPI_IN_PLACE : sent.memory.data(), is_inplace ? nullptr : with.counts.data(),
                          is_inplace ? nullptr : sent.offsets.data(), is_inplace ? nullptr : sent.types.data(),
                          received.memory.data(), with.counts.data(), received.offsets.data(), received.types.data(),
                          MPI_COMM_WORLD),
                MPI_SUCCESS);
      EXPECT_EQ(received.memory, expected.memory);
    }
  });
}

}  // namespace
}  // namespace weft
