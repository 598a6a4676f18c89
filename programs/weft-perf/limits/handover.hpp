// SPDX-License-Identifier: BSD-3-Clause
// The fastest ways in which two cores can talk to each other by cache lines. The hand-over of one line, which both
// write in turn, tells the two states of the machine apart. It is no limit of messages: a reader that has to learn
// where the next message is needs a line that its writer alone writes. So two rings of cells are the limit of a
// message's latency, and two lines the limit of a put until it is visible.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::perf {

/// A number in a line of its own.
struct alignas(64) handover_line {
  std::atomic<std::uint32_t> step{0};
};

/// A cell as Weft's rings have them: payload, and a number that says for which round it is.
struct alignas(64) exchange_cell {
  std::array<std::uint64_t, 7> payload{};
  std::atomic<std::uint64_t> sequence{0};
};
static_assert(sizeof(exchange_cell) == 64);

/// As many as Weft's rings have, so that both stay in the nearest cache.
using exchange_ring = std::array<exchange_cell, 256>;

/// The lines that the two sides share; at the beginning all bytes are zero.
struct exchange_lines {
  handover_line both;                  ///< both sides write it, one after the other
  std::array<handover_line, 2> lines;  ///< each side writes one
  std::array<exchange_ring, 2> rings;  ///< each side writes one
};

enum class exchange : std::uint8_t { two_lines, two_rings };
[[nodiscard]] const char* name_of(exchange exchanged) noexcept;

/// One of the two sides. Both measure all exchanges, in one order.
class exchange_side {
 public:
  exchange_side(exchange_lines& shared, bool first) noexcept : shared_{&shared}, first_{first} {}

  /// The hand-over: some bursts of exchanges; the median of one way in ns. **Blocking**: until the other side has done
  /// its part.
  double measure_handover();

  /// The best burst of exchanges: ns one way. **Blocking**: until the other side has done its part.
  double measure(exchange exchanged);

 private:
  void wait_for(std::uint32_t step) const noexcept;
  void write_line(std::uint32_t number) noexcept;
  void await_line(std::uint32_t number) const noexcept;
  void write_cell(std::uint64_t position) noexcept;
  void await_cell(std::uint64_t position) const noexcept;
  [[nodiscard]] std::size_t mine() const noexcept { return first_ ? 0 : 1; }

  exchange_lines* shared_;
  bool first_;
  std::uint32_t step_ = 0;
  std::uint32_t number_ = 0;
  std::uint64_t position_ = 0;
};

/// Lines shared by two processes of one machine.
class shared_lines {
 public:
  /// Makes them; `path()` is where the other process finds them as long as this object lives.
  shared_lines();
  /// Those of the other process. Not `good()` where there are none to be had: on another machine, for example.
  explicit shared_lines(const std::string& path);
  ~shared_lines();
  shared_lines(const shared_lines&) = delete;
  shared_lines& operator=(const shared_lines&) = delete;

  [[nodiscard]] bool good() const noexcept { return lines_ != nullptr; }
  [[nodiscard]] exchange_lines& lines() const noexcept { return *lines_; }
  [[nodiscard]] std::string path() const;

 private:
  void map();

  int file_ = -1;
  exchange_lines* lines_ = nullptr;
};

/// Between two threads of this process, on the first two cores.
[[nodiscard]] double measure_handover_here();
[[nodiscard]] double measure_here(exchange exchanged);

}  // namespace weft::perf
