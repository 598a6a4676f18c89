// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/posted_wait.hpp"

#include <atomic>
#include <utility>

#include "core/operation/promise.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/error.hpp"

namespace weft::core {
namespace {

// A ticket of no set of operations: `cancel` finds nothing by it.
std::uint64_t new_ticket() noexcept {
  static std::atomic<std::uint32_t> made{0};
  // [posted_wait.number] relaxed: a number and nothing else.
  return std::uint64_t{made.fetch_add(1, std::memory_order_relaxed) + 1} << 32 | 0xffff'ffff;
}

}  // namespace

status posted_wait::post(device_state& dev, completion& local, void* context, bool allow_done,
                         std::unique_ptr<posted_wait> wait) {
  dev.runtime().refuse_copies();
  dev.runtime().objects().check(wait->opcode_ == operation::flush ? "post_flush" : "post_barrier", local);
  wait->is_over_ = wait->go_on(dev);
  if (wait->is_over_ && allow_done) return status::done();
  wait->device_ = &dev;
  wait->local_ = &local;
  wait->context_ = context;
  promise::make(local);
  const std::uint64_t ticket = new_ticket();
  dev.defer(*wait.release());
  return status::posted(ticket);
}

void posted_wait::try_to_end() noexcept {
  try {
    is_over_ = go_on(*device_);
  } catch (const error& failed) {
    error_ = failed.code();
    is_over_ = true;
  } catch (...) {  // the text of the error has no memory
    error_ = errc::out_of_memory;
    is_over_ = true;
  }
}

bool posted_wait::try_again() noexcept {
  device_state& dev = *device_;
  if (!is_over_) try_to_end();
  if (!is_over_) {
    dev.defer(*this);
    return false;
  }
  detail::raw_record raw;
  raw.peer = peer();
  raw.opcode = opcode_;
  raw.error = error_;
  raw.location = detail::payload_location::borrowed;
  raw.refer({nullptr, 0, nullptr, context_});
  completion& object = *local_;
  completion_record record{raw};
  if (!promise::keep(dev, object, record)) {
    dev.defer(*this);
    return false;
  }
  dev.runtime().signalled(&object);
  delete this;
  return true;
}

}  // namespace weft::core
