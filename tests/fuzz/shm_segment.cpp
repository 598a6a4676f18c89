// SPDX-License-Identifier: BSD-3-Clause
// A peer that writes anything into the memory that it shares: its cells, its claims, the packets that it returns and
// its own header. Everything is delivered within bounds or refused, and no packet is lost.
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/config.hpp"
#include "boot/bootstrap.hpp"
#include "fuzz/input.hpp"
#include "net/packet_stride.hpp"
#include "net/shm/shm_endpoint.hpp"
#include "weft/error.hpp"

namespace {

using namespace weft;
using fuzz::require;
using net::shm::shm_transport;

constexpr std::uint32_t packet_count = 8, packet_bytes = 512, ring_cells = 8, wild_device = 1;

class pool final : public net::packet_store, private detail::payload_owner {
 public:
  explicit pool(std::byte* memory) noexcept : memory_{memory} { home_.fill(true); }
  std::uint32_t try_get() noexcept override {
    for (std::uint32_t index = 0; index < packet_count; ++index) {
      if (std::exchange(home_[index], false)) return index;
    }
    return none;
  }
  void put(std::uint32_t index) noexcept override {
    require(index < packet_count && !home_[index], "a packet came back twice");
    home_[index] = true;
  }
  std::byte* data(std::uint32_t index) const noexcept override {
    return memory_ + index * net::packet_stride(packet_bytes);
  }
  detail::payload_owner& owner() noexcept override { return *this; }
  void count_lent(std::int32_t) noexcept override {}
  [[nodiscard]] std::ptrdiff_t home() const noexcept { return std::count(home_.begin(), home_.end(), true); }

 private:
  void release(void* payload, std::size_t) noexcept override {
    put(static_cast<std::uint32_t>(static_cast<std::size_t>(static_cast<std::byte*>(payload) - memory_) /
                                   net::packet_stride(packet_bytes)));
  }
  std::byte* memory_;
  std::array<bool, packet_count> home_;
};

struct sink {
  bool on_message(net::arrival message) noexcept {
    if (refuse) return false;
    require(message.source == 0, "another source");
    require(message.bytes <= (message.owner == nullptr ? detail::inline_bytes_max : packet_bytes), "too long");
    for (std::uint32_t i = 0; i < message.bytes; ++i) sum = sum + std::to_integer<unsigned>(message.payload[i]);
    if (message.owner != nullptr) message.owner->release(const_cast<std::byte*>(message.payload), message.bytes);
    return true;
  }
  bool refuse = false;
  volatile unsigned sum = 0;
};

// Rank 0 is the wild one, rank 1 the victim; threads of one process while they meet.
struct job {
  job() : boots{boot::make_local_job(2)} {
    settings.packet_count = packet_count;
    settings.packet_bytes = packet_bytes;
    settings.ring_cells = ring_cells;
    settings.devices_max = 2;
    settings.foreign_packets_max = 3;
    settings.shared_bytes = std::size_t{4} << 20;
    std::thread other{[&] { ranks[1] = make(1); }};
    ranks[0] = make(0);
    other.join();
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      pools[rank] = std::make_unique<pool>(ranks[rank]->packet_memory());
      ranks[rank]->use_packets(*pools[rank]);
      ends[rank] = ranks[rank]->open<sink>(0, true);
      ranks[rank]->go_live(0, false);
    }
  }
  std::unique_ptr<shm_transport> make(std::uint32_t rank) {
    return std::make_unique<shm_transport>(net::transport_context{*boots[rank], settings, "fuzz"});
  }
  [[nodiscard]] std::byte* segment_of(std::uint32_t rank) {
    return ranks[rank]->packet_memory() - ranks[rank]->where().packets;
  }

  base::settings settings;
  std::vector<std::shared_ptr<boot::bootstrap>> boots;
  std::array<std::unique_ptr<shm_transport>, 2> ranks;
  std::array<std::unique_ptr<pool>, 2> pools;
  std::array<std::unique_ptr<net::endpoint<sink>>, 2> ends;
};

