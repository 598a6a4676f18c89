// SPDX-License-Identifier: BSD-3-Clause
// Flushes: waiting until what was posted to a rank is complete, by a thread, a fiber (`device::flush`), a completion
// object (`device::post_flush`) or a coroutine (`run_loop::flush`).
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "base/backoff.hpp"
#include "base/callback_scope.hpp"
#include "base/long_wait.hpp"
#include "base/this_suspender.hpp"
#include "core/api/checks.hpp"
#include "core/device/device_state.hpp"
#include "core/runtime/posted_wait.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/device.hpp"

namespace weft {
namespace core {
namespace {

// The parts of `flush_options` that say what is flushed.
struct flush_of {
  flush_scope scope;
  const std::optional<remote_region>& region;
};

flush_request checked_request(runtime_state& state, std::uint32_t peer, const flush_of& wanted) {
  if (peer >= state.size()) refuse_rank("flush", peer, state.size());
  if (wanted.scope > flush_scope::one_sided) {
    throw error{errc::invalid_argument,
                fmt::format("flush: there is no flush scope {}", static_cast<unsigned>(wanted.scope))};
  }
  flush_request out{.peer = peer, .transfers_only = wanted.scope == flush_scope::one_sided};
  if (wanted.region) {
    check_region(state, "flush", peer, {*wanted.region, 0}, 0);
    const region_location found = state.memory().regions().locate(peer, wanted.region->name, 0, 0);
    if (found.reach == region_location::access::refused) refuse_withdrawn("flush", peer);
    out.region = wanted.region->name;
  }
  return out;
}

class posted_flush final : public posted_wait {
 public:
  posted_flush(const flush_request& request, std::uint32_t end) noexcept
      : posted_wait{operation::flush}, request_{request}, end_{end} {}

 private:
  bool go_on(device_state& dev) override {
    for (; request_.peer < end_; ++request_.peer) {
      if (!dev.runtime().peers().try_flush(request_, since_)) return false;
    }
    --request_.peer;
    return true;
  }
  std::uint32_t peer() const noexcept override { return request_.peer; }

  flush_request request_;
  std::uint32_t end_;
  detail::flush_mark since_;
};

status post(device_state& dev, std::uint32_t first, std::uint32_t end, completion& local,
            const post_flush_options& options) {
  const flush_request request = checked_request(dev.runtime(), first, {options.scope, options.region});
  return posted_wait::post(dev, local, options.context, options.allow_done,
                           std::make_unique<posted_flush>(request, end));
}

// False: a limit of `options` was reached first.
bool flush_within(device_state& dev, std::uint32_t peer, const flush_options& options, const parking::limits& limits) {
  runtime_state& state = dev.runtime();
  const flush_request request = checked_request(state, peer, {options.scope, options.region});
  const auto describe = [](const void* subject, std::string& into) {
    into += fmt::format(" to rank {}", *static_cast<const std::uint32_t*>(subject));
  };
  detail::flush_mark since;
  bool is_through = false;
  const auto try_flush = [&] { return is_through = is_through || state.peers().try_flush(request, since); };
  base::wait_note note{.call = "device::flush"};
  base::slow_wait listed{"device::flush", {describe, &peer}};
  parking& lot = state.parking();
  for (yield_policy::rest_state waiting = lot.begin_rest(); !try_flush();) {
    const bool is_last = limits.are_reached();
    const bool has_moved = dev.progress();
    if (is_last) return try_flush();
    if (has_moved) {
      waiting = lot.begin_rest();
    } else if (!lot.suspend_fiber(note, dev, state.own().barrier(), try_flush, limits)) {
      lot.rest(waiting);
      listed.note(waiting.waiting);
    }
  }
  return true;
}

}  // namespace
}  // namespace core

bool device::flush(std::uint32_t peer, const flush_options& options) {
  base::refuse_in_callback("flush");
  return core::flush_within(*state_, peer, options, core::parking::limits::within(options.timeout, options.stop));
}

bool device::flush(const flush_options& options) {
  if (options.region) return flush(options.region->rank, options);
  base::refuse_in_callback("flush");
  const auto limits = core::parking::limits::within(options.timeout, options.stop);
  for (std::uint32_t rank = 0; rank < state_->rank_count(); ++rank) {
    if (!core::flush_within(*state_, rank, options, limits)) return false;
  }
  return true;
}

status device::post_flush(std::uint32_t peer, completion& local, const post_flush_options& options) {
  return core::post(*state_, peer, peer + 1, local, options);
}

status device::post_flush(completion& local, const post_flush_options& options) {
  if (options.region) return post_flush(options.region->rank, local, options);
  return core::post(*state_, 0, state_->rank_count(), local, options);
}

}  // namespace weft
