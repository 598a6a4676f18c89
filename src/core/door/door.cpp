// SPDX-License-Identifier: BSD-3-Clause
#include "core/door/door.hpp"

#include "core/device/hook_list.hpp"
#include "core/runtime/ends_of_objects.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::door {

device_state& default_device_of(device_state& any) noexcept { return any.runtime().devices().standard(); }
std::uint32_t index_of(const device_state& dev) noexcept { return dev.index(); }
void try_again(device_state& dev, retry_entry& entry) noexcept { dev.defer(entry); }
void signalled(device_state& dev, const completion* object) noexcept { dev.runtime().signalled(object); }

bool wait(device_state& dev, std::span<const completion* const> objects, bool (*is_done)(void*), void* condition,
          const wait_options& options) {
  runtime_state& runtime = dev.runtime();
  return runtime.parking().wait({dev, runtime.devices().standard()}, {objects}, is_done, condition, options);
}

service::service(device_state& dev) noexcept : device_{dev} {
  device_.runtime().parking().begin_service(device_.index());
}
service::~service() { device_.runtime().parking().end_service(device_.index()); }

bool has_ranks_beyond_processors(const runtime_state& runtime) noexcept { return runtime.job().is_beyond_processors(); }
engine_ref engine_of_groups(runtime_state& runtime) {
  runtime.refuse_copies();
  engine_state& engine = runtime.matching().engines().of_groups(runtime.size(), runtime);
  runtime.matching().kept().registered(engine.id, true);
  runtime.parking().wake_everybody();  // delivers messages that have come for it already
  return {engine.id, engine};
}
std::string_view algorithms_of_groups(const runtime_state& runtime) noexcept { return runtime.job().settings().coll; }
bool compares_calls(const runtime_state& runtime) noexcept { return runtime.job().settings().check; }
void describe_groups_by(runtime_state& owner, group_describer* groups) noexcept { owner.own().witness().use(groups); }
const detail::report_names* report_names_of(runtime_state& owner) noexcept { return owner.own().witness().names(); }
std::shared_ptr<void>& kept_for_groups(runtime_state& runtime) noexcept { return runtime.own().kept_for_groups(); }

refused_memory check_memory(runtime_state& runtime, const memory* memory, const void* address,
                            std::uint64_t bytes) noexcept {
  return runtime.memory().kinds().check(memory, address, bytes);
}

const completion& own_object_of(runtime_state& runtime) noexcept { return runtime.own().barrier(); }
bool try_flush(runtime_state& runtime, std::uint32_t peer, detail::flush_mark& since) {
  return runtime.peers().try_flush({.peer = peer}, since);
}
bool pass_barrier(runtime_state& runtime) { return runtime.own().barrier().try_pass(runtime.devices().standard()); }

std::unique_ptr<awaited_end> end_of(std::shared_ptr<detail::hook_control>& hook, hook_list& hooks) {
  return std::make_unique<end_of_hook>(hook, hooks);
}
std::unique_ptr<awaited_end> end_of(runtime_state*& registration, completion& target, std::uint32_t id) {
  return std::make_unique<end_of_registration>(registration, target, id);
}
std::unique_ptr<awaited_end> end_of(runtime_state& runtime, engine_state*& engine) {
  return std::make_unique<end_of_engine>(runtime, engine);
}
std::unique_ptr<awaited_end> end_of(runtime_state& runtime, device_state*& dev) {
  return std::make_unique<end_of_device>(runtime, dev);
}

}  // namespace weft::core::door
