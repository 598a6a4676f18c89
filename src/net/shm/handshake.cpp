// SPDX-License-Identifier: BSD-3-Clause
#include "net/shm/handshake.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/log.hpp"
#include "base/not_inherited.hpp"
#include "base/random.hpp"
#include "net/shm/invitation.hpp"
#include "net/shm/rendezvous_socket.hpp"
#include "weft/error.hpp"

namespace weft::net::shm {
namespace {

secret random_secret() {
  secret out;
  if (!base::try_fill_random(std::as_writable_bytes(std::span{out}))) {
    throw error{errc::transport_failed, "the system has no random numbers to name a segment with (getrandom)"};
  }
  return out;
}

// Segments of this process, for ranks that are its threads.
struct local_segments {
  base::process_lock mutex;
  std::map<secret, std::byte*> by_name;
};

local_segments& locals() {
  static local_segments& instance = *new local_segments;
  return instance;
}

const secret& this_process() {
  static const secret value = random_secret();
  return value;
}

class meeting {
 public:
  meeting(const transport_context& context, std::byte* own, const base::descriptor& own_file, std::size_t bytes,
          std::vector<std::unique_ptr<peer>>& peers)
      : context_{context},
        own_file_{own_file},
        bytes_{bytes},
        peers_{peers},
        deadline_{base::clock::now() + std::chrono::seconds{context.settings.boot_timeout_s}} {
    mine_ = {{mark_.name(), this_process(), random_secret(), random_secret()}, base::processors_of_this_thread()};
    {
      local_segments& here = locals();
      const std::scoped_lock lock{here.mutex};
      here.by_name.emplace(mine_.segment, own);
    }
    listener_ = listen_at(socket_name(mine_.segment), static_cast<int>(context.boot.size()));
    const std::string key = context.name + ".shm";
    context.boot.put(key, bytes_of(mine_));
    context.boot.fence();
    read_invitations(key);
  }

  // Lower ranks are visited in their order, then higher ones are received: rank 0 only receives, so no ranks wait in
  // a circle.
  void hold(const std::function<void()>& when_attached) {
    const std::uint32_t self = context_.boot.rank();
    for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
      if (is_here_[rank]) peers_[rank]->run_on(std::move(theirs_[rank].processors));
      if (rank == self) continue;
      if (theirs_[rank].process == mine_.process) {
        attach_local(rank);
      } else if (!is_here_[rank]) {
        continue;
      } else if (rank < self) {
        visit(rank);
      } else {
        ++expected_;
      }
    }
    receive_all();
    if (when_attached) when_attached();
    context_.boot.fence();  // everybody has mapped everything
  }

  // Being on one machine is symmetric and transitive, so the answers of all ranks agree.
  [[nodiscard]] bool is_one_machine() const {
    return std::all_of(is_here_.begin(), is_here_.end(), [](bool each) { return each; });
  }

 private:
  static constexpr std::size_t strangers_max = 32;

  void read_invitations(const std::string& key) {
    for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
      theirs_.push_back(read_invitation(context_.boot.get(rank, key), rank));
      is_here_.push_back(base::is_on_this_machine(theirs_.back().machine));
    }
  }

  void attach_local(std::uint32_t rank) {
    local_segments& here = locals();
    const std::scoped_lock lock{here.mutex};
    const auto found = here.by_name.find(theirs_[rank].segment);
    if (found == here.by_name.end()) {
      throw error{errc::transport_failed,
                  fmt::format("the segment of rank {}, a thread of this process, is gone", rank)};
    }
    peers_[rank]->attach(found->second, segment{}, base::descriptor{}, true, static_cast<std::uint32_t>(getpid()));
  }

  void visit(std::uint32_t rank) {
    try {
      base::descriptor socket = connect_to(socket_name(theirs_[rank].segment), deadline_);
      const std::uint32_t process = process_behind(socket);
      send_with_descriptor(socket, greeting{theirs_[rank].password, context_.boot.rank()}, own_file_, deadline_);
      greeting answer;
      const base::descriptor file = receive_with_descriptor(socket, answer, deadline_);
      if (answer.rank != rank || answer.password != mine_.password) {
        throw error{errc::transport_failed, "somebody else answered"};
      }
      admit(rank, file, std::move(socket), process);
    } catch (const error& reason) {
      throw error{reason.code(), fmt::format("rank {} can't share memory with rank {}: {}", context_.boot.rank(), rank,
                                             reason.what())};
    }
  }

