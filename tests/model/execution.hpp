// SPDX-License-Identifier: BSD-3-Clause
// One execution of a program under the explorer: its threads, taking turns, and its memory.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/chooser.hpp"
#include "model/explorer.hpp"
#include "model/fiber.hpp"
#include "model/memory.hpp"

namespace weft::model {

class execution {
 public:
  explicit execution(const search& how) : how_(how) {}

  /// Runs the body once. False: it failed, and `what` says how.
  bool run(const std::function<void()>& body, chooser& choices, bool traced);

  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] const std::string& trace() const { return trace_; }
  [[nodiscard]] const std::vector<bool>& reached() const { return reached_; }

  // What threads do.
  void run_threads(const hooks::thread_body* bodies, unsigned count);
  [[noreturn]] void fail(const char* description);
  void pause();
  void forget_thread_slot();
  void construct(const void* address, std::uint64_t value) { memory_.construct(current_, address, value); }
  std::uint64_t load(const void* address, std::uint64_t raw, unsigned site, std::memory_order order);
  void store(const void* address, std::uint64_t raw, std::uint64_t value, unsigned site, std::memory_order order);
  std::uint64_t modify(const void* address, std::uint64_t raw, hooks::change made, std::uint64_t operand, unsigned site,
                       std::memory_order order);
  bool compare(const void* address, std::uint64_t raw, std::uint64_t& expected, std::uint64_t desired, bool weak,
               unsigned site, std::memory_order order, std::memory_order failure_order);
  bool lock(std::uint64_t* held, bool wait);
  void unlock(std::uint64_t* held);
  void access_nonatomic(const void* begin, std::size_t bytes, bool write);
  void confirm(const void* begin, std::size_t bytes) { memory_.confirm(current_, begin, bytes); }
  void* allocate(std::size_t bytes) { return memory_.allocate(current_, bytes); }
  void release(void* begin);

 private:
  void accuse(const std::string& description);
  [[noreturn]] void stop();

  enum class state : std::uint8_t { none, ready, paused, locked_out, joining, done };
  struct thread {
    fiber context;
    state at = state::none;
    hooks::thread_body body{};
    std::uint64_t paused_at = 0;      // the number of writes then
    const void* waits_for = nullptr;  // a lock
    std::uint64_t previous = 0;       // what it last loaded
    std::uint32_t slot = 0;
  };

  static void main_entry(void* self);
  static void thread_entry(void* self);
  [[nodiscard]] bool can_run(const thread& each) const;
  void interleave();
  void switch_away(choice kind);
  void check_memory();
  void wrote();
  unsigned enter(const void* address, std::uint64_t raw, unsigned site);
  [[nodiscard]] bool planted(bug kind, unsigned site) const {
    return how_.planting.kind == kind && how_.planting.site == site;
  }
  [[nodiscard]] bool acquires(std::memory_order order, unsigned site) const;
  [[nodiscard]] bool releases(std::memory_order order, unsigned site) const;
  [[nodiscard]] bool ordered(std::memory_order order, unsigned site) const;
  void note(unsigned site, std::memory_order order, unsigned location, const std::string& text);

  const search& how_;
  const std::function<void()>* body_ = nullptr;
  chooser* choices_ = nullptr;
  std::array<thread, threads_max> threads_;
  unsigned current_ = 0;
  unsigned running_ = 0;  // beside the first
  unsigned steps_ = 0;
  unsigned idle_rounds_ = 0;
  std::uint64_t writes_ = 0;
  bool over_ = false;
  bool traced_ = false;
  memory memory_;
  std::string failure_;
  std::string trace_;
  std::vector<bool> reached_;
};

}  // namespace weft::model
