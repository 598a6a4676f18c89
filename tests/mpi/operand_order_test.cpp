// SPDX-License-Identifier: BSD-3-Clause
// MPI_Allreduce gives all ranks the same bits: of zeros with signs, of NaNs with payloads, by each predefined operation
// of numbers with fractions, and by a program's operation that is called commutative.
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "mpi/ranks.hpp"
#include "mpi/typed_memory.hpp"

namespace weft {
namespace {

using namespace test;

// A type, and how its numbers with few bits look: the bytes of a part (a number, and an index behind it), and which of
// them have the sign and the exponent.
struct tried_type {
  MPI_Datatype type;
  std::size_t part_bytes;  // of one number
  std::size_t parts;       // numbers of an element
  std::size_t bytes;       // of an element, gaps included
  std::size_t index_at;    // 0: none
};

// Bits of numbers by a seed: NaNs with payloads, infinities, zeros with signs, or any number.
void make_number(std::byte* at, std::size_t bytes, bool is_x87, std::mt19937& random) {
  const std::size_t used = is_x87 ? 10 : bytes;
  const auto kind = random() % 4;
  for (std::size_t i = 0; i < used; ++i) at[i] = static_cast<std::byte>(kind == 0 ? 0 : random());
  if (is_x87) at[7] = kind == 0 ? std::byte{0} : at[7] | std::byte{0x80};  // the bit that other types leave out
  const std::byte sign{static_cast<unsigned char>(random() % 2 == 0 ? 0x80 : 0)};
  if (kind == 0) at[used - 1] = sign;
  if (kind == 1 || kind == 2) {  // a NaN or an infinity
    at[used - 1] = sign | std::byte{0x7f};
    at[used - 2] |= std::byte{0xff};
  }
}

class operands {
 public:
  operands(const tried_type& of, int rank, std::size_t count) : bytes_(of.bytes * count) {
    std::mt19937 random{static_cast<std::uint32_t>(rank + 1)};
    const bool is_x87 =
        of.type == MPI_LONG_DOUBLE || of.type == MPI_C_LONG_DOUBLE_COMPLEX || of.type == MPI_LONG_DOUBLE_INT;
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* const at = bytes_.data() + i * of.bytes;
      for (std::size_t part = 0; part < of.parts; ++part)
        make_number(at + part * of.part_bytes, of.part_bytes, is_x87, random);
      const int index = rank / 2;
      if (of.index_at != 0) std::memcpy(at + of.index_at, &index, sizeof index);
    }
  }
  [[nodiscard]] void* data() noexcept { return bytes_.data(); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Bits that differ in the number itself: x87 leaves the last 6 bytes of a long double as they are.
bool are_same(const tried_type& of, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  const bool is_x87 = of.part_bytes == sizeof(long double) && of.type != MPI_REAL16 && of.type != MPI_COMPLEX32;
  for (std::size_t element = 0; element < a.size(); element += of.bytes) {
    for (std::size_t part = 0; part < of.parts; ++part) {
      const std::size_t at = element + part * of.part_bytes;
      if (std::memcmp(&a[at], &b[at], is_x87 ? 10 : of.part_bytes) != 0) return false;
    }
    if (of.index_at != 0 && std::memcmp(&a[element + of.index_at], &b[element + of.index_at], sizeof(int)) != 0)
      return false;
  }
  return true;
}

void expect_same(const std::vector<tried_type>& types, const std::vector<MPI_Op>& operations) {
  for (const std::uint32_t ranks : {2U, 3U, 5U}) {
    std::vector<std::vector<std::byte>> results(ranks);
    run_ranks(ranks, [&](numbers_of_rank mine) {
      for (const tried_type& each : types) {
        for (const MPI_Op op : operations) {
          for (const std::size_t count : {1U, 7U, 300U, 3000U}) {
            for (const form as : forms) {
              operands in{each, mine.rank, count}, out = in;
              const bool is_inplace = (static_cast<std::size_t>(mine.rank) + count) % 2 == 0;
              EXPECT_EQ(carry_out(as, MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init,
                                  is_inplace ? MPI_IN_PLACE : in.data(), out.data(), static_cast<int>(count), each.type,
                                  op, MPI_COMM_WORLD),
                        MPI_SUCCESS);
              results[static_cast<std::size_t>(mine.rank)] = out.bytes();
              EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
              EXPECT_TRUE(are_same(each, out.bytes(), results[0])) << "element of " << each.bytes << " bytes, " << count
                                                                   << " of them, rank " << mine.rank << " of " << ranks;
              EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
            }
          }
        }
      }
    });
  }
}

TEST(mpi_order_of_operands, numbers_have_the_same_bits_at_all_ranks) {
  expect_same({{MPI_FLOAT, 4, 1, 4, 0},
               {MPI_DOUBLE, 8, 1, 8, 0},
               {MPI_LONG_DOUBLE, 16, 1, 16, 0},
               {MPI_REAL2, 2, 1, 2, 0},
               {MPI_REAL16, 16, 1, 16, 0}},
              {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX});
}

TEST(mpi_order_of_operands, complex_numbers_have_the_same_bits_at_all_ranks) {
  expect_same({{MPI_C_FLOAT_COMPLEX, 4, 2, 8, 0},
               {MPI_C_DOUBLE_COMPLEX, 8, 2, 16, 0},
               {MPI_C_LONG_DOUBLE_COMPLEX, 16, 2, 32, 0},
               {MPI_COMPLEX4, 2, 2, 4, 0},
               {MPI_COMPLEX32, 16, 2, 32, 0}},
              {MPI_SUM, MPI_PROD});
}

TEST(mpi_order_of_operands, numbers_with_their_indices_have_the_same_bits_at_all_ranks) {
  expect_same({{MPI_FLOAT_INT, 4, 1, 8, 4}, {MPI_DOUBLE_INT, 8, 1, 16, 8}, {MPI_LONG_DOUBLE_INT, 16, 1, 32, 16}},
              {MPI_MINLOC, MPI_MAXLOC});
}

TEST(mpi_order_of_operands, programs_get_theirs_in_the_order_of_ranks) {
  const auto first_or_larger = [](void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
    for (int i = 0; i < *count; ++i) {
      auto* const lower = static_cast<double*>(in) + i;
      auto* const higher = static_cast<double*>(inout) + i;
      *higher = *lower < *higher ? *higher : *lower;
    }
  };
  MPI_User_function* const function = first_or_larger;
  for (const std::uint32_t ranks : {2U, 3U, 5U}) {
    std::vector<std::vector<std::byte>> results(ranks);
    run_ranks(ranks, [&](numbers_of_rank mine) {
      MPI_Op op = MPI_OP_NULL;
      EXPECT_EQ(MPI_Op_create(function, 1, &op), MPI_SUCCESS);
      const tried_type number{MPI_DOUBLE, 8, 1, 8, 0};
      for (const std::size_t count : {1U, 7U, 1500U}) {
        operands in{number, mine.rank, count}, out = in;
        EXPECT_EQ(MPI_Allreduce(in.data(), out.data(), static_cast<int>(count), MPI_DOUBLE, op, MPI_COMM_WORLD),
                  MPI_SUCCESS);
        results[static_cast<std::size_t>(mine.rank)] = out.bytes();
        EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
        EXPECT_EQ(out.bytes(), results[0]) << count << " numbers, rank " << mine.rank << " of " << ranks;
        EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
      }
      EXPECT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
    });
  }
}

}  // namespace
}  // namespace weft
