// SPDX-License-Identifier: BSD-3-Clause
// Operations in words, for people.
#pragma once

#include <string>

#include "mpi/objects/request.hpp"

namespace weft::mpi {

/// `a receive from rank 1 with tag 5 in MPI_COMM_WORLD`.
[[nodiscard]] std::string text_of(const request& req);
/// `SIDErank 1 with tag 5 in MPI_COMM_WORLD`.
[[nodiscard]] std::string text_of(const char* side, const envelope& ends, const communicator& comm);

/// Adds ` for a receive ...` to the report of a wait, if the request `subject` is a send or a receive, which note their
/// envelopes.
void describe_wait(const void* subject, std::string& text);

}  // namespace weft::mpi
