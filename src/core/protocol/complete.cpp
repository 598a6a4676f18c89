// SPDX-License-Identifier: BSD-3-Clause
#include "core/protocol/complete.hpp"

#include "base/log.hpp"

#include "base/assertion.hpp"
#include "core/protocol/awaited.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::complete {

completion_record record_of(operation opcode, std::uint32_t peer, std::uint64_t tag,
                            const detail::raw_record::reference& data, bool of_kind) noexcept {
  detail::raw_record raw;
  raw.peer = peer;
  raw.opcode = opcode;
  raw.location = data.owner != nullptr ? detail::payload_location::owned : detail::payload_location::borrowed;
  if (of_kind) raw.location = detail::payload_location::borrowed_of_kind;
  raw.tag = tag;
  raw.refer(data);
  return completion_record{raw};
}

completion_record record_of(const net::arrival& message) noexcept {
  if (message.owner != nullptr) {
    return record_of(operation::message, message.source, message.header.tag,
                     {const_cast<std::byte*>(message.payload), message.bytes, message.owner, nullptr});
  }
  completion_record record;
  detail::raw_record& raw = record.raw();
  raw.peer = message.source;
  raw.opcode = operation::message;
  raw.tag = message.header.tag;
  raw.inline_bytes = static_cast<std::uint8_t>(message.bytes);
  detail::copy_inline(raw.payload, message.payload, message.bytes);
  return record;
}

completion_record record_of(const operation_state& operation) noexcept {
  const target_payload& into = operation.receiving.into;
  const source_payload& from = operation.sending.source;
  const bool is_into = into.address() != nullptr || into.memory() != nullptr;
  detail::raw_record::reference data = is_into ? reference_to(into, operation.bytes, operation.owed.context)
                                               : reference_to(from, operation.bytes, operation.owed.context);
  const bool of_kind = data.owner != nullptr;
  data.message_bytes = operation.receiving.message_bytes;
  if (detail::payload_owner* const owner = operation.receiving.owner; owner != nullptr) data.owner = owner;
  completion_record record = record_of(operation.opcode, operation.peer, operation.tag, data, of_kind);
  if (of_kind && operation.receiving.owner != nullptr) record.raw().location = detail::payload_location::owned_of_kind;
  record.raw().error = operation.error;
  return record;
}

bool try_signal(device_state& dev, operation_state& operation) noexcept {
  if (operation.owed.target == nullptr) {
    // If it is a post, it has answered done: the next flush reports an error.
    if (operation.error != errc::none && operation.set() == operation_set::posts)
      dev.runtime().peers().note_failure(operation.peer);
    put_back(dev, operation);
    return true;
  }
  awaited::end(dev, operation);  // it is complete: a flush doesn't wait for room in the completion object
  // A receive from the backlog can't be cancelled any more, as its completion object may already see the signal.
  if (operation.next.load(std::memory_order_relaxed) == step::try_match) operation.reach(step::try_signal);  // [own]
  completion& object = *operation.owed.target;
  completion_record record = record_of(operation);
  if (!promise::keep(dev, object, record)) {
    record.detach();  // the payload stays with the operation
    return false;
  }
  dev.runtime().signalled(&object);
  put_back(dev, operation);
  return true;
}

[[gnu::cold]] void log_truncated(const operation_state& receive) noexcept {
  base::log_info("a receive is truncated: the message of rank {} with tag {} has {} bytes, and the buffer has {}",
                 receive.peer, receive.tag, receive.receiving.message_bytes, receive.receiving.into.bytes());
}

void put_back(device_state& dev, operation_state& done) noexcept {
  WEFT_ASSERT_CHECKED(done.ticket.load(std::memory_order_relaxed) != 0);  // [own] it is not in its set
  awaited::end(dev, done);
  dev.operations().put(done);
}

void signal_or_defer(device_state& dev, operation_state& operation) noexcept {
  if (!try_signal(dev, operation)) dev.defer(operation, step::try_signal);
}

bool try_signal(device_state& dev, completion& object, completion_record&& record) noexcept {
  if (!promise::call(dev, object, record)) [[unlikely]] {
    record.detach();
    return false;
  }
  dev.runtime().signalled(&object);  // the object may have been destroyed
  return true;
}

}  // namespace weft::core::complete
