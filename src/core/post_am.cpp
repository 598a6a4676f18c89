// Posting an active message: in the descriptor, in a packet, or as an offer that its target fetches.
//
// Cost of 8 bytes: one virtual call and what the transport does (shared memory: one cache line).
#include <fmt/format.h>

#include <cstring>

#include "core/device_state.hpp"
#include "core/runtime_state.hpp"

namespace weft::core {
namespace {

net::header header_of(wire kind, std::uint32_t id, std::uint64_t tag) noexcept {
  return {.kind = static_cast<std::uint32_t>(kind), .id = id, .tag = tag};
}

completion_record record_of(std::uint32_t peer, std::uint64_t tag, const_buffer_ref bytes, void* context) noexcept {
  detail::raw_record raw;
  raw.peer = peer;
  raw.what = operation::active_message;
  raw.place = detail::payload_place::borrowed;
  raw.tag = tag;
  raw.refer({const_cast<void*>(bytes.address()), bytes.bytes(), nullptr, context});
  return completion_record{raw};
}

// What was posted, for as long as it is under way.
void describe(operation_state& operation, std::uint32_t peer, std::uint32_t id, const_buffer_ref bytes,
              completion& local, const post_am_options& options) noexcept {
  operation.peer = peer;
  operation.device = options.device;
  operation.id = id;
  operation.tag = options.tag;
  operation.buffer = static_cast<std::byte*>(const_cast<void*>(bytes.address()));
  operation.bytes = bytes.bytes();
  operation.context = options.context;
  operation.will_signal(local);
}

}  // namespace

status device_state::post_am_otherwise(std::uint32_t peer, std::uint32_t id, const_buffer_ref bytes, completion& local,
                                       const post_am_options& options) {
  if (!options.allow_done && bytes.bytes() <= runtime_->packets().packet_bytes()) {
    return post_and_signal(peer, id, bytes, local, options);
  }
  const status result = try_post(peer, id, bytes, local, options);
  if (result.is_retry() && !options.allow_retry) return post_later(peer, id, bytes, local, options);
  return result;
}

status device_state::try_post(std::uint32_t peer, std::uint32_t id, const_buffer_ref bytes, completion& local,
                              const post_am_options& options) noexcept {
  if (bytes.bytes() > runtime_->packets().packet_bytes()) {
    return post_offer(peer, header_of(wire::offer, id, options.tag), bytes, local, options);
  }
  shortage reason = shortage::none;
  const net::header what = header_of(wire::active_message, id, options.tag);
  if (post_eager(peer, options.device, what, bytes, reason) == net::post_result::ok) return status::done();
  return status::retry(reason);
}

net::post_result device_state::post_eager(std::uint32_t peer, std::uint32_t device, const net::header& what,
                                          const_buffer_ref bytes, shortage& reason) noexcept {
  const auto count = static_cast<std::uint32_t>(bytes.bytes());
  net::post_result result = net::post_result::full;
  if (count <= detail::inline_bytes_max) {
    result = way(peer).try_inject(peer, device, what, bytes.address(), count);
  } else {
    packet_pool& packets = runtime_->packets();
    const std::uint32_t packet = packets.try_get();
    if (packet == packet_pool::none) {
      reason = shortage::packets;
      return result;
    }
    std::memcpy(packets.data(packet), bytes.address(), count);
    result = way(peer).try_send(peer, device, what, packet, count);
    if (result != net::post_result::ok) packets.put(packet);
  }
  if (result != net::post_result::ok) reason = shortage_of(result);
  return result;
}

status device_state::post_offer(std::uint32_t peer, const net::header& what, const_buffer_ref bytes, completion& local,
                                const post_am_options& options) noexcept {
  operation_state* operation = runtime_->operations().try_get();
  if (operation == nullptr) return status::retry(shortage::operations);
  describe(*operation, peer, what.id, bytes, local, options);
  const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [stat] ours until it is out
  operation->reach(step::wait_for_answer);
  const offer_body body{reinterpret_cast<std::uint64_t>(bytes.address()), bytes.bytes(), ticket};
  const net::post_result result = inject(peer, options.device, what, body);
  if (result == net::post_result::ok) return status::posted(ticket);
  operation->signalled(local);
  runtime_->operations().put(*operation);
  return status::retry(shortage_of(result));
}

// For those who want every completion signalled: the operation is there before the message is out, so that a
// completion object that is full can be signalled later.
status device_state::post_and_signal(std::uint32_t peer, std::uint32_t id, const_buffer_ref bytes, completion& local,
                                     const post_am_options& options) {
  operation_state* operation = runtime_->operations().try_get();
  shortage reason = shortage::operations;
  if (operation != nullptr) {
    const net::header what = header_of(wire::active_message, id, options.tag);
    if (post_eager(peer, options.device, what, bytes, reason) == net::post_result::ok) {
      const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [stat] still ours alone
      if (local.signal(record_of(peer, options.tag, bytes, options.context)) == completion::answer::taken) {
        runtime_->operations().put(*operation);
      } else {
        describe(*operation, peer, id, bytes, local, options);
        take_up(*operation, step::signal);
      }
      return status::posted(ticket);
    }
    runtime_->operations().put(*operation);
  }
  return options.allow_retry ? status::retry(reason) : post_later(peer, id, bytes, local, options);
}

status device_state::post_later(std::uint32_t peer, std::uint32_t id, const_buffer_ref bytes, completion& local,
                                const post_am_options& options) {
  operation_state* operation = runtime_->operations().try_get();
  if (operation == nullptr) {
    throw error{errc::backlog_full,
                fmt::format("post_am to rank {} may not answer retry, but {} operations are under way already: call "
                            "progress() before posting more, or raise WEFT_OPERATIONS_MAX",
                            peer, runtime_->operations().count())};
  }
  describe(*operation, peer, id, bytes, local, options);
  const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [stat] ours until it is added
  take_up(*operation, step::post);
  return status::posted(ticket);
}

}  // namespace weft::core
