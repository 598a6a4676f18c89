// SPDX-License-Identifier: BSD-3-Clause
// Collectives that move data, in all forms, of blocks whose datatypes differ from rank to rank.
#include <vector>

#include "block_side.hpp"
#include "cases.hpp"
#include "collective_blocks.hpp"
#include "collective_call.hpp"

namespace differential {

void broadcasts(scene& here) {
  const signature unit = draw_unit(here);
  const int root = here.random.between(0, here.size - 1), units = draw_blocks(here.random, 1, true).units;
  const std::uint64_t stream = here.random.next();
  block_side data{seed_of(here), unit, units};
  if (here.rank == root) data.write(stream, 0, units);
  data.want(stream, 0, units);
  collective_call call{here};
  MPI_Request* const request = call.request();
  switch (call.form()) {
    case call_form::blocking: call.done(MPI_Bcast(data.address(), units, data.type(), root, here.comm)); break;
    case call_form::nonblocking:
      call.done(MPI_Ibcast(data.address(), units, data.type(), root, here.comm, request));
      break;
    case call_form::persistent:
      call.done(MPI_Bcast_init(data.address(), units, data.type(), root, here.comm, MPI_INFO_NULL, request));
      break;
  }
  call.finish();
  data.check(here, "MPI_Bcast");
}

void gathers(scene& here) {
  const signature unit = draw_unit(here);
  const int root = here.random.between(0, here.size - 1);
  const bool equal = here.random.chance(50), to_all = here.random.chance(50), in_place = here.random.chance(30);
  const blocks of = draw_blocks(here.random, here.size, equal);
  const std::uint64_t base = here.random.next();
  const int mine = of.counts[static_cast<std::size_t>(here.rank)];
  block_side from{seed_of(here), unit, mine}, into{seed_of(here), unit, of.units};
  from.write(stream_of(base, here.rank, 0), 0, mine);
  const bool receives = to_all || here.rank == root, sends_own_part = in_place && receives;
  if (sends_own_part) into.write(stream_of(base, here.rank, 0), of.at[static_cast<std::size_t>(here.rank)], mine);
  for (int i = 0; receives && i < here.size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    into.want(stream_of(base, i, 0), of.at[at], of.counts[at]);
  }
  const void* const out = sends_own_part ? MPI_IN_PLACE : from.address();
  const MPI_Datatype type = from.type(), to = into.type();
  const int *const counts = of.counts.data(), *const at = of.at.data();
  const int block = of.counts.front();
  void* const in = into.address();
  collective_call call{here};
  MPI_Request* const request = call.request();
  const MPI_Comm comm = here.comm;
  const int kind = (to_all ? 2 : 0) + (equal ? 0 : 1);
  switch (call.form()) {
    case call_form::blocking:
      if (kind == 0) call.done(MPI_Gather(out, mine, type, in, block, to, root, comm));
      if (kind == 1) call.done(MPI_Gatherv(out, mine, type, in, counts, at, to, root, comm));
      if (kind == 2) call.done(MPI_Allgather(out, mine, type, in, block, to, comm));
      if (kind == 3) call.done(MPI_Allgatherv(out, mine, type, in, counts, at, to, comm));
      break;
    case call_form::nonblocking:
      if (kind == 0) call.done(MPI_Igather(out, mine, type, in, block, to, root, comm, request));
      if (kind == 1) call.done(MPI_Igatherv(out, mine, type, in, counts, at, to, root, comm, request));
      if (kind == 2) call.done(MPI_Iallgather(out, mine, type, in, block, to, comm, request));
      if (kind == 3) call.done(MPI_Iallgatherv(out, mine, type, in, counts, at, to, comm, request));
      break;
    case call_form::persistent:
      if (kind == 0) call.done(MPI_Gather_init(out, mine, type, in, block, to, root, comm, MPI_INFO_NULL, request));
      if (kind == 1)
        call.done(MPI_Gatherv_init(out, mine, type, in, counts, at, to, root, comm, MPI_INFO_NULL, request));
      if (kind == 2) call.done(MPI_Allgather_init(out, mine, type, in, block, to, comm, MPI_INFO_NULL, request));
      if (kind == 3) call.done(MPI_Allgatherv_init(out, mine, type, in, counts, at, to, comm, MPI_INFO_NULL, request));
      break;
  }
  call.finish();
  into.check(here, to_all ? "MPI_Allgather" : "MPI_Gather");
}

void scatters(scene& here) {
  const signature unit = draw_unit(here);
  const int root = here.random.between(0, here.size - 1);
  const bool equal = here.random.chance(50), in_place = here.random.chance(30) && here.rank == root;
  const blocks of = draw_blocks(here.random, here.size, equal);
  const std::uint64_t base = here.random.next();
  const int mine = of.counts[static_cast<std::size_t>(here.rank)];
  block_side from{seed_of(here), unit, of.units}, into{seed_of(here), unit, mine};
  for (int i = 0; here.rank == root && i < here.size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    from.write(stream_of(base, i, 0), of.at[at], of.counts[at]);
  }
  if (!in_place) into.want(stream_of(base, here.rank, 0), 0, mine);
  void* const in = in_place ? MPI_IN_PLACE : into.address();
  const MPI_Datatype type = from.type(), to = into.type();
  const int *const counts = of.counts.data(), *const at = of.at.data();
  const void* const out = from.address();
  collective_call call{here};
  MPI_Request* const request = call.request();
  const MPI_Comm comm = here.comm;
  switch (call.form()) {
    case call_form::blocking:
      call.done(equal ? MPI_Scatter(out, mine, type, in, mine, to, root, comm)
                      : MPI_Scatterv(out, counts, at, type, in, mine, to, root, comm));
      break;
    case call_form::nonblocking:
      call.done(equal ? MPI_Iscatter(out, mine, type, in, mine, to, root, comm, request)
                      : MPI_Iscatterv(out, counts, at, type, in, mine, to, root, comm, request));
      break;
    case call_form::persistent:
      call.done(equal ? MPI_Scatter_init(out, mine, type, in, mine, to, root, comm, MPI_INFO_NULL, request)
                      : MPI_Scatterv_init(out, counts, at, type, in, mine, to, root, comm, MPI_INFO_NULL, request));
      break;
  }
  call.finish();
  into.check(here, "MPI_Scatter");
}

}  // namespace differential
