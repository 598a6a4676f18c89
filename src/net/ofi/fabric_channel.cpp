// SPDX-License-Identifier: BSD-3-Clause
#include "net/ofi/fabric_channel.hpp"
#include "net/packet_stride.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "base/assertion.hpp"
#include "base/outside_order.hpp"
#include "weft/detail/atomics.hpp"
#include "weft/error.hpp"

namespace weft::net::ofi {
namespace {

void count(std::atomic<std::uint64_t>& counter, std::uint64_t more) noexcept {
  // [stat] one writer at a time, the thread that holds the lock
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

void fabric_channel::freer::operator()(std::byte* memory) const noexcept { std::free(memory); }

fabric_channel::fabric_channel(const fi_info& info, fid_fabric& fabric, const endpoint_buffers& buffers)
    : sends_{buffers.sends},
      message_bytes_{buffers.message_bytes},
      stride_{packet_stride(buffers.message_bytes)},
      operations_(buffers.sends + buffers.receives),
      released_((buffers.receives + 63) / 64) {
  if (buffers.message_bytes > info.ep_attr->max_msg_size) {
    throw error{errc::transport_failed,
                fmt::format("libfabric: provider '{}' sends messages of {} bytes at most, {} are needed; lower "
                            "WEFT_PACKET_BYTES, or let WEFT_OFI_PROVIDER choose another provider",
                            name_of(info), info.ep_attr->max_msg_size, buffers.message_bytes)};
  }
  for (std::uint32_t i = 0; i < operations_.size(); ++i) operations_[i].index = i;
  free_.reserve(sends_);
  for (std::uint32_t i = sends_; i-- > 0;) free_.push_back(i);
  unposted_.reserve(buffers.receives);
  for (std::uint32_t i = 0; i < buffers.receives; ++i) unposted_.push_back(i);
  arrived_.reserve(buffers.receives);
  losses_.reserve(sends_);
  make_memory(info, stride_ * operations_.size());
  open_objects(info, fabric, buffers.receives);
  post_receives();
}

fabric_channel::~fabric_channel() {
  // The endpoint is closed first, so that the provider writes to nothing that is destroyed after it.
  endpoint_.reset();
}

void fabric_channel::make_memory(const fi_info& info, std::size_t bytes) {
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(detail::cache_line_bytes, bytes)));
  if (!memory_) {
    throw error{errc::out_of_memory, fmt::format("libfabric: no memory for {} bytes of buffers for provider '{}'; "
                                                 "lower WEFT_PACKET_BYTES",
                                                 bytes, name_of(info))};
  }
}

void fabric_channel::open_objects(const fi_info& info, fid_fabric& fabric, std::uint32_t receives) {
  // Domain and endpoint are opened with attributes that differ from the found ones in the queue sizes.
  const owned_info own{loaded().dupinfo(&info)};
  if (!own) throw error{errc::out_of_memory, "libfabric: no memory for a copy of a provider's attributes"};
  own->tx_attr->size = std::min<std::size_t>(own->tx_attr->size, std::max(sends_, 16U));
  own->rx_attr->size = std::min<std::size_t>(own->rx_attr->size, std::max(receives, 16U));

  fid_domain* domain = nullptr;
  check(fi_domain(&fabric, own.get(), &domain, nullptr), "opening a domain", info);
  domain_.reset(domain);

  fi_cq_attr queue_attributes{};
  queue_attributes.format = FI_CQ_FORMAT_MSG;
  queue_attributes.size = operations_.size() + 16;
  queue_attributes.wait_obj = FI_WAIT_NONE;
  fid_cq* completions = nullptr;
  check(fi_cq_open(domain, &queue_attributes, &completions, nullptr), "opening a completion queue", info);
  completions_.reset(completions);

  fi_av_attr table_attributes{};
  table_attributes.type = own->domain_attr->av_type;
  fid_av* addresses = nullptr;
  check(fi_av_open(domain, &table_attributes, &addresses, nullptr), "opening an address vector", info);
  addresses_.reset(addresses);

  fid_ep* endpoint = nullptr;
  check(fi_endpoint(domain, own.get(), &endpoint, nullptr), "opening an endpoint", info);
  endpoint_.reset(endpoint);
  check(fi_ep_bind(endpoint, &addresses->fid, 0), "binding the address vector", info);
  check(fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV), "binding the completion queue", info);
  check(fi_enable(endpoint), "enabling the endpoint", info);

  const auto wants = static_cast<std::uint64_t>(own->domain_attr->mr_mode);
  if ((wants & FI_MR_LOCAL) == 0) return;
  fid_mr* registration = nullptr;
  check(fi_mr_reg(domain, memory_.get(), stride_ * operations_.size(), FI_SEND | FI_RECV, 0, 1, 0, &registration,
                  nullptr),
        "registering memory", info);
  registration_.reset(registration);
  if ((wants & FI_MR_ENDPOINT) != 0) {
    check(fi_mr_bind(registration, &endpoint->fid, 0), "binding memory", info);
    check(fi_mr_enable(registration), "enabling memory", info);
  }
  descriptor_ = fi_mr_desc(registration);
}

