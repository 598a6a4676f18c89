// SPDX-License-Identifier: BSD-3-Clause
// Operations of programs, and predefined ones on all types that they take.
#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "mpi/objects/fortran_numbers.hpp"
#include "mpi/ranks.hpp"
#include "mpi/typed_memory.hpp"

namespace weft {
namespace {

using namespace test;

// Adds the two ints of each element, which it finds by the datatype that it is given.
void add_pairs(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  const mpi::datatype& of = *mpi::find_datatype(*type);
  for (MPI_Count index = 0; index < *length; ++index) {
    std::array<int, 2> one{}, other{};
    const std::int64_t offset = index * of.extent();
    of.pack(static_cast<std::byte*>(in) + offset, 0, reinterpret_cast<std::byte*>(one.data()), sizeof one);
    of.pack(static_cast<std::byte*>(inout) + offset, 0, reinterpret_cast<std::byte*>(other.data()), sizeof other);
    for (std::size_t i = 0; i < 2; ++i)
      other[i] = static_cast<int>(static_cast<unsigned>(one[i]) + static_cast<unsigned>(other[i]));
    of.unpack(static_cast<std::byte*>(inout) + offset, 0, reinterpret_cast<const std::byte*>(other.data()),
              sizeof other);
  }
}

std::vector<int> sums(int ranks, int count) {
  std::vector<int> out(static_cast<std::size_t>(count));
  for (int rank = 0; rank < ranks; ++rank) {
    const auto given = numbers(rank, count);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<int>(static_cast<unsigned>(out[i]) + static_cast<unsigned>(given[i]));
  }
  return out;
}

TEST(mpi_user_operations, an_operation_finds_elements_as_their_type_has_them_and_gaps_are_left_alone) {
  for (const std::uint32_t size : {1U, 2U, 5U}) {
    run_ranks(size, [](numbers_of_rank mine) {
      MPI_Op op = MPI_OP_NULL;
      ASSERT_EQ(MPI_Op_create_c(add_pairs, 1, &op), MPI_SUCCESS);
      for (int type = 0; type < pair_types::count; ++type) {
        for (const int count : {0, 1, 5, 3000}) {
          for (const form as : forms) {
            // The datatype is an argument of the function, so that all ranks have one with the same layout.
            typed_memory sent{pair_types::get(type), count}, received = sent, expected = received;
            sent.write(0, numbers(mine.rank, 2 * count));
            expected.write(0, sums(mine.size, 2 * count));
            EXPECT_EQ(carry_out(as, MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, sent.address(),
                                received.address(), count, sent.type(), op, MPI_COMM_WORLD),
                      MPI_SUCCESS);
            EXPECT_EQ(received.bytes(), expected.bytes()) << type << " " << count;
          }
        }
      }
      EXPECT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
    });
  }
}

TEST(mpi_user_operations, reduce_local_calls_the_function_with_the_arguments_as_they_are) {
  run_ranks(1, [](numbers_of_rank) {
    static const void* seen_in;
    static int seen_length;
    static MPI_Datatype seen_type;
    MPI_Op op = MPI_OP_NULL;
    ASSERT_EQ(MPI_Op_create(
                  [](void* in, void* inout, int* length, MPI_Datatype* type) {
                    seen_in = in;
                    seen_length = *length;
                    seen_type = *type;
                    *static_cast<int*>(inout) = -1;
                  },
                  0, &op),
              MPI_SUCCESS);
    std::array<int, 7> in{}, inout{};
    EXPECT_EQ(MPI_Reduce_local(in.data(), inout.data(), 7, MPI_INT, op), MPI_SUCCESS);
    EXPECT_EQ(seen_in, in.data());
    EXPECT_EQ(seen_length, 7);
    EXPECT_EQ(seen_type, MPI_INT);
    EXPECT_EQ(inout[0], -1);
    int flag = -1;
    EXPECT_EQ(MPI_Op_commutative(op, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(MPI_Op_commutative(MPI_SUM, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
    EXPECT_EQ(op, MPI_OP_NULL);
    EXPECT_EQ(MPI_Op_free(&op), MPI_ERR_OP);
    op = MPI_MAX;
    EXPECT_EQ(MPI_Op_free(&op), MPI_ERR_OP);
    EXPECT_EQ(MPI_Op_create(nullptr, 1, &op), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Reduce_local(in.data(), inout.data(), 1, MPI_INT, MPI_REPLACE), MPI_ERR_OP);
    EXPECT_EQ(MPI_Reduce_local(in.data(), inout.data(), 1, MPI_INT, MPI_OP_NULL), MPI_ERR_OP);
  });
}

TEST(mpi_user_operations, an_operation_and_a_type_may_be_freed_while_a_collective_uses_them) {
  run_ranks(3, [](numbers_of_rank mine) {
    MPI_Op op = MPI_OP_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    ASSERT_EQ(MPI_Op_create_c(add_pairs, 1, &op), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_vector(2, 1, 3, MPI_INT, &type), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
    const std::array<int, 4> sent{mine.rank, -1, -1, 10 * mine.rank};
    std::array<int, 4> received{7, 7, 7, 7};
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Iallreduce(sent.data(), received.data(), 1, type, op, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(received, (std::array<int, 4>{3, 7, 7, 30}));
  });
}

TEST(mpi_user_operations, a_function_may_make_and_free_datatypes_while_others_progress) {
  run_ranks(4, [](numbers_of_rank mine) {
    MPI_Op op = MPI_OP_NULL;
    ASSERT_EQ(MPI_Op_create(
                  [](void* in, void* inout, int* length, MPI_Datatype* type) {
                    MPI_Datatype copy = MPI_DATATYPE_NULL;
                    int size = 0;
                    EXPECT_EQ(MPI_Type_dup(*type, &copy), MPI_SUCCESS);
                    EXPECT_EQ(MPI_Type_size(copy, &size), MPI_SUCCESS);
                    EXPECT_EQ(size, 4);
                    EXPECT_EQ(MPI_Type_free(&copy), MPI_SUCCESS);
                    for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
                  },
                  1, &op),
              MPI_SUCCESS);
    for (int round = 0; round < 50; ++round) {
      const int sent = mine.rank + round;
      int received = 0;
      MPI_Request request = MPI_REQUEST_NULL;
      EXPECT_EQ(MPI_Iallreduce(&sent, &received, 1, MPI_INT, op, MPI_COMM_WORLD, &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(received, 6 + 4 * round);
    }
    EXPECT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
  });
}

TEST(mpi_user_operations, the_gaps_of_pairs_of_value_and_index_are_left_alone) {
  run_ranks(3, [](numbers_of_rank mine) {
    struct located {
      double value;
      int index;
      int gap;
    };
    for (const int count : {1, 100}) {
      for (const bool is_inplace : {false, true}) {
        std::vector<located> sent, received;
        for (int i = 0; i < count; ++i) {
          sent.push_back({static_cast<double>((i + mine.rank) % 3), 10 + mine.rank, -1});
          received.push_back(is_inplace ? sent.back() : located{0, 0, 0});
          received.back().gap = 1234;
        }
        EXPECT_EQ(MPI_Allreduce(is_inplace ? MPI_IN_PLACE : sent.data(), received.data(), count, MPI_DOUBLE_INT,
                                MPI_MAXLOC, MPI_COMM_WORLD),
                  MPI_SUCCESS);
        for (int i = 0; i < count; ++i) {
          const located& each = received[static_cast<std::size_t>(i)];
          EXPECT_EQ(each.value, 2);
          EXPECT_EQ(each.index, 10 + (2 - i % 3));
          EXPECT_EQ(each.gap, 1234);
        }
      }
    }
    located one{5, 3, 99};
    const located lower{5, 2, 98};
    EXPECT_EQ(MPI_Reduce_local(&lower, &one, 1, MPI_DOUBLE_INT, MPI_MINLOC), MPI_SUCCESS);
    EXPECT_EQ(one.index, 2);
    EXPECT_EQ(one.gap, 99);
  });
}

// The result of an operation on two elements.
template <class Value>
Value combined(MPI_Datatype type, MPI_Op op, const Value& a, const Value& b) {
  Value out = b;
  EXPECT_EQ(MPI_Reduce_local(&a, &out, 1, type, op), MPI_SUCCESS);
  return out;
}

template <class Value>
void test_integer(std::initializer_list<MPI_Datatype> types) {
  const auto a = static_cast<Value>(6), b = static_cast<Value>(3), none = static_cast<Value>(0);
  for (const MPI_Datatype type : types) {
    EXPECT_TRUE(combined(type, MPI_SUM, a, b) == 9);
    EXPECT_TRUE(combined(type, MPI_PROD, a, b) == 18);
    EXPECT_TRUE(combined(type, MPI_MIN, a, b) == 3);
    EXPECT_TRUE(combined(type, MPI_MAX, a, b) == 6);
    EXPECT_TRUE(combined(type, MPI_BAND, a, b) == 2);
    EXPECT_TRUE(combined(type, MPI_BOR, a, b) == 7);
    EXPECT_TRUE(combined(type, MPI_BXOR, a, b) == 5);
    EXPECT_TRUE(combined(type, MPI_LAND, a, b) == 1);
    EXPECT_TRUE(combined(type, MPI_LOR, a, none) == 1);
    EXPECT_TRUE(combined(type, MPI_LXOR, a, b) == 0);
    EXPECT_EQ(MPI_Reduce_local(&a, nullptr, 0, type, MPI_MINLOC), MPI_ERR_OP);
  }
}

template <class Value>
void test_floating(std::initializer_list<MPI_Datatype> types) {
  const Value a{2}, b{3};
  for (const MPI_Datatype type : types) {
    EXPECT_TRUE(static_cast<float>(combined(type, MPI_SUM, a, b)) == 5);
    EXPECT_TRUE(static_cast<float>(combined(type, MPI_PROD, a, b)) == 6);
    EXPECT_TRUE(static_cast<float>(combined(type, MPI_MIN, a, b)) == 2);
    EXPECT_TRUE(static_cast<float>(combined(type, MPI_MAX, a, b)) == 3);
    EXPECT_EQ(MPI_Reduce_local(&a, nullptr, 0, type, MPI_BAND), MPI_ERR_OP);
    EXPECT_EQ(MPI_Reduce_local(&a, nullptr, 0, type, MPI_LAND), MPI_ERR_OP);
  }
}

template <class Part>
void test_complex(std::initializer_list<MPI_Datatype> types) {
  const std::array<Part, 2> a{Part{2}, Part{1}}, b{Part{3}, Part{-2}};
  for (const MPI_Datatype type : types) {
    const auto sum = combined(type, MPI_SUM, a, b), product = combined(type, MPI_PROD, a, b);
    EXPECT_TRUE(static_cast<float>(sum[0]) == 5 && static_cast<float>(sum[1]) == -1);
    EXPECT_TRUE(static_cast<float>(product[0]) == 8 && static_cast<float>(product[1]) == -1);
    EXPECT_EQ(MPI_Reduce_local(a.data(), nullptr, 0, type, MPI_MAX), MPI_ERR_OP);
  }
}

template <class Value>
void test_logical(std::initializer_list<MPI_Datatype> types) {
  const auto yes = static_cast<Value>(1), no = static_cast<Value>(0);
  for (const MPI_Datatype type : types) {
    EXPECT_TRUE(combined(type, MPI_LAND, yes, no) == no);
    EXPECT_TRUE(combined(type, MPI_LOR, yes, no) == yes);
    EXPECT_TRUE(combined(type, MPI_LXOR, yes, yes) == no);
    EXPECT_EQ(MPI_Reduce_local(&yes, nullptr, 0, type, MPI_SUM), MPI_ERR_OP);
  }
}

TEST(mpi_predefined_operations, take_the_types_of_their_table_and_no_others) {
  run_ranks(1, [](numbers_of_rank) {
    test_integer<std::int8_t>({MPI_SIGNED_CHAR, MPI_INT8_T, MPI_INTEGER1});
    test_integer<char>({MPI_CHAR});
    test_integer<std::int16_t>({MPI_SHORT, MPI_INT16_T, MPI_INTEGER2});
    test_integer<std::int32_t>({MPI_INT, MPI_INT32_T, MPI_INTEGER4});
    test_integer<std::int64_t>(
        {MPI_LONG, MPI_LONG_LONG, MPI_LONG_LONG_INT, MPI_INT64_T, MPI_INTEGER8, MPI_AINT, MPI_COUNT, MPI_OFFSET});
    test_integer<mpi::int128>({MPI_INTEGER16});
    test_integer<std::uint8_t>({MPI_UNSIGNED_CHAR, MPI_UINT8_T});
    test_integer<std::uint16_t>({MPI_UNSIGNED_SHORT, MPI_UINT16_T});
    test_integer<std::uint32_t>({MPI_UNSIGNED, MPI_UINT32_T});
    test_integer<std::uint64_t>({MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT64_T});
    test_floating<mpi::half>({MPI_REAL2});
    test_floating<float>({MPI_FLOAT, MPI_REAL4});
    test_floating<double>({MPI_DOUBLE, MPI_REAL8});
    test_floating<long double>({MPI_LONG_DOUBLE});
    test_floating<mpi::quad>({MPI_REAL16});
    test_complex<mpi::half>({MPI_COMPLEX4});
    test_complex<float>({MPI_C_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_COMPLEX8});
    test_complex<double>({MPI_C_DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_COMPLEX16});
    test_complex<long double>({MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX});
    test_complex<mpi::quad>({MPI_COMPLEX32});
    test_logical<bool>({MPI_C_BOOL, MPI_CXX_BOOL});
    test_logical<std::int8_t>({MPI_LOGICAL1});
    test_logical<std::int16_t>({MPI_LOGICAL2});
    test_logical<std::int32_t>({MPI_LOGICAL4});
    test_logical<std::int64_t>({MPI_LOGICAL8});
    test_logical<mpi::int128>({MPI_LOGICAL16});
    EXPECT_EQ(combined<std::uint8_t>(MPI_BYTE, MPI_BXOR, 5, 3), 6);
    std::uint8_t byte = 0;
    for (const MPI_Datatype type : {MPI_PACKED, MPI_WCHAR})
      EXPECT_EQ(MPI_Reduce_local(&byte, &byte, 0, type, MPI_SUM), MPI_ERR_OP);
    EXPECT_EQ(MPI_Reduce_local(&byte, &byte, 0, MPI_BYTE, MPI_SUM), MPI_ERR_OP);
  });
}

TEST(mpi_predefined_operations, reduce_characters_as_the_compiler_calculates_with_char) {
  run_ranks(1, [](numbers_of_rank) {
    const char high = static_cast<char>(0xf0), low = 1;
    EXPECT_EQ(combined(MPI_CHAR, MPI_MIN, high, low), std::min(high, low));
    EXPECT_EQ(combined(MPI_CHAR, MPI_MAX, high, low), std::max(high, low));
  });
  for (const std::uint32_t size : {1U, 2U, 3U, 5U}) {
    run_ranks(size, [](numbers_of_rank mine) {
      for (const form as : forms) {
        for (const int count : {1, 7, 10'000}) {
          const std::vector<char> sent(static_cast<std::size_t>(count), static_cast<char>(mine.rank + 1));
          std::vector<char> received(sent.size(), 99);
          EXPECT_EQ(carry_out(as, MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, sent.data(), received.data(),
                              count, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          EXPECT_EQ(received, std::vector<char>(sent.size(), static_cast<char>(mine.size * (mine.size + 1) / 2)));
        }
      }
    });
  }
}

template <class Value>
void test_pair(MPI_Datatype type) {
  struct located {
    Value value;
    int index;
  };
  const located less{static_cast<Value>(1), 8}, more{static_cast<Value>(2), 9}, other{static_cast<Value>(2), 3};
  EXPECT_EQ(combined(type, MPI_MINLOC, less, more).index, 8);
  EXPECT_EQ(combined(type, MPI_MAXLOC, less, more).index, 9);
  EXPECT_EQ(combined(type, MPI_MAXLOC, other, more).index, 3);
  EXPECT_EQ(combined(type, MPI_MINLOC, more, other).index, 3);
  EXPECT_EQ(MPI_Reduce_local(&less, nullptr, 0, type, MPI_MAX), MPI_ERR_OP);
}

TEST(mpi_predefined_operations, minloc_and_maxloc_give_the_lower_index_of_equal_values) {
  run_ranks(1, [](numbers_of_rank) {
    test_pair<float>(MPI_FLOAT_INT);
    test_pair<double>(MPI_DOUBLE_INT);
    test_pair<long>(MPI_LONG_INT);
    test_pair<int>(MPI_2INT);
    test_pair<short>(MPI_SHORT_INT);
    test_pair<long double>(MPI_LONG_DOUBLE_INT);
  });
}

TEST(mpi_predefined_operations, reals_of_two_bytes_round_as_the_processor_rounds) {
  // Sums near the ends of the range, and sums that are rounded to even.
  const auto sum = [](float a, float b) { return static_cast<float>(mpi::half{a} + mpi::half{b}); };
  EXPECT_EQ(sum(2048, 1), 2048);
  EXPECT_EQ(sum(2048, 3), 2052);
  EXPECT_EQ(sum(0x1p-24F, 0x1p-24F), 0x1p-23F);
  EXPECT_EQ(sum(-0x1p-24F, 0x1p-14F), 0x1p-14F - 0x1p-24F);
  EXPECT_EQ(sum(65504, 15), 65504);
  EXPECT_EQ(sum(65504, 32), std::numeric_limits<float>::infinity());
  EXPECT_EQ(sum(-65504, -65504), -std::numeric_limits<float>::infinity());
  EXPECT_NE(sum(std::numeric_limits<float>::quiet_NaN(), 1), sum(std::numeric_limits<float>::quiet_NaN(), 1));
}

TEST(mpi_predefined_operations, types_of_fortran_by_digits_are_reduced_as_the_named_ones) {
  run_ranks(2, [](numbers_of_rank mine) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    ASSERT_EQ(MPI_Type_create_f90_real(15, 300, &type), MPI_SUCCESS);
    const double sent = mine.rank + 0.5;
    double received = 0;
    EXPECT_EQ(MPI_Allreduce(&sent, &received, 1, type, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(received, 2);
    // Predefined operations take no other derived type.
    ASSERT_EQ(MPI_Type_contiguous(1, MPI_DOUBLE, &type), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Allreduce(&sent, &received, 1, type, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP);
    EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace weft
