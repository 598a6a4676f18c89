// SPDX-License-Identifier: BSD-3-Clause
// `memory_kind`, `memory` and `layout`.
#include "weft/memory.hpp"

#include <fmt/format.h>

#include <bit>

#include "core/memory/memory_kinds.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/error.hpp"
#include "weft/runtime.hpp"

namespace weft {

namespace {

void check_functions(std::string_view name, const memory_functions& functions) {
  if (name.empty()) throw error{errc::invalid_argument, "memory_kind: the name is empty"};
  if (!functions.processor_may_touch && (functions.copy_in == nullptr || functions.copy_out == nullptr)) {
    throw error{
        errc::invalid_argument,
        fmt::format("memory_kind '{}': {} is null: without processor_may_touch the library needs both functions", name,
                    functions.copy_in == nullptr ? "copy_in" : "copy_out")};
  }
  if (!std::has_single_bit(functions.alignment)) {
    throw error{errc::invalid_argument,
                fmt::format("memory_kind '{}': an alignment of {} is not a power of two", name, functions.alignment)};
  }
}

}  // namespace

memory_kind::memory_kind(weft::runtime& owner, std::string_view name, const memory_functions& functions)
    : runtime_{&owner} {
  check_functions(name, functions);
  core::runtime_state& state = *owner.state_;
  state.refuse_copies();
  state_ = state.memory().kinds().try_make(name, functions);
  if (state_ == nullptr) {
    throw error{errc::invalid_state, fmt::format("memory_kind '{}': the process has {} kinds of memory already", name,
                                                 core::memory_kinds::kinds_max)};
  }
  state.devices().look_at_addresses(state.memory().kinds().knows_addresses());
}

memory_kind::~memory_kind() {
  core::runtime_state& state = *runtime_->state_;
  if (state.is_copy()) return;
  state.memory().kinds().end(*state_);
  state.devices().look_at_addresses(state.memory().kinds().knows_addresses());
}

std::string_view memory_kind::name() const noexcept { return state_->name; }

memory::memory(const memory_kind& kind, void* context) noexcept
    : kind_{kind.state_}, number_{kind.state_->number}, context_{context} {}

std::string_view memory::kind() const noexcept { return core::memory_copies::kind_of(*this); }

layout::layout(const layout_functions& functions, const void* context)
    : memory{of_layout{}, const_cast<void*>(context)}, functions_{functions} {
  if (functions.pack == nullptr || functions.unpack == nullptr) {
    throw error{errc::invalid_argument,
                fmt::format("layout: {} is null: a layout needs both functions, unless it is layout::contiguous",
                            functions.pack == nullptr ? "pack" : "unpack")};
  }
}

layout::layout(contiguous /*all*/) noexcept : memory{of_layout{}, nullptr} {}

}  // namespace weft
