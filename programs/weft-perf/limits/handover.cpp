// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/limits/handover.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "weft-perf/report/machine.hpp"
#include "weft-perf/report/rounds.hpp"

namespace weft::perf {
namespace {

constexpr int bursts = 9;
constexpr int exchanges = 200;

// Calls `ready` until it says yes. Spins without a pause, which would be part of the figure; gives way where the other
// side has no core.
template <class Ready>
void spin_until(const Ready& ready) {
  for (std::uint32_t spins = 0; !ready();) {
    if (++spins % 8192 == 0) sched_yield();
  }
}

// ns one way of each burst; `there_and_back` is one exchange.
template <class Exchange>
std::vector<double> bursts_of_exchanges(const Exchange& there_and_back) {
  std::vector<double> means;
  for (int burst = 0; burst < bursts; ++burst) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < exchanges; ++i) there_and_back();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    means.push_back(took.count() / (2.0 * exchanges));
  }
  return means;
}

template <class Measure>
double between_threads(const Measure& measure) {
  const auto shared = std::make_unique<exchange_lines>();
  std::jthread other{[&] {
    pin_thread(1);
    exchange_side second{*shared, false};
    measure(second);
  }};
  const pinned_here pinned{0};
  exchange_side first{*shared, true};
  return measure(first);
}

}  // namespace

const char* name_of(exchange exchanged) noexcept {
  return exchanged == exchange::two_lines ? "two lines" : "two rings";
}

void exchange_side::wait_for(std::uint32_t step) const noexcept {
  // [handover.wait] acquire <- [handover.there], [handover.back]: nothing but the step; a message's reader has this
  // order.
  spin_until([&] { return shared_->both.step.load(std::memory_order_acquire) == step; });
}

double exchange_side::measure_handover() {
  return summarize(bursts_of_exchanges([&] {
           // [handover.there] release -> [handover.wait]: the second side's step.
           if (first_) shared_->both.step.store(step_ + 1, std::memory_order_release);
           wait_for(first_ ? step_ + 2 : step_ + 1);
           // [handover.back] release -> [handover.wait]: the first side's step.
           if (!first_) shared_->both.step.store(step_ + 2, std::memory_order_release);
           step_ += 2;
         }))
      .median;
}

void exchange_side::write_line(std::uint32_t number) noexcept {
  // [two_lines.write] release -> [two_lines.await]: nothing but the number, as in a put of one word.
  shared_->lines[mine()].step.store(number, std::memory_order_release);
}

void exchange_side::await_line(std::uint32_t number) const noexcept {
  const handover_line& theirs = shared_->lines[1 - mine()];
  // [two_lines.await] acquire <- [two_lines.write]: nothing but the number.
  spin_until([&] { return theirs.step.load(std::memory_order_acquire) == number; });
}

void exchange_side::write_cell(std::uint64_t position) noexcept {
  exchange_ring& ring = shared_->rings[mine()];
  exchange_cell& next = ring[position % ring.size()];
  std::fill_n(next.payload.begin(), 3, position);  // header and eight bytes
  // [two_rings.publish] release -> [two_rings.poll]: the payload of cell `position`.
  next.sequence.store(position + 1, std::memory_order_release);
}

void exchange_side::await_cell(std::uint64_t position) const noexcept {
  const exchange_ring& ring = shared_->rings[1 - mine()];
  const exchange_cell& next = ring[position % ring.size()];
  // [two_rings.poll] acquire <- [two_rings.publish]: the payload of cell `position`.
  spin_until([&] { return next.sequence.load(std::memory_order_acquire) == position + 1; });
}

double exchange_side::measure(exchange exchanged) {
  const std::vector<double> means = bursts_of_exchanges([&] {
    if (exchanged == exchange::two_lines) {
      ++number_;
      if (first_) write_line(number_);
      await_line(number_);
      if (!first_) write_line(number_);
    } else {
      if (first_) write_cell(position_);
      await_cell(position_);
      if (!first_) write_cell(position_);
      ++position_;
    }
  });
  return *std::min_element(means.begin(), means.end());
}

shared_lines::shared_lines() : file_{memfd_create("weft-perf", MFD_CLOEXEC)} {
  if (file_ >= 0 && ftruncate(file_, sizeof(exchange_lines)) == 0) map();
}

shared_lines::shared_lines(const std::string& path) : file_{open(path.c_str(), O_RDWR | O_CLOEXEC)} {
  if (file_ >= 0) map();
}

shared_lines::~shared_lines() {
  if (lines_ != nullptr) munmap(lines_, sizeof(exchange_lines));
  if (file_ >= 0) close(file_);
}

void shared_lines::map() {
  void* memory = mmap(nullptr, sizeof(exchange_lines), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (memory != MAP_FAILED) lines_ = static_cast<exchange_lines*>(memory);
}

std::string shared_lines::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), file_); }

double measure_handover_here() {
  return between_threads([](exchange_side& side) { return side.measure_handover(); });
}

double measure_here(exchange exchanged) {
  return between_threads([exchanged](exchange_side& side) { return side.measure(exchanged); });
}

}  // namespace weft::perf
