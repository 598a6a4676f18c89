// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/bsend_buffer.hpp"

#include <new>
#include <utility>

#include "mpi/error/error.hpp"

namespace weft::mpi {
namespace {

bool is_automatic(const std::byte* address) noexcept {
  return static_cast<const void*>(address) == MPI_BUFFER_AUTOMATIC;
}

}  // namespace

bool bsend_buffer::is_attached() const noexcept {
  const std::lock_guard locked{mutex_};
  return address_ != nullptr;
}

int bsend_buffer::attach(void* address, std::size_t bytes) noexcept {
  const std::lock_guard locked{mutex_};
  if (address_ != nullptr) return fail(MPI_ERR_BUFFER, "a buffer is attached already");
  address_ = static_cast<std::byte*>(address);
  bytes_ = is_automatic(address_) ? 0 : bytes;
  behind_last_ = 0;
  return MPI_SUCCESS;
}

std::pair<void*, std::size_t> bsend_buffer::detach() noexcept {
  const std::lock_guard locked{mutex_};
  return {std::exchange(address_, nullptr), std::exchange(bytes_, 0)};
}

std::optional<std::size_t> bsend_buffer::find_room(std::size_t bytes) const noexcept {
  const auto next = used_.lower_bound(behind_last_);
  const std::size_t end = next == used_.end() ? bytes_ : next->first;
  if (end >= behind_last_ && end - behind_last_ >= bytes) return behind_last_;
  std::size_t begin = 0;
  for (const auto& [used_begin, used_end] : used_) {
    if (used_begin - begin >= bytes) return begin;
    begin = used_end;
  }
  return bytes_ - begin >= bytes ? std::optional{begin} : std::nullopt;
}

std::optional<buffered_room> bsend_buffer::try_reserve(std::size_t bytes) {
  const std::lock_guard locked{mutex_};
  const std::size_t last = batches_.empty() ? 0 : batches_.size() - 1;
  buffered_room out{.bytes = bytes, .batch = first_batch_ + last};
  if (is_automatic(address_)) {
    out.address = static_cast<std::byte*>(::operator new(bytes));
  } else {
    const std::size_t taken = bytes + MPI_BSEND_OVERHEAD;
    const std::optional<std::size_t> begin = find_room(taken);
    if (!begin) return {};
    used_.emplace(*begin, *begin + taken);
    behind_last_ = *begin + taken;
    out.address = address_ + *begin;
  }
  if (batches_.empty()) batches_.emplace_back();
  ++batches_.back().open;
  return out;
}

bool bsend_buffer::release(const buffered_room& room) noexcept {
  const std::lock_guard locked{mutex_};
  if (is_automatic(address_)) {
    ::operator delete(room.address);
  } else {
    used_.erase(static_cast<std::size_t>(room.address - address_));
  }
  --batches_[room.batch - first_batch_].open;
  bool has_ended = false;
  while (!batches_.empty() && batches_.front().open == 0) {
    for (request* const each : batches_.front().flushes) each->finish(outcome{});
    has_ended = has_ended || !batches_.front().flushes.empty();
    batches_.pop_front();
    ++first_batch_;
  }
  return has_ended || batches_.empty();
}

bool bsend_buffer::is_empty() const noexcept {
  const std::lock_guard locked{mutex_};
  return batches_.empty();
}

void bsend_buffer::finish_when_sent(request& req) {
  const std::lock_guard locked{mutex_};
  if (batches_.empty()) {
    req.finish(outcome{});
    return;
  }
  batches_.emplace_back();
  batches_[batches_.size() - 2].flushes.push_back(&req);
}

}  // namespace weft::mpi
