// SPDX-License-Identifier: BSD-3-Clause
// Messages that are probed before they are received.
#include "cases.hpp"
#include "completion.hpp"
#include "transfers.hpp"

namespace differential {
namespace {

// The envelope of the message, by a probe that this rank draws. `message` is set if the probe takes the message.
MPI_Status probe(scene& here, int source, int tag, MPI_Message& message) {
  MPI_Status out = unset_status();
  int is_there = 0;
  switch (here.own.between(0, 3)) {
    case 0: here.must(MPI_Probe(source, tag, here.comm, &out), "MPI_Probe"); break;
    case 1:
      while (is_there == 0) here.must(MPI_Iprobe(source, tag, here.comm, &is_there, &out), "MPI_Iprobe");
      break;
    case 2: here.must(MPI_Mprobe(source, tag, here.comm, &message, &out), "MPI_Mprobe"); break;
    default:
      while (is_there == 0) here.must(MPI_Improbe(source, tag, here.comm, &is_there, &message, &out), "MPI_Improbe");
      break;
  }
  return out;
}

void receive(scene& here, const transfer& sent, MPI_Message& message, int source) {
  side into = receiver_side(sent);
  MPI_Status status = unset_status();
  if (message == MPI_MESSAGE_NULL) {
    here.must(MPI_Recv(into.address(), into.count(), into.type(), source, sent.tag, here.comm, &status), "MPI_Recv");
  } else if (here.own.chance(50)) {
    here.must(MPI_Mrecv(into.address(), into.count(), into.type(), &message, &status), "MPI_Mrecv");
  } else {
    MPI_Request request = MPI_REQUEST_NULL;
    here.must(MPI_Imrecv(into.address(), into.count(), into.type(), &message, &request), "MPI_Imrecv");
    complete(here, request, status);
  }
  here.expect(message == MPI_MESSAGE_NULL, "the message's handle is not null after its receive");
  check_received(here, "probed", sent, into, &status);
}

}  // namespace

// Ranks send to the one after them. Where only one source sends, any source is that one.
void probed_messages(scene& here) {
  const int next = (here.rank + 1) % here.size, before = (here.rank + here.size - 1) % here.size;
  for (int left = here.random.between(1, 6); left > 0; --left) {
    transfer sent = random_transfer(here, 2, true);
    const auto of_rank = [&](int rank) {
      transfer out = sent;
      out.from = rank;
      out.to = (rank + 1) % here.size;
      out.load.stream += static_cast<std::uint64_t>(rank);
      return out;
    };
    const transfer mine = of_rank(here.rank), other = of_rank(before);
    side from = sender_side(mine);
    MPI_Request request = MPI_REQUEST_NULL;
    here.must(MPI_Isend(from.address(), from.count(), from.type(), next, sent.tag, here.comm, &request), "MPI_Isend");
    const int source = here.own.chance(50) ? before : MPI_ANY_SOURCE,
              tag = here.own.chance(50) ? sent.tag : MPI_ANY_TAG;
    MPI_Message message = MPI_MESSAGE_NULL;
    const MPI_Status envelope = probe(here, source, tag, message);
    std::vector<int> basics;
    other.load.unit.append_to(basics);
    here.expect(envelope.MPI_SOURCE == before && envelope.MPI_TAG == sent.tag, "the probe finds source %d and tag %d",
                envelope.MPI_SOURCE, envelope.MPI_TAG);
    here.log("envelope: source %d, tag %d", envelope.MPI_SOURCE, envelope.MPI_TAG);
    if (other.load.unit.basic >= 0) log_status(here, "envelope", envelope, layout{other.load.unit.basic}.type);
    receive(here, other, message, source);
    MPI_Status status = unset_status();
    complete(here, request, status);
  }
  int is_there = 1;
  MPI_Status status = unset_status();
  here.must(MPI_Iprobe(before, 31999, here.comm, &is_there, &status), "MPI_Iprobe");
  here.expect(is_there == 0, "a probe finds what nobody sent");
  MPI_Message message = MPI_MESSAGE_NULL;
  here.must(MPI_Mprobe(MPI_PROC_NULL, 1, here.comm, &message, &status), "MPI_Mprobe");
  here.expect(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL,
              "MPI_Mprobe of MPI_PROC_NULL is wrong");
  here.must(MPI_Mrecv(nullptr, 0, MPI_INT, &message, &status), "MPI_Mrecv");
  here.expect(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL, "MPI_Mrecv of MPI_PROC_NULL is wrong");
  end_of_wildcards(here);
}

}  // namespace differential
