// SPDX-License-Identifier: BSD-3-Clause
// The barrier over all ranks: dissemination, in as many rounds as the number of ranks has bits.
//
// A rank passes one barrier at a time: a call that reaches its time limit, or a coroutine that is destroyed, leaves it
// where it is, and the next call continues it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/try_lock.hpp"
#include "core/wait/parking.hpp"
#include "weft/completion.hpp"
#include "weft/status.hpp"

namespace weft {
struct post_barrier_options;
}

namespace weft::core {

class device_state;
class peers;

class barrier final : public completion {
 public:
  /// The id under which it is registered on all ranks.
  static constexpr std::uint32_t id = remote_completion_ids_max;

  explicit barrier(weft::runtime& owner) noexcept : completion{owner} {}

  // Each posts on `dev`. **Errors**: peer_failed or transport_failed, with the rank that will not take part or
  // can't be reached. If one rank has died, no rank can pass, so each of them gets the error.

  /// Does as many rounds as it can without waiting. **Returns** whether all ranks have entered the barrier; false also
  /// if another call of this rank is in it.
  [[nodiscard]] bool try_pass(device_state& dev);
  /// Implements `runtime::barrier`. **Returns** false at a limit. **Errors**: also invalid_state, if another call of
  /// this rank is in it.
  [[nodiscard]] bool wait(device_state& dev, const parking::limits& limits);
  /// Implements `runtime::post_barrier`. **Errors**: as of `wait`.
  [[nodiscard]] status post(device_state& dev, completion& local, const post_barrier_options& options);

  [[nodiscard]] answer signal(completion_record&& record) noexcept override;

 private:
  /// How far this rank has come.
  struct passage {
    std::uint32_t round = 0;
    bool is_posted = false;         // this round's message
    unsigned unanswered_looks = 0;  // since a rank of this round is cut off

    /// The rank to which this round's message goes.
    [[nodiscard]] std::uint32_t to(std::uint32_t rank, std::uint32_t size) const noexcept {
      return static_cast<std::uint32_t>((rank + (std::uint64_t{1} << round)) % size);
    }
    /// The rank whose message this round waits for.
    [[nodiscard]] std::uint32_t from(std::uint32_t rank, std::uint32_t size) const noexcept {
      return static_cast<std::uint32_t>((rank + size - (std::uint64_t{1} << round) % size) % size);
    }
  };
  class entered;
  class posted;

  // Inside the lock.
  [[nodiscard]] bool go_on(device_state& dev);
  [[nodiscard]] bool pass_rounds(device_state& dev);
  [[nodiscard]] std::uint32_t find_missing(const peers& all, std::uint32_t rank, std::uint32_t size) noexcept;

  static constexpr std::uint32_t rounds_max = 32;

  // A rank that is one barrier ahead may already signal the next one, but never the one after it.
  std::array<std::array<std::atomic<std::uint32_t>, rounds_max>, 2> arrived_{};
  base::try_lock in_use_;
  std::uint32_t parity_ = 0;
  passage passage_;
};

}  // namespace weft::core
