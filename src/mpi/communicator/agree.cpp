// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/communicator/agree.hpp"

#include <algorithm>
#include <bit>

#include "mpi/objects/communicator.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/counter.hpp"
#include "weft/detail/report_names.hpp"

namespace weft::mpi {
namespace {

struct combined {
  agreement operator()(const agreement& a, const agreement& b) const noexcept {
    return {.context = std::max(a.context, b.context),
            .matching = common_kind(a.matching, b.matching),
            .vci = std::max(a.vci, b.vci)};
  }
};

void refuse_failed(const weft::counter& ended) {
  if (ended.failed() > 0) throw error{errc::peer_failed, "a member of the new communicator has died"};
}

}  // namespace

agreement proposal(rank_state& rank, const communicator& comm, matching_kind matching) noexcept {
  return {.context = comm.rank == 0 ? rank.communicators.contexts().take(comm.local->hash()) : no_context,
          .matching = matching};
}

collective broadcast_of(agreement& mine) noexcept { return collective::broadcast({&mine, sizeof mine}); }

collective vote_on(agreement& mine) noexcept {
  return collective::allreduce({}, {&mine, sizeof mine}, reduction::callable<agreement, combined>());
}

// A binomial tree: member i hears from the member whose number lacks its lowest bit.
std::uint32_t agree_in_group(rank_state& rank, const communicator& parent, const process_group& members, int tag) {
  const std::uint32_t me = *members.member(rank.world.rank);
  const std::uint64_t key = std::uint64_t{parent.engine.id()} << 32 | static_cast<std::uint32_t>(tag);
  std::uint32_t context = me == 0 ? rank.communicators.contexts().take(members.hash()) : no_context;
  weft::counter ended{rank.runtime};
  const weft::detail::wait_name listed{"a function that makes a communicator of a group"};
  if (me != 0) {
    const post_recv_options options{.tag = key, .engine = rank.communicators.agreements()};
    const std::uint32_t from = members.world_rank(me & (me - 1));
    rank.device.until_accepted([&] { return rank.device.post_recv(from, {&context, sizeof context}, ended, options); });
    rank.device.wait_all(ended);
    refuse_failed(ended);
  }
  const post_send_options options{.tag = key, .engine = rank.communicators.agreements()};
  std::uint32_t bit = me == 0 ? std::bit_ceil(members.size()) : me & (~me + 1);
  while ((bit /= 2) != 0) {
    if (me + bit >= members.size()) continue;
    const std::uint32_t to = members.world_rank(me + bit);
    rank.device.until_accepted([&] { return rank.device.post_send(to, {&context, sizeof context}, ended, options); });
  }
  rank.device.wait_all(ended);
  refuse_failed(ended);
  return context;
}

}  // namespace weft::mpi
