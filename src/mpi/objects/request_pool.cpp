// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/request_pool.hpp"

#include <algorithm>
#include <utility>

#include "mpi/objects/communicator.hpp"
#include "weft/device.hpp"

namespace weft::mpi {
namespace {

void end_owned(request& req) noexcept { delete std::exchange(req.owned, nullptr); }

}  // namespace

request_pool::~request_pool() {
  // Persistent requests that the program has not freed own a part, too.
  for (const auto& block : blocks_) {
    for (std::size_t index = 0; index < block_requests; ++index) {
      if (block[index].is_done()) end_owned(block[index]);
    }
  }
}

std::unique_lock<std::mutex> request_pool::lock() {
  return is_shared_ ? std::unique_lock{mutex_} : std::unique_lock<std::mutex>{};
}

void request_pool::grow() {
  blocks_.push_back(std::make_unique<request[]>(block_requests));
  for (std::size_t index = 0; index < block_requests; ++index) {
    request& req = blocks_.back()[index];
    req.kind = object_kind::freed;
    req.next = std::exchange(free_, &req);
  }
}

request& request_pool::acquire(error_owner* owner, request_operation operation) {
  const auto locked = lock();
  if (free_ == nullptr) [[unlikely]]
    grow();
  request& out = *free_;
  free_ = out.next;
  out.kind = object_kind::request;
  out.operation = operation;
  out.is_persistent = false;
  out.activate();
  out.owner = owner;
  if (owner != nullptr) owner->add_reference();
  out.next = nullptr;
  return out;
}

request& request_pool::acquire_persistent(error_owner* owner, request_operation operation,
                                          std::unique_ptr<request_part> owned) {
  request& out = acquire(owner, operation);
  out.owned = owned.release();
  out.is_persistent = true;
  out.is_active = false;
  out.finish(outcome{});
  return out;
}

void request_pool::release(request& req) noexcept {
  if (&req == &sent_) return;
  if (req.owned != nullptr) [[unlikely]]
    end_owned(req);
  if (req.owner != nullptr) req.owner->remove_reference();
  const auto locked = lock();
  req.kind = object_kind::freed;
  req.next = std::exchange(free_, &req);
}

void request_pool::release_when_done(request& req) {
  if (req.is_done()) {
    release(req);
    return;
  }
  bool looks = false;
  {
    const auto locked = lock();
    freed_.push_back(&req);
    req.kind = object_kind::freed;
    looks = freed_.size() >= look_at_;
  }
  if (looks) release_done();
}

request* request_pool::unlink_done() noexcept {
  request* out = nullptr;
  const auto first_done =
      std::partition(freed_.begin(), freed_.end(), [](const request* req) { return !req->is_done(); });
  for (auto each = first_done; each != freed_.end(); ++each) (*each)->next = std::exchange(out, *each);
  freed_.erase(first_done, freed_.end());
  look_at_ = std::max<std::size_t>(64, 2 * freed_.size());
  return out;
}

std::size_t request_pool::release_done() noexcept {
  request* each = nullptr;
  std::size_t open = 0;
  {
    const auto locked = lock();
    each = unlink_done();
    open = static_cast<std::size_t>(std::ranges::count_if(
        freed_, [](const request* req) { return req->operation != request_operation::generalized; }));
  }
  // What a request owns may run functions of the program at its end: without the lock.
  while (each != nullptr) release(*std::exchange(each, each->next));
  return open;
}

void request_pool::cancel_receives(weft::device& device) noexcept {
  for (const request* const req : freed_) {
    while (req->operation == request_operation::receive && !req->is_done() &&
           device.cancel(req->ticket) == cancel_result::busy)
      device.progress();
  }
}

// The end of what such a request owns ends its operation.
void request_pool::abandon_persistent() noexcept {
  for (request* const req : freed_) {
    if (req->operation == request_operation::collective && req->is_persistent && !req->is_done()) end_owned(*req);
  }
}

}  // namespace weft::mpi
