#include "weft-run/input.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace weft::run {

bool input_pump::wants_input() const noexcept {
  return to_.open() && !ended_ && held_.empty() && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

void input_pump::read_some() {
  std::array<char, 4096> bytes;
  const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (n > 0)
    held_.assign(bytes.data(), static_cast<std::size_t>(n));
  else if (n == 0 || (errno != EINTR && errno != EAGAIN))
    ended_ = true;
  write_some();
}

void input_pump::write_some() {
  while (!held_.empty()) {
    const ssize_t n = ::write(to_.get(), held_.data(), held_.size());
    if (n > 0) {
      held_.erase(0, static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {  // the rank reads no more
      to_.close();
      return;
    }
  }
  if (ended_) to_.close();
}

}  // namespace weft::run
