// How long one cache line takes from one core to the other: the limit of all latencies, and what tells the two states
// of the machine apart.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace weft::perf {

/// One line that two sides write, one after the other; zero bytes are its beginning.
struct alignas(64) handover_line {
  std::atomic<std::uint32_t> step{0};
};

/// One of the two sides. Both measure equally often.
class handover_side {
 public:
  handover_side(handover_line& line, bool first) noexcept : line_{&line}, first_{first} {}

  /// Some bursts of exchanges; the median of one way in ns. **Blocking**: until the other side has done its part.
  double measure();

 private:
  void wait_for(std::uint32_t step) const noexcept;

  handover_line* line_;
  bool first_;
  std::uint32_t step_ = 0;
};

/// A line shared by two processes of one machine.
class shared_line {
 public:
  /// Makes one; `path()` is where the other process finds it as long as this object lives.
  shared_line();
  /// That of the other process. Not `good()` where there is none to be had: on another machine, for example.
  explicit shared_line(const std::string& path);
  ~shared_line();
  shared_line(const shared_line&) = delete;
  shared_line& operator=(const shared_line&) = delete;

  [[nodiscard]] bool good() const noexcept { return line_ != nullptr; }
  [[nodiscard]] handover_line& line() const noexcept { return *line_; }
  [[nodiscard]] std::string path() const;

 private:
  void map();

  int file_ = -1;
  handover_line* line_ = nullptr;
};

/// Between two threads of this process, on the first two cores.
[[nodiscard]] double measure_handover_here();

}  // namespace weft::perf
