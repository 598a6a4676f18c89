// SPDX-License-Identifier: BSD-3-Clause
// libfabric's endpoint, with the objects that it needs: domain, completion queue, address vector, registered buffers.
//
// A message is copied into a send buffer, which is free again with its completion. It arrives in a receive buffer,
// which is posted again once the message is consumed. If no receive buffer is posted, the provider holds senders back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/try_lock.hpp"
#include "net/ofi/fabric.hpp"
#include "net/transport.hpp"

namespace weft::net::ofi {

struct endpoint_buffers {
  std::uint32_t sends = 0;     // buffers
  std::uint32_t receives = 0;  // 0 for an endpoint that only sends
  std::size_t message_bytes = 0;
};

class fabric_channel final : private detail::payload_owner {
 public:
  /// A message in receive buffer `buffer`.
  struct received {
    std::uint32_t buffer;
    std::size_t bytes;
  };

  /// A message that will never arrive, or could not be sent; in the second case its header has no note.
  struct loss {
    std::uint32_t peer;
    net::header header;
    const char* cause;
  };

  /// **Errors**: transport_failed, out_of_memory.
  fabric_channel(const fi_info& info, fid_fabric& fabric, const endpoint_buffers& buffers);
  ~fabric_channel();

  fabric_channel(const fabric_channel&) = delete;
  fabric_channel& operator=(const fabric_channel&) = delete;

  /// The address at which other endpoints reach it, in the provider's own form.
  [[nodiscard]] std::string address() const;

  /// Sets the addresses of all ranks; ranks with an empty one can't be reached. **Errors**: transport_failed.
  void know(std::span<const std::string> addresses);

  /// The thread that holds it may call the functions that follow; nobody waits for it.
  base::try_lock lock;

  /// A buffer to fill and then to `send`; null if all are under way. If none is free, it looks for completions first.
  [[nodiscard]] std::byte* try_get_buffer() noexcept;
  /// Sends `bytes` bytes of the buffer that `try_get_buffer` answered last, as the message with this header. False: not
  /// now, or never, which `losses` then has; the buffer is free again.
  [[nodiscard]] bool send(std::uint32_t peer, std::size_t bytes, const net::header& header = {}) noexcept;

  /// Reads completions and lets the provider make progress.
  void poll_completions() noexcept;

  /// Messages that have arrived and were not taken out yet.
  [[nodiscard]] std::vector<received>& arrived() noexcept { return arrived_; }
  [[nodiscard]] const std::byte* received_at(std::uint32_t buffer) const noexcept { return buffer_at(sends_ + buffer); }
  /// The message of this buffer is consumed; `post_receives` posts the buffer again.
  void give_back(std::uint32_t buffer) noexcept { unposted_.push_back(buffer); }
  void post_receives() noexcept;

  /// The owner that takes a receive buffer back by an address in it. **Threads**: any may release.
  [[nodiscard]] detail::payload_owner& buffer_owner() noexcept { return *this; }
  void count_lent(std::int32_t change) noexcept {
    // [ofi.lend] relaxed: the buffer itself is handed over by the message, and comes back by [ofi.release].
    lent_.fetch_add(static_cast<std::uint32_t>(change), std::memory_order_relaxed);
  }
  /// Receive buffers that are lent and have not come back.
  // [hint] exact while no thread sends or polls, as when the runtime is destroyed.
  [[nodiscard]] std::uint32_t lent() const noexcept { return lent_.load(std::memory_order_relaxed); }

  /// Lost messages, for the caller to take out: while the list is full, further errors stay in the completion queue.
  [[nodiscard]] std::vector<loss>& losses() noexcept { return losses_; }

  [[nodiscard]] bool is_sending() const noexcept { return free_.size() != sends_; }
  /// Whether an endpoint where nothing arrives needs `poll_completions` in this poll: in every poll while it sends,
  /// else in every 16th, because a provider may report a message as sent that it still keeps, as the socket had no
  /// room.
  [[nodiscard]] bool is_due() noexcept { return is_sending() || ++quiet_polls_ % quiet_polls_max == 0; }

  // Threads: any.
  [[nodiscard]] std::uint64_t messages_sent() const noexcept { return read(messages_); }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return read(bytes_); }
  [[nodiscard]] std::uint64_t messages_refused() const noexcept { return read(refused_); }

 private:
  [[nodiscard]] static std::uint64_t read(const std::atomic<std::uint64_t>& counter) noexcept {
    return counter.load(std::memory_order_relaxed);  // [stat]
  }

  // The context of an operation, which the provider gives back with the completion; it may write to the first member.
  struct operation {
    fi_context2 context;
    std::uint32_t index;
    std::uint32_t peer;
    net::header header;
  };

  [[nodiscard]] std::byte* buffer_at(std::size_t index) const noexcept { return memory_.get() + index * stride_; }
  void release(void* payload, std::size_t bytes) noexcept override;
  void take_released() noexcept;
  void open_objects(const fi_info& info, fid_fabric& fabric, std::uint32_t receives);
  void make_memory(const fi_info& info, std::size_t bytes);
  void done(void* context, std::size_t bytes) noexcept;
  void take_error() noexcept;
  void lose(std::uint32_t peer, const net::header& header, int cause) noexcept;

  struct freer {
    void operator()(std::byte* memory) const noexcept;
  };

  static constexpr std::uint32_t quiet_polls_max = 16;

  std::uint32_t quiet_polls_ = 0;
  std::uint32_t sends_;
  std::size_t message_bytes_;
  std::size_t stride_;
  std::unique_ptr<std::byte, freer> memory_;          // memory of the send buffers, then the receive buffers
  std::vector<operation> operations_;                 // one for each buffer, in their order
  std::vector<std::uint32_t> free_;                   // send buffers
  std::vector<std::uint32_t> unposted_;               // receive buffers
  std::vector<std::atomic<std::uint64_t>> released_;  // receive buffers that were lent, a bit each
  std::vector<received> arrived_;
  std::vector<loss> losses_;
  std::vector<fi_addr_t> peers_;
  void* descriptor_ = nullptr;
  std::atomic<std::uint64_t> messages_{0}, bytes_{0}, refused_{0};
  std::atomic<std::uint32_t> lent_{0};

  // They stand in the order in which they are opened; closed the other way round.
  owned<fid_domain> domain_;
  owned<fid_cq> completions_;
  owned<fid_av> addresses_;
  owned<fid_mr> registration_;
  owned<fid_ep> endpoint_;
};

}  // namespace weft::net::ofi
