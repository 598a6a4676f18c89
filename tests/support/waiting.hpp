// SPDX-License-Identifier: BSD-3-Clause
// Waits of tests: every one has a bound, far above the time that any machine needs, and makes progress meanwhile.
#pragma once

#include <thread>

#include "base/config.hpp"
#include "support/time_limit.hpp"
#include "weft/weft.hpp"

namespace weft::test {

/// Whether a message wakes a thread that sleeps until it arrives. Elsewhere, as over a simulated network, each sleep
/// takes 2 ms, and a test has to do with few.
[[nodiscard]] inline bool messages_wake_sleepers() {
  return base::process_settings().transport == base::settings{}.transport;
}

/// Waits until `done()` or the bound, for events of other threads; answers whether it is done.
template <class Condition>
[[nodiscard]] bool eventually(Condition done) {
  time_limit limit;
  while (!done()) {
    if (limit.is_over()) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Waits likewise, making progress on `dev`.
template <class Condition>
[[nodiscard]] bool eventually(device& dev, Condition done) {
  time_limit limit;
  while (!done()) {
    if (!dev.progress()) std::this_thread::yield();
    if (limit.is_over()) return false;
  }
  return true;
}

/// Calls `once`, which posts something, until the answer is not *retry*. Throws past the bound.
template <class Post>
status post(device& dev, const Post& once) {
  status out = status::retry(shortage::none);
  const bool taken = eventually(dev, [&] {
    out = once();
    return !out.is_retry();
  });
  if (!taken) throw error{errc::transport_failed, "a post was answered with retry for minutes"};
  return out;
}

/// Posts again while the answer is *retry*; true if the last one was *posted*. Throws past the bound.
inline bool post_until_taken(device& dev, std::uint32_t peer, remote_completion to, const_buffer_ref bytes,
                             completion& local, const post_am_options& options = {}) {
  return post(dev, [&] { return dev.post_am(peer, to, bytes, local, options); }).is_posted();
}

}  // namespace weft::test
