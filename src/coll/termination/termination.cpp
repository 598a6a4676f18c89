// SPDX-License-Identifier: BSD-3-Clause
// Terminations: which thread drives the waves, in which the members add up their counts. Why the end is exact:
// waves.hpp.
//
// A wave is a persistent allreduce. Three events drive the waves: the call that waits for the termination; the end of a
// wave; and the end of the work for which a wave had to wait. Each event happens after the one before it was handled,
// but the call of `drive` that handled that one may not have returned. So `drive` counts its calls, and the thread that
// raises the count from 0 handles the events. A group of one member has no waves: a hook compares its two counts.
#include "weft/termination.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "base/backoff.hpp"
#include "base/callback_scope.hpp"
#include "base/counted.hpp"
#include "base/misuse.hpp"
#include "coll/group/group_state.hpp"
#include "coll/termination/wave_gate.hpp"
#include "coll/termination/waves.hpp"
#include "weft/collectives.hpp"
#include "weft/device.hpp"
#include "weft/error.hpp"
#include "weft/graph.hpp"
#include "weft/handler.hpp"
#include "weft/hook.hpp"
#include "weft/synchronizer.hpp"

namespace weft {

namespace coll {

namespace {

error miscount(std::uint64_t done, std::uint64_t begun) {
  return error{
      errc::invalid_state,
      fmt::format("termination: {} {} handled, but {} sent: count each before its post, and once at its target",
                  base::counted(done, "message"), base::form_for(done, "was", "were"), begun)};
}

}  // namespace

class termination_state {
 public:
  termination_state(group own, detail::work_counts& counts)
      : group_{std::move(own)},
        counts_{&counts},
        judge_{group_.size()},
        end_{group_.device()},
        wave_ended_{group_.device().runtime(),
                    [this](completion_record&& record) {
                      // A truncated message is of a member that has failed (failed_message.hpp).
                      wave_error_ = record.error() == errc::truncated ? errc::peer_failed : record.error();
                      drive(event::wave_ended);
                    }},
        asked_{group_.device().runtime()} {
    end_.add([this] {
      if (failure_) throw error{*failure_};
    });
    if (group_.size() == 1) return;
    wave_.emplace(
        collective::allreduce(std::span<const std::uint64_t>{mine_}, std::span<std::uint64_t>{sums_}, std::plus<>{})
            .keep(group_, {.allow_backlog_full = false}));
  }

