// A thread that runs fibers.
//
// Cost of a switch from one to the next: the next bit (`ready_bits`), the heads of both fibers, the registers
// (`context`), two words of the exceptions that are being handled. A fiber that ends goes by way of the worker's own
// stack, a switch more.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/not_inherited.hpp"
#include "base/this_wait.hpp"
#include "base/waiter.hpp"
#include "fiber/context.hpp"
#include "fiber/debugger.hpp"
#include "fiber/door.hpp"
#include "fiber/inbox.hpp"
#include "fiber/locals.hpp"
#include "fiber/ready_bits.hpp"
#include "fiber/sleep_mark.hpp"
#include "fiber/stacks.hpp"
#include "weft/counter.hpp"
#include "weft/detail/copy_mark.hpp"
#include "weft/fiber.hpp"

namespace weft::fibers {

class worker;

/// How many fibers of these workers are alive. Fibers that begin or end meanwhile are counted or not, but where it is
/// 0, there was a moment at which none was alive: all ends are read before all beginnings, and a fiber begins before it
/// ends, so at no moment between were fewer alive than this sum says. **Threads**: any.
[[nodiscard]] std::uint64_t count_alive(std::span<const std::unique_ptr<worker>> workers) noexcept;

/// Ends the process: a detached fiber threw.
[[noreturn]] void refuse_throwing_alone(const std::exception_ptr& thrown) noexcept;

/// The state that the C++ runtime keeps for each thread: of a fiber while it is suspended in a handler of an exception.
struct exception_globals {
  void* caught = nullptr;
  std::uintptr_t uncaught = 0;  // the runtime's half and its padding: copied in one piece
};

/// The wait of a suspended fiber, as it last noted it. **Threads**: the fiber writes, any reads, a field at a time.
struct told_wait {
  void say(const base::wait_note& note) noexcept {
    call.store(note.call, std::memory_order_relaxed);  // [hint] for people
    peer.store(note.peer, std::memory_order_relaxed);  // [hint]
    tag.store(note.tag, std::memory_order_relaxed);    // [hint]
  }
  [[nodiscard]] base::wait_note said() const noexcept {
    return {.call = call.load(std::memory_order_relaxed),  // [hint]
            .peer = peer.load(std::memory_order_relaxed),  // [hint]
            .tag = tag.load(std::memory_order_relaxed)};   // [hint]
  }

  std::atomic<const char*> call{nullptr};
  std::atomic<std::uint32_t> peer{base::wait_note::nobody};
  std::atomic<std::uint64_t> tag{0};
};

/// The head of a fiber: it lies at the top of its stack. An overrun of the stack above writes into `mark` first.
struct fiber_state {
  /// The values of `joiner` from the end on, and once it was detached.
  [[nodiscard]] static base::waiter* over() noexcept { return reinterpret_cast<base::waiter*>(1); }
  [[nodiscard]] static base::waiter* detached() noexcept { return reinterpret_cast<base::waiter*>(2); }

  static constexpr std::uint64_t whole = 0x5765'6674'2066'6962;

  worker* home = nullptr;         // whose stack it has
  std::uint32_t slot = 0;         // there: the index by which others know it
  fiber_state* behind = nullptr;  // in an inbox
  std::uint32_t next_slot = 0;    // where it moves to
  fiber_state* lender = nullptr;  // whose slot it has at another worker, until it leaves: a stack that is free
  // Null until it ends, is joined or is detached. The later one of end and detach releases it, or else the
  // join.
  std::atomic<base::waiter*> joiner{nullptr};
  void (*call)(void*) = nullptr;
  void* function = nullptr;
  std::exception_ptr thrown;
  locals kept;
  told_wait waits_for;

  // Each switch reads this one line.
  alignas(detail::cache_line_bytes) context at;
  // The worker that runs it now, and its slot there: `worker::location_of`; 0 before its start and from its end on: a
  // fiber that has ended may still be signalled. It changes under `making_` of its home.
  std::atomic<std::uint64_t> location{0};
  stacks::stack on;
  exception_globals exceptions;
  std::uint64_t mark = whole;  // the last: an overrun of the stack above starts here
};

class alignas(detail::cache_line_bytes) worker final : private suspender, private base::not_inherited {
 public:
  worker(const fiber_scheduler_options& options, device* progress);
  ~worker();

  void begin();
  void end() noexcept;

  /// Whether this is the copy in a child of fork(), whose parent runs the fibers.
  [[nodiscard]] bool is_copy() const noexcept { return copy_.is_copy(); }
  /// The worker whose thread this is, or null.
  [[nodiscard]] static worker* here() noexcept;
  /// By which references to its fibers find it.
  [[nodiscard]] const door_owner& door() const noexcept { return door_; }
  /// The running fiber: null in its own context, between fibers, and in handlers that it runs then.
  [[nodiscard]] fiber_state* running() const noexcept { return running_; }

