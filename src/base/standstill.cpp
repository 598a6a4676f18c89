// SPDX-License-Identifier: BSD-3-Clause
#include "base/standstill.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/ask_word.hpp"
#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/counted.hpp"
#include "base/log.hpp"
#include "base/long_wait.hpp"
#include "base/not_inherited.hpp"
#include "weft/error.hpp"

namespace weft::base {
namespace {

constexpr int looks_per_patience = 8;
constexpr std::chrono::milliseconds step_max{200};
constexpr std::chrono::hours patience_max{24};

// A variable of the thread: it serves others.
thread_local constinit bool this_thread_serves = false;
constinit std::atomic<std::uint32_t> serving_threads{0};

// Whether waits have to be listed.
constinit std::atomic<bool> is_watching{false};

double in_seconds(clock::duration time) noexcept { return std::chrono::duration<double>(time).count(); }

// No signal of the program's is handled by a thread that starts while this lives.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

class standstill final : private not_inherited {
 public:
  static standstill& of_this_process() {
    static standstill& instance = *new standstill;  // never destroyed: threads may wait until the end
    return instance;
  }

  void add(witness_entry& entry) {
    if (!is_wanted_) return;
    const std::scoped_lock lock{mutex_};
    if (is_copy_) return;
    entry.is_listed_ = true;
    entry.last_ = entry.witness_.look();
    entry.behind_ = witnesses_;
    if (witnesses_ != nullptr) witnesses_->before_ = &entry;
    witnesses_ = &entry;
    if (running_ == nullptr) start();
  }
  void remove(witness_entry& entry) noexcept {
    if (!entry.is_listed_) return;
    std::unique_ptr<watching> stopped;
    {
      const std::scoped_lock lock{mutex_};
      if (is_copy_) return;
      (entry.before_ != nullptr ? entry.before_->behind_ : witnesses_) = entry.behind_;
      if (entry.behind_ != nullptr) entry.behind_->before_ = entry.before_;
      moves_ += entry.last_.moves + 1;
      if (witnesses_ == nullptr && running_ != nullptr) {
        stopped.reset(std::exchange(running_, nullptr));
        stopped->is_over = true;
        stopped->changed.notify_all();
        is_watching.store(false, std::memory_order_relaxed);  // [hint] see `long_wait::enter`
      }
    }
    if (stopped) stopped->thread.join();
  }

  void add(long_wait& wait) noexcept {
    const std::scoped_lock lock{mutex_};
    if (is_copy_) return;
    wait.is_listed_ = true;
    wait.behind_ = waits_;
    if (waits_ != nullptr) waits_->before_ = &wait;
    waits_ = &wait;
  }
  void remove(long_wait& wait) noexcept {
    const std::scoped_lock lock{mutex_};
    if (is_copy_) return;
    (wait.before_ != nullptr ? wait.before_->behind_ : waits_) = wait.behind_;
    if (wait.behind_ != nullptr) wait.behind_->before_ = wait.before_;
  }

 private:
  struct watching {
    std::condition_variable_any changed;
    bool is_over = false;
    std::thread thread;
  };

  standstill() {
    try {
      read(process_settings());
    } catch (const error&) {  // the user gets it from the next function that asks for a setting
    }
  }

  void read(const settings& from) {
    patience_ = std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{from.stuck_after_s});
    is_reported_ = from.stuck_after_s > 0;
    writes_counters_ = from.print_counters;
    asks_.open(from.run_ask_word);
    is_wanted_ = is_reported_ || (writes_counters_ && asks_.is_open());
  }

  // The parent's threads and objects are not here.
  void become_copy() noexcept override {
    is_copy_ = true;
    is_watching.store(false, std::memory_order_relaxed);  // [own] the process has one thread
  }

  // Under the lock. Without a thread the process works as well.
  void start() {
    auto made = std::make_unique<watching>();
    const signals_blocked while_it_starts;
    try {
      begin_standstill(awake_);
      made->thread = std::thread{[this, mine = made.get()] { run(*mine); }};
    } catch (const std::system_error& problem) {
      return log_info("no thread can be made that looks for a standstill (WEFT_STUCK_AFTER): {}", problem.what());
    }
    running_ = made.release();
    is_watching.store(true, std::memory_order_relaxed);  // [hint] see `long_wait::enter`
  }

