// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls whose error class the standard determines, under MPI_ERRORS_RETURN.
#include "cases.hpp"
#include "completion.hpp"
#include "transfers.hpp"

namespace differential {

// A message that is longer than the receive: it has an error class, source and tag, and nothing past the buffer
// changes.
void truncated_messages(scene& here) {
  const int next = (here.rank + 1) % here.size, before = (here.rank + here.size - 1) % here.size;
  for (int left = here.random.between(1, 4); left > 0; --left) {
    const int sent = here.random.chance(30) && !is_left_out("long_truncation") ? here.random.between(20000, 60000)
                                                                               : here.random.between(2, 500);
    const int room = here.random.between(0, sent - 1), tag = here.random.between(0, 99);
    const bool blocks = here.random.chance(50);
    std::vector<int> from(static_cast<std::size_t>(sent), 7), into(static_cast<std::size_t>(sent) + 16, -5);
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
    MPI_Status status = unset_status();
    int result = MPI_SUCCESS;
    if (!blocks) {
      here.must(MPI_Irecv(into.data(), room, MPI_INT, before, tag, here.comm, &receive), "MPI_Irecv");
    }
    here.must(MPI_Isend(from.data(), sent, MPI_INT, next, tag, here.comm, &send), "MPI_Isend");
    if (blocks) {
      result = MPI_Recv(into.data(), room, MPI_INT, before, tag, here.comm, &status);
    } else {
      result = MPI_Wait(&receive, &status);
      here.expect(receive == MPI_REQUEST_NULL, "the failed request is not null");
    }
    here.must_be(result, MPI_ERR_TRUNCATE, "the receive");
    here.log("source %d, tag %d", status.MPI_SOURCE, status.MPI_TAG);
    here.expect(status.MPI_SOURCE == before && status.MPI_TAG == tag, "source %d and tag %d", status.MPI_SOURCE,
                status.MPI_TAG);
    bool is_clean = true;
    for (std::size_t i = static_cast<std::size_t>(room); i < into.size(); ++i) is_clean = is_clean && into[i] == -5;
    here.expect(is_clean, "the receive wrote past its %d elements", room);
    MPI_Status of_send = unset_status();
    complete(here, send, of_send);
  }
}

// One of several requests fails.
void failures_among_requests(scene& here) {
  const int next = (here.rank + 1) % here.size, before = (here.rank + here.size - 1) % here.size;
  const int count = here.random.between(2, 6), failing = here.random.between(0, count - 1);
  std::vector<std::vector<int>> from, into;
  std::vector<MPI_Request> receives(static_cast<std::size_t>(count)), sends(receives.size());
  for (int i = 0; i < count; ++i) {
    from.emplace_back(100, i);
    into.emplace_back(100, -1);
  }
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    here.must(MPI_Irecv(into[at].data(), i == failing ? 10 : 100, MPI_INT, before, i, here.comm, &receives[at]),
              "MPI_Irecv");
  }
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    here.must(MPI_Isend(from[at].data(), 100, MPI_INT, next, i, here.comm, &sends[at]), "MPI_Isend");
  }
  std::vector<MPI_Status> statuses(receives.size(), unset_status());
  here.must_be(MPI_Waitall(count, receives.data(), statuses.data()), MPI_ERR_IN_STATUS, "MPI_Waitall");
  // Requests that MPI_Waitall left pending complete now.
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    int error = statuses[at].MPI_ERROR;
    if (class_name(error) == "MPI_ERR_PENDING") error = MPI_Wait(&receives[at], &statuses[at]);
    here.must_be(error, i == failing ? MPI_ERR_TRUNCATE : MPI_SUCCESS, "request");
    here.expect(i == failing || into[at] == from[at], "request %d has other bytes", i);
  }
  here.must(MPI_Waitall(count, sends.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

// Arguments that are wrong at every rank, so that no rank waits for another.
void wrong_arguments(scene& here) {
  int word = 0, more = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm const comm = here.comm;
  here.must_be(MPI_Send(&word, 1, MPI_INT, here.size, 0, comm), MPI_ERR_RANK, "MPI_Send to rank size");
  here.must_be(MPI_Send(&word, 1, MPI_INT, -99, 0, comm), MPI_ERR_RANK, "MPI_Send to rank -99");
  here.must_be(MPI_Send(&word, 1, MPI_INT, 0, -99, comm), MPI_ERR_TAG, "MPI_Send with tag -99");
  here.must_be(MPI_Send(&word, 1, MPI_INT, 0, MPI_ANY_TAG, comm), MPI_ERR_TAG, "MPI_Send with any tag");
  here.must_be(MPI_Send(&word, -1, MPI_INT, 0, 0, comm), MPI_ERR_COUNT, "MPI_Send of -1");
  here.must_be(MPI_Send(&word, 1, MPI_DATATYPE_NULL, 0, 0, comm), MPI_ERR_TYPE, "MPI_Send of a null type");
  here.must_be(MPI_Recv(&word, 1, MPI_INT, here.size, 0, comm, MPI_STATUS_IGNORE), MPI_ERR_RANK,
               "MPI_Recv of rank size");
  here.must_be(MPI_Isend(&word, 1, MPI_INT, here.size, 0, comm, &request), MPI_ERR_RANK, "MPI_Isend to rank size");
  here.must_be(MPI_Irecv(&word, 1, MPI_INT, 0, -99, comm, &request), MPI_ERR_TAG, "MPI_Irecv with tag -99");
  here.must_be(MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM, "MPI_Send in a null communicator");
  MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
  here.must(MPI_Type_contiguous(2, MPI_INT, &uncommitted), "MPI_Type_contiguous");
  here.must_be(MPI_Send(&word, 1, uncommitted, 0, 0, comm), MPI_ERR_TYPE, "MPI_Send of a type that is not committed");
  here.must(MPI_Type_free(&uncommitted), "MPI_Type_free");
  here.must_be(MPI_Bcast(&word, 1, MPI_INT, here.size, comm), MPI_ERR_ROOT, "MPI_Bcast of root size");
  here.must_be(MPI_Bcast(&word, -1, MPI_INT, 0, comm), MPI_ERR_COUNT, "MPI_Bcast of -1");
  here.must_be(MPI_Reduce(&word, &more, 1, MPI_INT, MPI_SUM, -5, comm), MPI_ERR_ROOT, "MPI_Reduce to root -5");
  here.must_be(MPI_Allreduce(&word, &more, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP,
               "MPI_Allreduce with a null operation");
  double a = 0, b = 0;
  here.must_be(MPI_Allreduce(&a, &b, 1, MPI_DOUBLE, MPI_BAND, comm), MPI_ERR_OP,
               "MPI_Allreduce of doubles with MPI_BAND");
  here.must_be(MPI_Type_contiguous(-1, MPI_INT, &uncommitted), MPI_ERR_COUNT, "MPI_Type_contiguous of -1");
  here.must_be(MPI_Comm_size(MPI_COMM_NULL, &word), MPI_ERR_COMM, "MPI_Comm_size of a null communicator");
}

}  // namespace differential