  /// The other workers. **Threads**: before any begins.
  void meet(std::span<const std::unique_ptr<worker>> all, std::uint32_t index, std::uint32_t scheduler,
            bool steals) noexcept {
    door_.open(scheduler);
    all_ = all;
    index_ = index;
    base_ = std::uint64_t{index + 1} << 32;
    steals_ = steals;
  }

  /// A fiber that doesn't run yet, with room for its function. **Threads**: any. **Errors**: out_of_memory.
  [[nodiscard]] fiber_state* make(std::size_t function_bytes, std::size_t alignment);
  /// New fibers begin: here, or at the first worker that has nothing to do where those steal and `may_go`.
  /// **Threads**: any.
  void start(fiber_state& made, bool may_go) noexcept;
  /// By a fiber of this worker: it continues at another. **Errors**: invalid_argument; out_of_memory where that has no
  /// slot left.
  void move_running_to(std::uint32_t index);
  /// Makes the fiber in `slot` ready. The worker has to exist until this returns: a thread that isn't one of its
  /// scheduler has entered its door, or the fiber waits for the thread to return. **Threads**: any.
  void make_ready(std::uint32_t slot) noexcept;
  /// By a fiber of this worker.
  void suspend_running() noexcept;
  void yield_running() noexcept;
  /// `suspend_running` with the note of the wait.
  void suspend_running_for(const base::wait_note& note) noexcept;
  /// `suspend_running_for` of a fiber that takes words along (base/of_fiber.hpp).
  void suspend_running_with_words(const base::wait_note& note) noexcept;
  void yield_running_with_words() noexcept;
  /// A fiber with its stack here has ended, and no handle refers to it any more. **Threads**: any.
  void release(fiber_state& ended) noexcept;