  void run(watching& mine) noexcept {
    ::pthread_setname_np(::pthread_self(), "weft-standstill");
    const auto step = is_reported_ ? std::clamp<clock::duration>(patience_ / looks_per_patience,
                                                                 std::chrono::milliseconds{1}, step_max)
                                   : clock::duration{step_max};
    std::unique_lock lock{mutex_};
    clock::time_point last = clock::now();
    while (!mine.changed.wait_for(lock, step, [&] { return mine.is_over; })) {
      // The process may have been stopped (SIGSTOP): no thread of it could do anything in that time.
      const clock::time_point now = clock::now();
      awake_ += std::min<clock::duration>(now - last, 2 * step);
      last = now;
      std::string text;
      try {
        text = look(awake_);
      } catch (...) {  // no memory for a report: the next look tries again
      }
      if (text.empty()) continue;
      lock.unlock();  // the reader of standard error may be slow
      write_log_block(text);
      lock.lock();
    }
  }

  // All that follows is under the lock.

  void begin_standstill(clock::time_point now) noexcept {
    still_since_ = now;
    has_reported_ = false;
    has_polled_ = false;
    do_wait_ = true;
    for (witness_entry* each = witnesses_; each != nullptr; each = each->behind_) each->witness_.note_move();
  }

  // **Returns** what is to be written. **Errors**: std::bad_alloc, here and below.
  std::string look(clock::time_point now) {
    std::uint64_t moves = moves_;
    bool waits = false;
    for (witness_entry* each = witnesses_; each != nullptr; each = each->behind_) {
      const witness::sight seen = each->witness_.look();
      if (seen.polls != each->last_.polls) has_polled_ = true;
      waits = waits || seen.waits;
      each->last_ = seen;
      moves += seen.moves;
    }
    if (moves != last_moves_) begin_standstill(now);
    last_moves_ = moves;
    look_for_neglected(now);
    do_wait_ = do_wait_ && waits;
    const ask_word::request asked = asks_.take();
    if (asked == ask_word::request::last) return answer(now);
    if (asked == ask_word::request::join && is_reported_ && !has_reported_) return make_report(now, true);
    if (is_reported_ && !has_reported_ && now - still_since_ >= patience_) return report_if_stuck(now);
    return is_reported_ && is_neglected_ ? report_neglected(now) : std::string{};
  }

  void look_for_neglected(clock::time_point now) noexcept {
    is_neglected_ = false;
    if (!is_reported_) return;
    for (witness_entry* each = witnesses_; each != nullptr; each = each->behind_)
      is_neglected_ = each->witness_.is_neglected(now, patience_) || is_neglected_;
    if (!is_neglected_) has_reported_neglected_ = false;
  }

  // Called where something moves elsewhere, or no thread waits or polls.
  std::string report_neglected(clock::time_point now) {
    if (std::exchange(has_reported_neglected_, true)) return {};
    std::string out = make_report(now, true);
    patience_ = std::min<clock::duration>(2 * patience_, patience_max);
    return out;
  }

  // A thread that polls by itself may do so for good reasons: then the report is written only if something is left to
  // do. Threads that serve others poll always.
  std::string report_if_stuck(clock::time_point now) {
    bool has_waited = do_wait_;
    const clock::time_point real_now = clock::now();
    for (const long_wait* each = waits_; each != nullptr; each = each->behind_) {
      has_waited = has_waited || real_now - each->since_ >= patience_;
    }
    has_waited = has_waited || is_neglected_;
    const bool polls = has_polled_ && serving_threads.load(std::memory_order_relaxed) == 0;  // [hint]
    if (!has_waited && !polls) return {};
    std::string out = make_report(now, has_waited);
    if (out.empty()) {
      still_since_ = now;  // nothing is left to do: look again after this time
    } else {
      patience_ = std::min<clock::duration>(2 * patience_, patience_max);
    }
    return out;
  }

