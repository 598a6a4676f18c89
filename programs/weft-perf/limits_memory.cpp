// Copies: within a process and from one to another.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "weft-perf/limits.hpp"
#include "weft-perf/machine.hpp"

namespace weft::perf::limits {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

// Steps that two sides take in turns: even ones are the first side's.
struct alignas(64) turns {
  std::atomic<std::uint64_t> step{0};

  void wait_for(std::uint64_t wanted) const noexcept {
    for (std::uint32_t spins = 0; step.load(std::memory_order_acquire) < wanted;) {
      if (++spins % 8192 == 0) std::this_thread::yield();
    }
  }
  void reach(std::uint64_t next) noexcept { step.store(next, std::memory_order_release); }
};

constexpr std::uint64_t over = ~std::uint64_t{0};

// Adds up what lies there, so that it comes into the cache of whoever calls this.
std::uint64_t look_through(const std::byte* bytes, std::size_t count) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + sizeof sum <= count; i += 64) sum += static_cast<std::uint64_t>(bytes[i]);
  return sum;
}

// Small copies are timed together, so that the clock is no part of them.
std::size_t repeats_for(std::size_t bytes) { return std::max<std::size_t>(1, (std::size_t{256} << 10) / bytes); }

double copy_slots(std::size_t bytes, std::size_t slots, double seconds) {
  std::vector<std::byte> from(bytes * slots, std::byte{1});
  std::vector<std::byte> to(bytes * slots, std::byte{2});
  const pinned_here first{0};
  const std::size_t repeats = repeats_for(bytes);
  std::size_t copied = 0;
  double took = 0;
  for (const auto begin = clock::now(); took < seconds; took = seconds_since(begin)) {
    for (std::size_t i = 0; i < repeats; ++i, ++copied) {
      const std::size_t at = copied % slots * bytes;
      std::memcpy(to.data() + at, from.data() + at, bytes);
      asm volatile("" : : "r"(to.data()) : "memory");
    }
  }
  return static_cast<double>(copied * bytes) / took;
}

// The other core writes source and reads destination of all slots, then this one copies them.
double copy_just_written(std::size_t bytes, double seconds) {
  const std::size_t slots = std::max<std::size_t>(1, std::min<std::size_t>(repeats_for(bytes), 16));
  std::vector<std::byte> from(bytes * slots);
  std::vector<std::byte> to(bytes * slots);
  turns both;
  const std::jthread other{[&] {
    const pinned_here second{1};
    for (std::uint64_t step = 0;; step += 2) {
      both.wait_for(step);
      if (both.step.load(std::memory_order_acquire) == over) return;
      std::memset(from.data(), static_cast<int>(step & 0x7f), from.size());
      volatile const std::uint64_t used = look_through(to.data(), to.size());
      (void)used;
      both.reach(step + 1);
    }
  }};
  const pinned_here first{0};
  std::size_t copied = 0;
  double took = 0;
  const auto begin = clock::now();
  std::uint64_t step = 0;
  for (; took < seconds / 2 && seconds_since(begin) < 3 * seconds; step += 2) {
    both.wait_for(step + 1);
    const auto copying = clock::now();
    for (std::size_t slot = 0; slot < slots; ++slot) {
      std::memcpy(to.data() + slot * bytes, from.data() + slot * bytes, bytes);
    }
    asm volatile("" : : "r"(to.data()) : "memory");
    took += seconds_since(copying);
    copied += slots;
    both.reach(step + 2);
  }
  both.wait_for(step + 1);
  both.reach(over);
  return static_cast<double>(copied * bytes) / took;
}

// What parent and child share.
struct control {
  turns both;
  std::atomic<int> failed{0};
};

bool move_all(bool reading, pid_t peer, std::byte* mine, std::byte* theirs, std::size_t bytes) noexcept {
  for (std::size_t moved = 0; moved < bytes;) {
    const iovec here{mine + moved, bytes - moved};
    const iovec there{theirs + moved, bytes - moved};
    const ssize_t now =
        reading ? process_vm_readv(peer, &here, 1, &there, 1, 0) : process_vm_writev(peer, &here, 1, &there, 1, 0);
    if (now <= 0) return false;
    moved += static_cast<std::size_t>(now);
  }
  return true;
}

}  // namespace

double copy(state of, std::size_t bytes, double seconds) {
  // More than the last cache holds, over and over.
  constexpr std::size_t arena = std::size_t{96} << 20;
  switch (of) {
    case state::repeated: return copy_slots(bytes, 1, seconds);
    case state::fresh: return copy_slots(bytes, arena / bytes, seconds);
    case state::just_written: return copy_just_written(bytes, seconds);
  }
  return 0;
}

// The child copies the second half (or all) from its parent's source to its own destination, the parent the first half
// from its source to the child's destination. Both addresses are the same in both, as the child is a fork.
double cross_memory_copy(bool both, std::size_t bytes, double seconds) {
  void* memory = mmap(nullptr, sizeof(control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  auto* shared = new (memory) control;
  std::vector<std::byte> from(bytes, std::byte{1});
  std::vector<std::byte> to(bytes, std::byte{2});
  const std::size_t half = both ? bytes / 2 : 0;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin_thread(1);
    std::fill(to.begin(), to.end(), std::byte{3});  // pages of its own
    for (std::uint64_t step = 0;; step += 2) {
      shared->both.wait_for(step + 1);
      if (shared->both.step.load(std::memory_order_acquire) == over) _exit(0);
      if (!move_all(true, parent, to.data() + half, from.data() + half, bytes - half)) {
        shared->failed.store(1, std::memory_order_relaxed);
      }
      shared->both.reach(step + 2);
    }
  }
  double result = 0;
  if (child > 0) {
    const pinned_here first{0};
    bool good = true;
    std::size_t copied = 0;
    double took = 0;
    const auto begin = clock::now();
    for (std::uint64_t step = 0; took < seconds && good; step += 2, ++copied, took = seconds_since(begin)) {
      shared->both.reach(step + 1);
      if (both) good = move_all(false, child, from.data(), to.data(), half);
      shared->both.wait_for(step + 2);
      good = good && shared->failed.load(std::memory_order_relaxed) == 0;
    }
    shared->both.reach(over);
    waitpid(child, nullptr, 0);
    if (good) result = static_cast<double>(copied * bytes) / took;
  }
  munmap(memory, sizeof(control));
  return result;
}

}  // namespace weft::perf::limits