  ~termination_state() {
    if (base::callback_scope::is_inside())
      base::misuse("a termination is destroyed inside a handler, a hook or a node of a graph");
    base::backoff others;
    std::uint32_t none = 0;
    // [termination.gone] acquire <- [termination.drive]: the last driver has left, and none follows.
    while (!drives_.compare_exchange_weak(none, 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      others.pause();
      none = 0;
    }
    wave_.reset();  // abandons a wave that is under way
    hook_.remove();
  }
  termination_state(const termination_state&) = delete;
  termination_state& operator=(const termination_state&) = delete;

  [[nodiscard]] wave_gate& gate() noexcept { return gate_; }
  void released() { drive(event::released); }

  void post(completion& local, void* context) {
    // [termination.awaited] acquire <- [termination.end]: the last end, and its failure.
    if (awaited_.load(std::memory_order_acquire) != nullptr) {
      throw error{errc::invalid_state, "termination: its end is awaited already; wait for that before the next one"};
    }
    if (&local.runtime() != &asked_.runtime())
      throw error{errc::invalid_argument, "termination: the completion object is of another runtime"};
    if (failure_) throw error{*failure_};
    context_ = context;
    // [termination.post] relaxed: drivers read it behind [termination.drive].
    awaited_.store(&local, std::memory_order_relaxed);
    drive(event::awaited);
  }

  bool wait(const wait_options& options) {
    ask();
    stop_holding();
    return group_.device().wait(asked_, options) && conclude();
  }

  bool test() {
    ask();
    stop_holding();
    group_.device().progress();
    if (asked_.is_ready()) return conclude();
    is_holding_ = true;
    gate_.begin();
    return false;
  }

 private:
  enum class event : std::uint8_t { awaited, wave_ended, released };

  void ask() {
    if (is_asked_) return;
    post(asked_, nullptr);
    is_asked_ = true;
  }
  void stop_holding() {
    if (std::exchange(is_holding_, false) && gate_.end() == gate_answer::release) released();
  }
  bool conclude() {
    is_asked_ = false;
    static_cast<void>(asked_.take());
    asked_.reset();
    if (failure_) throw error{*failure_};
    return true;
  }

  // Only the thread whose call raised the count from 0 touches the members below `event_`.
  void drive(event which) noexcept {
    event_ = which;
    // [termination.drive] acq_rel -> [termination.drive], [termination.gone]: the event; what this thread did before.
    if (drives_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
    do {
      step(event_);
      // [termination.drive] acq_rel -> [termination.drive], [termination.gone]: the next event; what this thread did.
    } while (drives_.fetch_sub(1, std::memory_order_acq_rel) != 1);
  }

  // A start, and a wait at the gate, are last in each branch: the next event may happen before they return.
  void step(event which) noexcept {
    if (failure_) return;  // the end of the wave that `fail` started
    if (group_.size() == 1) return compare();
    if (which == event::wave_ended && !goes_on()) return;
    if (which == event::released || gate_.enter()) join(judge_.next_number());
  }

  bool goes_on() noexcept {
    if (wave_error_ != errc::none) {
      fail(wave_error_);
      return false;
    }
    switch (judge_.judge({.done = sums_[0], .begun = sums_[1], .numbers = sums_[2]})) {
      case verdict::go_on: return true;
      case verdict::ended: end(); break;
      case verdict::failed: fail(errc::peer_failed); break;
      case verdict::miscounted:
        failure_.emplace(miscount(judge_.done_before(), sums_[1]));
        end();
        break;
    }
    return false;
  }

  // Other members may have begun another wave, which would wait for this one: it joins with a wrong number, from which
  // they know of the failure.
  void fail(errc code) noexcept {
    failure_.emplace(code, fmt::format("termination: a member of the group has ended, or could not be reached ({}); "
                                       "make another one, of the members that are left",
                                       name_of(code)));
    mine_ = {};
    try {
      if (wave_) static_cast<void>(wave_->start(wave_ended_));
    } catch (const std::exception&) {  // then they are not informed
    }
    end();
  }

  void end() noexcept {
    // [termination.own_awaited] relaxed: written behind [termination.drive].
    completion& local = *awaited_.load(std::memory_order_relaxed);
    // [termination.end] release -> [termination.awaited]: all that the driver did.
    awaited_.store(nullptr, std::memory_order_release);
    end_.start(local, context_);
  }

  void join(std::uint64_t number) noexcept {
    mine_ = {counts_->done(), counts_->begun(), number};
    or_fail([this] { static_cast<void>(wave_->start(wave_ended_)); });
  }

  // A group of one reads each count as a wave does, `done` in the first and `begun` in the second.
  [[nodiscard]] std::int64_t pieces_left() const noexcept {
    const std::uint64_t done = counts_->done();
    return static_cast<std::int64_t>(counts_->begun() - done);
  }
  void compare() noexcept {
    const std::int64_t left = pieces_left();
    if (left < 0) failure_.emplace(miscount(counts_->done(), counts_->begun()));
    if (left <= 0) return end();
    or_fail([this] {
      hook_ = group_.device().add_hook([this] {
        if (pieces_left() > 0) return hook_answer::no_progress;
        drive(event::wave_ended);
        return hook_answer::done;
      });
    });
  }

  template <class Function>
  void or_fail(const Function& function) noexcept {
    try {
      function();
    } catch (const error& why) {
      fail(why.code());
    } catch (const std::exception&) {
      fail(errc::out_of_memory);
    }
  }

  group group_;
  detail::work_counts* counts_;
  wave_gate gate_;
  std::atomic<std::uint32_t> drives_{0};
  std::atomic<completion*> awaited_{nullptr};
  void* context_ = nullptr;
  event event_ = event::awaited;

  wave_judge judge_;
  std::array<std::uint64_t, 3> mine_{};
  std::array<std::uint64_t, 3> sums_{};
  errc wave_error_ = errc::none;
  std::optional<error> failure_;
  graph end_;  // signals the object that waits
  handler<std::function<void(completion_record&&)>> wave_ended_;
  std::optional<persistent_collective> wave_;
  hook hook_;

  // Members that `wait` and `test` alone use.
  synchronizer asked_;
  bool is_asked_ = false;
  bool is_holding_ = false;
};

}  // namespace coll

termination::termination(group& over, const termination_options& options)
    : state_{std::make_unique<coll::termination_state>(over.dup({.device = coll::named_device(options)}), counts_)} {}

termination::~termination() = default;

void termination::begin_work() noexcept {
  counts_.add_begun(1);
  state_->gate().begin();
}

void termination::end_work() {
  counts_.add_done(1);
  switch (state_->gate().end()) {
    case coll::gate_answer::nothing: return;
    case coll::gate_answer::release: state_->released(); return;
    case coll::gate_answer::misuse: break;
  }
  throw error{errc::invalid_state, "termination::end_work: there were fewer calls of begin_work"};
}

status termination::post(completion& local, void* context) {
  state_->post(local, context);
  return status::posted(0);
}

bool termination::wait(const wait_options& options) {
  base::refuse_in_callback("termination::wait");
  return state_->wait(options);
}

bool termination::test() {
  base::refuse_in_callback("termination::test");
  return state_->test();
}

}  // namespace weft
