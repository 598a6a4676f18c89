/* SPDX-License-Identifier: BSD-3-Clause */
/* The C side of a library's interface for Fortran: handles and statuses there and back. */
#include <mpi.h>
#include <stdio.h>

static int failed;
#define CHECK(condition) \
  if (!(condition)) failed = 1, printf("line %d: %s\n", __LINE__, #condition)

int main(int argc, char** argv) {
  MPI_Comm copy;
  MPI_Group group;
  MPI_Info info;
  MPI_Datatype type;
  MPI_Request request;
  MPI_Status status, back;
  MPI_Fint integers[MPI_F_STATUS_SIZE], number;
  int size = 0, sent = 5, received = 0, count = 0;
  MPI_Init(&argc, &argv);
  number = MPI_Comm_c2f(MPI_COMM_WORLD);
  MPI_Comm_size(MPI_Comm_f2c(number), &size);
  MPI_Comm_dup(MPI_COMM_SELF, &copy);
  CHECK(MPI_Comm_f2c(MPI_Comm_c2f(copy)) == copy && PMPI_Comm_f2c(PMPI_Comm_c2f(copy)) == copy);
  CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_NULL)) == MPI_COMM_NULL);
  MPI_Comm_group(copy, &group);
  MPI_Info_create(&info);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Irecv(&received, 1, MPI_INT, 0, 7, copy, &request);
  CHECK(MPI_Group_f2c(MPI_Group_c2f(group)) == group);
  CHECK(MPI_Info_f2c(MPI_Info_c2f(info)) == info);
  CHECK(MPI_Type_f2c(MPI_Type_c2f(type)) == type && MPI_Type_f2c(MPI_Type_c2f(MPI_INT)) == MPI_INT);
  CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);
  CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
  CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
  CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL);
  CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
  CHECK(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
  CHECK(MPI_Request_f2c(MPI_Request_c2f(request)) == request);
  MPI_Send(&sent, 1, MPI_INT, 0, 7, copy);
  MPI_Wait(&request, &status);
  CHECK(MPI_Status_c2f(&status, integers) == MPI_SUCCESS && MPI_Status_f2c(integers, &back) == MPI_SUCCESS);
  CHECK(integers[MPI_F_SOURCE] == 0 && integers[MPI_F_TAG] == 7);
  MPI_Get_count(&back, MPI_INT, &count);
  CHECK(back.MPI_SOURCE == 0 && back.MPI_TAG == 7 && back.MPI_ERROR == status.MPI_ERROR && count == 1 && received == 5);
  MPI_Type_free(&type);
  MPI_Info_free(&info);
  MPI_Group_free(&group);
  MPI_Comm_free(&copy);
  MPI_Finalize();
  if (!failed) printf("of %d\n", size);
  return failed;
}
