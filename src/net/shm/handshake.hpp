// SPDX-License-Identifier: BSD-3-Clause
// How ranks exchange their segments: as descriptors over Unix sockets that only ranks of the job can use.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "net/shm/peer.hpp"
#include "net/transport.hpp"

namespace weft::net::shm {

/// Attaches every peer on this machine: a rank of this process by its own mapping, another one by the descriptor that
/// it sends. A peer on another machine stays unattached. Collective. Calls `when_attached` when all peers are attached
/// here, and before any of them can have left: what reads their segments belongs there.
///
/// **Returns** whether all ranks are on one machine: the same answer everywhere.
/// **Blocking**: until all ranks have come, at most WEFT_BOOT_TIMEOUT_S. **Errors**: transport_failed naming the rank.
bool meet_peers(const transport_context& context, std::byte* own, const base::descriptor& own_file, std::size_t bytes,
                std::vector<std::unique_ptr<peer>>& peers, const std::function<void()>& when_attached = {});

/// Ranks of this process can't find the segment any more.
void forget_segment(std::byte* own) noexcept;

}  // namespace weft::net::shm
