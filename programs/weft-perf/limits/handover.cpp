#include "weft-perf/limits/handover.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "weft-perf/report/machine.hpp"
#include "weft-perf/report/rounds.hpp"

namespace weft::perf {
namespace {

constexpr int bursts = 9;
constexpr int exchanges = 200;

}  // namespace

void handover_side::wait_for(std::uint32_t step) const noexcept {
  // Spins without a pause, which would be part of the figure; gives way where the other side has no core.
  // [handover.wait] acquire <- [handover.there], [handover.back]: nothing but the step; a message's reader has this
  // order.
  for (std::uint32_t spins = 0; line_->step.load(std::memory_order_acquire) != step;) {
    if (++spins % 8192 == 0) sched_yield();
  }
}

double handover_side::measure() {
  std::vector<double> means;
  for (int burst = 0; burst < bursts; ++burst) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < exchanges; ++i) {
      // [handover.there] release -> [handover.wait]: the second side's step.
      if (first_) line_->step.store(step_ + 1, std::memory_order_release);
      wait_for(first_ ? step_ + 2 : step_ + 1);
      // [handover.back] release -> [handover.wait]: the first side's step.
      if (!first_) line_->step.store(step_ + 2, std::memory_order_release);
      step_ += 2;
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    means.push_back(took.count() / (2.0 * exchanges));
  }
  return summarize(std::move(means)).median;
}

shared_line::shared_line() : file_{memfd_create("weft-perf", MFD_CLOEXEC)} {
  if (file_ >= 0 && ftruncate(file_, sizeof(handover_line)) == 0) map();
}

shared_line::shared_line(const std::string& path) : file_{open(path.c_str(), O_RDWR | O_CLOEXEC)} {
  if (file_ >= 0) map();
}

shared_line::~shared_line() {
  if (line_ != nullptr) munmap(line_, sizeof(handover_line));
  if (file_ >= 0) close(file_);
}

void shared_line::map() {
  void* memory = mmap(nullptr, sizeof(handover_line), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (memory != MAP_FAILED) line_ = static_cast<handover_line*>(memory);
}

std::string shared_line::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), file_); }

double measure_handover_here() {
  handover_line line;
  std::jthread other{[&] {
    pin_thread(1);
    handover_side{line, false}.measure();
  }};
  const pinned_here first{0};
  return handover_side{line, true}.measure();
}

}  // namespace weft::perf
