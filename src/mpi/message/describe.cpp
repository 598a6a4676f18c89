// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/describe.hpp"

#include "mpi/objects/communicator.hpp"

namespace weft::mpi {

std::string text_of(const char* side, const envelope& ends, const communicator& comm) {
  std::string out{side};
  out += ends.peer == MPI_ANY_SOURCE ? "any rank" : "rank " + std::to_string(ends.peer);
  out += ends.tag == MPI_ANY_TAG ? " with any tag" : " with tag " + std::to_string(ends.tag);
  return out + " in " + name_of(comm);
}

std::string text_of(const request& req) {
  switch (req.operation) {
    case request_operation::receive: return text_of("a receive from ", req.wanted, req.comm());
    case request_operation::send:
      return text_of("a send to ", {req.comm().member(req.send.peer), req.send.tag}, req.comm());
    case request_operation::generalized: return "a generalized request";
    default: return req.owner == nullptr ? "a flush of buffered sends" : "a collective in " + name_of(req.comm());
  }
}

// Requests that own something may be no plain sends and receives.
void describe_wait(const void* subject, std::string& text) {
  const auto& req = *static_cast<const request*>(subject);
  const bool is_message = req.operation == request_operation::send || req.operation == request_operation::receive;
  if (req.owner != nullptr && req.owned == nullptr && is_message) text += " for " + text_of(req);
}

}  // namespace weft::mpi
