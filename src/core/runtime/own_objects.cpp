// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/own_objects.hpp"

#include "base/assertion.hpp"
#include "base/misuse.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {

void own_objects::make(runtime& interface, const device_options& options, const base::settings& settings,
                       packet_pool& packets) {
  WEFT_ASSERT(default_device_ == nullptr);
  default_device_ = std::make_unique<device>(interface, options);
  barrier_ = std::make_unique<core::barrier>(interface);
  replies_ = std::make_unique<core::replies>(interface, settings);
  packet_returns_ = std::make_unique<core::packet_returns>(interface, packets);
}

void own_objects::watch(runtime_state& runtime) {
  WEFT_ASSERT(replies_ != nullptr);
  witness_ = std::make_unique<runtime_witness>(runtime);
}

void own_objects::end(bool is_copy) noexcept {
  kept_for_groups_.reset();
  witness_.reset();
  descriptor_.reset();
  if (replies_ && !is_copy && replies_->has_unfetched()) {
    base::misuse(
        "a runtime is destroyed while a peer has yet to fetch a long reply: call flush() before its end, as a barrier "
        "does "
        "not wait for that");
  }
  barrier_.reset();
  default_device_.reset();
  packet_returns_.reset();
  replies_.reset();  // the device's end has tried to send what was kept
}

descriptor_state& own_objects::descriptor(runtime_state& runtime) {
  runtime.refuse_copies();
  const std::scoped_lock lock{descriptor_mutex_};
  if (!descriptor_) descriptor_ = std::make_unique<descriptor_state>(runtime, runtime.devices().standard());
  return *descriptor_;
}

}  // namespace weft::core
