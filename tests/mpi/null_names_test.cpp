// SPDX-License-Identifier: BSD-3-Clause
// What programs ask of handles before, or without, an object: names of null handles, and the error handler of a
// communicator that is being made.
#include <string>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

TEST(mpi_null_names, null_handles_have_names) {
  // MPI 5.0, 7.8: the name of MPI_COMM_NULL is "MPI_COMM_NULL", and so on.
  run_ranks(1, [](numbers_of_rank) {
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    EXPECT_EQ(MPI_Comm_get_name(MPI_COMM_NULL, name, &length), MPI_SUCCESS);
    EXPECT_EQ(std::string(name), "MPI_COMM_NULL");
    EXPECT_EQ(length, 13);
    EXPECT_EQ(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length), MPI_SUCCESS);
    EXPECT_EQ(std::string(name), "MPI_DATATYPE_NULL");
    EXPECT_EQ(length, 17);
    EXPECT_EQ(MPI_Comm_get_name(reinterpret_cast<MPI_Comm>(MPI_INT), name, &length), MPI_ERR_COMM);
    EXPECT_EQ(MPI_Type_get_name(reinterpret_cast<MPI_Datatype>(MPI_SUM), name, &length), MPI_ERR_TYPE);
  });
}

TEST(mpi_null_names, a_communicator_of_idup_takes_an_error_handler_before_it_is_made) {
  run_ranks(2, [](numbers_of_rank mine) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Send(&mine, 1, MPI_INT, 9, 0, copy), MPI_ERR_RANK);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_NULL, MPI_ERRORS_RETURN), MPI_ERR_COMM);
    EXPECT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace weft
