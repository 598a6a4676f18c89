// SPDX-License-Identifier: BSD-3-Clause
#include "net/ofi/ofi_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "net/ofi/choice.hpp"
#include "net/packet_stride.hpp"
#include "weft/error.hpp"

namespace weft::net::ofi {
namespace {

constexpr std::uint32_t devices_most = no_device;
constexpr std::size_t buffer_space = std::size_t{8} << 20;  // buffers of one direction of a fabric endpoint
constexpr std::uint32_t buffers_least = 8;
constexpr std::uint32_t buffers_most = 256;
constexpr auto drain_time = std::chrono::seconds{2};

// If rank 0 has found no provider, it publishes this and the reason instead of a provider's name.
constexpr char problem_mark = '!';
constexpr std::size_t problem_bytes_max = 2000;

constexpr std::size_t packet_bytes_digits = 8;  // a rank's packet size, hexadecimal

endpoint_buffers buffers_of(const base::settings& settings) {
  endpoint_buffers out;
  // Payloads may be read up to a multiple of 8 bytes.
  out.message_bytes = sizeof(wire_header) + (std::max<std::size_t>(settings.packet_bytes, 40) + 7) / 8 * 8;
  const auto fit = static_cast<std::uint32_t>(buffer_space / packet_stride(out.message_bytes));
  out.sends = std::clamp(std::min(settings.ring_cells, fit), buffers_least, buffers_most);
  out.receives = out.sends;
  return out;
}

}  // namespace

ofi_transport::ofi_transport(const transport_context& context)
    : self_{context.boot.rank()},
      ranks_{context.boot.size()},
      devices_max_{std::min(context.settings.devices_max, devices_most)},
      packet_bytes_{static_cast<std::uint32_t>(context.settings.packet_bytes)},
      buffers_{buffers_of(context.settings)},
      info_{agree_on_provider(context)},
      name_{fmt::format("ofi ({})", name_of(*info_))},
      fabric_{open_fabric(*info_)},
      cut_off_(ranks_),
      slots_(devices_max_) {
  buffers_.sends = std::min(buffers_.sends, static_cast<std::uint32_t>(info_->tx_attr->size));
  buffers_.receives = std::min(buffers_.receives, static_cast<std::uint32_t>(info_->rx_attr->size));
  // ofi_rxd fails when its socket has no room for all the datagrams of many messages.
  if (name_of(*info_).find("ofi_rxd") != std::string_view::npos)
    buffers_.sends = std::min(buffers_.sends, buffers_least);
  slots_[0].sender = std::make_unique<fabric_channel>(*info_, *fabric_, buffers_);
  learn_addresses(context);
}

// Peers that go on may still need messages that are being sent: they get some time to be sent.
ofi_transport::~ofi_transport() {
  const auto until = base::clock::now() + drain_time;
  const auto is_sending = [](const device_slot& each) { return each.sender && each.sender->is_sending(); };
  while (std::any_of(slots_.begin(), slots_.end(), is_sending) && base::clock::now() < until) {
    for (const device_slot& each : slots_) {
      if (!each.sender) continue;
      each.sender->losses().clear();  // no caller is left to report them to
      each.sender->poll_completions();
    }
    std::this_thread::yield();
  }
}

std::vector<std::string> ofi_transport::found_here() { return provider_names(find_providers().get()); }

// Rank 0 chooses: all ranks must use one provider.
owned_info ofi_transport::agree_on_provider(const transport_context& context) {
  const std::string key = context.name + ".ofi.choice";
  const std::string& wanted = context.settings.ofi_provider;
  owned_info out;
  std::string said(sizeof job_, '\0');
  std::string problem;
  if (self_ == 0) {
    try {
      out = wanted.empty() ? fastest_provider() : provider_named(wanted);
      job_ = base::random_word();
      std::memcpy(said.data(), &job_, sizeof job_);
      said += name_of(*out);
      base::log_info("libfabric: the provider is {}{}", name_of(*out), wanted.empty() ? ", the fastest" : "");
    } catch (const error& why) {
      problem = why.what();
      said += problem_mark + problem.substr(0, problem_bytes_max);  // each rank then ends with the cause
    }
    context.boot.put(key, said);
  }
  context.boot.fence();
  if (self_ == 0) {
    if (!problem.empty()) throw error{errc::transport_failed, problem};
    return out;
  }
  said = context.boot.get(0, key);
  const std::string chosen = said.size() > sizeof job_ ? said.substr(sizeof job_) : std::string{problem_mark};
  if (chosen.front() == problem_mark) {
    throw error{errc::transport_failed, fmt::format("rank 0 has found no provider to use: {}", chosen.substr(1))};
  }
  std::memcpy(&job_, said.data(), sizeof job_);
  try {
    return provider_named(chosen);
  } catch (const error& why) {
    throw error{errc::transport_failed, fmt::format("rank 0 has chosen provider '{}': {}", chosen, why.what())};
  }
}

// Each rank publishes its machine, the size of its packets and its address. A loopback address can be reached from its
// own machine only.
void ofi_transport::learn_addresses(const transport_context& context) {
  const std::string key = context.name + ".ofi.address";
  base::machine_mark::name_type machine = mark_.name();
  const std::string here{reinterpret_cast<const char*>(machine.data()), machine.size()};
  const std::string own = receiver().address();
  context.boot.put(key, fmt::format("{}{:08x}{}", here, packet_bytes_, own));
  context.boot.fence();
  addresses_.resize(ranks_);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (rank == self_) continue;
    const std::string theirs = context.boot.get(rank, key);
    std::copy_n(theirs.begin(), std::min(theirs.size(), machine.size()), machine.begin());
    const std::string their_bytes = theirs.substr(std::min(theirs.size(), here.size()), packet_bytes_digits);
    addresses_[rank] = theirs.substr(std::min(theirs.size(), here.size() + packet_bytes_digits));
    if (their_bytes != fmt::format("{:08x}", packet_bytes_)) refuse_packets(rank, their_bytes);
    const bool is_own_local = is_loopback(*info_, own), is_their_local = is_loopback(*info_, addresses_[rank]);
    if (is_own_local != is_their_local) refuse_loopback(is_own_local ? self_ : rank, is_own_local ? rank : self_, true);
    if (is_own_local && !base::is_on_this_machine(machine))
      refuse_loopback(std::max(self_, rank), std::min(self_, rank), false);
  }
  receiver().know(addresses_);
}

