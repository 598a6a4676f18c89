// SPDX-License-Identifier: BSD-3-Clause
// `runtime` and `registration`.
#include "weft/runtime.hpp"
#include "base/callback_scope.hpp"
#include "base/leave_to_parent.hpp"
#include "base/log.hpp"
#include "core/api/checks.hpp"
#include "core/runtime/ends_of_objects.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft {
runtime::runtime() : runtime{runtime_options{}} {}
runtime::runtime(const runtime_options& options) : runtime{boot::process_bootstrap(), options} {}

runtime::runtime(std::shared_ptr<boot::bootstrap> bootstrap, const runtime_options& options)
    : state_{std::make_unique<core::runtime_state>(*this, std::move(bootstrap), options)} {
  state_->start(*this, options.default_device);
}

runtime::~runtime() {
  if (state_ != nullptr && state_->is_copy()) base::leave_to_parent(state_);
}

std::uint32_t runtime::rank() const noexcept { return state_->rank(); }
std::uint32_t runtime::size() const noexcept { return state_->size(); }
std::span<std::byte> runtime::mapped(const remote_buffer& remote, std::size_t bytes) const {
  const remote_region& region = remote.region;
  if (region.rank >= size()) core::refuse_rank("mapped", region.rank, size());
  core::check_region(*state_, "mapped", region.rank, remote, bytes);
  const core::region_location found = state_->memory().regions().locate(region.rank, region.name, remote.offset, bytes);
  if (found.reach == core::region_location::access::refused) core::refuse_withdrawn("mapped", region.rank);
  if (found.reach != core::region_location::access::mapped) return {};
  return {found.memory, bytes};
}

std::uint32_t runtime::node_of(std::uint32_t rank) const {
  if (rank >= size()) core::refuse_rank("node_of", rank, size());
  return state_->job().nodes().node_of(rank);
}

device& runtime::default_device() noexcept { return state_->own().default_device(); }
const runtime_attributes& runtime::attributes() const noexcept { return state_->attributes(); }
int runtime::wait_fd() { return state_->own().descriptor(*state_).fd(); }
bool runtime::arm() {
  base::refuse_in_callback("arm");
  return state_->own().descriptor(*state_).arm();
}
runtime_counters runtime::counters() const noexcept { return state_->counters(); }

registration runtime::register_completion(completion& remote, const register_completion_options& options) {
  if (&remote.runtime() != this) {
    throw error{errc::invalid_argument, "register_completion: the completion object was made from another runtime"};
  }
  if (options.allocator != nullptr) {
    const core::refused_memory found = state_->memory().kinds().check(options.allocator->memory(), nullptr, 0);
    if (found.why != core::memory_refusal::none) core::refuse_memory_of_allocator(options.id, found);
  }
  state_->register_completion(remote, options.id, options.allocator);
  return registration{state_.get(), &remote, options.id};
}

bool runtime::barrier(const barrier_options& options) {
  base::refuse_in_callback("barrier");
  state_->refuse_copies();
  const auto limits = core::parking::limits::within(options.timeout, options.stop);
  return state_->own().barrier().wait(state_->devices().standard(), limits);
}

status runtime::post_barrier(completion& local, const post_barrier_options& options) {
  state_->refuse_copies();
  return state_->own().barrier().post(state_->devices().standard(), local, options);
}

registration::registration(registration&& other) noexcept
    : owner_{std::exchange(other.owner_, nullptr)}, target_{other.target_}, id_{other.id_} {}

registration& registration::operator=(registration&& other) noexcept {
  if (this != &other) {
    withdraw();
    owner_ = std::exchange(other.owner_, nullptr);
    target_ = other.target_;
    id_ = other.id_;
  }
  return *this;
}

registration::~registration() { withdraw(); }

void registration::withdraw() noexcept {
  if (owner_ != nullptr && !owner_->is_copy()) core::end_of_registration{owner_, *target_, id_}.wait();
}

}  // namespace weft
