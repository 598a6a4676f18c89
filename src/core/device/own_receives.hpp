// SPDX-License-Identifier: BSD-3-Clause
// Free receives that a device of one thread's own keeps: most are posted and completed by the same device, so it takes
// and gives back half of them by one exchange, instead of one exchange for each. A shared device keeps none.
//
// Cost: a non-atomic load and store to take, and to put back.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/assertion.hpp"
#include "core/operation/pool.hpp"

namespace weft::core {

/// `receives_max`: of a runtime whose receives have a set number (`WEFT_RECEIVES_MAX`). They are added to that number,
/// so that no device has fewer receives because another one keeps some.
inline constexpr std::uint32_t spare_receives_max = 32;
[[nodiscard]] constexpr std::uint32_t spare_receives_of(std::optional<std::uint32_t> receives_max) noexcept {
  return receives_max ? std::min(spare_receives_max, *receives_max / 128) : spare_receives_max;
}

/// **Threads**: the device's own, if there is `room`; any, if that is 0.
class own_receives {
 public:
  own_receives(operation_pool& pool, std::uint32_t room) noexcept : pool_{&pool}, room_{room} {
    WEFT_ASSERT_CHECKED(room <= spare_receives_max);
  }
  ~own_receives() { pool_->put_many(unnamed_.data(), count_); }
  own_receives(const own_receives&) = delete;
  own_receives& operator=(const own_receives&) = delete;

  /// Keeps so many from now on. **Threads**: none uses the device.
  void set_room(std::uint32_t room) noexcept {
    WEFT_ASSERT_CHECKED(room <= spare_receives_max);
    pool_->put_many(unnamed_.data(), count_);
    count_ = 0;
    room_ = room;
  }

  [[nodiscard]] bool has_some() const noexcept { return count_ != 0; }
  /// Leaves it none. Called in a child of fork().
  void close_for_ever() noexcept { count_ = room_ = 0; }
  /// Requires `has_some()`.
  [[nodiscard]] [[gnu::always_inline]] operation_state& take() noexcept {
    WEFT_ASSERT_CHECKED(has_some());
    return pool_->name(*unnamed_[--count_]);
  }
  /// Null if the pool has none either.
  [[nodiscard]] [[gnu::always_inline]] operation_state* get() noexcept {
    if (!has_some()) [[unlikely]]
      return get_slow();
    return &take();
  }
  [[gnu::always_inline]] void put(operation_state& done) noexcept {
    if (count_ == room_) [[unlikely]]
      return put_slow(done);
    pool_->unname(done);
    unnamed_[count_++] = &done;
  }

 private:
  [[nodiscard]] [[gnu::noinline]] operation_state* get_slow() noexcept {
    if (room_ == 0) return pool_->try_get_unset();
    count_ = pool_->take_many(unnamed_.data(), (room_ + 1) / 2);
    return count_ == 0 ? nullptr : &take();
  }
  [[gnu::noinline]] void put_slow(operation_state& done) noexcept {
    if (room_ == 0) {
      pool_->put(done);
      return;
    }
    const std::uint32_t kept = room_ / 2;
    pool_->put_many(unnamed_.data() + kept, count_ - kept);
    count_ = kept;
    pool_->unname(done);
    unnamed_[count_++] = &done;
  }

  operation_pool* pool_;
  std::uint32_t room_;
  std::uint32_t count_ = 0;
  std::array<operation_state*, spare_receives_max> unnamed_{};
};

}  // namespace weft::core