void ofi_transport::refuse_packets(std::uint32_t other, const std::string& their_bytes) const {
  throw error{errc::transport_failed,
              fmt::format("libfabric: rank {} has WEFT_PACKET_BYTES={} and rank {} {}: give all ranks the same", self_,
                          packet_bytes_, other, std::strtoul(their_bytes.c_str(), nullptr, 16))};
}

void ofi_transport::refuse_loopback(std::uint32_t local, std::uint32_t other, bool is_reachable) const {
  throw error{
      errc::transport_failed,
      fmt::format("libfabric: rank {} can only be reached from its own machine, and rank {} is {}, through "
                  "provider '{}'; if both are on one machine, start them in one network namespace (containers: "
                  "--network=host); if not, is the network of rank {}'s machine up, and an address set? FI_NET_IFACE, "
                  "FI_TCP_IFACE and FI_UDP_IFACE choose an interface",
                  local, other,
                  is_reachable ? "reached from others too" : "on another one, or in a network namespace of its own",
                  name_of(*info_), local)};
}

void ofi_transport::begin(std::uint32_t index) {
  device_slot& slot = slots_[index];
  if (!slot.sender) {
    slot.sender =
        std::make_unique<fabric_channel>(*info_, *fabric_, endpoint_buffers{buffers_.sends, 0, buffers_.message_bytes});
    slot.sender->know(addresses_);
  }
  if (!slot.arrivals) slot.arrivals = std::make_unique<inbound>(ranks_, buffers_.receives, 2 * buffers_.sends);
}

void ofi_transport::go_live(std::uint32_t index, bool only_named) noexcept {
  device_slot& slot = slots_[index];
  // [ofi.made] release -> [ofi.find], [ofi.find_wished], [ofi.count]: the slot has its fabric endpoint
  // and its `inbound`.
  slot.is_made.store(true, std::memory_order_release);
  // [ofi.open] relaxed: a preference for messages that name no device; `is_made` says that the slot can be used.
  if (!only_named && !slot.is_live.exchange(true, std::memory_order_relaxed)) {
    live_count_.fetch_add(1, std::memory_order_relaxed);  // [hint] where messages go that name no device
  }
}

void ofi_transport::close(std::uint32_t index) noexcept {
  // [ofi.close] relaxed: messages that still come are taken by the device that adopts the slot.
  if (slots_[index].is_live.exchange(false, std::memory_order_relaxed)) {
    live_count_.fetch_sub(1, std::memory_order_relaxed);  // [hint] where messages go that name no device
  }
  if (slots_[index].posts.exchange(false, std::memory_order_relaxed)) {  // [hint] either endpoint will do
    posters_.fetch_sub(1, std::memory_order_relaxed);                    // [hint]
  }
}

void ofi_transport::note_poster(std::uint32_t index) noexcept {
  if (!slots_[index].posts.exchange(true, std::memory_order_relaxed)) {  // [hint] either endpoint will do
    posters_.fetch_add(1, std::memory_order_relaxed);                    // [hint]
  }
}

