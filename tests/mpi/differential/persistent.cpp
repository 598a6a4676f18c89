// SPDX-License-Identifier: BSD-3-Clause
// Persistent sends and receives, started several times.
#include <algorithm>
#include <list>

#include "cases.hpp"
#include "completion.hpp"
#include "transfers.hpp"

namespace differential {
namespace {

int make_send(scene& here, const transfer& of, side& from, MPI_Request& out) {
  void* const at = from.address();
  switch (of.of) {
    case mode::synchronous: return MPI_Ssend_init(at, from.count(), from.type(), of.to, of.tag, here.comm, &out);
    case mode::buffered: return MPI_Bsend_init(at, from.count(), from.type(), of.to, of.tag, here.comm, &out);
    default: return MPI_Send_init(at, from.count(), from.type(), of.to, of.tag, here.comm, &out);
  }
}

void start(scene& here, std::vector<MPI_Request>& all) {
  if (here.own.chance(50) && (!all.empty() || !is_left_out("empty_list"))) {
    here.must(MPI_Startall(static_cast<int>(all.size()), all.data()), "MPI_Startall");
  } else {
    for (MPI_Request& each : all) here.must(MPI_Start(&each), "MPI_Start");
  }
}

}  // namespace

void persistent_messages(scene& here) {
  std::vector<transfer> all;
  for (int left = here.random.between(1, 8); left > 0; --left) {
    all.push_back(random_transfer(here, 2, true));
    all.back().tag = all.back().receive_tag = left;  // so that the order of starts does not matter
  }
  const int rounds = here.random.between(1, 4);
  std::vector<MPI_Request> requests;
  std::vector<const transfer*> of_request;
  std::list<side> sides;
  for (const transfer& each : all) {
    if (here.rank == each.to) {
      sides.push_back(receiver_side(each));
      requests.push_back(MPI_REQUEST_NULL);
      of_request.push_back(&each);
      side& into = sides.back();
      here.must(
          MPI_Recv_init(into.address(), into.count(), into.type(), each.from, each.tag, here.comm, &requests.back()),
          "MPI_Recv_init");
    }
    if (here.rank == each.from) {
      sides.push_back(sender_side(each));
      requests.push_back(MPI_REQUEST_NULL);
      of_request.push_back(nullptr);
      here.must(make_send(here, each, sides.back(), requests.back()), "a persistent send");
    }
  }
  const attached_buffer buffer{here, static_cast<std::size_t>(rounds) * buffer_bytes(all, here.rank)};
  for (int round = 0; round < rounds; ++round) {
    start(here, requests);
    std::vector<MPI_Status> statuses;
    complete_all(here, requests, statuses, true);
    auto into = sides.begin();
    for (std::size_t i = 0; i < requests.size(); ++i, ++into) {
      if (of_request[i] != nullptr) check_received(here, "received", *of_request[i], *into, &statuses[i]);
    }
  }
  for (MPI_Request& each : requests) {
    MPI_Status status = unset_status();
    here.must(MPI_Wait(&each, &status), "MPI_Wait");
    here.expect(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG,
                "an inactive request has a status");
    here.must(MPI_Request_free(&each), "MPI_Request_free");
    here.expect(each == MPI_REQUEST_NULL, "the request is not null after it was freed");
  }
}

}  // namespace differential
