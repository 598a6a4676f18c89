// SPDX-License-Identifier: BSD-3-Clause
// Blocks from each rank to each other one.
#include <vector>

#include "block_side.hpp"
#include "cases.hpp"
#include "collective_blocks.hpp"
#include "collective_call.hpp"

namespace differential {

// Rank i sends `counts[i * size + j]` units to rank j.
void alltoalls(scene& here) {
  const signature unit = draw_unit(here);
  const int kind = here.random.between(0, 2);  // of equal blocks, v, w
  const int most = here.random.chance(10) ? 400 : 8, equal = here.random.between(0, most);
  std::vector<int> counts;
  for (int i = 0; i < here.size * here.size; ++i) counts.push_back(kind == 0 ? equal : here.random.between(0, most));
  const std::uint64_t base = here.random.next();
  const auto count = [&](int from, int to) { return counts[static_cast<std::size_t>(from * here.size + to)]; };
  std::vector<int> out_counts, out_at, in_counts, in_at;
  int out_units = 0, in_units = 0;
  for (int i = 0; i < here.size; ++i) {
    out_counts.push_back(count(here.rank, i));
    in_counts.push_back(count(i, here.rank));
    out_at.push_back(out_units);
    in_at.push_back(in_units);
    out_units += out_counts.back() + (kind == 0 ? 0 : 1);
    in_units += in_counts.back() + (kind == 0 ? 0 : 2);
  }
  block_side from{seed_of(here), unit, out_units}, into{seed_of(here), unit, in_units};
  for (int i = 0; i < here.size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    from.write(stream_of(base, here.rank, i), out_at[at], out_counts[at]);
    into.want(stream_of(base, i, here.rank), in_at[at], in_counts[at]);
  }
  std::vector<MPI_Datatype> out_types(out_at.size(), from.type()), in_types(in_at.size(), into.type());
  if (kind == 2) {
    for (int& each : out_at) each *= static_cast<int>(from.extent());
    for (int& each : in_at) each *= static_cast<int>(into.extent());
  }
  const void* const out = from.address();
  void* const in = into.address();
  const MPI_Datatype type = from.type(), to = into.type();
  const MPI_Comm comm = here.comm;
  const int *oc = out_counts.data(), *od = out_at.data(), *ic = in_counts.data(), *id = in_at.data();
  const MPI_Datatype *ot = out_types.data(), *it = in_types.data();
  collective_call call{here};
  MPI_Request* const request = call.request();
  switch (call.form()) {
    case call_form::blocking:
      if (kind == 0) call.done(MPI_Alltoall(out, equal, type, in, equal, to, comm));
      if (kind == 1) call.done(MPI_Alltoallv(out, oc, od, type, in, ic, id, to, comm));
      if (kind == 2) call.done(MPI_Alltoallw(out, oc, od, ot, in, ic, id, it, comm));
      break;
    case call_form::nonblocking:
      if (kind == 0) call.done(MPI_Ialltoall(out, equal, type, in, equal, to, comm, request));
      if (kind == 1) call.done(MPI_Ialltoallv(out, oc, od, type, in, ic, id, to, comm, request));
      if (kind == 2) call.done(MPI_Ialltoallw(out, oc, od, ot, in, ic, id, it, comm, request));
      break;
    case call_form::persistent:
      if (kind == 0) call.done(MPI_Alltoall_init(out, equal, type, in, equal, to, comm, MPI_INFO_NULL, request));
      if (kind == 1) call.done(MPI_Alltoallv_init(out, oc, od, type, in, ic, id, to, comm, MPI_INFO_NULL, request));
      if (kind == 2) call.done(MPI_Alltoallw_init(out, oc, od, ot, in, ic, id, it, comm, MPI_INFO_NULL, request));
      break;
  }
  call.finish();
  into.check(here, "MPI_Alltoall");
}

}  // namespace differential
