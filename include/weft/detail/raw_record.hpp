// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a completion record as they pass through rings and queues: trivially copyable, without ownership.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/error.hpp"

namespace weft {

/// The operation that completed.
enum class operation : std::uint8_t {
  none = 0,
  message,         ///< an active message arrived here
  active_message,  ///< an active message posted here is complete
  send,            ///< a send posted here is complete
  receive,         ///< a receive posted here has its message, was cancelled, or failed
  put,             ///< a put posted here is complete
  get,             ///< a get posted here is complete
  atomic,          ///< a remote atomic posted here is complete
  put_signal,      ///< a peer has put data into a region of this rank
  get_signal,      ///< a peer has got data from a region of this rank
  graph,           ///< a graph that was started here has ended
  flush,           ///< a flush posted here is complete
  barrier,         ///< a barrier posted here is complete
  batch,           ///< all operations of a batch that was closed here are complete
};

/// The name of an operation, as in `put_signal`. **Blocking**: never. **Threads**: any. **Errors**: none.
[[nodiscard]] constexpr const char* name_of(operation opcode) noexcept {
  switch (opcode) {
    case operation::none: return "none";
    case operation::message: return "message";
    case operation::active_message: return "active_message";
    case operation::send: return "send";
    case operation::receive: return "receive";
    case operation::put: return "put";
    case operation::get: return "get";
    case operation::atomic: return "atomic";
    case operation::put_signal: return "put_signal";
    case operation::get_signal: return "get_signal";
    case operation::graph: return "graph";
    case operation::flush: return "flush";
    case operation::barrier: return "barrier";
    case operation::batch: return "batch";
  }
  return "unknown";
}

class memory;

namespace detail {

/// The owner to which the memory of a delivered payload is given back: a packet pool, a peer, an allocator.
class payload_owner {
 public:
  virtual void release(void* data, std::size_t bytes) noexcept = 0;

 protected:
  ~payload_owner() = default;
};

/// An owner of payloads that may lie in other than ordinary memory.
class memory_owner : public payload_owner {
 public:
  /// That memory; null if it is ordinary.
  [[nodiscard]] const memory* kind() const noexcept { return kind_; }

 protected:
  explicit memory_owner(const memory* kind) noexcept : kind_{kind} {}
  ~memory_owner() = default;

 private:
  const memory* kind_;
};

/// The most bytes that an inline payload has: it lies in a cell and a record, without memory of its own.
inline constexpr std::size_t inline_bytes_max = 40;

/// The place of a record's payload.
enum class payload_location : std::uint8_t {
  in_record,
  owned,
  borrowed,
  // Payloads in other than ordinary memory. The owner is a `memory_owner`; a borrowed one has the memory in its place.
  owned_of_kind,
  borrowed_of_kind,
};

[[nodiscard]] constexpr bool is_owned(payload_location location) noexcept {
  return location == payload_location::owned || location == payload_location::owned_of_kind;
}
[[nodiscard]] constexpr bool is_borrowed(payload_location location) noexcept {
  return location == payload_location::borrowed || location == payload_location::borrowed_of_kind;
}
[[nodiscard]] constexpr bool is_of_kind(payload_location location) noexcept {
  return location >= payload_location::owned_of_kind;
}

/// A record of 56 bytes, so that a queue's slot with its sequence number is one cache line.
struct raw_record {
  // Five words in this order; the fast paths write them one by one.
  struct reference {
    void* data;
    std::uint64_t bytes;
    payload_owner* owner;  // null if the payload is borrowed; or its memory (`borrowed_of_kind`)
    void* context;
    std::uint64_t message_bytes = 0;  // size of the message of a receive, which may be more than fitted
  };

  std::uint32_t peer = 0;
  operation opcode = operation::none;
  payload_location location = payload_location::in_record;
  std::uint8_t inline_bytes = 0;
  errc error = errc::none;
  std::uint64_t tag = 0;
  alignas(8) std::byte payload[inline_bytes_max];

  // The content of the payload area if it does not hold the bytes themselves.
  [[nodiscard]] reference referred() const noexcept {
    reference out;
    std::memcpy(&out, payload, sizeof out);
    return out;
  }
  void refer(const reference& target) noexcept { std::memcpy(payload, &target, sizeof target); }
};
static_assert(sizeof(raw_record) == 56 && sizeof(raw_record::reference) == inline_bytes_max);

/// The first word of a record without error, as it lies in memory.
[[nodiscard]] constexpr std::uint64_t record_head(std::uint32_t peer, operation opcode, payload_location location,
                                                  std::uint32_t inline_bytes) noexcept {
  static_assert(std::endian::native == std::endian::little,
                "the fields below are in the order of a little-endian word");
  return peer | std::uint64_t{static_cast<std::uint8_t>(opcode)} << 32 |
         std::uint64_t{static_cast<std::uint8_t>(location)} << 40 | std::uint64_t{inline_bytes} << 48;
}
static_assert(offsetof(raw_record, opcode) == 4 && offsetof(raw_record, location) == 5);
static_assert(offsetof(raw_record, inline_bytes) == 6 && offsetof(raw_record, tag) == 8);

}  // namespace detail
}  // namespace weft
