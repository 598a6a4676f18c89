// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/communicator_registry.hpp"

#include <utility>

#include "weft/runtime.hpp"

namespace weft::mpi {

void lifetime::end(communicator& comm) noexcept { registry_->end(comm); }

communicator_registry::communicator_registry(weft::runtime& runtime)
    : contexts_{runtime.rank(), runtime.size()}, agreements_{runtime, {.id = context_of_agreements, .ordered = true}} {}
communicator_registry::~communicator_registry() = default;

communicator& communicator_registry::add(std::unique_ptr<communicator> made) {
  destroy_ended();
  const std::lock_guard locked{mutex_};
  made->life.registry_ = this;
  made->life.index_ = all_.size();
  all_.push_back(std::move(made));
  return *all_.back();
}

void communicator_registry::end(communicator& last) noexcept {
  const std::lock_guard locked{mutex_};
  last.life.next_ended_ = std::exchange(ended_, &last);
}

void communicator_registry::destroy_ended() noexcept {
  for (;;) {
    std::unique_ptr<communicator> gone;  // its engine waits for polls of other threads: not with the lock
    const std::lock_guard locked{mutex_};
    if (ended_ == nullptr) return;
    const std::size_t index = ended_->life.index_;
    ended_ = ended_->life.next_ended_;
    std::swap(all_[index], all_.back());
    all_[index]->life.index_ = index;
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
