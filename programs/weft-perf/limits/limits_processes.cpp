// SPDX-License-Identifier: BSD-3-Clause
// Copies from one process to another by process_vm_readv and process_vm_writev.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "weft-perf/limits/bursts.hpp"
#include "weft-perf/limits/limits.hpp"
#include "weft-perf/limits/limits_memory.hpp"
#include "weft-perf/report/machine.hpp"

namespace weft::perf::limits {
namespace {

// The memory that parent and child share.
struct control {
  alternation both;
  std::atomic<bool> has_failed{false};
};

class shared_control {
 public:
  shared_control() {
    void* const memory = mmap(nullptr, sizeof(control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) control_ = new (memory) control;
  }
  ~shared_control() {
    if (control_ != nullptr) munmap(control_, sizeof(control));
  }
  shared_control(const shared_control&) = delete;
  shared_control& operator=(const shared_control&) = delete;
  [[nodiscard]] control* get() const noexcept { return control_; }

 private:
  control* control_ = nullptr;
};

using system_copy = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

bool move_all(system_copy copy, pid_t peer, std::byte* mine, std::byte* theirs, std::size_t bytes) noexcept {
  for (std::size_t moved = 0; moved < bytes;) {
    const iovec here{mine + moved, bytes - moved};
    const iovec there{theirs + moved, bytes - moved};
    const ssize_t now = copy(peer, &here, 1, &there, 1, 0);
    if (now <= 0) return false;
    moved += static_cast<std::size_t>(now);
  }
  return true;
}

// The copies of one step: one message some times, or a long message piece by piece, as Weft does.
class steps {
 public:
  steps(std::size_t bytes, bool is_shared) noexcept
      : bytes_{bytes}, piece_{std::min(bytes, piece_max)}, repeats_{repeats_for(piece_)}, is_shared_{is_shared} {}

  [[nodiscard]] double bytes_each() const noexcept { return static_cast<double>(repeats_ * piece_); }

  /// The child reads the other half than the parent.
  bool read(std::uint64_t step, pid_t parent, std::byte* to, std::byte* from) const noexcept {
    return each_piece(step, [&](std::size_t offset, std::size_t half) {
      return move_all(process_vm_readv, parent, to + offset + half, from + offset + half, piece_ - half);
    });
  }
  /// The parent writes its half, where there is one.
  bool write(std::uint64_t step, pid_t child, std::byte* from, std::byte* to) const noexcept {
    return each_piece(step, [&](std::size_t offset, std::size_t half) {
      return half == 0 || move_all(process_vm_writev, child, from + offset, to + offset, half);
    });
  }

 private:
  static constexpr std::size_t piece_max = std::size_t{512} << 10;

  template <class Copy>
  [[nodiscard]] bool each_piece(std::uint64_t step, const Copy& copy) const noexcept {
    const std::size_t half = is_shared_ ? piece_ / 2 : 0;
    for (std::size_t i = 0; i < repeats_; ++i) {
      if (!copy((step * repeats_ + i) * piece_ % bytes_, half)) return false;
    }
    return true;
  }

  std::size_t bytes_;
  std::size_t piece_;
  std::size_t repeats_;
  bool is_shared_;
};

}  // namespace

// Both addresses are valid in both processes, as the child is a fork. The child is there, on its core and with pages
// of its own, before the clock starts.
double cross_memory_copy(bool both, std::size_t bytes, double seconds) {
  const shared_control shared;
  control* const pace = shared.get();
  if (pace == nullptr) return 0;
  const touched_memory from{bytes};
  const touched_memory to{bytes};
  const steps work{bytes, both};
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin_thread(1);
    from.touch();
    to.touch();
    pace->both.reach(1);
    for (std::uint64_t step = 1; pace->both.wait_for(2 * step); ++step) {
      // relaxed: [alternation.reach] carries it to the parent.
      if (!work.read(step, parent, to.data(), from.data())) pace->has_failed.store(true, std::memory_order_relaxed);
      pace->both.reach(2 * step + 1);
    }
    _exit(0);
  }
  const pinned_here first{0};
  from.touch();  // as a fork leaves them, the parent's pages can't be written either without a copy
  (void)pace->both.wait_for(1);
  bool good = true;
  std::uint64_t step = 1;
  const best_burst best = bursts_of(seconds, [&] {
    if (!good) return 0.0;
    pace->both.reach(2 * step);
    good = work.write(step, child, from.data(), to.data());
    (void)pace->both.wait_for(2 * step + 1);
    ++step;
    // relaxed: [alternation.wait] has brought it from the child.
    good = good && !pace->has_failed.load(std::memory_order_relaxed);
    return work.bytes_each();
  });
  pace->both.end();
  waitpid(child, nullptr, 0);
  return good ? best.rate() : 0;
}

}  // namespace weft::perf::limits
