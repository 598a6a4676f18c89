// A device as the library sees it: what posts, polls, and continues long messages.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/backlog.hpp"
#include "core/poll_gate.hpp"
#include "core/wire.hpp"
#include "net/transport.hpp"
#include "weft/device.hpp"

namespace weft::core {

class runtime_state;
struct remote_entry;

class device_state final {
 public:
  using endpoint = net::endpoint<device_state>;

  device_state(runtime_state& runtime, std::uint32_t index, bool shared);
  ~device_state();

  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] bool is_shared() const noexcept { return shared_; }
  [[nodiscard]] poll_gate& gate() noexcept { return gate_; }

  /// What `device::post_am` promises; the arguments have been checked.
  [[nodiscard]] status post_am(std::uint32_t peer, std::uint32_t id, const_buffer_ref bytes, completion& local,
                               const post_am_options& options) {
    if (bytes.bytes() > detail::inline_bytes_max || !options.allow_done || !options.allow_retry) [[unlikely]] {
      return post_am_otherwise(peer, id, bytes, local, options);
    }
    const net::header what{.kind = static_cast<std::uint32_t>(wire::active_message), .id = id, .tag = options.tag};
    const net::post_result result =
        way(peer).try_inject(peer, options.device, what, bytes.address(), static_cast<std::uint32_t>(bytes.bytes()));
    return result == net::post_result::ok ? status::done() : status::retry(shortage_of(result));
  }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return static_cast<std::uint32_t>(ways_.size()); }
  bool progress() noexcept;

  /// A small message of the library's own.
  template <class Body>
  [[nodiscard]] net::post_result inject(std::uint32_t peer, std::uint32_t device, const net::header& what,
                                        const Body& body) noexcept {
    static_assert(sizeof(Body) <= detail::inline_bytes_max);
    return ways_[peer]->try_inject(peer, device, what, &body, sizeof body);
  }

  /// What an arriving message does; answers as transports want it (arrive.cpp).
  [[nodiscard]] bool on_message(net::arrival message) noexcept;
  /// The same for a message that was copied aside before.
  [[nodiscard]] bool on_kept_message(net::arrival message) noexcept;

  /// Serves what arrives for a device that is gone, and finishes what it had under way. Not for the hot path.
  void adopt(device_state& gone);
  /// Stops serving slot `index`, which is about to have a device again.
  void release(std::uint32_t index) noexcept;

 private:
  // Posting (post_am.cpp).
  [[nodiscard]] static shortage shortage_of(net::post_result result) noexcept {
    return result == net::post_result::busy ? shortage::lock : shortage::ring;
  }
  [[nodiscard]] status post_am_otherwise(std::uint32_t peer, std::uint32_t id, const_buffer_ref bytes,
                                         completion& local, const post_am_options& options);
  [[nodiscard]] status try_post(std::uint32_t peer, std::uint32_t id, const_buffer_ref bytes, completion& local,
                                const post_am_options& options) noexcept;
  [[nodiscard]] status post_offer(std::uint32_t peer, const net::header& what, const_buffer_ref bytes,
                                  completion& local, const post_am_options& options) noexcept;
  [[nodiscard]] status post_and_signal(std::uint32_t peer, std::uint32_t id, const_buffer_ref bytes, completion& local,
                                       const post_am_options& options);
  [[nodiscard]] status post_later(std::uint32_t peer, std::uint32_t id, const_buffer_ref bytes, completion& local,
                                  const post_am_options& options);
  [[nodiscard]] net::post_result post_eager(std::uint32_t peer, std::uint32_t device, const net::header& what,
                                            const_buffer_ref bytes, shortage& reason) noexcept;

  // Arrivals (arrive.cpp).
  void open_endpoints();
  [[nodiscard]] bool deliver(remote_entry& to, net::arrival message) noexcept;
  [[nodiscard]] bool deliver_record(remote_entry& to, net::arrival message) noexcept;
  [[nodiscard]] bool on_other_message(net::arrival message) noexcept;
  [[nodiscard]] bool on_active_message(net::arrival message) noexcept;
  [[nodiscard]] bool on_offer(net::arrival message) noexcept;
  template <class Body>
  [[nodiscard]] operation_state* answered(net::arrival message, Body& body) noexcept;
  [[nodiscard]] bool on_finished(net::arrival message) noexcept;
  [[nodiscard]] bool on_copy_request(net::arrival message) noexcept;
  [[nodiscard]] bool on_chunk(net::arrival message) noexcept;
  enum class fate : std::uint8_t { deliver, kept, no_room, unwanted };
  struct target {
    fate what;
    remote_entry* entry;
  };
  // What is to become of `message`, by the id that it names. Kept: until somebody registers the id.
  [[nodiscard]] target target_of(net::arrival message) noexcept;

  // Long messages (long_message.cpp). True: done with the operation, or somebody else continues it.
  [[nodiscard]] bool advance(operation_state& operation) noexcept;
  [[nodiscard]] bool post_again(operation_state& operation) noexcept;
  [[nodiscard]] bool stream(operation_state& operation) noexcept;
  [[nodiscard]] bool request_copy(operation_state& operation) noexcept;
  [[nodiscard]] bool fetch(operation_state& operation) noexcept;
  [[nodiscard]] bool announce(operation_state& operation) noexcept;
  [[nodiscard]] bool signal(operation_state& operation) noexcept;
  unsigned advance_backlog() noexcept;
  bool poll_others(unsigned moved) noexcept;
  void take_up(operation_state& operation, step next) noexcept;

  [[nodiscard]] endpoint& way(std::uint32_t peer) noexcept { return *ways_[peer]; }

  runtime_state* runtime_;
  std::uint32_t index_;
  bool shared_;
  std::vector<std::unique_ptr<endpoint>> endpoints_;  // in the order in which they are polled
  std::vector<endpoint*> ways_;                       // for each rank
  poll_gate gate_;
  // Inside the gate.
  unsigned quiet_calls_ = 0;  // in a row
  endpoint* busy_ = nullptr;  // the one that moved something last
  unsigned skipped_ = 0;      // polls since all endpoints had their turn
  bool redelivering_ = false;
  backlog backlog_;
};

}  // namespace weft::core
