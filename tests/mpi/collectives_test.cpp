// SPDX-License-Identifier: BSD-3-Clause
// Collectives that wait, of predefined datatypes and operations.
#include <array>
#include <complex>
#include <vector>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

TEST(mpi_collectives, broadcast_reduce_and_allreduce_give_the_sums) {
  run_ranks(4, [](numbers_of_rank mine) {
    std::vector<double> values(1000, mine.rank == 2 ? 1.5 : 0);
    EXPECT_EQ(MPI_Bcast(values.data(), 1000, MPI_DOUBLE, 2, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(values, std::vector<double>(1000, 1.5));
    std::vector<double> sums(1000, -1);
    EXPECT_EQ(
        MPI_Reduce(values.data(), mine.rank == 1 ? sums.data() : nullptr, 1000, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD),
        MPI_SUCCESS);
    EXPECT_EQ(sums, std::vector<double>(1000, mine.rank == 1 ? 6 : -1));
    EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, values.data(), 1000, MPI_DOUBLE, MPI_PROD, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(values, std::vector<double>(1000, 1.5 * 1.5 * 1.5 * 1.5));
    EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Barrier(MPI_COMM_SELF), MPI_SUCCESS);
  });
}

// The result of all ranks 0 to 2, where each gives `value(rank)`.
template <class Value, class Function>
Value reduced(numbers_of_rank mine, MPI_Datatype type, MPI_Op op, const Function& value) {
  const Value own = static_cast<Value>(value(mine.rank));
  Value out{};
  EXPECT_EQ(MPI_Allreduce(&own, &out, 1, type, op, MPI_COMM_WORLD), MPI_SUCCESS);
  return out;
}

TEST(mpi_collectives, each_operation_takes_the_types_that_the_standard_names) {
  run_ranks(3, [](numbers_of_rank mine) {
    const auto number = [](int rank) { return rank + 1; };
    EXPECT_EQ(reduced<int>(mine, MPI_INT, MPI_MAX, number), 3);
    EXPECT_EQ(reduced<int>(mine, MPI_INT, MPI_MIN, number), 1);
    EXPECT_EQ(reduced<int>(mine, MPI_INT, MPI_BXOR, number), 0);
    EXPECT_EQ(reduced<int>(mine, MPI_INT, MPI_BOR, number), 3);
    EXPECT_EQ(reduced<int>(mine, MPI_INT, MPI_LAND, number), 1);
    EXPECT_EQ(reduced<std::uint8_t>(mine, MPI_BYTE, MPI_BAND, number), 0);
    EXPECT_EQ(reduced<bool>(mine, MPI_C_BOOL, MPI_LXOR, [](int rank) { return rank != 1; }), false);
    EXPECT_EQ(reduced<long double>(mine, MPI_LONG_DOUBLE, MPI_SUM, number), 6);
    using complex = std::complex<double>;
    EXPECT_EQ(reduced<complex>(mine, MPI_C_DOUBLE_COMPLEX, MPI_PROD,
                               [](int) {
                                 return complex{0, 1};
                               }),
              complex(0, -1));
    struct located {
      double value;
      int index;
    };
    const auto best = reduced<located>(mine, MPI_DOUBLE_INT, MPI_MAXLOC,
                                       [](int rank) { return located{.value = rank == 0 ? 1. : 2., .index = rank}; });
    EXPECT_EQ(best.value, 2);
    EXPECT_EQ(best.index, 1);
  });
}

TEST(mpi_collectives, an_operation_on_a_type_that_it_does_not_take_is_an_error) {
  run_ranks(1, [](numbers_of_rank) {
    double from = 1, into = 0;
    EXPECT_EQ(MPI_Allreduce(&from, &into, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
    EXPECT_EQ(MPI_Allreduce(&from, &into, 1, MPI_WCHAR, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP);
    EXPECT_EQ(MPI_Allreduce(&from, &into, 1, MPI_DOUBLE, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP);
  });
}

}  // namespace
}  // namespace weft