  // Admits visitors until all awaited ranks have come. A visitor that sends nothing, or hangs up, delays no other.
  void receive_all() {
    std::vector<base::descriptor> visitors;
    while (expected_ > 0) {
      std::vector<int> sockets{listener_.get()};
      for (const base::descriptor& each : visitors) sockets.push_back(each.get());
      const std::vector<std::size_t> ready = wait_for_visitors(sockets);
      // Goes from the back, so that the indices before stay valid.
      for (auto index = ready.rbegin(); index != ready.rend() && *index > 0; ++index) {
        base::descriptor socket = std::move(visitors[*index - 1]);
        visitors.erase(visitors.begin() + static_cast<std::ptrdiff_t>(*index) - 1);
        welcome(std::move(socket));
      }
      if (ready.front() == 0) visitors.push_back(accept_at(listener_, deadline_));
      // The oldest visitor has been silent for the longest time.
      if (visitors.size() > peers_.size() + strangers_max) visitors.erase(visitors.begin());
    }
  }

  [[nodiscard]] std::vector<std::size_t> wait_for_visitors(const std::vector<int>& sockets) const {
    try {
      return wait_for_any(sockets, deadline_);
    } catch (const error& reason) {
      throw error{reason.code(), fmt::format("rank {} waited in vain for {} of the ranks on its machine: {}",
                                             context_.boot.rank(), expected_, reason.what())};
    }
  }

  // Reads the greeting of a visitor, then admits a rank of this job, or turns a stranger away.
  void welcome(base::descriptor socket) {
    try {
      const std::uint32_t process = process_behind(socket);
      greeting said;
      const base::descriptor file = receive_with_descriptor(socket, said, deadline_);
      const std::uint32_t rank = said.rank;
      if (!is_awaited(said, mine_.password, context_.boot.rank(), context_.boot.size()) ||
          peers_[rank]->is_attached() || !is_here_[rank]) {
        throw error{errc::transport_failed, "not one of this job's ranks"};
      }
      send_with_descriptor(socket, greeting{theirs_[rank].password, context_.boot.rank()}, own_file_, deadline_);
      admit(rank, file, std::move(socket), process);
      --expected_;
    } catch (const error& reason) {
      // Memory that this process lacks, it lacks for the next visitor, too; this one sees the hang-up.
      if (reason.code() == errc::out_of_memory) throw;
      base::log_warn("a visitor at the socket for shared segments was sent away: {}", reason.what());
    }
  }

  void admit(std::uint32_t rank, const base::descriptor& file, base::descriptor socket, std::uint32_t process) {
    segment mapped = segment::map(file, bytes_);
    std::byte* base = mapped.memory();
    peers_[rank]->attach(base, std::move(mapped), std::move(socket), false, process);
  }

  const transport_context& context_;
  const base::descriptor& own_file_;
  std::size_t bytes_;
  std::vector<std::unique_ptr<peer>>& peers_;
  deadline deadline_;
  base::machine_mark mark_;  // other ranks look for it until the last fence
  invitation mine_;
  std::vector<invitation> theirs_;
  std::vector<bool> is_here_;
  base::descriptor listener_;
  std::size_t expected_ = 0;
};

}  // namespace

bool meet_peers(const transport_context& context, std::byte* own, const base::descriptor& own_file, std::size_t bytes,
                std::vector<std::unique_ptr<peer>>& peers, const std::function<void()>& when_attached) {
  meeting all{context, own, own_file, bytes, peers};
  all.hold(when_attached);
  return all.is_one_machine();
}

void forget_segment(std::byte* own) noexcept {
  local_segments& here = locals();
  const std::scoped_lock lock{here.mutex};
  std::erase_if(here.by_name, [&](const auto& entry) { return entry.second == own; });
}

}  // namespace weft::net::shm
