// SPDX-License-Identifier: BSD-3-Clause
// The cases: each is a random program for the ranks of a communicator, whose result the standard determines.
#pragma once

#include <vector>

#include "scene.hpp"

namespace differential {

struct named_case {
  const char* name;
  void (*run)(scene&);
  bool threads = false;  ///< needs MPI_THREAD_MULTIPLE
};

const std::vector<named_case>& cases();

void blocking_messages(scene& here);
void blocking_modes(scene& here);
void typed_messages(scene& here);
void nonblocking_messages(scene& here);
void nonblocking_modes(scene& here);
void send_and_receive(scene& here);
void wildcard_messages(scene& here);
void messages_by_tag(scene& here);
void messages_with_hints(scene& here);
void cancelled_receives(scene& here);
void messages_to_none(scene& here);
void probed_messages(scene& here);
void persistent_messages(scene& here);
void truncated_messages(scene& here);
void failures_among_requests(scene& here);
void wrong_arguments(scene& here);
void broadcasts(scene& here);
void gathers(scene& here);
void scatters(scene& here);
void alltoalls(scene& here);
void reductions(scene& here);
void ordered_reductions(scene& here);
void bounds_of_types(scene& here);
void packed_data(scene& here);
void several_threads(scene& here);
void threads_of_one_communicator(scene& here);

}  // namespace differential
