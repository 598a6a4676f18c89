// SPDX-License-Identifier: BSD-3-Clause
#include "core/door/door.hpp"

#include "core/device/hook_list.hpp"
#include "core/runtime/ends_of_objects.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::door {

device_state& default_device_of(device_state& any) noexcept { return any.runtime().devices().standard(); }
std::uint32_t index_of(const device_state& of) noexcept { return of.index(); }
void try_again(device_state& by, retry_entry& entry) noexcept { by.defer(entry); }
void signalled(device_state& by, const completion* object) noexcept { by.runtime().signalled(object); }

bool wait(device_state& through, std::span<const completion* const> objects, bool (*is_done)(void*), void* condition,
          const wait_options& options) {
  runtime_state& runtime = through.runtime();
  return runtime.parking().wait(through, runtime.devices().standard(), objects, is_done, condition, options);
}

service::service(device_state& of) noexcept : of_{of} { of_.runtime().parking().begin_service(of_.index()); }
service::~service() { of_.runtime().parking().end_service(of_.index()); }

bool has_ranks_beyond_processors(const runtime_state& of) noexcept { return of.job().is_beyond_processors(); }
engine_ref engine_of_groups(runtime_state& of) {
  of.refuse_copies();
  engine_state& engine = of.matching().engines().of_groups(of.size(), of);
  of.matching().kept().registered(engine.id, true);
  of.parking().wake_everybody();  // to deliver messages that have come for it already
  return {engine.id, engine};
}
std::string_view algorithms_of_groups(const runtime_state& of) noexcept { return of.job().settings().coll; }
bool compares_calls(const runtime_state& of) noexcept { return of.job().settings().check; }
void describe_groups_by(runtime_state& owner, group_describer* groups) noexcept { owner.own().witness().use(groups); }
const detail::report_names* report_names_of(runtime_state& owner) noexcept { return owner.own().witness().names(); }
std::shared_ptr<void>& kept_for_groups(runtime_state& of) noexcept { return of.own().kept_for_groups(); }

refused_memory check_memory(runtime_state& of, const memory* in, const void* address, std::uint64_t bytes) noexcept {
  return of.memory().kinds().check(in, address, bytes);
}

const completion& own_object_of(runtime_state& of) noexcept { return of.own().barrier(); }
bool try_flush(runtime_state& of, std::uint32_t peer, detail::flush_mark& since) {
  return of.peers().try_flush({.peer = peer}, since);
}
bool pass_barrier(runtime_state& of) { return of.own().barrier().try_pass(of.devices().standard()); }

std::unique_ptr<awaited_end> end_of(std::shared_ptr<detail::hook_control>& hook, hook_list& in) {
  return std::make_unique<end_of_hook>(hook, in);
}
std::unique_ptr<awaited_end> end_of(runtime_state*& registration, completion& target, std::uint32_t id) {
  return std::make_unique<end_of_registration>(registration, target, id);
}
std::unique_ptr<awaited_end> end_of(runtime_state& of, engine_state*& engine) {
  return std::make_unique<end_of_engine>(of, engine);
}
std::unique_ptr<awaited_end> end_of(runtime_state& of, device_state*& dev) {
  return std::make_unique<end_of_device>(of, dev);
}

}  // namespace weft::core::door
