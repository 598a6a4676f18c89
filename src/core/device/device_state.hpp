// SPDX-License-Identifier: BSD-3-Clause
// The implementation of a device: its parts, and the few functions that join them.
//
// A thread that polls is inside the gate. Protocols post by `routes`, and `defer` operations that have to be continued;
// `progress` (core/progress) polls the endpoints, whose messages go to the sink (core/protocol/dispatch.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/not_inherited.hpp"
#include "core/device/backlog.hpp"
#include "core/device/device_counts.hpp"
#include "core/device/device_marks.hpp"
#include "core/device/endpoints.hpp"
#include "core/device/hook_list.hpp"
#include "core/device/message_sink.hpp"
#include "core/device/other_devices.hpp"
#include "core/device/own_receives.hpp"
#include "core/device/poll_gate.hpp"
#include "core/device/routes.hpp"
#include "core/matching/engine_state.hpp"
#include "core/matching/matching_table.hpp"
#include "core/message/peer_bounds.hpp"
#include "core/message/wire.hpp"
#include "core/operation/operations.hpp"
#include "weft/device.hpp"
#include "weft/region.hpp"

namespace weft::core {

class matching_store;
class rank_memory;
class runtime_state;
struct remote_entry;
struct unexpected_message;

/// Opens an endpoint of each transport of the runtime for a device that is being made (protocol/dispatch.cpp).
void open_endpoints(device_state& made, std::uint32_t ring_cells);

/// Whether a thread may sleep at a device, from no to yes.
enum class stillness : std::uint8_t {
  busy,     ///< something has moved or is left to do, or another thread polls: don't sleep
  waiting,  ///< a message or a graph's post has no room yet, and no signal tells when there is room: sleep shortly
  quiet,    ///< each message and each signal wakes the sleeper
};

[[nodiscard]] constexpr shortage shortage_of(net::post_result result) noexcept {
  return result == net::post_result::busy ? shortage::lock : shortage::ring;
}

class device_state final : public message_sink {
 public:
  using endpoint = net::endpoint<message_sink>;

  /// `ring_cells`: of the rings that it sends into, if it is the first device of its index.
  device_state(runtime_state& runtime, device& interface, std::uint32_t index, bool shared, progress_policy policy,
               std::uint32_t ring_cells);
  ~device_state();

  [[nodiscard]] runtime_state& runtime() noexcept { return *runtime_; }
  /// The public object.
  [[nodiscard]] device& interface() noexcept { return *interface_; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] device_marks& marks() noexcept { return marks_; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return routes_.rank_count(); }

  // Parts of the runtime.
  [[nodiscard]] core::operations& operations() noexcept { return *operations_; }
  [[nodiscard]] matching_store& matching() noexcept { return *matching_; }
  [[nodiscard]] rank_memory& memory() noexcept { return *memory_; }
  // Parts that any thread uses.
  [[nodiscard]] core::routes& routes() noexcept { return routes_; }
  [[nodiscard]] poll_gate& gate() noexcept { return gate_; }
  [[nodiscard]] hook_list& hooks() noexcept { return hooks_; }
  [[nodiscard]] device_counts& counts() noexcept { return counts_; }
  [[nodiscard]] core::own_receives& own_receives() noexcept { return own_receives_; }
  [[nodiscard]] core::backlog& backlog() noexcept { return backlog_; }
  // Parts of the thread inside the gate.
  [[nodiscard]] core::endpoints& endpoints() noexcept { return endpoints_; }
  [[nodiscard]] core::other_devices& others() noexcept { return others_; }

  /// One call of progress (core/fast/short_pass.cpp).
  bool progress() noexcept;
  /// Looks for arrivals once more, for a thread that is about to sleep.
  [[nodiscard]] stillness look_before_sleep() noexcept;

  /// Puts an operation into the backlog; a call of progress does its next step. **Threads**: any.
  void defer(operation_state& operation) noexcept;
  void defer(operation_state& operation, step next) noexcept {
    operation.reach(next);
    defer(operation);
  }
  /// The next calls of progress try `entry` again. It may be destroyed before this returns. **Threads**: any.
  void defer(retry_entry& entry) noexcept;

  /// Takes over the arrivals and the backlog of a destroyed device. Inside the gate.
  void adopt(device_state& gone) noexcept;

 private:
  // A post uses these and the first fields of `routes_`, which lie in one line.
  runtime_state* runtime_;
  std::uint32_t index_;
  device_marks marks_;
  core::routes routes_;
  device* interface_;
  core::operations* operations_;
  matching_store* matching_;
  rank_memory* memory_;
  core::endpoints endpoints_;
  poll_gate gate_;
  device_counts counts_;
  core::other_devices others_;
  core::backlog backlog_;
  hook_list hooks_{gate_};
  core::own_receives own_receives_;

  class inheritance final : private base::not_inherited {
   public:
    explicit inheritance(device_state& dev) noexcept : device_{&dev} {}

   private:
    void become_copy() noexcept override;
    device_state* device_;
    base::fork_entry at_forks_{*this};
  } inheritance_{*this};
};

inline device_state& message_sink::dev() noexcept { return static_cast<device_state&>(*this); }

}  // namespace weft::core
