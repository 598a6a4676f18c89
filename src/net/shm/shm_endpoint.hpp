// SPDX-License-Identifier: BSD-3-Clause
// A device's endpoint for shared memory: posts into its rings to peers, and polls the rings that peers opened to it.
//
// Cost of a quiet poll: a line for each ring and one that tells of new rings, all in this core's cache; it saves no
// registers and calls no function before it finds a message.
#pragma once

#include <cstring>
#include <memory>

#include "base/assertion.hpp"
#include "base/outside_order.hpp"
#include "net/shm/endpoint_rings.hpp"

namespace weft::net::shm {

template <class Sink>
class shm_endpoint final : public endpoint<Sink> {
 public:
  shm_endpoint(shm_transport& owner, slot& own, bool shared) : rings_{owner, own, shared} {}

  [[nodiscard]] post_result try_send_inline(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                            const void* payload, std::uint32_t bytes) noexcept override {
    return rings_.try_send_inline(peer, device, header, payload, bytes);
  }
  [[nodiscard]] post_result try_send(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                     std::uint32_t packet, std::uint32_t bytes) noexcept override {
    return rings_.try_send(peer, device, header, packet, bytes);
  }
  [[nodiscard]] bool has_arrivals_from(std::uint32_t peer) const noexcept override {
    return rings_.has_arrivals_from(peer);
  }
  [[nodiscard]] bool holds_unread() const noexcept override { return rings_.hold_unread(); }
  [[nodiscard]] copy_result read_remote(std::uint32_t peer, memory_pieces here, memory_pieces there) noexcept override {
    return rings_.owner().peer_at(peer).read(here, there);
  }
  [[nodiscard]] copy_result write_remote(std::uint32_t peer, memory_pieces here,
                                         memory_pieces there) noexcept override {
    return rings_.owner().peer_at(peer).write(here, there);
  }
  [[nodiscard]] const route* route_to(std::uint32_t peer) const noexcept override { return rings_.route_to(peer); }
  void adopt(std::uint32_t index) noexcept override { rings_.adopt(index); }
  void release(std::uint32_t index) noexcept override { rings_.release(index); }
  void set_shared(bool shared) noexcept override { rings_.set_shared(shared); }
  unsigned poll(Sink& sink, unsigned budget) noexcept override {
    const std::vector<incoming*>& rings = rings_.polled();
    for (incoming* const* from = rings.data(); from != rings.data() + rings.size(); ++from) {
      if (cell_info info; (*from)->receiver.has_cell(info)) {
        if (is_word<0>(info)) return poll_words<0>(from, sink, budget);
        if (is_word<1>(info)) return poll_words<1>(from, sink, budget);
        return poll_from(from, sink, budget, budget, 0);
      }
    }
    return rings_.has_news() ? poll_new(sink, budget) : 0;
  }

 private:
  /// Whether the cell has a message of one word, of the sink's kind with this index.
  template <std::size_t Kind>
  [[nodiscard]] static constexpr bool is_word(cell_info info) noexcept {
    if constexpr (takes_words<Sink>) {
      static_assert(Sink::word_kinds.size() == 2);
      return info == cell_info{Sink::word_kinds[Kind].kind, word_bytes, false};
    } else {
      return false;
    }
  }
  [[nodiscard]] incoming* const* end_of_rings() const noexcept {
    return rings_.polled().data() + rings_.polled().size();
  }
  template <std::size_t Kind>
  [[nodiscard]] unsigned poll_words(incoming* const* ring, Sink& sink, unsigned budget) noexcept;
  [[nodiscard]] unsigned poll_from(incoming* const* ring, Sink& sink, unsigned left, unsigned budget,
                                   unsigned moved) noexcept;
  [[nodiscard]] unsigned end_words(Sink& sink, unsigned budget, unsigned moved) noexcept;
  [[nodiscard]] unsigned follow_up_and_poll(incoming* const* ring, Sink& sink, unsigned budget, unsigned moved,
                                            const void* mark) noexcept;
  [[nodiscard]] unsigned poll_new(Sink& sink, unsigned budget) noexcept;
  [[nodiscard]] static bool fast_deliver(const incoming& from, cell_info info, Sink& sink, bool& consumed) noexcept;
  [[nodiscard]] bool deliver(incoming& from, cell_info info, Sink& sink) noexcept;
  [[nodiscard]] bool deliver_packet(incoming& from, cell_info info, Sink& sink) noexcept;

