// SPDX-License-Identifier: BSD-3-Clause
// Communicators: a group, and a matching engine of their own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mpi.h"
#include "mpi/error/error_owner.hpp"
#include "mpi/group/process_group.hpp"
#include "mpi/handle/object.hpp"
#include "mpi/info/hints.hpp"
#include "mpi/objects/attribute.hpp"
#include "weft/group.hpp"
#include "weft/matching_engine.hpp"
#include "weft/post_options.hpp"

namespace weft {
class device;
}

namespace weft::mpi {

class cartesian;
class bsend_buffer;
class stream_routes;
struct communicator;
struct pending_messages;
struct vci;

/// The parts of a communicator, on which its members agree before they make it.
struct communicator_parts {
  std::uint32_t context;  // the id of its engine, one number at all members
  weft::group members;    // its collectives run here
  shared_group local;     // the group that MPI shows
  matching_kind matching = matching_kind::in_order;
  std::string name{};                              // the program's, or empty
  std::shared_ptr<const stream_routes> streams{};  // null: it is no stream communicator
};

/// The place at which the messages of a communicator are posted.
struct message_route {
  weft::device& device;
  pending_messages& pending;  // what waits for room there
  std::uint32_t vci;          // the number of the VCI that has both
  // How many members the peer of a receive may be one of: 0 while receives of the communicator are pending.
  std::atomic<std::uint32_t> receive_peers;
  std::size_t pending_receive_count = 0;  // guarded by `pending.receives`
  // The devices that its messages name; null: they name none, as it is no stream communicator.
  std::shared_ptr<const stream_routes> streams{};
  // One for each index, where members have several streams: itself is the first. Else empty.
  std::vector<communicator*> lanes{};
};

struct communicator : error_owner {
  communicator(weft::runtime& runtime, mpi::vci& interface, communicator_parts parts);

  /// The rank in the job of a member that there is. All members in the order of the job need no look-up.
  [[nodiscard]] std::uint32_t world_rank(int member) const noexcept {
    const auto index = static_cast<std::uint32_t>(member);
    return is_whole_job ? index : local->world_rank(index);
  }
  /// The number here of a rank of the job that is a member.
  [[nodiscard]] int member(std::uint32_t world) const noexcept {
    return static_cast<int>(is_whole_job ? world : local->member(world).value_or(0));
  }

  /// How many members the peer of a receive may be one of, if it may be posted: none while older receives wait
  /// (objects/pending_receives.hpp).
  [[nodiscard]] std::uint32_t receive_peers() const noexcept {
    // [communicator.receive] acquire <- [pending_receives.open]: the posts of older receives.
    return route.receive_peers.load(std::memory_order_acquire);
  }

  /// Whether receives name the tag and take any source.
  [[nodiscard]] bool is_by_tag() const noexcept { return hints.matching() == matching_kind::by_tag; }
  /// The policy of its sends and receives.
  [[nodiscard]] match_policy policy() const noexcept {
    return is_by_tag() ? match_policy::tag_only : match_policy::rank_tag;
  }
  /// The device of a member that a message to it names.
  [[nodiscard]] std::uint32_t target_device(int member) const noexcept {
    return route.streams == nullptr ? any_device : device_of_stream(member);
  }
  /// The peer of a receive from `source`. An engine in which all match by tag looks at no rank.
  [[nodiscard]] std::uint32_t peer_of(int source) const noexcept {
    if (source != MPI_ANY_SOURCE) return world_rank(source);
    return is_by_tag() ? 0 : any_rank;
  }

  message_route route;
  weft::matching_engine engine;
  weft::group members;
  shared_group local;
  shared_group remote;                          // null: it is an intracommunicator
  std::shared_ptr<const cartesian> topology{};  // null: it has none
  std::uint32_t rank;
  std::uint32_t size;
  bool is_whole_job;  // its members are the ranks of the job, in their order
  std::string name;
  kept_hints hints;
  attribute_list<MPI_Comm> attributes;
  std::size_t registry_index = 0;          // its index in the registry
  communicator* next_ended = nullptr;      // links communicators that wait for their destruction
  std::shared_ptr<bsend_buffer> buffer{};  // holds buffered sends; null: never attached

 private:
  [[nodiscard]] std::uint32_t device_of_stream(int member) const noexcept;
};

/// The name of a communicator, or its ranks of MPI_COMM_WORLD. **Threads**: any.
[[nodiscard]] std::string name_of(const communicator& comm);
/// Names as programs have set them. **Threads**: any.
void set_name_of(communicator& comm, std::string name) noexcept;
[[nodiscard]] std::string given_name_of(const communicator& comm);

}  // namespace weft::mpi
