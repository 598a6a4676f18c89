// SPDX-License-Identifier: BSD-3-Clause
// One thread's way to its partner thread: a device, a queue for arrivals, and the few steps of all measurements.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "weft-perf/measure/spin_phase.hpp"
#include "weft-perf/report/clock.hpp"
#include "weft/weft.hpp"

namespace weft::perf {

struct lane_options {
  std::uint32_t partner = 0;
  std::uint32_t index = 0;  ///< of the lane in its process
  std::uint32_t id = 0;     ///< of its arrivals, equal on both sides
  std::uint32_t partner_device = 0;
  std::optional<std::uint32_t> source{};  ///< where receives are from; nothing: the partner
  bool begins = false;
  bool uses_defaults = false;  ///< waits by `device::wait`, with its default options
  yield_rules rules{};
};

class lane {
 public:
  lane(weft::device& dev, const lane_options& options)
      : begins{options.begins},
        dev_{dev},
        options_{options},
        source_{options.source.value_or(options.partner)},
        inbox_{dev.runtime()},
        sent_{dev.runtime()},
        received_{dev.runtime()},
        arrivals_{dev.runtime().register_completion(inbox_, {.id = options.id})},
        phase_{options.rules} {}

  const bool begins;

  /// Looks again and again, making progress, until `ready`.
  template <class Ready>
  void wait(Ready&& ready) {
    for (std::uint32_t vain = 0; !ready();) look_again(vain);
  }
  /// The partner has answered: a window is one answer. After so many it's another thread's turn (spin_phase.hpp).
  void met() { phase_.met(); }
  [[nodiscard]] bool has_spin_phases() const noexcept { return options_.rules.answers != 0; }

  /// Posts until it is no retry; `settle` tells when the buffer may be used again.
  template <class Post>
  void post(Post&& attempt) {
    std::uint32_t vain = 0;
    for (;;) {
      const status answer = attempt();
      if (!answer.is_retry()) [[likely]] {
        // Not a sum for each: one more word read and written between two messages cost 15 ns, where a message takes 26
        // (docs/decisions/store-order.md).
        if (answer.is_posted()) [[unlikely]]
          ++posted_;
        return;
      }
      look_again(vain);
    }
  }
  template <class Bytes = std::span<const std::byte>>  // or a list of buffers
  void post_am(const Bytes& bytes, std::uint64_t tag) {
    post([&] {
      return dev_.post_am(options_.partner, {options_.id}, bytes, sent_,
                          {.tag = tag, .device = options_.partner_device});
    });
  }
  template <class Bytes>
  void post_send(const Bytes& bytes, engine_ref engine = {}) {
    post([&] {
      return dev_.post_send(options_.partner, bytes, sent_,
                            {.tag = options_.index, .engine = engine, .device = options_.partner_device});
    });
  }
  template <class Bytes>
  void post_recv(const Bytes& bytes, engine_ref engine = {}) {
    for (;;) {
      const status answer = dev_.post_recv(source_, bytes, received_, {.tag = options_.index, .engine = engine});
      if (!answer.is_retry()) break;
      dev_.progress();
    }
    ++expected_;
  }

  /// Until every posted operation is complete.
  void settle() {
    if (sent_.value() != posted_) [[unlikely]]
      wait_for(sent_, posted_);
  }
  void wait_received() {
    wait_for(received_, expected_);
    met();
  }
  /// The result of `use` for the next message. The record stays where it was popped: a copy right after it was written
  /// costs more than the pop.
  template <class Use>
  auto wait_arrived(Use&& use) {
    for (std::uint32_t vain = 0;;) {
      if (const std::optional<completion_record> message = inbox_.pop()) return use(*message);
      if (options_.uses_defaults) [[unlikely]]
        return use(*dev_.wait(inbox_));
      look_again(vain);
    }
  }
  void wait_arrived() {
    wait_arrived([](const completion_record&) {});
    met();
  }

  [[nodiscard]] weft::device& device() noexcept { return dev_; }
  [[nodiscard]] completion_queue& inbox() noexcept { return inbox_; }
  [[nodiscard]] counter& sent() noexcept { return sent_; }
  [[nodiscard]] std::uint32_t partner() const noexcept { return options_.partner; }
  /// A number that no other lane has, equal on both sides.
  [[nodiscard]] std::uint32_t id() const noexcept { return options_.id; }
  [[nodiscard]] std::uint64_t failed() const noexcept { return sent_.failed() + received_.failed(); }

 private:
  void wait_for(const counter& done, std::uint64_t count) {
    if (options_.uses_defaults) [[unlikely]] {
      dev_.wait(done, count);
    } else {
      wait([&] { return done.value() == count; });
    }
  }
  void look_again(std::uint32_t& vain) {
    if (dev_.progress() || !phase_.is_over(++vain)) return;
    std::this_thread::yield();
    vain = 0;
  }

  weft::device& dev_;
  lane_options options_;
  std::uint32_t source_;
  completion_queue inbox_;
  counter sent_;
  counter received_;
  registration arrivals_;
  spin_phase phase_;
  std::uint64_t posted_ = 0;
  std::uint64_t expected_ = 0;
};

/// The messages of a lane within its time.
struct lane_result {
  double count = 0;
  double seconds = 0;
  double wrong = 0;  ///< messages whose bytes differ from those sent
};

/// Calls `exchange(last)` for `seconds` and counts the calls; the last one has `last` set. The clock is read seldom.
template <class Exchange>
[[nodiscard]] lane_result timed(double seconds, Exchange&& exchange) {
  const auto begin = clock::now();
  const auto since = [](clock::time_point then) { return std::chrono::duration<double>(clock::now() - then).count(); };
  std::uint64_t count = 0;
  std::uint64_t stride = 1;
  for (double checked = 0;;) {
    const double now = since(begin);
    if (now - checked < 20e-6 && stride < 256) stride *= 2;
    if (now - checked > 1e-3) stride = 1;
    checked = now;
    const bool last = now >= seconds;
    for (std::uint64_t i = 1; i < stride; ++i) exchange(false);
    exchange(last);
    count += stride;
    if (last) return {static_cast<double>(count), since(begin), 0};
  }
}

}  // namespace weft::perf