  endpoint_rings rings_;
};

// `ring` is the first ring that has a message: a word. Calls no function as long as each message is a word of this kind
// that the sink takes; the first other message ends the loop by a call of one of the functions below.
template <class Sink>
template <std::size_t Kind>
[[gnu::noinline]] unsigned shm_endpoint<Sink>::poll_words(incoming* const* ring, Sink& sink, unsigned budget) noexcept {
  if constexpr (takes_words<Sink>) {
    unsigned moved = 0;
    unsigned left = budget;
    for (cell_info info;;) {
      incoming& from = **ring;
      if (!from.source->is_in_this_process()) base::came_in();
      // The prefetch lets windows of sends go from 22.2 to 23.4 M/s near and from 9.8 to 10.6 far; active messages
      // do not change.
      if constexpr (Sink::word_kinds[Kind].takes_long) from.receiver.prefetch();
      const void* const mark =
          sink.template take_word<Kind>(from.rank, from.receiver.id_and_sequence(), from.receiver.tag_and_payload());
      if (mark == nullptr) [[unlikely]]
        return poll_from(ring, sink, left, budget, moved);
      from.receiver.advance();
      --left;
      ++moved;
      if (sink.must_follow_up(mark)) [[unlikely]]
        return follow_up_and_poll(ring, sink, budget, moved, mark);
      if (left == 0 || !from.receiver.has_cell(info)) {
        do {
          if (++ring == end_of_rings()) return end_words(sink, budget, moved);
        } while (!(*ring)->receiver.has_cell(info));
        left = budget;
      }
      if (!is_word<Kind>(info)) return poll_from(ring, sink, left, budget, moved);
    }
  } else {
    return poll_from(ring, sink, budget, budget, 0);
  }
}

template <class Sink>
[[gnu::always_inline]] inline unsigned shm_endpoint<Sink>::end_words(Sink& sink, unsigned budget,
                                                                     unsigned moved) noexcept {
  if (rings_.has_news()) [[unlikely]]
    return poll_from(end_of_rings() - 1, sink, 0, budget, moved);
  sink.count_words(moved);
  return moved;
}

template <class Sink>
[[gnu::noinline, gnu::cold]] unsigned shm_endpoint<Sink>::follow_up_and_poll(incoming* const* ring, Sink& sink,
                                                                             unsigned budget, unsigned moved,
                                                                             const void* mark) noexcept {
  if constexpr (takes_words<Sink>) sink.follow_up(mark);
  return poll_from(ring, sink, budget, budget, moved);
}

// Goes on after `moved` words: takes up to `left` messages from `ring` and up to `budget` from each that comes after
// it.
template <class Sink>
[[gnu::noinline]] unsigned shm_endpoint<Sink>::poll_from(incoming* const* ring, Sink& sink, unsigned left,
                                                         unsigned budget, unsigned moved) noexcept {
  if constexpr (takes_words<Sink>) {
    if (moved != 0) sink.count_words(moved);
  }
  incoming* const* const end = end_of_rings();
  WEFT_ASSERT_CHECKED(ring < end && left <= budget);
  do {
    incoming& from = **ring;
    cell_info info;
    for (; left != 0 && from.receiver.has_cell(info); --left, ++moved) {
      if (!from.source->is_in_this_process()) base::came_in();
      from.receiver.prefetch();
      bool consumed;
      if (!info.is_inline())
        consumed = deliver_packet(from, info, sink);
      else if (!fast_deliver(from, info, sink, consumed))
        consumed = deliver(from, info, sink);
      if (!consumed) {
        if constexpr (hears_of_full_targets<Sink>) sink.on_target_full();
        break;
      }
      from.receiver.advance();
    }
    left = budget;
  } while (++ring != end);
  // Done also when the known rings are busy: a message in a new ring may be what ends that, or makes room.
  if (rings_.has_news()) [[unlikely]]
    rings_.look_for_rings();
  return moved;
}

// Polls also the rings that it finds: a thread about to sleep must not leave a message in one of them.
template <class Sink>
[[gnu::noinline, gnu::cold]] unsigned shm_endpoint<Sink>::poll_new(Sink& sink, unsigned budget) noexcept {
  rings_.look_for_rings();
  const std::vector<incoming*>& rings = rings_.polled();
  return rings.empty() ? 0 : poll_from(rings.data(), sink, budget, budget, 0);
}

// False: the message needs `deliver`.
template <class Sink>
[[gnu::always_inline]] inline bool shm_endpoint<Sink>::fast_deliver(const incoming& from, cell_info info, Sink& sink,
                                                                    bool& consumed) noexcept {
  if constexpr (has_fast_take<Sink>) {
    net::header header;
    const std::byte* const payload = from.receiver.read(info, header);
    return sink.fast_take(from.rank, header, payload, info.bytes(), consumed);
  } else {
    return false;
  }
}

template <class Sink>
[[gnu::noinline]] bool shm_endpoint<Sink>::deliver(incoming& from, cell_info info, Sink& sink) noexcept {
  net::header header;
  const std::byte* const payload = from.receiver.read(info, header);
  return sink.on_message({from.rank, header, payload, info.bytes(), nullptr});
}

// Takes a cell that carries a packet, or is invalid.
template <class Sink>
[[gnu::noinline]] bool shm_endpoint<Sink>::deliver_packet(incoming& from, cell_info info, Sink& sink) noexcept {
  peer& source = *from.source;
  arrival message{from.rank, {}, nullptr, 0, nullptr};
  packet_reference reference;
  std::memcpy(&reference, from.receiver.read(info, message.header), sizeof reference);
  const shape& agreed = rings_.owner().where().shape;
  if (!info.carries_packet() || info.bytes() != sizeof reference || reference.index >= agreed.packet_count ||
      reference.bytes > agreed.packet_bytes) {
    rings_.owner().count_refused();
    return true;
  }
  std::byte* foreign = source.packet(reference.index);
  // It is copied after the search for its receive.
  __builtin_prefetch(foreign);
  message.bytes = reference.bytes;
  packet_store& packets = rings_.owner().packets();
  std::uint32_t own = packet_store::none;
  // If records that the program keeps have used up the quota of the peer's packets, delivery copies. If there is no
  // packet to copy into, it exceeds the quota: both sides may have all their packets under way to each other.
  if (source.held() >= rings_.owner().foreign_packets_max()) own = packets.try_get();
  if (own == packet_store::none) {
    message.payload = foreign;
    message.owner = &source;
    source.count_taken();
    bool is_taken = false;
    bool consumed = false;
    if constexpr (has_fast_take_packet<Sink>) is_taken = sink.fast_take_packet(message, consumed);
    if (!is_taken) consumed = sink.on_message(message);
    if (!consumed) [[unlikely]]
      source.uncount_taken();
    return consumed;
  }
  std::memcpy(packets.data(own), foreign, reference.bytes);
  message.payload = packets.data(own);
  message.owner = &packets.owner();
  packets.count_lent(1);
  if (!sink.on_message(message)) {
    packets.count_lent(-1);
    packets.put(own);
    return false;
  }
  source.count_taken();
  source.release(foreign, reference.bytes);
  return true;
}

template <class Sink>
std::unique_ptr<endpoint<Sink>> shm_transport::open(std::uint32_t index, bool shared, std::uint32_t cells) {
  return std::make_unique<shm_endpoint<Sink>>(*this, begin(index, cells), shared);
}

}  // namespace weft::net::shm
