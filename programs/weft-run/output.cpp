// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace weft::run {

void sink::take(std::uint32_t stream, std::string_view prefix, std::string_view text) {
  if (closed_ || text.empty()) return;
  bool fresh_line = position_ == position::line_start;
  if (position_ == position::inside_line && stream != last_) {
    held_.push_back('\n');
    fresh_line = true;
  } else if (position_ == position::returned) {
    if (stream != last_) held_ += "\033[K";  // away with the rest of the progress bar
    fresh_line = true;
  }
  last_ = stream;
  if (prefix.empty()) {
    held_ += text;
  } else {
    for (std::size_t begin = 0; begin < text.size(); fresh_line = true) {
      const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      if (fresh_line) held_ += prefix;
      held_ += text.substr(begin, end - begin);
      begin = end;
    }
  }
  position_ = text.back() == '\n'                ? position::line_start
              : text.back() == '\r' && terminal_ ? position::returned
                                                 : position::inside_line;
}

int sink::flush() noexcept {
  while (!empty() && !closed_) {
    pollfd ready{fd_, POLLOUT, 0};
    if (::poll(&ready, 1, 0) == 0) break;
    // No more than a pipe surely takes: the descriptor is shared with others and can't be made non-blocking.
    const std::size_t part = std::min<std::size_t>(held_.size() - written_, PIPE_BUF);
    const ssize_t n = ::write(fd_, held_.data() + written_, part);
    if (n >= 0) {
      written_ += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      const int problem = errno;
      closed_ = true;
      held_.clear();
      written_ = 0;
      return problem;
    }
  }
  if (empty() || written_ >= held_bytes_max) {
    held_.erase(0, written_);
    written_ = 0;
  }
  return 0;
}

void line_gatherer::append(std::string_view bytes) {
  std::size_t end = bytes.rfind('\n');
  if (to_->terminal()) {
    const std::size_t last_return = bytes.rfind('\r');
    if (last_return != bytes.npos && (end == bytes.npos || last_return > end)) end = last_return;
  }
  if (end == bytes.npos) {
    begun_ += bytes;
    if (begun_.size() < line_bytes_max) return;
    to_->take(stream_, prefix_, begun_);
    begun_.clear();
    return;
  }
  if (begun_.empty()) {
    pass_on(bytes.substr(0, end + 1));
  } else {
    begun_ += bytes.substr(0, end + 1);
    pass_on(begun_);
  }
  begun_ = bytes.substr(end + 1);
}

void line_gatherer::pass_on(std::string_view lines) {
  if (apart_ == nullptr || !may_have_report(lines)) return to_->take(stream_, prefix_, lines);
  to_->take(stream_, prefix_, apart_->take(stream_ / 2, lines));
}

void line_gatherer::show_begun() {
  to_->take(stream_, prefix_, begun_);
  begun_.clear();
}

}  // namespace weft::run
