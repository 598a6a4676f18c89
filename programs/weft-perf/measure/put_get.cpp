// SPDX-License-Identifier: BSD-3-Clause
// Puts and gets: complete at the origin, visible at the target, many of them together.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

#include "weft-perf/measure/bench.hpp"
#include "weft-perf/measure/content.hpp"

namespace weft::perf {
namespace {

// Tags of the messages between two lanes that are not part of the measurement.
enum : std::uint64_t { tag_exposed = 1, tag_look, tag_looked, tag_end, tag_ended };

constexpr std::uint64_t last_bit = std::uint64_t{1} << 63;

class one_sided {
 public:
  one_sided(lane& used, const point& measured)
      : lane_{used},
        measured_{measured},
        window_{measured.kind == kind::put_rate ? (measured.window == 0 ? window_for(measured.bytes) : measured.window)
                                                : 1},
        slots_{measured.verify || measured.touch ? window_ : 1},
        local_{used.device().runtime(), measured.memory, measured.bytes, slots_},
        open_{used.device().runtime(), measured.memory, measured.bytes, slots_} {
    if (open_.region() == nullptr) registered_.emplace(used.device().runtime(), open_.all());
    const memory_region& mine = open_.region() != nullptr ? *open_.region() : *registered_;
    if (measured.kind != kind::put_visible) fill(open_[0], 0);
    const remote_buffer exposed = mine.at(open_.offset(0));
    lane_.post_am(std::as_bytes(std::span{&exposed, 1}), tag_exposed);
    lane_.settle();
    lane_.wait_arrived([&](const completion_record& answer) {
      remote_buffer there;
      std::memcpy(&there, answer.data().data(), sizeof there);
      for (std::size_t slot = 0; slot < slots_; ++slot, there.offset += local_.stride()) there_.push_back(there);
    });
  }

  lane_result run(double seconds) {
    wrong_ = 0;
    lane_result out;
    if (measured_.kind == kind::put_visible) {
      out = visible(seconds);
    } else if (lane_.begins) {
      spent_ = 0;
      out = timed(seconds, [&](bool last) { exchange(last); });
      if (measured_.touch) out.seconds = spent_;
      out.count *= static_cast<double>(window_);
    } else {
      serve();
    }
    out.wrong = wrong_;
    return out;
  }

  /// No side's memory goes while the other side may still be in it.
  void end() {
    tell(tag_ended);
    lane_.wait_arrived();
  }

 private:
  void tell(std::uint64_t tag) {
    lane_.post_am({}, tag);
    lane_.settle();
  }

  void put(std::size_t slot) {
    lane_.post([&] {
      return lane_.device().post_put(lane_.partner(), local_[slot], there_[slot], lane_.sent(),
                                     {.complete_at = completion_level::delivered});
    });
  }
  void get() {
    lane_.post([&] { return lane_.device().post_get(lane_.partner(), local_[0], there_[0], lane_.sent()); });
  }

  void exchange(bool last) {
    if (measured_.verify || measured_.touch) {
      for (std::size_t slot = 0; slot < slots_; ++slot) fill(local_[slot], number_++);
    }
    const auto begin = measured_.touch ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
    if (measured_.kind == kind::get) {
      get();
    } else {
      for (std::size_t i = 0; i < window_; ++i) put(slots_ == 1 ? 0 : i);
    }
    lane_.settle();
    if (measured_.touch) {
      spent_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    if (measured_.kind == kind::get && (measured_.verify || measured_.touch)) look(local_[0]);
    if (!measured_.touch && !last) return;
    tell(last ? tag_end : tag_look);
    lane_.wait_arrived();
  }

  // The target: for each message of the origin, looks at the put bytes, or writes the bytes to get.
  void serve() {
    for (std::uint64_t tag = 0; tag != tag_end;) {
      tag = lane_.wait_arrived([](const completion_record& message) { return message.tag(); });
      lane_.met();
      if (measured_.verify || measured_.touch) {
        for (std::size_t slot = 0; slot < slots_; ++slot) {
          if (measured_.kind == kind::get)
            fill(open_[slot], number_++);
          else
            look(open_[slot]);
        }
      }
      tell(tag_looked);
    }
  }

  void look(std::span<const std::byte> bytes) { wrong_ += is_filled(bytes, measured_.bytes) ? 0 : 1; }

  // The last word of the buffer is the message; the target looks at its memory, and makes progress now and then for
  // transports that need it.
  lane_result visible(double seconds) {
    const std::size_t offset = measured_.bytes - sizeof(std::uint64_t);
    const auto word_in = [offset](std::span<std::byte> bytes) {
      return std::atomic_ref{*reinterpret_cast<std::uint64_t*>(bytes.data() + offset)};
    };
    const auto send = [&](std::uint64_t word) {
      lane_.settle();
      // [put_visible.send] relaxed -> [put_visible.see]: this thread's put carries the word to the partner.
      word_in(local_[0]).store(word, std::memory_order_relaxed);
      put(0);
    };
    const int looks_a_call = lane_.has_spin_phases() ? 1 : 64;
    const auto wait_for = [&](std::uint64_t number) {
      std::uint64_t seen = 0;
      lane_.wait([&] {
        for (int looks = 0; looks < looks_a_call; ++looks) {
          // [put_visible.see] acquire <- [put_visible.send]: the word that the partner has put; nothing else is read.
          seen = word_in(open_[0]).load(std::memory_order_acquire);
          if ((seen & ~last_bit) == number) return true;
          detail::std_atomics::pause();  // looks without a break delay the word that they wait for, by a third on Zen 4
        }
        return false;
      });
      lane_.met();
      return seen;
    };
    if (lane_.begins) {
      const lane_result out = timed(seconds, [&](bool last) {
        send(++number_ | (last ? last_bit : 0));
        (void)wait_for(number_);
      });
      lane_.settle();
      return out;
    }
    for (std::uint64_t seen = 0; (seen & last_bit) == 0;) {
      seen = wait_for(++number_);
      send(seen);
    }
    lane_.settle();
    return {};
  }

  lane& lane_;
  const point& measured_;
  std::size_t window_;
  std::size_t slots_;  // one buffer for all puts of a window, as ucx_perftest has it, unless their bytes are looked at
  buffers local_;
  buffers open_;  // to the partner
  std::optional<memory_region> registered_;
  std::vector<remote_buffer> there_;  // by slot
  std::uint64_t number_ = 0;
  double spent_ = 0;
  double wrong_ = 0;
};

}  // namespace

lane_result measure_put_get(lane& used, const point& measured) {
  if (measured.kind == kind::put_visible && (measured.bytes < 8 || measured.bytes % 8 != 0)) {
    throw error{errc::invalid_argument,
                "what becomes visible at the target is looked at word by word: take a multiple "
                "of 8 bytes"};
  }
  one_sided both{used, measured};
  (void)both.run(measured.seconds / 4);
  const lane_result out = both.run(measured.seconds);
  both.end();
  return out;
}

}  // namespace weft::perf
