// SPDX-License-Identifier: BSD-3-Clause
// The door into core for the layers above it: all that they may include of it, with this header's own includes.
//
// Cost: a function call to each; none is on the way of a message.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/api/refusals.hpp"
#include "core/device/awaited_end.hpp"
#include "core/device/retry_entry.hpp"
#include "core/operation/awaited_call.hpp"
#include "core/operation/promise.hpp"
#include "core/operation/running_callback.hpp"
#include "core/protocol/cancel.hpp"
#include "core/runtime/group_describer.hpp"
#include "core/runtime/unwinding.hpp"
#include "weft/detail/flush_mark.hpp"
#include "weft/detail/report_names.hpp"
#include "weft/device.hpp"
#include "weft/runtime.hpp"
#include "weft/wait.hpp"

namespace weft::core::door {

/// The device that lives as long as its runtime.
[[nodiscard]] device_state& default_device_of(device_state& any) noexcept;
[[nodiscard]] std::uint32_t index_of(const device_state& dev) noexcept;
/// The next calls of progress on `dev` try `entry` again. It may be destroyed before this returns. **Threads**: any.
void try_again(device_state& dev, retry_entry& entry) noexcept;
/// Called after each signal of `object`, which may have been destroyed: wakes threads that wait for it.
void signalled(device_state& dev, const completion* object) noexcept;

/// Waits until `is_done(condition)`, which signals of `objects` make true, makes progress through `dev` meanwhile.
/// Only the addresses of the objects are used: they may have been destroyed. **Returns** false if the time limit of
/// `options` is over. **Blocking**: until then.
[[nodiscard]] bool wait(device_state& dev, std::span<const completion* const> objects, bool (*is_done)(void*),
                        void* condition, const wait_options& options);

/// While one lives, the caller's threads make progress on the device, and are woken for its messages: fibers that wait
/// for a completion object are suspended until it is signalled.
class service {
 public:
  explicit service(device_state& dev) noexcept;
  ~service();
  service(const service&) = delete;
  service& operator=(const service&) = delete;

 private:
  device_state& device_;
};

/// Whether more ranks run on some processors than there are; all ranks agree on it.
[[nodiscard]] bool has_ranks_beyond_processors(const runtime_state& runtime) noexcept;
/// The engine of all groups. **Errors**: std::bad_alloc.
[[nodiscard]] engine_ref engine_of_groups(runtime_state& runtime);
/// The setting that names algorithms of collectives (WEFT_COLL); empty if there is none. It lives as long as the
/// runtime.
[[nodiscard]] std::string_view algorithms_of_groups(const runtime_state& runtime) noexcept;
/// Whether members of groups compare their calls (WEFT_CHECK).
[[nodiscard]] bool compares_calls(const runtime_state& runtime) noexcept;
/// Reports of a process in which nothing moves ask this object about messages of collectives; null: none. **Blocking**:
/// until a report that asks the last one has been made.
void describe_groups_by(runtime_state& owner, group_describer* groups) noexcept;
/// The names of a library over Weft for such reports; null: none.
[[nodiscard]] const detail::report_names* report_names_of(runtime_state& owner) noexcept;
/// What the layer of collectives keeps for a runtime; destroyed before it. At first null. **Threads**: under a lock of
/// the caller's.
[[nodiscard]] std::shared_ptr<void>& kept_for_groups(runtime_state& runtime) noexcept;

/// Whether operations may use this memory; null: ordinary. See `refuse_memory`.
[[nodiscard]] refused_memory check_memory(runtime_state& runtime, const memory* memory, const void* address,
                                          std::uint64_t bytes) noexcept;

/// The object whose signals end a barrier or a flush.
[[nodiscard]] const completion& own_object_of(runtime_state& runtime) noexcept;
/// Whether all that was posted to `peer` is there, before the first call with `since`, which is not set then.
/// **Blocking**: never. **Errors**: those of `device::flush`.
[[nodiscard]] bool try_flush(runtime_state& runtime, std::uint32_t peer, detail::flush_mark& since);
/// Does as many rounds of the barrier as it can without waiting. **Returns** whether all ranks have entered it.
/// **Errors**: those of `runtime::barrier`.
[[nodiscard]] bool pass_barrier(runtime_state& runtime);

/// The ends of objects: each withdraws its object now, and is complete once no call of progress can be using it.
[[nodiscard]] std::unique_ptr<awaited_end> end_of(std::shared_ptr<detail::hook_control>& hook, hook_list& hooks);
[[nodiscard]] std::unique_ptr<awaited_end> end_of(runtime_state*& registration, completion& target, std::uint32_t id);
[[nodiscard]] std::unique_ptr<awaited_end> end_of(runtime_state& runtime, engine_state*& engine);
[[nodiscard]] std::unique_ptr<awaited_end> end_of(runtime_state& runtime, device_state*& dev);

}  // namespace weft::core::door
