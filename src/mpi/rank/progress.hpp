// SPDX-License-Identifier: BSD-3-Clause
// Progress and waits for operations of several communicators, whose devices may differ.
#pragma once

#include <span>

#include "mpi/rank/rank_state.hpp"
#include "weft/detail/report_names.hpp"
#include "weft/device.hpp"
#include "weft/wait.hpp"

namespace weft::mpi {

/// Makes progress on all VCIs; `first`: the device that is most likely to have something.
inline bool progress_on_all(rank_state& rank, weft::device& first) noexcept {
  return rank.vcis.have_global_progress() ? first.progress() : rank.vcis.progress();
}

/// Waits as `device::wait` does, with progress on all VCIs. **Errors**: `weft::error` inside a handler.
template <class Condition>
void wait_on_all(rank_state& rank, const weft::detail::waiting_function& function, weft::device& first,
                 const Condition& is_done) {
  if (rank.vcis.have_global_progress()) {
    weft::detail::wait_as(function, first, rank.signals, is_done);
    return;
  }
  // Messages for other devices would wake no thread that sleeps at this one, so the thread yields.
  auto look = [&] { return is_done() || (rank.vcis.progress() && is_done()); };
  const completion* const only = &rank.signals;
  weft::detail::wait_as(function, first, std::span{&only, 1},
                        [](void* condition) { return (*static_cast<decltype(look)*>(condition))(); }, &look,
                        {.mode = wait_mode::yield});
}

}  // namespace weft::mpi
