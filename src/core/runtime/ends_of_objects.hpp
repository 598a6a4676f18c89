// SPDX-License-Identifier: BSD-3-Clause
// How registrations, matching engines and devices end (core/device/awaited_end.hpp). The handle stays the owner until
// the end is complete: if the coroutine that awaits the end is destroyed before, the handle's destructor ends the
// object.
//
// Cost: a membarrier, and one pass of the poller of each device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/id_table.hpp"
#include "core/device/awaited_end.hpp"
#include "net/transport.hpp"
#include "weft/completion.hpp"

namespace weft::core {

class device_state;
class runtime_state;
struct engine_state;

/// `matching_engine::drop_messages`.
std::size_t drop_messages(runtime_state& runtime, engine_state& engine) noexcept;

/// The calls of progress() on any device that were under way when this object was made, except the calling thread's
/// own. Calls that begin later see what the calling thread did before.
class pending_polls {
 public:
  explicit pending_polls(runtime_state& runtime) noexcept;
  /// **Blocking**: never, but for a lock that is held briefly.
  [[nodiscard]] bool have_ended() noexcept;

 private:
  runtime_state* runtime_;
  std::array<std::uint64_t, net::slots_max> before_{};  // passes of the gate of each index
  std::uint64_t inside_ = 0;                            // bit: index
};

/// The end of an object whose id is withdrawn from a table. Threads that read the old table are inside a call of
/// progress(), or are brief readers (brief_readers).
class end_of_name : public awaited_end {
 protected:
  end_of_name(runtime_state& runtime, base::id_table<>::outdated old_names) noexcept;
  ~end_of_name() override;
  /// Whether no call of progress() can find the object any more. Threads outside of such calls may still look for
  /// engines.
  [[nodiscard]] bool is_unseen() noexcept { return polls_.have_ended(); }

  runtime_state* const runtime_;

 private:
  base::id_table<>::outdated old_names_;  // kept until no thread can be reading them
  pending_polls polls_;
};

class end_of_registration final : public end_of_name {
 public:
  end_of_registration(runtime_state*& handle, completion& target, std::uint32_t id) noexcept;
  [[nodiscard]] bool go_on() noexcept override;

 private:
  runtime_state** handle_;
  completion* target_;
  std::uint32_t id_;
};

class end_of_engine final : public end_of_name {
 public:
  end_of_engine(runtime_state& runtime, engine_state*& handle) noexcept;
  [[nodiscard]] bool go_on() noexcept override;

 private:
  void refuse_posted() const noexcept;
  void drop_all() noexcept;

  engine_state** handle_;
};

class end_of_device final : public awaited_end {
 public:
  end_of_device(runtime_state& runtime, device_state*& handle) noexcept;
  [[nodiscard]] bool go_on() noexcept override;
  /// Like `wait`, but blocks at the gate of the default device until its poller hands the gate over.
  void wait_for_gate() noexcept;

 private:
  [[nodiscard]] bool close(bool may_block) noexcept;

  runtime_state* runtime_;
  device_state** handle_;
};

}  // namespace weft::core
