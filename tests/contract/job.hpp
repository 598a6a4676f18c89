// Two endpoints of a transport that reach each other, with packet pools that notice what is lost or given back twice.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "base/config.hpp"
#include "boot/bootstrap.hpp"
#include "net/transports.hpp"

namespace weft::contract {

inline constexpr std::uint32_t packet_count = 16;
inline constexpr std::uint32_t packet_bytes = 512;
inline constexpr std::uint32_t ring_cells = 8;
inline constexpr std::uint32_t devices_max = 4;

[[nodiscard]] inline base::settings small_settings() {
  base::settings out;
  out.packet_count = packet_count;
  out.packet_bytes = packet_bytes;
  out.ring_cells = ring_cells;
  out.devices_max = devices_max;
  out.foreign_packets_max = packet_count;
  out.boot_timeout_s = 30;
  return out;
}

/// A pool in which each packet is in exactly one place.
class packet_pool final : public net::packet_store, private detail::payload_owner {
 public:
  explicit packet_pool(net::transport& lender) : lender_{lender} {
    memory_ = lender.packet_memory();
    if (memory_ == nullptr) {
      own_.resize(net::packet_stride(packet_bytes) * packet_count);
      memory_ = own_.data();
    }
    free_.fill(true);
    lender.use_packets(*this);
  }

  [[nodiscard]] std::uint32_t try_get() noexcept override {
    lender_.reclaim_packets();
    const std::scoped_lock lock{mutex_};
    for (std::uint32_t index = 0; index < packet_count; ++index) {
      if (std::exchange(free_[index], false)) return index;
    }
    return none;
  }

  void put(std::uint32_t index) noexcept override {
    const std::scoped_lock lock{mutex_};
    EXPECT_FALSE(free_[index]) << "packet " << index << " came back twice";
    free_[index] = true;
  }

  [[nodiscard]] std::byte* data(std::uint32_t index) const noexcept override {
    return memory_ + index * net::packet_stride(packet_bytes);
  }
  [[nodiscard]] detail::payload_owner& owner() noexcept override { return *this; }

  /// Packets that are here, those that peers have returned included.
  [[nodiscard]] std::size_t free_count() {
    lender_.reclaim_packets();
    const std::scoped_lock lock{mutex_};
    return static_cast<std::size_t>(std::count(free_.begin(), free_.end(), true));
  }

 private:
  void release(void* payload, std::size_t /*bytes*/) noexcept override {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(payload) - memory_);
    put(static_cast<std::uint32_t>(offset / net::packet_stride(packet_bytes)));
  }

  net::transport& lender_;
  std::byte* memory_;
  std::vector<std::byte> own_;
  std::mutex mutex_;
  std::array<bool, packet_count> free_{};
};

/// A message as it arrived; its packet is given back with it.
struct received {
  explicit received(const net::arrival& message)
      : source{message.source},
        header{message.header},
        bytes{message.payload, message.payload + message.bytes},
        place{message.payload},
        owner{message.owner} {}
  received(received&& other) noexcept
      : source{other.source},
        header{other.header},
        bytes{std::move(other.bytes)},
        place{other.place},
        owner{std::exchange(other.owner, nullptr)} {}
  received& operator=(received&&) = delete;
  ~received() {
    if (owner != nullptr) owner->release(const_cast<std::byte*>(place), bytes.size());
  }

  std::uint32_t source;
  net::header header;
  std::vector<std::byte> bytes;
  const std::byte* place;
  detail::payload_owner* owner;
};

/// Takes what arrives while `room` lasts, and counts what it had to refuse.
class sink {
 public:
  [[nodiscard]] bool on_message(net::arrival message) noexcept {
    if (room == 0) {
      ++refused;
      return false;
    }
    --room;
    messages.emplace_back(message);
    return true;
  }

  std::size_t room = ~std::size_t{0};
  std::size_t refused = 0;
  std::deque<received> messages;
};

using endpoint = net::endpoint<sink>;

/// How a side makes its transport: `Kind` is a transport, or one under simulation.
template <class Kind>
struct made_of {
  using type = Kind;
  [[nodiscard]] static std::unique_ptr<type> make(const net::transport_context& context) {
    return std::make_unique<type>(context);
  }
};

template <class Wrapped>
struct simulated {};

template <class Wrapped>
struct made_of<simulated<Wrapped>> {
  using type = net::sim::sim_transport;
  [[nodiscard]] static std::unique_ptr<type> make(const net::transport_context& context) {
    return std::make_unique<type>(context, std::make_unique<Wrapped>(context));
  }
};

