// SPDX-License-Identifier: BSD-3-Clause
// Latency, rate and bandwidth of active messages and of sends and receives.
#include <algorithm>

#include "weft-perf/measure/bench.hpp"
#include "weft-perf/measure/block_buffers.hpp"
#include "weft-perf/measure/content.hpp"

namespace weft::perf {
namespace {

// Active messages: what arrives needs no buffer.
class am_messaging {
 public:
  am_messaging(lane& used, const point& measured, std::size_t /*slots*/)
      : lane_{used}, measured_{measured}, lists_{measured} {}

  void send(std::span<const std::byte> bytes) {
    if (lists_.has(bytes.size())) return lane_.post_am(lists_.from(bytes), 0);
    lane_.post_am(bytes, 0);
  }
  void prepare(std::size_t /*count*/) noexcept {}

  /// Waits for `count` messages; the first bytes of all, or-ed.
  std::byte take(std::size_t count) {
    std::byte flags{};
    for (std::size_t i = 0; i < count; ++i) {
      flags |= lane_.wait_arrived([&](const completion_record& message) {
        if (measured_.verify && message.bytes() > 1) wrong_ += is_filled(message.data(), measured_.bytes) ? 0 : 1;
        return message.data()[0];
      });
    }
    lane_.met();
    return flags;
  }
  [[nodiscard]] double wrong() const noexcept { return wrong_; }

 private:
  lane& lane_;
  const point& measured_;
  piece_lists lists_;
  double wrong_ = 0;
};

// In an engine of its own the receiver begins.
struct first_engine {
  explicit first_engine(lane& used) : made{used.device().runtime(), {.id = used.id(), .receiver_first = true}} {}
  [[nodiscard]] engine_ref name() const noexcept { return made; }
  matching_engine made;
};
// As an MPI communicator: messages are matched in the order of their posts.
struct ordered_engine {
  explicit ordered_engine(lane& used) : made{used.device().runtime(), {.id = used.id(), .ordered = true}} {}
  [[nodiscard]] engine_ref name() const noexcept { return made; }
  matching_engine made;
};
struct common_engine {
  explicit common_engine(lane& /*on*/) noexcept {}
  [[nodiscard]] static constexpr engine_ref name() noexcept { return {}; }
};

template <class Engine>
class sendrecv_messaging {
 public:
  sendrecv_messaging(lane& used, const point& measured, std::size_t slots)
      : lane_{used},
        measured_{measured},
        slots_{slots},
        received_{used.device().runtime(), measured.memory, measured.bytes, slots},
        lists_{measured},
        blocks_{measured},
        engine_{used} {}

  void send(std::span<std::byte> bytes) {
    if (lists_.has(bytes.size())) return lane_.post_send(lists_.from(bytes), engine_.name());
    if (blocks_.sends(bytes.size())) return lane_.post_send(blocks_.from(bytes), engine_.name());
    lane_.post_send(bytes, engine_.name());
  }
  void prepare(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<std::byte> into = received_[i % slots_];
      if (lists_.has(into.size())) {
        lane_.post_recv(lists_.into(into), engine_.name());
      } else if (blocks_.receives(into.size())) {
        lane_.post_recv(blocks_.into(into), engine_.name());
      } else {
        lane_.post_recv(into, engine_.name());
      }
    }
    prepared_ = count;
  }
  std::byte take(std::size_t /*count*/) {
    lane_.wait_received();
    std::byte flags{};
    for (std::size_t i = 0; i < std::min(prepared_, slots_); ++i) {
      lists_.take(received_[i]);
      blocks_.take(received_[i]);
      flags |= received_[i][0];
      if (measured_.verify && !lane_.begins) wrong_ += is_filled(received_[i], measured_.bytes) ? 0 : 1;
    }
    return flags;
  }
  [[nodiscard]] double wrong() const noexcept { return wrong_; }

 private:
  lane& lane_;
  const point& measured_;
  std::size_t slots_;
  buffers received_;
  piece_lists lists_;
  block_buffers blocks_;
  Engine engine_;
  std::size_t prepared_ = 0;
  double wrong_ = 0;
};

constexpr std::size_t stream_chunk = 64;

template <class Messaging>
class conversation {
 public:
  conversation(lane& used, const point& measured)
      : lane_{used},
        measured_{measured},
        window_{measured.kind == kind::latency ? 1
                                               : (measured.window == 0 ? window_for(measured.bytes) : measured.window)},
        slots_{measured.kind == kind::bandwidth && !measured.verify && !measured.blocks.by_loops ? 1 : window_},
        messaging_{used, measured, slots_},
        out_{used.device().runtime(), measured.memory, measured.bytes, slots_} {}

