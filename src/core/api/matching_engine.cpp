// SPDX-License-Identifier: BSD-3-Clause
// `matching_engine`.
#include "weft/matching_engine.hpp"
#include "core/runtime/ends_of_objects.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/runtime/unwinding.hpp"
#include "weft/runtime.hpp"

namespace weft {
matching_engine::matching_engine(weft::runtime& owner, const matching_engine_options& options)
    : runtime_{&owner}, state_{&owner.state_->make_engine(options)}, id_{state_->id} {}

matching_engine::~matching_engine() {
  if (state_ == nullptr || runtime_->state_->is_copy()) return;
  core::unwinding::end_posted(*runtime_->state_, *state_);
  core::end_of_engine{*runtime_->state_, state_}.wait();
}

std::size_t matching_engine::drop_messages() noexcept { return core::drop_messages(*runtime_->state_, *state_); }

bool matching_engine::is_ordered() const noexcept { return state_->is_ordered() && !state_->receiver_first; }
bool matching_engine::is_receiver_first() const noexcept { return state_->receiver_first; }
match_key_function matching_engine::make_key() const noexcept { return state_->make_key; }

}  // namespace weft
