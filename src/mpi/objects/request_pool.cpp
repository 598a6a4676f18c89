// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/request_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <type_traits>
#include <utility>

#include "mpi/objects/communicator.hpp"
#include "weft/device.hpp"

namespace weft::mpi {
namespace {

static_assert(std::is_trivially_destructible_v<pooled_request>, "the pool destroys none");

constexpr std::align_val_t alignment{alignof(pooled_request)};

void end_owned(request& req) noexcept { delete std::exchange(req.owned, nullptr); }

pooled_request& pooled(request& req) noexcept { return static_cast<pooled_request&>(req); }

// Where a batch lies.
struct position {
  std::size_t block;
  std::size_t index;  // of the first request of the batch in the block
};
position position_of(std::uint32_t batch) noexcept {
  const auto block = static_cast<std::size_t>(std::bit_width(batch + 1) - 1);
  return {.block = block, .index = (batch + 1 - (std::size_t{1} << block)) * batch_requests};
}

}  // namespace

request_pool::~request_pool() {
  // Persistent requests that the program has not freed own a part, too.
  // [own] The rank has ended.
  const std::uint32_t end = made_.load(std::memory_order_relaxed);
  for (std::uint32_t number = 0; number < end; ++number) {
    if (pooled_request& req = find(number); req.is_done()) end_owned(req);
  }
  // [own] likewise.
  for (auto& block : blocks_) ::operator delete(block.load(std::memory_order_relaxed), alignment);
}

pooled_request& request_pool::find(std::uint32_t number) noexcept {
  const position found = position_of(number / batch_requests);
  // [request_pool.find] acquire <- [request_pool.block]: a batch's number is known, so its block is.
  return blocks_[found.block].load(std::memory_order_acquire)[found.index + number % batch_requests];
}

pooled_request* request_pool::block_with_memory(std::size_t block) {
  // [request_pool.seen] acquire <- [request_pool.block]: the allocation.
  pooled_request* seen = blocks_[block].load(std::memory_order_acquire);
  if (seen != nullptr) return seen;
  const std::size_t bytes = sizeof(pooled_request) * batch_requests << block;
  auto* const made = static_cast<pooled_request*>(::operator new(bytes, alignment));
  // [request_pool.block] acq_rel <-> [request_pool.block], [request_pool.find], [request_pool.seen]: the allocation.
  if (blocks_[block].compare_exchange_strong(seen, made, std::memory_order_acq_rel, std::memory_order_acquire))
    return made;
  ::operator delete(made, alignment);
  return seen;
}

request* request_pool::make_batch() {
  // relaxed: the exchange below says whose the batch is.
  std::uint32_t first = made_.load(std::memory_order_relaxed);
  pooled_request* memory = nullptr;
  do {
    const position found = position_of(first / batch_requests);
    if (found.block >= blocks) throw std::bad_alloc{};
    memory = block_with_memory(found.block) + found.index;
    // relaxed: it publishes nothing. Other threads learn of these requests by the stacks and by the program.
  } while (!made_.compare_exchange_weak(first, first + batch_requests, std::memory_order_relaxed,
                                        std::memory_order_relaxed));
  request* out = nullptr;
  for (std::uint32_t index = batch_requests; index-- > 0;) {
    request& req = *::new (&memory[index]) pooled_request{first + index};
    req.kind = object_kind::freed;
    req.next = std::exchange(out, &req);
  }
  return out;
}

template <class Function>
void request_pool::with_cache(const Function& function) {
  const std::size_t offset = detail::find_request_cache();
  if (offset != detail::no_request_cache) [[likely]]
    return function(cache_at(offset));
  const std::scoped_lock lock{stray_mutex_};
  function(stray_);
}

request& request_pool::borrow_and_get() {
  request* out = nullptr;
  with_cache([&](request_cache& cache) {
    out = cache.try_get();
    if (out != nullptr) return;
    request* borrowed = std::exchange(cache.batch, nullptr);
    if (borrowed == nullptr) borrowed = batches_.pop([this](std::uint32_t number) -> auto& { return find(number); });
    if (borrowed == nullptr) borrowed = make_batch();
    cache.free = borrowed;
    cache.room = 0;
    out = cache.try_get();
  });
  return *out;
}

void request_pool::lend_and_put(request& unused) noexcept {
  with_cache([&](request_cache& cache) {
    if (cache.try_put(unused)) return;
    if (cache.free != nullptr) {
      if (cache.batch != nullptr) batches_.push(pooled(*cache.batch));
      cache.batch = std::exchange(cache.free, nullptr);
    }
    unused.next = nullptr;
    cache.free = &unused;
    cache.room = batch_requests - 1;
  });
}

request& request_pool::acquire(error_owner* owner, request_operation operation) {
  request* const cached = own_cache().try_get();
  request& out = cached != nullptr ? *cached : borrow_and_get();
  begin(out, owner, operation);
  if (owner != nullptr) owner->add_reference();
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
  release_unreferenced(own_cache(), req);
}

void request_pool::release_when_done(request& req) noexcept {
  if (req.is_done()) {
    release(req);
    return;
  }
  req.kind = object_kind::freed;
  // [hint] Both say only when to look. Counted first: the count is never less than there are.
  const std::size_t count = freed_count_.fetch_add(1, std::memory_order_relaxed) + 1;
  freed_.push(pooled(req));
  if (count >= look_at_.load(std::memory_order_relaxed)) release_done();  // [hint]
}

// Takes the freed requests that are done; linked by `next`.
pooled_request* request_pool::unlink_done(std::size_t& open) noexcept {
  request* out = nullptr;
  std::size_t count = 0;
  for (std::uint32_t number = freed_.take_all(); number != stack::none;) {
    pooled_request& req = find(number);
    // [own] This thread has taken the links of all.
    number = req.below.load(std::memory_order_relaxed);
    if (req.is_done()) {
      req.next = std::exchange(out, &req);
      ++count;
    } else {
      if (req.operation != request_operation::generalized) ++open;
      freed_.push(req);
    }
  }
  // [hint] See `release_when_done`.
  const std::size_t before = freed_count_.fetch_sub(count, std::memory_order_relaxed);
  look_at_.store(std::max<std::size_t>(64, 2 * (before - count)), std::memory_order_relaxed);  // [hint]
  return static_cast<pooled_request*>(out);
}

std::size_t request_pool::release_done() noexcept {
  std::size_t open = 0;
  request* each = unlink_done(open);
  // What a request owns may run functions of the program at its end, which may free requests.
  while (each != nullptr) release(*std::exchange(each, each->next));
  return open;
}

template <class Visit>
void request_pool::each_freed(const Visit& visit) noexcept {
  for (std::uint32_t number = freed_.take_all(); number != stack::none;) {
    pooled_request& req = find(number);
    // [own] This thread has taken the links of all.
    number = req.below.load(std::memory_order_relaxed);
    visit(req);
    freed_.push(req);
  }
}

void request_pool::cancel_receives() noexcept {
  each_freed([](const request& req) {
    if (req.operation != request_operation::receive || req.owner == nullptr) return;
    weft::device& device = req.comm().route.device;
    while (!req.is_done() && device.cancel(req.ticket) == cancel_result::busy) device.progress();
  });
}

// The end of what such a request owns ends its operation.
void request_pool::abandon_persistent() noexcept {
  each_freed([](request& req) {
    if (req.operation == request_operation::collective && req.is_persistent && !req.is_done()) end_owned(req);
  });
}

}  // namespace weft::mpi