std::string fabric_channel::address() const {
  std::array<char, 512> bytes{};
  std::size_t size = bytes.size();
  const int status = fi_getname(&endpoint_->fid, bytes.data(), &size);
  if (status != 0 || size > bytes.size()) {
    throw error{errc::transport_failed,
                fmt::format("libfabric: an endpoint does not tell its address: {}", loaded().strerror(-status))};
  }
  return {bytes.data(), size};
}

void fabric_channel::know(std::span<const std::string> addresses) {
  peers_.assign(addresses.size(), FI_ADDR_UNSPEC);
  for (std::size_t rank = 0; rank < addresses.size(); ++rank) {
    if (addresses[rank].empty()) continue;
    if (fi_av_insert(addresses_.get(), addresses[rank].data(), 1, &peers_[rank], 0, nullptr) != 1) {
      throw error{errc::transport_failed, fmt::format("libfabric: the address of rank {} is not taken; do all ranks "
                                                      "run the same libfabric?",
                                                      rank)};
    }
  }
}

std::byte* fabric_channel::try_get_buffer() noexcept {
  if (free_.empty()) poll_completions();
  return free_.empty() ? nullptr : buffer_at(free_.back());
}

bool fabric_channel::send(std::uint32_t peer, std::size_t bytes, const net::header& header) noexcept {
  WEFT_ASSERT_CHECKED(!free_.empty() && peer < peers_.size());
  operation& made = operations_[free_.back()];
  base::goes_out();
  const auto status = fi_send(endpoint_.get(), buffer_at(made.index), bytes, descriptor_, peers_[peer],
                              static_cast<void*>(&made.context));
  if (status == -FI_EAGAIN) {
    poll_completions();
    return false;
  }
  if (status != 0) {
    net::header refused = header;
    refused.note = 0;  // its poster still has the message
    lose(peer, refused, static_cast<int>(-status));
    return false;
  }
  free_.pop_back();
  made.peer = peer;
  made.header = header;
  count(messages_, 1);
  count(bytes_, bytes);
  return true;
}

void fabric_channel::poll_completions() noexcept {
  take_released();
  if (!unposted_.empty()) post_receives();
  std::array<fi_cq_msg_entry, 16> entries;
  // No more completions than operations, so that the loop ends however fast messages come.
  for (std::size_t seen = 0; seen <= operations_.size(); seen += entries.size()) {
    const auto found = fi_cq_read(completions_.get(), entries.data(), entries.size());
    if (found == -FI_EAVAIL) {
      if (losses_.size() == losses_.capacity()) break;
      take_error();
      continue;
    }
    if (found <= 0) break;
    for (std::size_t i = 0; i < static_cast<std::size_t>(found); ++i) done(entries[i].op_context, entries[i].len);
    if (static_cast<std::size_t>(found) < entries.size()) break;
  }
}

void fabric_channel::release(void* payload, std::size_t /*bytes*/) noexcept {
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(payload) - memory_.get());
  const std::size_t buffer = offset / stride_ - sends_;
  WEFT_ASSERT_CHECKED(offset / stride_ >= sends_ && buffer / 64 < released_.size());
  // [ofi.release] release -> [ofi.take_released]: the thread that held the buffer has read it.
  released_[buffer / 64].fetch_or(std::uint64_t{1} << buffer % 64, std::memory_order_release);
  count_lent(-1);
}

void fabric_channel::take_released() noexcept {
  for (std::uint32_t word = 0; word < released_.size(); ++word) {
    // [ofi.look_released] relaxed: a hint, so that the exchange takes the line only if a bit is set.
    if (released_[word].load(std::memory_order_relaxed) == 0) continue;
    // [ofi.take_released] acquire <- [ofi.release]: the buffer may be written again.
    std::uint64_t found = released_[word].exchange(0, std::memory_order_acquire);
    for (; found != 0; found &= found - 1) give_back(word * 64 + static_cast<std::uint32_t>(std::countr_zero(found)));
  }
}

void fabric_channel::done(void* context, std::size_t bytes) noexcept {
  const std::uint32_t index = static_cast<operation*>(context)->index;
  if (index < sends_) {
    free_.push_back(index);
  } else {
    base::came_in();
    arrived_.push_back({index - sends_, bytes});
  }
}

void fabric_channel::lose(std::uint32_t peer, const net::header& header, int cause) noexcept {
  if (losses_.size() < losses_.capacity()) losses_.push_back({peer, header, loaded().strerror(cause)});
}

// A failed send means that its peer is lost. A failed receive got a message that is not ours, as one that is too long.
void fabric_channel::take_error() noexcept {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(completions_.get(), &entry, 0) != 1 || entry.op_context == nullptr) return;
  const std::uint32_t index = static_cast<operation*>(entry.op_context)->index;
  if (index < sends_) {
    lose(operations_[index].peer, operations_[index].header, entry.err);
    free_.push_back(index);
  } else {
    count(refused_, 1);
    give_back(index - sends_);
  }
}

void fabric_channel::post_receives() noexcept {
  while (!unposted_.empty()) {
    operation& next = operations_[sends_ + unposted_.back()];
    if (fi_recv(endpoint_.get(), buffer_at(next.index), message_bytes_, descriptor_, FI_ADDR_UNSPEC,
                static_cast<void*>(&next.context)) != 0) {
      break;  // tried again later
    }
    unposted_.pop_back();
  }
}

}  // namespace weft::net::ofi
