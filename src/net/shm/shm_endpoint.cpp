#include "net/shm/shm_endpoint.hpp"

#include <cstring>

namespace weft::net::shm {

template <bool CarriesPacket>
inline post_result shm_endpoint::push(outgoing& way, const header& what, const void* payload,
                                      std::uint32_t bytes) noexcept {
  if (shared_ && !way.sending.try_enter()) return post_result::busy;
  const bool pushed = way.sender.try_push(what, payload, bytes, CarriesPacket);
  if (shared_) way.sending.leave();
  return pushed ? post_result::ok : post_result::full;
}

// First contact, or the peer's devices have changed: apart from the fast path, which so needs no registers saved.
template <bool CarriesPacket>
[[gnu::noinline]] post_result shm_endpoint::push_anew(std::uint32_t peer, std::uint32_t device, const header& what,
                                                      const void* payload, std::uint32_t bytes) noexcept {
  outgoing* way = own_->find_way(peer, device);
  return way == nullptr ? post_result::full : push<CarriesPacket>(*way, what, payload, bytes);
}

post_result shm_endpoint::try_inject(std::uint32_t peer, std::uint32_t device, const header& what, const void* payload,
                                     std::uint32_t bytes) noexcept {
  outgoing* way = own_->known_way(peer, device);
  if (way == nullptr) [[unlikely]]
    return push_anew<false>(peer, device, what, payload, bytes);
  return push<false>(*way, what, payload, bytes);
}

post_result shm_endpoint::try_send(std::uint32_t peer, std::uint32_t device, const header& what, std::uint32_t packet,
                                   std::uint32_t bytes) noexcept {
  // Lent before it is published: the peer may return it before the push is through.
  owner_->lend(packet, peer);
  const packet_reference reference{packet, bytes};
  outgoing* way = own_->known_way(peer, device);
  const post_result result = way != nullptr ? push<true>(*way, what, &reference, sizeof reference)
                                            : push_anew<true>(peer, device, what, &reference, sizeof reference);
  if (result != post_result::ok) owner_->unlend(packet);
  return result;
}

unsigned shm_endpoint::poll(arrival_sink& sink, unsigned budget) noexcept {
  unsigned moved = 0;
  arrival message;
  for (incoming* const from : rings_) {
    const unsigned enough = moved + budget;
    message.source = from->rank;
    for (; from->receiver.has_cell() && moved != enough; ++moved) {
      cell_info info;
      message.payload = from->receiver.read(info, message.header);
      message.bytes = info.bytes();
      if (!info.is_plain()) [[unlikely]] {
        const bool consumed = deliver_special(*from->source, info, message, sink);
        message.owner = nullptr;
        if (!consumed) break;
      } else if (!sink.on_message(message)) {
        break;
      }
      from->receiver.advance();
    }
  }
  if (moved == 0) look_for_rings();
  return moved;
}

void shm_endpoint::look_for_rings() noexcept {
  bool found = false;
  for (slot* served : served_) found |= served->look_for_sources();
  if (found) list_rings();
}

void shm_endpoint::list_rings() noexcept {
  rings_.clear();
  for (slot* served : served_) {
    for (incoming& ring : served->sources()) rings_.push_back(&ring);
  }
}

// A cell that hands over a packet, or one that can't be.
bool shm_endpoint::deliver_special(peer& source, cell_info info, arrival& message, arrival_sink& sink) noexcept {
  const shape& agreed = owner_->where().shape;
  packet_reference reference;
  std::memcpy(&reference, message.payload, sizeof reference);
  if (!info.carries_packet() || info.bytes() != sizeof reference || reference.index >= agreed.packet_count ||
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
