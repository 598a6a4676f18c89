// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/communicator_registry.hpp"

#include <utility>

#include "weft/runtime.hpp"

namespace weft::mpi {

communicator_registry::communicator_registry(weft::runtime& runtime)
    : contexts_{runtime.rank(), runtime.size()}, agreements_{runtime, {.id = context_of_agreements, .ordered = true}} {}
communicator_registry::~communicator_registry() = default;

communicator& communicator_registry::add(std::unique_ptr<communicator> made) {
  destroy_ended();
  const std::lock_guard locked{mutex_};
  made->life.begin(*this);
  made->registry_index = all_.size();
  all_.push_back(std::move(made));
  return *all_.back();
}

void communicator_registry::end(error_owner& last) noexcept {
  auto& comm = static_cast<communicator&>(last);
  const std::lock_guard locked{mutex_};
  comm.next_ended = std::exchange(ended_, &comm);
}

void communicator_registry::destroy_ended() noexcept {
  for (;;) {
    std::unique_ptr<communicator> gone;  // its engine waits for polls of other threads: not with the lock
    const std::lock_guard locked{mutex_};
    if (ended_ == nullptr) return;
    const std::size_t index = ended_->registry_index;
    ended_ = ended_->next_ended;
    std::swap(all_[index], all_.back());
    all_[index]->registry_index = index;
    gone = std::move(all_.back());
    all_.pop_back();
  }
}

std::vector<communicator*> communicator_registry::all() const {
  const std::lock_guard locked{mutex_};
  std::vector<communicator*> out;
  out.reserve(all_.size());
  for (const auto& each : all_) out.push_back(each.get());
  return out;
}

std::size_t communicator_registry::count() const {
  const std::lock_guard locked{mutex_};
  return all_.size();
}

}  // namespace weft::mpi
