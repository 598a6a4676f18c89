// SPDX-License-Identifier: BSD-3-Clause
// The messages of a short body: the sends and receives of one member. A body makes them of the source that its caller
// gives: run/short_collective.cpp posts them, and a test writes them down.
//
// Each member takes a body or the schedule of its algorithm, depending on its own call: a posted collective, a layout
// and another kind of memory take the schedule. So both send equal messages: to one peer, with one label, of one size
// (tests/coll/short_bodies_test.cpp).
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "weft/detail/raw_record.hpp"

namespace weft::coll {

/// Its functions are not virtual, so that a body is compiled into its caller: bodies are templates, in headers.
template <class Messages>
concept short_messages = requires(Messages& messages, const Messages& constant, std::uint32_t member,
                                  std::uint32_t label, void* into, const void* from, std::size_t bytes) {
  messages.expect(member, label, into, bytes);  // a receive that the next `wait` waits for
  messages.send(member, label, from, bytes);    // before the receives that follow
  messages.wait();
  messages.fail(std::exception_ptr{});  // later messages tell other members that this one has failed
  { constant.has_failed() } -> std::same_as<bool>;
  constant.finish();  // throws the failure
};

inline constexpr std::size_t short_bytes_max = detail::inline_bytes_max;
struct alignas(std::max_align_t) element_room : std::array<std::byte, short_bytes_max> {};

/// The buffer of messages without bytes.
inline std::byte no_bytes;

}  // namespace weft::coll
