// SPDX-License-Identifier: BSD-3-Clause
#include "model/explorer.hpp"

#include <fmt/format.h>

#include <ostream>

#include "base/sanitizer.hpp"
#include "model/execution.hpp"

namespace weft::model {
namespace {

execution* active = nullptr;

// The stacks are used again by each exploration.
struct active_scope {
  explicit active_scope(execution& run) { active = &run; }
  ~active_scope() { active = nullptr; }
};

void explain(outcome& result, execution& run, const std::function<void()>& body, const chooser& choices) {
  result.failed = true;
  result.failure = run.failure();
  result.replay = choices.deviations();
  chooser again;
  again.repeat(result.replay);
  again.begin();
  run.run(body, again, true);
  result.trace = run.trace();
  if (run.failure() != result.failure)
    result.trace += fmt::format("  (the replay went otherwise: {})\n", run.failure());
}

// False: an execution failed.
bool search_systematically(const search& how, const std::function<void()>& body, execution& run, outcome& result) {
  chooser choices;
  for (unsigned bound = 0; bound <= how.deviations_max; ++bound) {
    choices.search_systematically(bound);
    while (result.executions < how.executions_max && choices.begin()) {
      ++result.executions;
      if (!run.run(body, choices, false)) {
        explain(result, run, body, choices);
        return false;
      }
    }
    if (result.executions >= how.executions_max) return true;
    result.deviations_done = static_cast<int>(bound);
    result.complete = !choices.cut();
    if (result.complete) return true;
  }
  return true;
}

void search_randomly(const search& how, const std::function<void()>& body, execution& run, outcome& result) {
  chooser choices;
  choices.search_randomly(how.seed);
  for (std::uint64_t i = 0; i < how.random_executions_max; ++i) {
    choices.begin();
    ++result.executions;
    if (!run.run(body, choices, false)) {
      explain(result, run, body, choices);
      return;
    }
  }
}

}  // namespace

outcome explore(const search& how, const std::function<void()>& body) {
  execution run(how);
  const active_scope scope(run);
  outcome result;
  if (!how.replay.empty()) {
    chooser choices;
    choices.repeat(how.replay);
    choices.begin();
    result.executions = 1;
    if (!run.run(body, choices, false)) explain(result, run, body, choices);
  } else if (search_systematically(how, body, run, result) && !result.complete) {
    search_randomly(how, body, run, result);
  }
  for (unsigned i = 0; i < run.reached().size(); ++i) {
    if (run.reached()[i]) result.sites.push_back(i);
  }
  return result;
}

std::ostream& operator<<(std::ostream& out, const outcome& result) {
  out << result.executions << " executions";
  if (result.complete) out << ", which are all";
  if (!result.complete && result.deviations_done >= 0)
    out << ", all with up to " << result.deviations_done << " deviations";
  if (!result.failed) return out;
  return out << "\nfailed: " << result.failure << "\nreplay: \"" << result.replay << "\"\n" << result.trace;
}

bool can_explore() { return !base::under_thread_sanitizer; }

void check(bool holds, const char* description) {
  if (!holds) active->fail(description);
}
void await_change() { active->pause(); }
void forget_thread_slot() { active->forget_thread_slot(); }

namespace hooks {

bool exploring() { return active != nullptr; }
void construct(const void* address, std::uint64_t value) { active->construct(address, value); }
std::uint64_t load(const void* address, std::uint64_t raw, unsigned site, std::memory_order order) {
  return active->load(address, raw, site, order);
}
void store(const void* address, std::uint64_t raw, std::uint64_t value, unsigned site, std::memory_order order) {
  active->store(address, raw, value, site, order);
}
std::uint64_t modify(const void* address, std::uint64_t raw, change made, std::uint64_t operand, unsigned site,
                     std::memory_order order) {
  return active->modify(address, raw, made, operand, site, order);
}
bool compare(const void* address, std::uint64_t raw, std::uint64_t& expected, std::uint64_t desired, bool weak,
             unsigned site, std::memory_order order, std::memory_order failure_order) {
  return active->compare(address, raw, expected, desired, weak, site, order, failure_order);
}
void lock(std::uint64_t* held) { active->lock(held, true); }
bool try_lock(std::uint64_t* held) { return active->lock(held, false); }
void unlock(std::uint64_t* held) { active->unlock(held); }
void read_nonatomic(const void* begin, std::size_t bytes) { active->access_nonatomic(begin, bytes, false); }
void write_nonatomic(const void* begin, std::size_t bytes) { active->access_nonatomic(begin, bytes, true); }
void confirm(const void* begin, std::size_t bytes) { active->confirm(begin, bytes); }
void* allocate(std::size_t bytes) { return active->allocate(bytes); }
void release(void* begin, std::size_t /*bytes*/) {
  if (begin != nullptr) active->release(begin);
}
void run_threads(const thread_body* bodies, unsigned count) { active->run_threads(bodies, count); }

}  // namespace hooks
}  // namespace weft::model