  lane_result run(double seconds) {
    if (!lane_.begins) {
      answer();
      return {0, 0, messaging_.wrong()};
    }
    lane_result out = timed(seconds, [&](bool last) { exchange(last); });
    lane_.settle();
    out.count *= measured_.kind == kind::latency ? 1 : static_cast<double>(window_);
    out.wrong = messaging_.wrong();
    return out;
  }

 private:
  void send(std::size_t index, std::byte flag) {
    const std::span<std::byte> bytes = out_[index % slots_];
    if (measured_.verify) fill(bytes, number_++);
    // After that the buffer may be under way. A byte that is there already isn't written again: a post that reads eight
    // bytes right behind that write waits for it, and for all stores before it, the last message's among them.
    if (index < slots_ && bytes[0] != flag) bytes[0] = flag;
    messaging_.send(bytes);
  }

  void exchange(bool last) {
    lane_.settle();
    for (std::size_t slot = 0; slot < window_; ++slot) send(slot, last ? was_last : go_on);
    messaging_.prepare(1);
    (void)messaging_.take(1);
  }

  // A latency's answer is as long as the question; a window's is one byte.
  void answer() {
    for (std::byte flags = go_on; flags != was_last;) {
      messaging_.prepare(window_);
      flags = messaging_.take(window_);
      lane_.settle();
      if (measured_.kind == kind::latency) {
        send(0, flags);
      } else {
        messaging_.send(out_[0].first(1));
      }
    }
    lane_.settle();
  }

  lane& lane_;
  const point& measured_;
  std::size_t window_;
  std::size_t slots_;  // one buffer for all messages of a bandwidth's window, as osu_bw and ucx_perftest have it
  Messaging messaging_;
  buffers out_;
  std::uint64_t number_ = 0;
};

// Active messages as fast as they go. The end is told with their number, as they may overtake one another.
class stream {
 public:
  stream(lane& used, const point& measured)
      : lane_{used},
        measured_{measured},
        out_{used.device().runtime(), measured.memory, measured.bytes, stream_chunk} {}

  lane_result run(double seconds) {
    if (!lane_.begins) return answer();
    std::uint64_t number = 0;
    lane_result out = timed(seconds, [&](bool last) {
      lane_.settle();
      for (std::size_t slot = 0; slot < stream_chunk; ++slot) {
        if (measured_.verify) fill(out_[slot], number + slot);
        lane_.post_am(out_[slot], 0);
      }
      number += stream_chunk;
      if (!last) return;
      lane_.post_am(out_[0].first(1), number);
      lane_.wait_arrived();
    });
    lane_.settle();
    out.count *= static_cast<double>(stream_chunk);
    return out;
  }

 private:
  lane_result answer() {
    lane_result out;
    std::uint64_t announced = ~std::uint64_t{0};
    for (std::uint64_t number = 0; number != announced;) {
      lane_.wait_arrived([&](const completion_record& message) {
        if (message.tag() != 0) {
          announced = message.tag();
          return;
        }
        ++number;
        if (measured_.verify && !is_filled(message.data(), measured_.bytes)) ++out.wrong;
      });
    }
    lane_.post_am(out_[0].first(1), 0);
    lane_.settle();
    return out;
  }

  lane& lane_;
  const point& measured_;
  buffers out_;
};

template <class Conversation>
lane_result warm_and_run(Conversation&& talk, const point& measured) {
  (void)talk.run(measured.seconds / 4);
  return talk.run(measured.seconds);
}

}  // namespace

lane_result measure_messages(lane& used, const point& measured) {
  if (measured.kind == kind::stream) return warm_and_run(stream{used, measured}, measured);
  if (measured.operation == operation::am) return warm_and_run(conversation<am_messaging>{used, measured}, measured);
  if (measured.operation == operation::receiver_first) {
    return warm_and_run(conversation<sendrecv_messaging<first_engine>>{used, measured}, measured);
  }
  if (measured.operation == operation::ordered) {
    return warm_and_run(conversation<sendrecv_messaging<ordered_engine>>{used, measured}, measured);
  }
  return warm_and_run(conversation<sendrecv_messaging<common_engine>>{used, measured}, measured);
}

}  // namespace weft::perf