// A cell of the ring from rank 0's wild device to the victim's device 0, in order, so that it is read.
void write_cell(job& all, fuzz::input& in, std::uint32_t& position) {
  net::shm::peer& victim = all.ranks[0]->peer_at(1);
  if (position == 0) victim.connect(0, wild_device);
  net::ring_control& control = victim.ring_control_at(0, wild_device);
  net::cell& next = reinterpret_cast<net::cell*>(&control + 1)[position % ring_cells];
  const auto word = in.take<std::uint32_t>();
  next.id_and_order = in.take<std::uint8_t>();
  next.tag = position;
  const auto payload = in.take_bytes(8);
  if (!payload.empty()) std::memcpy(next.payload, payload.data(), payload.size());
  // relaxed: the victim reads it in this thread.
  next.head.store(++position | std::uint64_t{word} << 32, std::memory_order_relaxed);
}

// Any word that the peer may write, except sizes that ranks read only when they meet.
void write_anywhere(job& all, std::uint32_t rank, fuzz::input& in) {
  const net::shm::layout& where = all.ranks[rank]->where();
  const std::size_t offset = in.take<std::uint32_t>() % (where.packets / 8) * 8;
  if (offset < offsetof(net::shm::segment_header, live)) return;
  auto& word = *reinterpret_cast<std::atomic<std::uint64_t>*>(all.segment_of(rank) + offset);
  word.store(in.take<std::uint64_t>(), std::memory_order_relaxed);  // relaxed: read in this thread
}

void do_one(job& all, fuzz::input& in, std::uint32_t& position, sink& arrived) {
  switch (in.take<std::uint8_t>() % 8) {
    case 0:
    case 1: write_cell(all, in, position); break;
    case 2:
      arrived.refuse = in.take<std::uint8_t>() % 4 == 0;
      static_cast<void>(all.ends[1]->poll(arrived, 16));
      arrived.refuse = false;
      break;
    case 3: write_anywhere(all, 1, in); break;
    case 4: write_anywhere(all, 0, in); break;  // then it is rank 0 that has to stand the values it finds
    case 5: {
      const std::uint64_t word = in.take<std::uint64_t>();
      const std::uint32_t device = in.take<std::uint8_t>();
      static_cast<void>(all.ends[0]->try_send_inline(1, device == 0 ? net::any_device : device, {.kind = 1}, &word, 8));
      break;
    }
    case 6: {
      const std::uint32_t packet = all.pools[0]->try_get();
      if (packet == net::packet_store::none) break;
      if (all.ends[0]->try_send(1, net::any_device, {.kind = 1}, packet,
                                in.take<std::uint16_t>() % (packet_bytes + 1)) != net::post_result::ok) {
        all.pools[0]->put(packet);
      }
      break;
    }
    default:
      for (auto& each : all.ranks) static_cast<void>(each->reclaim_packets());
      break;
  }
}

// A header that is read when ranks meet: it fits the shape on which all have agreed, or the peer is not attached.
void meet_with_header(job& all, fuzz::input& in) {
  std::vector<std::byte> page(net::shm::page_bytes);
  std::memcpy(page.data(), all.segment_of(0), offsetof(net::shm::segment_header, live));
  const std::size_t offset = in.take<std::uint8_t>() % (offsetof(net::shm::segment_header, live) - 8);
  const auto bytes = in.take_bytes(8);
  if (!bytes.empty()) std::memcpy(page.data() + offset, bytes.data(), bytes.size());
  net::shm::peer met{1, 0, all.ranks[1]->where()};
  const auto& seen = *reinterpret_cast<const net::shm::segment_header*>(page.data());
  const bool fits =
      seen.magic == net::shm::segment_magic && seen.rank == 0 && seen.shape == all.ranks[1]->where().shape;
  try {
    met.attach(page.data(), net::shm::segment{}, base::descriptor{}, true, 0);
    require(fits, "a header was believed");
  } catch (const error&) {
    require(!fits && !met.is_attached(), "a header was not believed");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in{data, size};
  job all;
  meet_with_header(all, in);
  sink arrived;
  std::uint32_t position = 0;
  while (!in.is_empty()) do_one(all, in, position, arrived);
  for (int i = 0; i < 8; ++i) static_cast<void>(all.ends[1]->poll(arrived, 16));
  require(all.pools[1]->home() == packet_count, "the victim has lost packets of its own");
  return 0;
}
