// SPDX-License-Identifier: BSD-3-Clause
// Messages in communicators with hints. By tag: receives take any source and name the tag, in a communicator that says
// so (weft_assert_any_source_by_tag).
#include "cases.hpp"
#include "tagged_exchange.hpp"

namespace differential {
namespace {

void exchange_in_duplicate(scene& here, const hints& wanted) {
  MPI_Comm comm = duplicate_with(here, wanted);
  exchange_by_tag(here, comm, wanted, 0);
  here.must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

}  // namespace

void messages_by_tag(scene& here) { exchange_in_duplicate(here, random_hints(here.random, true)); }
void messages_with_hints(scene& here) { exchange_in_duplicate(here, random_hints(here.random, false)); }

}  // namespace differential