  std::string answer(clock::time_point now) {
    report counters{log_head("info")};
    if (writes_counters_) {
      for (witness_entry* each = witnesses_; each != nullptr; each = each->behind_)
        each->witness_.add_counters(counters);
    }
    return counters.text() + (is_reported_ ? make_report(now, true) : std::string{});
  }

  // Empty if nothing is left to do, unless `always`.
  std::string make_report(clock::time_point now, bool always) {
    report out{log_head("stuck")};
    // A rank that is asked may have moved just now.
    if (now - still_since_ >= std::min<clock::duration>(patience_, std::chrono::seconds{1})) {
      out.add("nothing has moved here for {:.1f} s", in_seconds(now - still_since_));
    } else if (!is_neglected_) {
      out.add("asked; something has moved here just now");
    }
    for (const long_wait* each = waits_; each != nullptr; each = each->behind_) {
      std::string more;
      if (each->details_.describe != nullptr) each->details_.describe(each->details_.subject, more);
      out.add("thread {} has waited {:.1f} s in {}{}", each->thread_, in_seconds(clock::now() - each->since_),
              text_of(*each), more);
    }
    const unsigned before = out.lines();
    for (witness_entry* each = witnesses_; each != nullptr; each = each->behind_) each->witness_.describe(out);
    if (!always && out.lines() == before) return {};
    if (waits_ == nullptr) out.add("no thread waits in Weft: they compute, poll by themselves, or wait elsewhere");
    std::string text = out.text();
    if (out.left_out() != 0) text += fmt::format("{}and {} more\n", out.head(), counted(out.left_out(), "line"));
    text += fmt::format("{}that is all; if the wait is meant, set WEFT_STUCK_AFTER=0\n", out.head());
    has_reported_ = true;
    has_reported_neglected_ = is_neglected_;
    return text;
  }

  static std::string text_of(const long_wait& wait) {
    if (wait.note_.call == nullptr) return wait.call_;
    return wait.note_.call + to_text(wait.note_);
  }

  process_lock mutex_;
  bool is_wanted_ = false;
  bool is_reported_ = false;
  bool writes_counters_ = false;
  bool is_copy_ = false;
  clock::duration patience_{};
  ask_word asks_;
  witness_entry* witnesses_ = nullptr;
  long_wait* waits_ = nullptr;
  watching* running_ = nullptr;
  std::uint64_t moves_ = 0;  // moves of witnesses that are gone
  std::uint64_t last_moves_ = 0;
  clock::time_point awake_ = clock::now();  // without the time in which the process was stopped
  clock::time_point still_since_{};
  bool has_reported_ = false;            // it has, in this standstill
  bool is_neglected_ = false;            // messages had waited, at the last look, too long for a poll
  bool has_reported_neglected_ = false;  // since there were none such
  bool has_polled_ = false;              // it has, in this standstill
  bool do_wait_ = true;                  // something that is no thread waited at each look of this standstill
  fork_entry at_forks_{*this};
};

witness_entry::witness_entry(witness& witness) : witness_{witness} { standstill::of_this_process().add(*this); }
witness_entry::~witness_entry() { standstill::of_this_process().remove(*this); }

void long_wait::enter(clock::time_point since, const wait_details& details) noexcept {
  // [hint] a wait that is not listed looks again at its next slow step; one that is listed for no thread does no harm.
  if (this_thread_serves || !is_watching.load(std::memory_order_relaxed)) return;
  since_ = since;
  details_ = details;
  note_ = this_thread_waits();
  thread_ = ::gettid();
  standstill::of_this_process().add(*this);
}
void long_wait::leave() noexcept { standstill::of_this_process().remove(*this); }

void serve_others() noexcept {
  if (std::exchange(this_thread_serves, true)) return;
  struct at_end {
    ~at_end() { serving_threads.fetch_sub(1, std::memory_order_relaxed); }  // [hint]
  };
  serving_threads.fetch_add(1, std::memory_order_relaxed);  // [hint]
  static thread_local const at_end mine;                    // variable of the thread
  static_cast<void>(mine);
}

}  // namespace weft::base
