// SPDX-License-Identifier: BSD-3-Clause
// Tests, such as MPI_Test and MPI_Iprobe, that find nothing. Those of a thread that follow each other are the looks of
// one wait, which gives the core to other threads as MPI_Wait does, but never sleeps. A test that finds something ends
// the wait; so does a call of progress that moves something, and any call that starts or completes communication.
#pragma once

#include "mpi/rank/rank_state.hpp"
#include "weft/detail/fiber_words.hpp"
#include "weft/device.hpp"

namespace weft::mpi {

/// Ends the wait of the calling thread.
inline void end_tests() noexcept { detail::this_thread.tests.left = weft::detail::test_loop::ended; }

/// The end of each test. `has_moved`: what its call of progress has answered.
inline void end_test(rank_state& rank, bool is_found, bool has_moved) noexcept {
  if (is_found || has_moved) {
    end_tests();
  } else if (--detail::this_thread.tests.left < 0) [[unlikely]] {
    if (weft::detail::is_in_callback()) return end_tests();
    weft::detail::rest_between_tests(rank.device, detail::this_thread.tests);
  }
}

}  // namespace weft::mpi
