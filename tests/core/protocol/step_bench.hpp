// SPDX-License-Identifier: BSD-3-Clause
// A bench on which one step of a protocol is driven at a time: rank 0 is a runtime, rank 1 is a script.
//
// A step needs its runtime's registries (operations, packets, peers), so the bench makes one, of two ranks that are
// threads. In place of the endpoint to rank 1 its device has one that keeps what is sent and answers as the script
// says. The clock stands still.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "core/message/wire.hpp"
#include "core/runtime/runtime_state.hpp"
#include "net/endpoint.hpp"
#include "weft/weft.hpp"

namespace weft::test {

/// A message that the device has sent to the script.
struct sent_message {
  std::uint32_t device;  // of the script's, to which it was sent
  net::header header;
  std::vector<std::byte> bytes;

  [[nodiscard]] core::wire kind() const noexcept { return core::kind_of(header.kind); }
  /// A value of zeros where the message is too short.
  template <class Body>
  [[nodiscard]] Body body() const noexcept {
    Body out{};
    if (bytes.size() >= sizeof out) std::memcpy(&out, bytes.data(), sizeof out);
    return out;
  }
};

class scripted_endpoint final : public net::endpoint<core::message_sink> {
 public:
  explicit scripted_endpoint(core::packet_pool& packets) noexcept : packets_{&packets} {}

  net::post_result try_send_inline(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                   const void* payload, std::uint32_t bytes) noexcept override;
  net::post_result try_send(std::uint32_t peer, std::uint32_t device, const net::header& header, std::uint32_t packet,
                            std::uint32_t bytes) noexcept override;
  unsigned poll(core::message_sink& /*sink*/, unsigned /*budget*/) noexcept override { return 0; }
  [[nodiscard]] bool has_arrivals_from(std::uint32_t /*peer*/) const noexcept override { return false; }
  [[nodiscard]] bool holds_unread() const noexcept override { return false; }
  net::copy_result read_remote(std::uint32_t peer, net::memory_pieces here, net::memory_pieces there) noexcept override;
  net::copy_result write_remote(std::uint32_t peer, net::memory_pieces here,
                                net::memory_pieces there) noexcept override;
  [[nodiscard]] const net::route* route_to(std::uint32_t /*peer*/) const noexcept override { return nullptr; }
  void adopt(std::uint32_t /*slot*/) noexcept override {}
  void release(std::uint32_t /*slot*/) noexcept override {}

  // The script.
  std::deque<sent_message> sent;                        // the oldest first
  unsigned refusals = 0;                                // so many posts are answered `full`
  std::function<void()> meanwhile;                      // called once, while the next post is under way
  net::copy_result of_copies = net::copy_result::done;  // the answer to direct copies
  bool has_vanished = false;                            // posts are refused, and copies find no peer

 private:
  [[nodiscard]] net::post_result keep(std::uint32_t device, const net::header& header, const void* payload,
                                      std::uint32_t bytes) noexcept;
  [[nodiscard]] net::copy_result copy(net::memory_pieces to, net::memory_pieces from) const noexcept;

  core::packet_pool* packets_;
};

class step_bench {
 public:
  static constexpr std::uint32_t peer = 1;

  /// Runs `body` once, on a bench of its own, whose runtime has these options.
  static void run(const std::function<void(step_bench&)>& body, const runtime_options& options = {});

  explicit step_bench(runtime& own);
  ~step_bench();
  step_bench(const step_bench&) = delete;
  step_bench& operator=(const step_bench&) = delete;

  [[nodiscard]] runtime& rt() noexcept { return *runtime_; }
  [[nodiscard]] device& dev() noexcept { return runtime_->default_device(); }
  [[nodiscard]] core::runtime_state& state() noexcept;
  [[nodiscard]] scripted_endpoint& script() noexcept { return script_; }

  /// The oldest message that was sent and not taken, which has to be of this kind.
  [[nodiscard]] sent_message take(core::wire kind);
  /// A message of the script's arrives. **Returns** whether it was consumed.
  bool deliver(const net::header& header, const void* payload, std::uint32_t bytes) noexcept;
  template <class Body>
  bool deliver(core::wire kind, const Body& body, net::header header = {}) noexcept {
    if (header.kind == 0) header.kind = static_cast<std::uint32_t>(kind);
    return deliver(header, &body, sizeof body);
  }
  /// Every operation of the backlog does its next step.
  void step() { dev().progress(); }
  void advance(base::clock::duration by) noexcept { clock_.advance(by); }
  /// Rank 1 dies: it answers nothing more. Returns when the runtime has ended what waits for it.
  void vanish();

 private:
  void replace_endpoint(core::routes::endpoint* endpoint) noexcept;

  runtime* runtime_;
  scripted_endpoint script_;
  core::routes::endpoint* real_;
  base::set_clock clock_;
};

}  // namespace weft::test
