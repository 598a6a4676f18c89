// SPDX-License-Identifier: BSD-3-Clause
#include "graph/end_signal.hpp"

namespace weft::core {
namespace {

void drop_all(retry_entry* all) noexcept {
  while (all != nullptr) std::exchange(all, all->behind)->drop();
}

}  // namespace

shared_by_ends::~shared_by_ends() { drop_all(free.take_all()); }

end_signals::~end_signals() { drop_all(taken_); }

void end_signals::prepare() {
  if (taken_ == nullptr) taken_ = shared_->free.take_all();
  if (taken_ == nullptr) taken_ = new end_signal;
}

void end_signal::give(completion& done, const detail::raw_record& record, device_state& later,
                      std::shared_ptr<shared_by_ends> shared) noexcept {
  done_ = &done;
  record_ = record;
  later_ = &later;
  shared_ = std::move(shared);
  static_cast<void>(try_again());
}

bool end_signal::try_again() noexcept {
  completion_record record{record_};
  const running_callback* const inside = running_callback::innermost();
  if (!promise::keep(inside != nullptr ? inside->device() : *later_, *done_, record)) {
    door::try_again(*later_, *this);
    return false;
  }
  door::signalled(*later_, done_);
  const std::shared_ptr<shared_by_ends> last = std::move(shared_);
  last->free.add(*this);
  return true;
}

}  // namespace weft::core
