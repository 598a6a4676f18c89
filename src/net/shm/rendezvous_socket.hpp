// SPDX-License-Identifier: BSD-3-Clause
// Unix sockets in the abstract namespace, over which descriptors are sent to processes of the same user only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/clock.hpp"
#include "net/shm/segment.hpp"

namespace weft::net::shm {

using deadline = base::clock::time_point;

// All functions here throw weft::error transport_failed with the system's reason, at the latest at the deadline;
// out_of_memory if this process lacks a resource.

/// A socket that visitors connect to; its name disappears with it.
[[nodiscard]] base::descriptor listen_at(const std::string& name, int visitors_max);
[[nodiscard]] base::descriptor accept_at(const base::descriptor& listener, deadline until);
/// The indices of the sockets that have something to read, or were hung up; at least one.
[[nodiscard]] std::vector<std::size_t> wait_for_any(std::span<const int> sockets, deadline until);
[[nodiscard]] base::descriptor connect_to(const std::string& name, deadline until);

/// The number, in this process's namespace, of the process at the other end. Refuses a process of another user.
[[nodiscard]] std::uint32_t process_behind(const base::descriptor& socket);

void send_bytes(const base::descriptor& socket, const void* bytes, std::size_t count, const base::descriptor& file,
                deadline until);
[[nodiscard]] base::descriptor receive_bytes(const base::descriptor& socket, void* bytes, std::size_t count,
                                             deadline until);

/// Sends a small value together with a descriptor.
template <class Value>
void send_with_descriptor(const base::descriptor& socket, const Value& value, const base::descriptor& file,
                          deadline until) {
  static_assert(std::is_trivially_copyable_v<Value>);
  send_bytes(socket, &value, sizeof value, file, until);
}

/// Receives a value of exactly this size and the descriptor that came with it.
template <class Value>
[[nodiscard]] base::descriptor receive_with_descriptor(const base::descriptor& socket, Value& value, deadline until) {
  static_assert(std::is_trivially_copyable_v<Value>);
  return receive_bytes(socket, &value, sizeof value, until);
}

}  // namespace weft::net::shm
