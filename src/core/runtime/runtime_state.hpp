// SPDX-License-Identifier: BSD-3-Clause
// The state of a runtime: its registries, and what concerns several of them.
#pragma once

#include <cstdint>
#include <memory>

#include "base/misuse.hpp"
#include "boot/bootstrap.hpp"
#include "core/device/device_state.hpp"
#include "core/operation/operation_state.hpp"
#include "core/runtime/completion_objects.hpp"
#include "core/runtime/devices.hpp"
#include "core/runtime/job.hpp"
#include "core/runtime/matching_store.hpp"
#include "core/runtime/message_counts.hpp"
#include "core/runtime/operation_store.hpp"
#include "core/runtime/own_objects.hpp"
#include "core/runtime/peer_ends.hpp"
#include "core/runtime/peers.hpp"
#include "core/runtime/rank_memory.hpp"
#include "core/runtime/registrations.hpp"
#include "core/runtime/transport_set.hpp"
#include "core/wait/parking.hpp"
#include "weft/completion.hpp"
#include "weft/detail/copy_mark.hpp"
#include "weft/runtime.hpp"

namespace weft::core {

class runtime_state {
 public:
  runtime_state(runtime& interface, std::shared_ptr<boot::bootstrap> bootstrap, const runtime_options& options);
  ~runtime_state();

  /// Makes the objects that need `interface`, which refers to this state by now, the default device with `options`, and
  /// joins the job. Collective; called once.
  void start(runtime& interface, const device_options& options);

  /// Whether this is the copy in a child of fork(), whose parent has the runtime still. Destructors of what was made
  /// from it do nothing in the child (docs/decisions/forks.md).
  [[nodiscard]] bool is_copy() const noexcept { return copy_.is_copy(); }
  /// Called first by functions that take a lock, which a thread of the parent may have held at the fork.
  void refuse_copies() const noexcept {
    if (is_copy()) [[unlikely]]
      base::refuse_to_child("a runtime");
  }
  [[nodiscard]] std::uint32_t rank() const noexcept { return job_.rank(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return job_.size(); }
  [[nodiscard]] const core::job& job() const noexcept { return job_; }
  [[nodiscard]] const runtime_attributes& attributes() const noexcept { return attributes_; }
  [[nodiscard]] runtime_counters counters() noexcept;

  // Registries.
  [[nodiscard]] core::devices& devices() noexcept { return devices_; }
  [[nodiscard]] core::registrations& registrations() noexcept { return registrations_; }
  [[nodiscard]] core::peers& peers() noexcept { return peers_; }
  [[nodiscard]] core::peer_ends& peer_ends() noexcept { return peer_ends_; }
  [[nodiscard]] core::operations& operations() noexcept { return store_.operations(); }
  [[nodiscard]] matching_store& matching() noexcept { return matching_; }
  [[nodiscard]] rank_memory& memory() noexcept { return *memory_; }
  [[nodiscard]] const transport_set& transports() const noexcept { return transports_; }
  [[nodiscard]] core::parking& parking() noexcept { return parking_; }
  [[nodiscard]] completion_objects& objects() noexcept { return objects_; }
  [[nodiscard]] message_counts& counts() noexcept { return counts_; }
  [[nodiscard]] own_objects& own() noexcept { return own_; }

  // Make messages that are kept for the new id ready, and wake threads to deliver them.
  /// **Errors**: those of `registrations::add`.
  void register_completion(completion& target, std::uint32_t id, buffer_allocator* allocator);
  /// **Errors**: those of `engines::make`.
  [[nodiscard]] engine_state& make_engine(const matching_engine_options& options);

  /// Called after each signal of a completion object, which may have been destroyed by now.
  [[gnu::always_inline]] void signalled(const completion* object) noexcept { parking_.signalled(object); }

 private:
  friend class test::local_job;

  core::job job_;
  runtime_attributes attributes_{};
  core::parking parking_;
  transport_set transports_;
  std::unique_ptr<rank_memory> memory_;  // made after the transports
  operation_store store_;
  core::peers peers_;
  core::peer_ends peer_ends_{*this};
  matching_store matching_;
  core::registrations registrations_;
  core::devices devices_;
  completion_objects objects_;
  message_counts counts_;
  own_objects own_{parking_};
  detail::copy_mark copy_;
};

}  // namespace weft::core
