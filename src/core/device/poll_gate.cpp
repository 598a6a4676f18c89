// SPDX-License-Identifier: BSD-3-Clause
#include "core/device/poll_gate.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/misuse.hpp"

namespace weft::core {
namespace {

long membarrier(int command) noexcept { return syscall(__NR_membarrier, command, 0, 0); }

bool try_fence_all_threads() noexcept { return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0; }

}  // namespace

void prepare_fences() noexcept {
  static_cast<void>(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
  static_cast<void>(membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED));
}

bool kernel_fences_threads() noexcept {
  static const bool answer = [] {
    prepare_fences();
    return try_fence_all_threads();
  }();
  return answer;
}

void fence_all_threads() noexcept {
  // [gate.fence_all] seq_cst <- [gate.own_fence]: each poller, and each thread that chooses a device, has either shown
  // that it has entered or chooses, or begins after this.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (kernel_fences_threads() && !try_fence_all_threads()) {
    base::misuse(
        "the system call membarrier was allowed when the first runtime was made, and is refused now: a sandbox has to "
        "be there before");
  }
}

bool fence_all_processes() noexcept { return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0; }

}  // namespace weft::core
