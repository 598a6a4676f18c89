// SPDX-License-Identifier: BSD-3-Clause
#include "model/execution.hpp"

#include <fmt/format.h>

#include "weft/detail/laned_queue.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::model {

bool execution::run(const std::function<void()>& body, chooser& choices, bool traced) {
  body_ = &body;
  choices_ = &choices;
  traced_ = traced;
  for (unsigned i = 0; i < threads_max; ++i) {
    threads_[i].at = state::none;
    threads_[i].slot = i;
  }
  current_ = running_ = steps_ = idle_rounds_ = 0;
  writes_ = 0;
  over_ = false;
  memory_.clear();
  failure_.clear();
  trace_.clear();
  memory_.tick(0);
  threads_[0].at = state::ready;
  threads_[0].context.prepare(&main_entry, this);
  const std::uint32_t slot = detail::cached_thread_slot;
  detail::pop_count = 253;  // so that a few pops see turns of both kinds
  while (!over_) {
    detail::cached_thread_slot = threads_[current_].slot;
    threads_[current_].context.resume();
  }
  detail::cached_thread_slot = slot;
  memory_.clear();
  return failure_.empty();
}

void execution::main_entry(void* self) {
  execution& run = *static_cast<execution*>(self);
  bool failed = false;
  try {
    (*run.body_)();
  } catch (const std::exception& error) {
    failed = true;
    run.accuse(fmt::format("exception: {}", error.what()));
  }
  if (failed) run.stop();
  run.over_ = true;
  run.threads_[0].context.suspend();
}

void execution::thread_entry(void* self) {
  execution& run = *static_cast<execution*>(self);
  thread& mine = run.threads_[run.current_];
  bool failed = false;
  try {
    mine.body.run(mine.body.state);
  } catch (const std::exception& error) {
    failed = true;
    run.accuse(fmt::format("exception: {}", error.what()));
  }
  if (failed) run.stop();
  mine.at = state::done;
  run.memory_.of(0).join(run.memory_.of(run.current_));
  if (--run.running_ == 0) run.threads_[0].at = state::ready;
  run.switch_away(choice::next);
}

void execution::run_threads(const hooks::thread_body* bodies, unsigned count) {
  if (count + 1 > threads_max) fail("more threads than the explorer has");
  for (unsigned i = 1; i <= count; ++i) {
    thread& started = threads_[i];
    started.body = bodies[i - 1];
    started.at = state::ready;
    started.previous = 0;
    memory_.of(i) = memory_.of(0);
    memory_.tick(i);
    started.context.prepare(&thread_entry, this);
  }
  running_ = count;
  threads_[0].at = state::joining;
  switch_away(choice::next);
}

void execution::accuse(const std::string& description) {
  if (failure_.empty()) failure_ = fmt::format("thread {}: {}", current_, description);
}

// Nothing on the stacks is destroyed, so a thread that calls this must hold nothing that would leak.
void execution::stop() {
  over_ = true;
  threads_[current_].context.suspend();
  __builtin_trap();
}

void execution::fail(const char* description) {
  accuse(description);
  stop();
}

bool execution::can_run(const thread& each) const {
  return each.at == state::ready || (each.at == state::paused && each.paused_at != writes_);
}

// Chooses the next thread, the current one first if it can run.
void execution::switch_away(choice kind) {
  std::array<unsigned, threads_max> able;
  unsigned count = 0;
  for (;;) {
    for (unsigned i = 0; i < threads_max; ++i) {
      const unsigned candidate = (current_ + i) % threads_max;
      if (can_run(threads_[candidate])) able[count++] = candidate;
    }
    if (count > 0) break;
    // A thread that has read an old value may look again.
    memory_.settle();
    bool waiting = false;
    for (thread& each : threads_) {
      if (each.at == state::paused) each.paused_at = ~std::uint64_t{0};
      waiting = waiting || each.at == state::paused;
    }
    if (!waiting) fail("deadlock: every thread waits for a lock");
    if (++idle_rounds_ > 2) fail("every thread waits for another one");
  }
  const unsigned chosen = able[choices_->choose(count, kind)];
  if (threads_[chosen].at == state::paused) threads_[chosen].at = state::ready;
  if (chosen == current_) return;
  const unsigned left = current_;
  current_ = chosen;
  threads_[left].context.suspend();
}

void execution::interleave() {
  if (++steps_ > how_.steps_max) {
    accuse(fmt::format("no end after {} steps", how_.steps_max));
    stop();
  }
  if (running_ == 0) return;
  switch_away(choice::preempt);
}

void execution::pause() {
  if (++steps_ > how_.steps_max) {
    accuse(fmt::format("no end after {} steps", how_.steps_max));
    stop();
  }
  if (running_ == 0) return;
  threads_[current_].at = state::paused;
  threads_[current_].paused_at = writes_;
  switch_away(choice::next);
}

void execution::forget_thread_slot() {
  threads_[current_].slot = detail::no_thread_slot;
  detail::cached_thread_slot = detail::no_thread_slot;
}

void execution::wrote() {
  ++writes_;
  idle_rounds_ = 0;
}

void execution::check_memory() {
  if (memory_.complaint().empty()) return;
  accuse(memory_.complaint());
  stop();
}

unsigned execution::enter(const void* address, std::uint64_t raw, unsigned site) {
  if (site >= reached_.size()) reached_.resize(site + 1, false);
  reached_[site] = true;
  interleave();
  const unsigned location = memory_.find(current_, address, raw);
  check_memory();
  return location;
}

bool execution::acquires(std::memory_order order, unsigned site) const {
  return model::acquires(order) && !planted(bug::drop_acquire, site);
}

