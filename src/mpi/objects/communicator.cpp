// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/communicator.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "mpi/objects/stream.hpp"
#include "mpi/objects/vci.hpp"
#include "weft/runtime.hpp"

namespace weft::mpi {

communicator::communicator(weft::runtime& runtime, mpi::vci& interface, communicator_parts parts)
    : error_owner{.kind = parts.streams == nullptr ? object_kind::communicator : object_kind::stream_communicator},
      route{.device = interface.device,
            .pending = interface.pending,
            .vci = interface.number,
            .receive_peers = parts.members.size(),
            .streams = parts.streams},
      engine{runtime, {.id = parts.context, .ordered = parts.matching == matching_kind::in_order}},
      members{std::move(parts.members)},
      local{std::move(parts.local)},
      rank{members.rank()},
      size{members.size()},
      is_whole_job{local->counts_from_zero() && size == runtime.size()},
      name{std::move(parts.name)},
      hints{parts.matching} {}

std::uint32_t communicator::device_of_stream(int member) const noexcept {
  return route.streams->device(static_cast<std::uint32_t>(member), 0);
}

namespace {
std::mutex names;  // guards names of all communicators: a thread may set one while others ask for it
}

void set_name_of(communicator& comm, std::string name) noexcept {
  const std::lock_guard locked{names};
  comm.name.swap(name);
}
std::string given_name_of(const communicator& comm) {
  const std::lock_guard locked{names};
  return comm.name;
}

std::string name_of(const communicator& comm) {
  if (std::string given = given_name_of(comm); !given.empty()) return given;
  constexpr std::uint32_t shown_max = 8;
  std::string ranks;
  for (std::uint32_t member = 0; member < std::min(comm.size, shown_max); ++member)
    ranks += (member == 0 ? "" : ", ") + std::to_string(comm.world_rank(static_cast<int>(member)));
  return "a communicator of ranks " + ranks + (comm.size > shown_max ? ", ..." : "");
}

}  // namespace weft::mpi
