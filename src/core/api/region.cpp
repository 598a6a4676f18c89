// SPDX-License-Identifier: BSD-3-Clause
// `memory_region`.
#include <fmt/format.h>

#include "core/runtime/runtime_state.hpp"
#include "weft/region.hpp"
#include "weft/runtime.hpp"

namespace weft {
memory_region::memory_region(weft::runtime& owner, std::size_t bytes) : runtime_{&owner} {
  if (bytes == 0) throw error{errc::invalid_argument, "memory_region: no bytes to allocate"};
  owner.state_->refuse_copies();
  const auto [name, memory] = owner.state_->memory().regions().open_new(bytes);
  memory_ = memory;
  handle_ = {owner.state_->job().number(), name, bytes, owner.state_->rank()};
}

memory_region::memory_region(weft::runtime& owner, std::span<std::byte> memory) : runtime_{&owner}, memory_{memory} {
  if (memory.empty())
    throw error{errc::invalid_argument, "memory_region: there is nothing to open, the memory is empty"};
  if (memory.data() == nullptr) {
    throw error{errc::invalid_argument,
                fmt::format("memory_region: the memory is null but has {} bytes", memory.size())};
  }
  const core::refused_memory kind = owner.state_->memory().kinds().check(nullptr, memory.data(), memory.size());
  if (kind.why != core::memory_refusal::none) {
    throw error{
        errc::invalid_argument,
        fmt::format("memory_region: the memory is of kind '{}', and regions are of ordinary memory", kind.kind)};
  }
  owner.state_->refuse_copies();
  handle_ = {owner.state_->job().number(), owner.state_->memory().regions().open(memory), memory.size(),
             owner.state_->rank()};
}

memory_region::~memory_region() {
  core::runtime_state& owner = *runtime_->state_;
  if (!owner.is_copy()) owner.memory().regions().close(handle_.name);
}

}  // namespace weft
