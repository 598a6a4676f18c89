#include "net/shm/shm_endpoint.hpp"

#include <cstring>

namespace weft::net::shm {

post_result shm_endpoint::push(std::uint32_t peer, std::uint32_t device, const header& what, const void* payload,
                               std::uint32_t bytes, bool carries_packet) noexcept {
  outgoing* way = own_->way(peer, device);
  if (way == nullptr) return post_result::full;
  // A message that names a device shares no ring with another thread's on a device of one's own either: rings belong
  // to a pair of devices.
  if (shared_ && !way->sending.try_enter()) return post_result::busy;
  const bool pushed = way->sender.try_push(what, payload, bytes, carries_packet);
  if (shared_) way->sending.leave();
  return pushed ? post_result::ok : post_result::full;
}

post_result shm_endpoint::try_inject(std::uint32_t peer, std::uint32_t device, const header& what, const void* payload,
                                     std::uint32_t bytes) noexcept {
  return push(peer, device, what, payload, bytes, false);
}

post_result shm_endpoint::try_send(std::uint32_t peer, std::uint32_t device, const header& what, std::uint32_t packet,
                                   std::uint32_t bytes) noexcept {
  // Lent before it is published: the peer may return it before the push is through.
  owner_->lend(packet, peer);
  const packet_reference reference{packet, bytes};
  const post_result result = push(peer, device, what, &reference, sizeof reference, true);
  if (result != post_result::ok) owner_->unlend(packet);
  return result;
}

unsigned shm_endpoint::poll(arrival_sink& sink, unsigned budget) noexcept {
  unsigned moved = 0;
  for (slot* served : served_) {
    for (incoming& from : served->sources()) moved += drain(from, sink, budget);
  }
  if (moved == 0) {
    for (slot* served : served_) served->look_for_sources();
  }
  return moved;
}

unsigned shm_endpoint::drain(incoming& from, arrival_sink& sink, unsigned budget) noexcept {
  unsigned moved = 0;
  cell_content content;
  for (; moved < budget && from.receiver.has_cell(); ++moved) {
    const bool well_formed = from.receiver.read(content);
    arrival message{from.source->rank(),
                    {content.kind, content.flags, content.id, content.sequence, content.tag},
                    content.payload,
                    content.inline_bytes,
                    nullptr};
    if (!well_formed) {
      owner_->count_refused();
    } else if (content.carries_packet != 0) {
      if (!deliver_packet(*from.source, message, content, sink)) break;
    } else if (!sink.on_message(message)) {
      break;
    }
    from.receiver.advance();
  }
  return moved;
}

bool shm_endpoint::deliver_packet(peer& source, arrival& message, const cell_content& content,
                                  arrival_sink& sink) noexcept {
  const shape& agreed = owner_->where().shape;
  packet_reference reference;
  std::memcpy(&reference, content.payload, sizeof reference);
  if (content.inline_bytes != sizeof reference || reference.index >= agreed.packet_count ||
      reference.bytes > agreed.packet_bytes) {
    owner_->count_refused();
    return true;
  }
  std::byte* foreign = source.packet(reference.index);
  message.bytes = reference.bytes;
  if (source.held() < owner_->foreign_packets_max()) {
    message.payload = foreign;
    message.owner = &source;
    source.count_taken();
    if (sink.on_message(message)) return true;
    source.uncount_taken();
    return false;
  }
  // The quota of the peer's packets is used up by records that the program keeps: from here on delivery copies.
  packet_store& packets = owner_->packets();
  const std::uint32_t own = packets.try_get();
  if (own == packet_store::none) return false;
  std::memcpy(packets.data(own), foreign, reference.bytes);
  message.payload = packets.data(own);
  message.owner = &packets.owner();
  if (!sink.on_message(message)) {
    packets.put(own);
    return false;
  }
  source.count_taken();
  source.release(foreign, reference.bytes);
  return true;
}

copy_result shm_endpoint::read_remote(std::uint32_t peer, void* target, std::uint64_t remote,
                                      std::size_t bytes) noexcept {
  return owner_->peer_at(peer).read(target, remote, bytes);
}

}  // namespace weft::net::shm