bool execution::releases(std::memory_order order, unsigned site) const {
  return model::releases(order) && !planted(bug::drop_release, site);
}

bool execution::ordered(std::memory_order order, unsigned site) const {
  return order == orders::seq_cst && !planted(bug::drop_total_order, site);
}

void execution::note(unsigned site, std::memory_order order, unsigned location, const std::string& text) {
  if (!traced_) return;
  trace_ += fmt::format("  {}: {} {} #{} {}\n", current_, site_table::instance().at(site).label, name_of(order),
                        location, text);
}

std::uint64_t execution::load(const void* address, std::uint64_t raw, unsigned site, std::memory_order order) {
  const unsigned location = enter(address, raw, site);
  const std::uint32_t oldest = memory_.oldest(current_, location, ordered(order, site));
  const std::uint32_t newest = memory_.newest(location);
  const std::uint32_t behind = choices_->choose(newest - oldest + 1, choice::value);
  std::uint64_t value = memory_.load(current_, location, newest - behind, acquires(order, site));
  if (traced_)
    note(site, order, location, fmt::format("-> {}{}", value, behind > 0 ? fmt::format(" (old by {})", behind) : ""));
  if (planted(bug::lie, site)) value = how_.planting.lie(value, threads_[current_].previous);
  threads_[current_].previous = value;
  return value;
}

void execution::store(const void* address, std::uint64_t raw, std::uint64_t value, unsigned site,
                      std::memory_order order) {
  const unsigned location = enter(address, raw, site);
  memory_.append(current_, location, value, releases(order, site), ordered(order, site), -1);
  if (traced_) note(site, order, location, fmt::format("= {}", value));
  wrote();
  check_memory();
}

std::uint64_t execution::modify(const void* address, std::uint64_t raw, hooks::change made, std::uint64_t operand,
                                unsigned site, std::memory_order order) {
  const unsigned location = enter(address, raw, site);
  std::uint32_t from = memory_.newest(location);
  const bool torn = planted(bug::tear, site);
  if (torn) from -= choices_->choose(from - memory_.oldest(current_, location, false) + 1, choice::value);
  const std::uint64_t old = memory_.load(current_, location, from, acquires(order, site));
  if (torn) interleave();
  const std::uint64_t value = made(old, operand);
  memory_.append(current_, location, value, releases(order, site), ordered(order, site), from);
  if (traced_) note(site, order, location, fmt::format("{} -> {}", old, value));
  threads_[current_].previous = old;
  wrote();
  check_memory();
  return old;
}

bool execution::compare(const void* address, std::uint64_t raw, std::uint64_t& expected, std::uint64_t desired,
                        bool weak, unsigned site, std::memory_order order, std::memory_order failure_order) {
  const unsigned location = enter(address, raw, site);
  const std::uint32_t newest = memory_.newest(location);
  const std::vector<stored>& history = memory_.at(location).history;
  const bool forced = planted(bug::ignore_mismatch, site);
  const bool matches = forced || history[newest].value == expected;
  // The newest value decides; but a failure may come from an older one, or, if weak, from nothing at all.
  std::array<std::uint32_t, 8> failing;
  unsigned count = 1;
  failing[0] = newest;
  if (weak && matches && !forced) failing[count++] = newest;
  const std::uint32_t oldest = memory_.oldest(current_, location, ordered(failure_order, site));
  for (std::uint32_t store = newest; store-- > oldest && !forced && count < failing.size();) {
    if (history[store].value != expected) failing[count++] = store;
  }
  const unsigned chosen = choices_->choose(count, choice::value);
  const bool exchanges = chosen == 0 && matches;
  const bool acquiring =
      exchanges ? acquires(order, site) : acquires(failure_order, site) && !planted(bug::drop_failure_acquire, site);
  const std::uint64_t found = memory_.load(current_, location, failing[chosen], acquiring);
  threads_[current_].previous = found;
  if (!exchanges) {
    if (traced_) note(site, failure_order, location, fmt::format("{} is not {}", found, expected));
    expected = found;
    return false;
  }
  memory_.append(current_, location, desired, releases(order, site), ordered(order, site), newest);
  if (traced_) note(site, order, location, fmt::format("{} -> {}", found, desired));
  wrote();
  check_memory();
  return true;
}

bool execution::lock(std::uint64_t* held, bool wait) {
  interleave();
  while (*held != 0) {
    if (!wait) return false;
    threads_[current_].at = state::locked_out;
    threads_[current_].waits_for = held;
    switch_away(choice::next);
  }
  const unsigned location = memory_.find(current_, held, 0);
  const std::uint32_t newest = memory_.newest(location);
  memory_.load(current_, location, newest, true);
  memory_.append(current_, location, 1, false, false, newest);
  *held = 1;
  check_memory();
  return true;
}

void execution::unlock(std::uint64_t* held) {
  const unsigned location = memory_.find(current_, held, 0);
  memory_.append(current_, location, 0, true, false, -1);
  *held = 0;
  wrote();
  for (thread& each : threads_) {
    if (each.at == state::locked_out && each.waits_for == held) each.at = state::ready;
  }
  check_memory();
  interleave();
}

void execution::access_nonatomic(const void* begin, std::size_t bytes, bool write) {
  if (write) {
    memory_.write_nonatomic(current_, begin, bytes);
  } else {
    memory_.read_nonatomic(current_, begin, bytes);
  }
  if (traced_) trace_ += fmt::format("  {}: plain {} of {} bytes\n", current_, write ? "write" : "read", bytes);
  check_memory();
}

void execution::release(void* begin) {
  memory_.release(current_, begin);
  check_memory();
}

}  // namespace weft::model
