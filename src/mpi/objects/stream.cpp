// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/stream.hpp"

#include <algorithm>
#include <utility>

#include "weft/runtime.hpp"

namespace weft::mpi {

stream::stream(weft::runtime& runtime, request_signals& signals)
    : device{runtime, {.shared = false, .only_named = true, .policy = progress_policy::local}},
      own_vci{vci_of_stream, device, {{device, signals}, {device, signals}}},
      hooks{device} {}

bool stream::try_start_thread() {
  if (thread != nullptr) return false;
  weft::detail::set_shared(device, true);
  try {
    thread = std::make_unique<weft::progress_thread>(device);
  } catch (...) {
    weft::detail::set_shared(device, false);
    throw;
  }
  return true;
}

bool stream::stop_thread() noexcept {
  if (thread == nullptr) return false;
  thread.reset();
  weft::detail::set_shared(device, false);  // it was made as one thread's own
  return true;
}

stream& stream_list::make(weft::runtime& runtime, request_signals& signals) {
  auto made = std::make_unique<stream>(runtime, signals);
  const std::scoped_lock locked{mutex_};
  all_.push_back(std::move(made));
  count_.store(all_.size(), std::memory_order_relaxed);  // [locked]
  return *all_.back();
}

void stream_list::end(stream& last) noexcept {
  last.kind = object_kind::freed;
  std::unique_ptr<stream> gone;  // declared first: its device ends without the lock
  const std::scoped_lock locked{mutex_};
  const auto found = std::ranges::find_if(all_, [&](const auto& each) { return each.get() == &last; });
  gone = std::move(*found);
  all_.erase(found);
  count_.store(all_.size(), std::memory_order_relaxed);  // [locked]
}

std::size_t stream_list::open_hooks() const noexcept {
  const std::scoped_lock locked{mutex_};
  std::size_t out = 0;
  for (const auto& each : all_) out += each->hooks.open();
  return out;
}

void stream_list::stop_threads() noexcept {
  const std::scoped_lock locked{mutex_};
  for (const auto& each : all_) each->stop_thread();
}

std::vector<stream*> stream_list::all() const {
  const std::scoped_lock locked{mutex_};
  std::vector<stream*> out;
  out.reserve(all_.size());
  for (const auto& each : all_) out.push_back(each.get());
  return out;
}

stream_routes::stream_routes(std::vector<stream*> own, const std::vector<std::uint32_t>& counts,
                             std::vector<std::uint32_t> devices)
    : own_{std::move(own)}, devices_{std::move(devices)} {
  first_.reserve(counts.size() + 1);
  first_.push_back(0);
  for (const std::uint32_t each : counts) first_.push_back(first_.back() + each);
  for (stream* const each : own_) {
    // [stream.use] relaxed: the thread that asks is in the stream, as this one is.
    if (each != nullptr) each->communicators.fetch_add(1, std::memory_order_relaxed);
  }
}

stream_routes::~stream_routes() {
  for (stream* const each : own_) {
    // [stream.unuse] release -> [stream.is_unused]: this thread does not use the stream any more.
    if (each != nullptr) each->communicators.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace weft::mpi