/// A transport with its pool.
template <class Kind>
struct side {
  using transport_type = typename made_of<Kind>::type;

  side(boot::bootstrap& bootstrap, const base::settings& settings, const std::string& name)
      : owned{made_of<Kind>::make(net::transport_context{bootstrap, settings, name})},
        transport{*owned},
        packets{transport} {}

  [[nodiscard]] std::unique_ptr<endpoint> open(std::uint32_t slot, bool shared = true) {
    return net::open_endpoint<sink>(transport, slot, shared);
  }

  std::unique_ptr<transport_type> owned;
  transport_type& transport;
  packet_pool packets;
};

/// A rank that sends to itself.
template <class Kind>
class lone_job {
 public:
  explicit lone_job(const base::settings& settings = small_settings())
      : settings_{settings}, boots_{boot::make_local_job(1)}, only_{*boots_[0], settings_, "contract"} {}

  [[nodiscard]] side<Kind>& from() noexcept { return only_; }
  [[nodiscard]] side<Kind>& to() noexcept { return only_; }
  static constexpr std::uint32_t sender = 0, target = 0;

 private:
  base::settings settings_;
  std::vector<std::shared_ptr<boot::bootstrap>> boots_;
  side<Kind> only_;
};

/// Two ranks, threads of this process while they meet; shared memory is one mapping of each segment.
template <class Kind>
class pair_job {
 public:
  explicit pair_job(const base::settings& settings = small_settings())
      : settings_{settings}, boots_{boot::make_local_job(2)} {
    // Both to their end, whatever one of them throws: the test then says what that was.
    auto other = std::async(std::launch::async, [&] { return make(1); });
    sides_[0] = make(0);
    sides_[1] = other.get();
  }

  [[nodiscard]] side<Kind>& from() noexcept { return *sides_[0]; }
  [[nodiscard]] side<Kind>& to() noexcept { return *sides_[1]; }
  static constexpr std::uint32_t sender = 0, target = 1;

 private:
  [[nodiscard]] std::unique_ptr<side<Kind>> make(std::uint32_t rank) {
    return std::make_unique<side<Kind>>(*boots_[rank], settings_, "contract");
  }

  base::settings settings_;
  std::vector<std::shared_ptr<boot::bootstrap>> boots_;
  std::array<std::unique_ptr<side<Kind>>, 2> sides_;
};

using self_job = lone_job<net::self_transport>;
using shm_job = pair_job<net::shm::shm_transport>;
/// Provider shm of libfabric names its file after its process, and whoever is killed leaves it: a later process with
/// that number takes itself for its owner, and finds it busy. So before its first use nothing may be there.
inline void remove_what_a_namesake_left() {
  static const bool once = [] {
    const std::string mine = std::to_string(::getpid()) + ":";
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator{"/dev/shm", ignored}) {
      if (file.path().filename().string().starts_with(mine)) std::filesystem::remove(file.path(), ignored);
    }
    return true;
  }();
  static_cast<void>(once);
}

/// Over the libfabric provider of this name; `absent` says why not, where this machine has none.
template <class Name, class Kind = net::ofi::ofi_transport>
class ofi_job : public pair_job<Kind> {
 public:
  ofi_job() : pair_job<Kind>{settings()} {}
  [[nodiscard]] static std::string absent() {
    const auto found = net::ofi::ofi_transport::found_here();
    if (std::find(found.begin(), found.end(), Name::value) != found.end()) return {};
    return "libfabric has no provider " + std::string{Name::value} + " here";
  }

 private:
  [[nodiscard]] static base::settings settings() {
    remove_what_a_namesake_left();
    base::settings out = small_settings();
    out.ofi_provider = Name::value;
    return out;
  }
};

struct name_net {
  static constexpr std::string_view value = "net";
};
struct name_tcp {
  static constexpr std::string_view value = "tcp";
};
struct name_tcp_rxm {
  static constexpr std::string_view value = "tcp;ofi_rxm";
};
struct name_udp_rxd {
  static constexpr std::string_view value = "udp;ofi_rxd";
};
struct name_shm {
  static constexpr std::string_view value = "shm";
};

using sim_self_job = lone_job<simulated<net::self_transport>>;
using sim_shm_job = pair_job<simulated<net::shm::shm_transport>>;
using sim_ofi_job = ofi_job<name_net, simulated<net::ofi::ofi_transport>>;

/// The bytes of message `seed`.
[[nodiscard]] inline std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    out[i] = static_cast<std::byte>((seed * 0x9e37'79b9'7f4a'7c15 + i * 0x2545'f491'4f6c'dd1d) >> 56);
  }
  return out;
}

}  // namespace weft::contract