post_result ofi_transport::post(std::uint32_t slot, std::uint32_t peer, std::uint32_t device, const net::header& header,
                                const void* payload, std::uint32_t bytes, bool is_packet) noexcept {
  // If only one device besides device 0 posts, it uses the fabric endpoint of device 0: a peer's answer then arrives on
  // its connection, which saves the kernel an acknowledgement for each message. Several devices use one each.
  if (slot != 0 && !slots_[slot].posts.load(std::memory_order_relaxed))
    note_poster(slot);  // [hint] either endpoint will do
  fabric_channel& from = posters_.load(std::memory_order_relaxed) == 1 ? receiver() : endpoint_of(slot);  // [hint]
  // [ofi.is_cut_off] relaxed: if one more message is sent, it is lost like the others.
  if (cut_off_[peer].load(std::memory_order_relaxed)) [[unlikely]]
    return post_result::full;
  if (!from.lock.try_enter()) return post_result::busy;
  std::byte* const buffer = from.try_get_buffer();
  bool sent = false;
  if (buffer != nullptr) {
    wire_header out;
    out.job = job_;
    out.tag = header.tag;
    out.source = self_;
    out.id = header.id;
    out.sequence = header.sequence;
    out.bytes = bytes;
    out.kind = static_cast<std::uint16_t>(header.kind);
    out.is_packet = is_packet;
    out.device = device == any_device ? no_device : static_cast<std::uint8_t>(device % devices_max_);
    out.sender_device = static_cast<std::uint8_t>(slot);
    std::memcpy(buffer, &out, sizeof out);
    if (bytes != 0) std::memcpy(buffer + sizeof out, payload, bytes);
    sent = from.send(peer, sizeof out + bytes, header);
  }
  from.lock.leave();
  return sent ? post_result::ok : post_result::full;
}

void ofi_transport::progress(std::uint32_t index) noexcept {
  fabric_channel& own = endpoint_of(index);
  inbound& mine = inbound_of(index);
  const auto take_losses = [&](fabric_channel& from) {
    mine.lost.insert(mine.lost.end(), from.losses().begin(), from.losses().end());
    from.losses().clear();
  };
  // Messages arrive at the fabric endpoint of device 0; another device's endpoint needs progress only for its sends.
  if (index != 0 && own.lock.try_enter()) {
    if (own.is_due()) own.poll_completions();
    take_losses(own);
    own.lock.leave();
  }
  fabric_channel& common = receiver();
  if (!common.lock.try_enter()) return;
  common.poll_completions();
  sort();
  take_losses(common);
  mine.held.insert(mine.held.end(), mine.sorted.begin(), mine.sorted.end());
  mine.sorted.clear();
  common.lock.leave();
}

void ofi_transport::cut_off(std::uint32_t peer) noexcept {
  // [ofi.cut_off] relaxed: as [ofi.is_cut_off] says.
  cut_off_[peer].store(true, std::memory_order_relaxed);
}

void ofi_transport::give_back(inbound& from) noexcept {
  fabric_channel& common = receiver();
  if (!common.lock.try_enter()) return;
  for (const std::uint32_t buffer : from.consumed) common.give_back(buffer);
  from.consumed.clear();
  common.post_receives();
  common.lock.leave();
}

// Gives each arrived message to the slot that it is for.
void ofi_transport::sort() noexcept {
  fabric_channel& common = receiver();
  for (const fabric_channel::received& each : common.arrived()) {
    if (const auto header = read_header({common.received_at(each.buffer), each.bytes}, bounds())) {
      inbound_of(slot_for(*header)).sorted.push_back(each.buffer);
    } else {
      refused_.fetch_add(1, std::memory_order_relaxed);  // [stat]
      common.give_back(each.buffer);
    }
  }
  common.arrived().clear();
}

std::uint32_t ofi_transport::slot_for(const wire_header& header) const noexcept {
  if (header.device != no_device) {
    const std::uint32_t named = header.device % devices_max_;
    // [ofi.find] acquire <- [ofi.made]: the slot's `inbound`. If its device is destroyed, the device that adopted the
    // slot looks there.
    return slots_[named].is_made.load(std::memory_order_acquire) ? named : 0;
  }
  const std::uint32_t count = std::max(live_count_.load(std::memory_order_relaxed), 1U);  // [hint] any slot will do
  const std::uint32_t wished = header.sender_device % count;
  // [ofi.wish] relaxed: whether it has its `inbound` is checked below.
  if (!slots_[wished].is_live.load(std::memory_order_relaxed)) return 0;
  // [ofi.find_wished] acquire <- [ofi.made]: the slot's `inbound`.
  return slots_[wished].is_made.load(std::memory_order_acquire) ? wished : 0;
}

transport_counts ofi_transport::counted() const noexcept {
  transport_counts out{.refused = refused_.load(std::memory_order_relaxed)};  // [stat]
  if (const fabric_channel* const receiving = slots_[0].sender.get(); receiving != nullptr) {
    out.refused += receiving->messages_refused();
    out.payloads_out = receiving->lent();
  }
  for (const device_slot& each : slots_) {
    // [ofi.count] acquire <- [ofi.made]: the slot's fabric endpoint.
    if (!each.is_made.load(std::memory_order_acquire)) continue;
    out.traffic.messages += each.sender->messages_sent();
    out.traffic.bytes += each.sender->bytes_sent();
  }
  return out;
}

}  // namespace weft::net::ofi