  /// How many fibers with a stack of this worker have been made, and how many fibers have ended here. Neither becomes
  /// less.
  [[nodiscard]] std::uint64_t begun() const noexcept {
    // [fiber.alive] relaxed: the fiber that has made another one before it ended was seen to end.
    return begun_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t ended() const noexcept {
    // [fiber.alive] acquire <- [fiber.ended]: the stores of the ended fibers, also that they made others.
    return ended_count_.load(std::memory_order_acquire);
  }
  /// After all have ended and the workers have stopped: waits for threads that are about to return from a join. Where a
  /// `fiber` still refers to a stack here, it ends the process.
  void expect_no_handles() noexcept;

  /// A view from outside. **Threads**: any.
  struct look {
    std::uint64_t moves = 0;  // suspensions and yields, and fibers that ended; polls are none
    std::uint64_t polls = 0;
    bool is_asleep = false;
    pid_t thread = 0;
  };
  [[nodiscard]] look look_at() const noexcept {
    return {.moves = moves_.load(std::memory_order_relaxed),  // [hint] for the watch
            .polls = polls_.load(std::memory_order_relaxed),  // [hint]
            .is_asleep = sleeps_.is_asleep(),
            .thread = thread_id_.load(std::memory_order_relaxed)};  // [hint]
  }
  /// Calls `function(note)` for each fiber that is alive. **Threads**: any; no fiber is spawned here meanwhile.
  template <class Function>
  void each_wait(Function function) {
    const std::scoped_lock lock{making_};
    for (std::uint32_t slot = 0; slot < used_; ++slot) {
      const fiber_state* const each = slots_[slot].load(std::memory_order_relaxed);  // [locked] as it is written
      // [hint] for people; the location of a guest is guarded by its home's lock.
      if (each != nullptr && each->location.load(std::memory_order_relaxed) == location_of(slot)) {
        function(each->waits_for.said());
      }
    }
  }

 private:
  friend struct debugger_layout;
  static constexpr unsigned switches_max = 64;  // after so many, at the end of a word of ready bits, progress is made
  static constexpr unsigned rounds_before_rest = 1000;  // some milliseconds
  static constexpr std::chrono::milliseconds rest_max{1};
  static constexpr std::ptrdiff_t least_left = 256;  // below this much, the next call may be beyond a stack's bottom
  static constexpr std::uint32_t warm_max = 256;     // stacks that keep their pages

  void become_copy() noexcept override;
  void* current() noexcept override;
  void suspend() noexcept override;
  void resume(void* which) noexcept override;

  static void run_fiber(void* state);
  [[noreturn]] void leave_for_good(fiber_state& me) noexcept;
  void take_in(fiber_state& moved) noexcept;
  void run() noexcept;
  void idle() noexcept;
  void rest_from_polls(bool has_moved) noexcept;
  void wake() noexcept;
  /// After something was set, or put, for it.
  void wake_if_asleep() noexcept;
  /// For a fiber that any worker may begin: wakes one more that sleeps and has room. False: there is none.
  bool call_another() noexcept;
  [[nodiscard]] fiber_state* next() noexcept;
  [[nodiscard]] fiber_state* refill() noexcept;
  enum class leaving { by_wait, by_yield };
  template <leaving How>
  void go(context& from, exception_globals& of, fiber_state& to) noexcept;
  void go_back(fiber_state& from) noexcept;
  // The error that ends the process is printed on the worker's own stack: this one has no room for it.
  [[gnu::always_inline]] void check_stack(fiber_state& of) noexcept {
    const auto* const here = static_cast<const std::byte*>(__builtin_frame_address(0));
    if (here - of.on.bottom >= least_left && of.mark == fiber_state::whole) [[likely]]
      return;
    end_overrun(of);
  }
  [[noreturn]] void end_overrun(fiber_state& of) noexcept;
  static void count(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // [own] one thread counts
  }
  template <leaving How>
  void suspend_me(fiber_state& me) noexcept;
  [[nodiscard]] std::uint64_t location_of(std::uint32_t slot) const noexcept { return base_ | slot; }
  [[nodiscard]] static std::uint32_t slot_of(const fiber_state& alive) noexcept {
    return static_cast<std::uint32_t>(alive.location.load(std::memory_order_relaxed));  // [own] only its worker asks
  }
  void forward(fiber_state& elsewhere) noexcept;
  void settle(fiber_state& moved, std::uint64_t location) noexcept;
  bool take_up() noexcept;
  bool call_another_for_rest() noexcept;
  [[nodiscard]] bool begin_one_of(worker& other) noexcept;
  void seat(fiber_state& here, std::uint32_t slot) noexcept;
  [[nodiscard]] bool is_one_offered() const noexcept;
  [[nodiscard]] fiber_state* owner_of(std::uint32_t slot) const noexcept;
  [[nodiscard]] std::uint32_t reserve_guest() noexcept;
  void leave_guest(std::uint32_t slot, const fiber_state* guest) noexcept;
  void note_room() noexcept;
  template <leaving How>
  void suspend_at_end_of_word(fiber_state& me) noexcept;
  [[nodiscard]] fiber_state& make_slot();
  void finish(fiber_state& ended) noexcept;

  // Of the thread itself.
  ready_bits ready_;
  std::atomic<fiber_state*>* slots_;
  fiber_state* running_ = nullptr;
  bool has_overrun_ = false;
  fiber_state* ended_ = nullptr;   // whose stack was left for good just now
  fiber_state* moving_ = nullptr;  // the fiber that was suspended just now to go on at `moving_to_`
  worker* moving_to_ = nullptr;
  exception_globals* exceptions_ = nullptr;
  context own_;
  exception_globals own_exceptions_;
  unsigned switches_ = 0;         // since the last progress
  unsigned rounds_in_vain_ = 0;   // of polls alone
  std::uint64_t last_moves_ = 0;  // at the end of the last round
  std::atomic<std::uint64_t> moves_{0};
  std::atomic<std::uint64_t> polls_{0};
  std::atomic<std::uint64_t> ended_count_{0};
  std::atomic<pid_t> thread_id_{0};
  std::uint32_t slots_max_;
  device* progress_;

  std::span<const std::unique_ptr<worker>> all_;
  std::uint32_t index_ = 0;
  std::uint64_t base_ = 0;  // of the locations here
  bool steals_ = false;

  // Of all threads.
  alignas(detail::cache_line_bytes) basic_sleep_mark<> sleeps_;
  std::atomic<bool> is_full_{false};  // it had no slot for a fiber from another worker, and none was left since
  std::atomic<bool> stops_{false};
  std::atomic<std::uint32_t> woken_{0};  // where there is no device to wait by
  std::optional<counter> alarm_;         // where there is
  std::atomic<std::uint64_t> begun_{0};  // under `making_`
  inbox arriving_;                       // to go on here
  inbox offered_;                        // fibers to begin here, or at a worker that steals them
  std::mutex making_;                    // the members below
  stacks stacks_;
  std::vector<std::uint32_t> free_;  // slots with a stack that nothing runs on, the warm ones last
  std::vector<std::uint32_t> bare_;  // slots without a stack, which fibers of other workers have left
  std::uint32_t used_ = 0;
  std::uint32_t held_ = 0;  // stacks of fibers that are alive, or that a `fiber` refers to

  door_owner door_{*this};
  std::thread thread_;
  detail::copy_mark copy_;
  debugger_entry listed_{*this};
  base::fork_entry at_forks_{*this};
};

}  // namespace weft::fibers
