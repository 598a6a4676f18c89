// The barrier over all ranks: dissemination, in as many rounds as the number of ranks has bits.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "weft/completion.hpp"

namespace weft::core {

class device_state;

class barrier final : public completion {
 public:
  /// The id under which it is registered on all ranks.
  static constexpr std::uint32_t id = remote_completion_ids_max;

  explicit barrier(weft::runtime& owner) noexcept : completion{owner} {}

  /// The state of a rank that passes the barrier.
  struct passage {
    std::uint32_t round = 0;
    bool is_posted = false;      // this round's message
    unsigned looks_in_vain = 0;  // since a rank of this round is cut off

    /// The rank to which this round's message goes.
    [[nodiscard]] std::uint32_t to(std::uint32_t rank, std::uint32_t size) const noexcept {
      return static_cast<std::uint32_t>((rank + (std::uint64_t{1} << round)) % size);
    }
    /// The rank whose message this round waits for.
    [[nodiscard]] std::uint32_t from(std::uint32_t rank, std::uint32_t size) const noexcept {
      return static_cast<std::uint32_t>((rank + size - (std::uint64_t{1} << round) % size) % size);
    }
  };
  /// Does as many rounds as it can without waiting. **Returns**: whether all ranks have entered the barrier.
  /// **Errors**: peer_failed or transport_failed, with the rank that will not take part or can't be reached. If one
  /// rank has died, no rank can pass, so each of them gets the error.
  [[nodiscard]] bool go_on(passage& at, device_state& through, std::uint32_t rank, std::uint32_t size);

  /// Implements `runtime::barrier`. Posts and polls on `through`.
  void wait(device_state& through, std::uint32_t rank, std::uint32_t size);

  [[nodiscard]] answer signal(completion_record&& record) noexcept override;

 private:
  [[nodiscard]] bool pass_rounds(passage& at, device_state& through, std::uint32_t rank, std::uint32_t size);

  static constexpr std::uint32_t rounds_max = 32;

  // A rank that is one barrier ahead may already signal the next one, but never the one after it.
  std::array<std::array<std::atomic<std::uint32_t>, rounds_max>, 2> arrived_{};
  std::uint32_t parity_ = 0;
};

}  // namespace weft::core
