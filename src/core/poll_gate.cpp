#include "core/poll_gate.hpp"

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::core {
namespace {

long membarrier(int command) noexcept { return syscall(__NR_membarrier, command, 0, 0); }

// Where the kernel forbids membarrier: taking a page's rights away interrupts every core that runs this process, and
// an interrupt is a fence.
void fence_by_page() noexcept {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  *static_cast<volatile char*>(page) = 1;
  mprotect(page, 4096, PROT_NONE);
  munmap(page, 4096);
}

}  // namespace

void prepare_fences() noexcept {
  static_cast<void>(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
  static_cast<void>(membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED));
}

void fence_all_threads() noexcept {
  // [gate.fence_all] seq_cst <- [gate.own_fence], [choosing.fence]: every poller has entered, and every thread that
  // chooses says so, for all to see, or has not begun.
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) fence_by_page();
}

bool fence_all_processes() noexcept { return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0; }

}  // namespace weft::core
