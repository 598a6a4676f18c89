// A terminal's input, passed on to rank 0.
#pragma once

#include <string>

#include "weft-run/descriptor.hpp"

namespace weft::run {

class input_pump {
 public:
  /// `to`: a non-blocking pipe, or closed where there is nothing to pass on.
  explicit input_pump(descriptor to) : to_{std::move(to)} {}

  /// Whether the terminal is to be read: there is room, and this process is in its foreground (a read in the background
  /// would fail).
  [[nodiscard]] bool wants_input() const noexcept;
  [[nodiscard]] bool wants_output() const noexcept { return to_.open() && !held_.empty(); }
  [[nodiscard]] bool open() const noexcept { return to_.open(); }
  [[nodiscard]] int target() const noexcept { return to_.get(); }

  void read_some();
  void write_some();

 private:
  descriptor to_;
  std::string held_;
  bool ended_ = false;
};

}  // namespace weft::run
