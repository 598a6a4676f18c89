// SPDX-License-Identifier: BSD-3-Clause
// Messages in all modes.
#include <algorithm>
#include <list>

#include "cases.hpp"
#include "completion.hpp"
#include "transfers.hpp"

namespace differential {
namespace {

int send_blocking(scene& here, const transfer& of, side& from) {
  void* const at = from.address();
  switch (of.of) {
    case mode::synchronous: return MPI_Ssend(at, from.count(), from.type(), of.to, of.tag, here.comm);
    case mode::buffered: return MPI_Bsend(at, from.count(), from.type(), of.to, of.tag, here.comm);
    default: return MPI_Send(at, from.count(), from.type(), of.to, of.tag, here.comm);
  }
}

int start_send(scene& here, const transfer& of, side& from, MPI_Request& request) {
  void* const at = from.address();
  switch (of.of) {
    case mode::synchronous: return MPI_Issend(at, from.count(), from.type(), of.to, of.tag, here.comm, &request);
    case mode::buffered: return MPI_Ibsend(at, from.count(), from.type(), of.to, of.tag, here.comm, &request);
    case mode::ready: return MPI_Irsend(at, from.count(), from.type(), of.to, of.tag, here.comm, &request);
    default: return MPI_Isend(at, from.count(), from.type(), of.to, of.tag, here.comm, &request);
  }
}

void without_modes(std::vector<transfer>& all) {
  for (transfer& each : all) each.of = mode::standard;
}

std::vector<transfer> draw(scene& here, int most, int depth, bool may_be_to_itself) {
  std::vector<transfer> all;
  if (here.size == 1 && !may_be_to_itself) return all;
  for (int left = here.random.between(1, most); left > 0; --left) {
    all.push_back(random_transfer(here, depth, may_be_to_itself));
  }
  return all;
}

// All ranks go through one list, so that no two wait for each other.
void exchange_blocking(scene& here, const std::vector<transfer>& all) {
  const attached_buffer buffer{here, buffer_bytes(all, here.rank)};
  for (const transfer& each : all) {
    if (here.rank == each.from) {
      side from = sender_side(each);
      here.must(send_blocking(here, each, from), "a blocking send");
    }
    if (here.rank == each.to) {
      side into = receiver_side(each);
      MPI_Status status = unset_status();
      const bool is_ignored = here.own.chance(10);
      here.must(MPI_Recv(into.address(), into.count(), into.type(), each.from, each.tag, here.comm,
                         is_ignored ? MPI_STATUS_IGNORE : &status),
                "MPI_Recv");
      check_received(here, "received", each, into, is_ignored ? nullptr : &status);
    }
  }
}

// Ready sends go when all receives are posted.
void exchange_nonblocking(scene& here, const std::vector<transfer>& all) {
  const attached_buffer buffer{here, buffer_bytes(all, here.rank)};
  std::vector<MPI_Request> requests;
  std::vector<const transfer*> received;  // of each request, or nullptr for a send
  std::list<side> sides;                  // of each request
  const auto send = [&](const transfer& each) {
    sides.push_back(sender_side(each));
    requests.push_back(MPI_REQUEST_NULL);
    received.push_back(nullptr);
    here.must(start_send(here, each, sides.back(), requests.back()), "a nonblocking send");
  };
  for (const transfer& each : all) {
    if (here.rank == each.to) {
      sides.push_back(receiver_side(each));
      requests.push_back(MPI_REQUEST_NULL);
      received.push_back(&each);
      side& into = sides.back();
      here.must(MPI_Irecv(into.address(), into.count(), into.type(), each.from, each.receive_tag, here.comm,
                          &requests.back()),
                "MPI_Irecv");
    }
    if (here.rank == each.from && each.of != mode::ready) send(each);
  }
  const bool has_ready = std::any_of(all.begin(), all.end(), [](const transfer& of) { return of.of == mode::ready; });
  if (has_ready) here.must(MPI_Barrier(here.comm), "MPI_Barrier");
  for (const transfer& each : all) {
    if (here.rank == each.from && each.of == mode::ready) send(each);
  }
  std::vector<MPI_Status> statuses;
  complete_all(here, requests, statuses);
  auto into = sides.begin();
  for (std::size_t i = 0; i < requests.size(); ++i, ++into) {
    if (received[i] != nullptr) check_received(here, "received", *received[i], *into, &statuses[i]);
  }
}

// A message of a pair may be received by any tag only if it is the pair's next one. Ready sends go last: they have tags
// of their own.
void draw_tags(scene& here, std::vector<transfer>& all) {
  for (transfer& each : all) {
    if (each.of == mode::ready) each.receive_tag = each.tag = 30000 + each.tag % 4;
  }
  const int from = here.random.between(0, here.size - 1), to = here.random.between(0, here.size - 1);
  for (transfer& each : all) {
    if (each.from == from && each.to == to && each.of != mode::ready) each.receive_tag = MPI_ANY_TAG;
  }
}

}  // namespace

void blocking_messages(scene& here) {
  std::vector<transfer> all = draw(here, 12, 0, false);
  without_modes(all);
  exchange_blocking(here, all);
}

void blocking_modes(scene& here) { exchange_blocking(here, draw(here, 12, 0, false)); }
void typed_messages(scene& here) { exchange_blocking(here, draw(here, 12, 3, false)); }

void nonblocking_messages(scene& here) {
  std::vector<transfer> all = draw(here, 16, 0, true);
  without_modes(all);
  exchange_nonblocking(here, all);
}

void nonblocking_modes(scene& here) {
  std::vector<transfer> all = draw(here, 16, 2, true);
  draw_tags(here, all);
  exchange_nonblocking(here, all);
}

// Each rank sends to the one `distance` after it.
void send_and_receive(scene& here) {
  for (int left = here.random.between(1, 4); left > 0; --left) {
    const int distance = here.random.between(0, here.size - 1);
    transfer sent = random_transfer(here, 2, true);
    const bool replaces = here.random.chance(40) && !is_left_out("replace");
    sent.room = sent.load.units;
    const auto of_rank = [&](int rank) {
      transfer out = sent;
      out.from = rank;
      out.to = (rank + distance) % here.size;
      out.load.stream += static_cast<std::uint64_t>(rank);
      return out;
    };
    const transfer mine = of_rank(here.rank), next = of_rank((here.rank + here.size - distance) % here.size);
    side from = sender_side(mine);
    MPI_Status status = unset_status();
    if (replaces) {
      here.must(MPI_Sendrecv_replace(from.address(), from.count(), from.type(), mine.to, sent.tag, next.from, sent.tag,
                                     here.comm, &status),
                "MPI_Sendrecv_replace");
      check_received(here, "replaced", next, from, &status);
    } else {
      side into = receiver_side(next);
      here.must(MPI_Sendrecv(from.address(), from.count(), from.type(), mine.to, sent.tag, into.address(), into.count(),
                             into.type(), next.from, sent.tag, here.comm, &status),
                "MPI_Sendrecv");
      check_received(here, "exchanged", next, into, &status);
    }
  }
}

}  // namespace differential
