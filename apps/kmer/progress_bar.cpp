// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/progress_bar.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace weft_kmer {

namespace {

unsigned terminal_columns() {
  if (const char* told = std::getenv("WEFT_RUN_TERMINAL_COLUMNS")) {
    const long columns = std::strtol(told, nullptr, 10);
    if (columns > 0) return static_cast<unsigned>(std::min(columns, 1000L));
  }
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string duration(double seconds) {
  const auto whole = static_cast<unsigned long long>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

bool progress_bar::is_wanted() { return ::isatty(STDERR_FILENO) == 1 || std::getenv("WEFT_RUN_TERMINAL_COLUMNS"); }

progress_bar::progress_bar(std::uint64_t bytes_total) : bytes_total_{bytes_total}, columns_{terminal_columns()} {}

progress_bar::~progress_bar() {
  std::fprintf(stderr, "\r%*s\r", static_cast<int>(columns_ - 1), "");
  std::fflush(stderr);
}

void progress_bar::show(std::uint64_t bytes_done) {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started_;
  const std::string line = progress_line(bytes_done, bytes_total_, seconds.count(), columns_ - 1);
  std::fprintf(stderr, "\r%-*s", static_cast<int>(columns_ - 1), line.c_str());
  std::fflush(stderr);
}

std::string progress_line(std::uint64_t bytes_done, std::uint64_t bytes_total, double seconds, unsigned columns) {
  const double rate = seconds > 0 ? static_cast<double>(bytes_done) / seconds : 0;
  std::string figures = fmt::format(" {:.1f} MB, {:.1f} MB/s", static_cast<double>(bytes_done) / 1e6, rate / 1e6);
  std::string bar;
  if (bytes_total > 0) {
    const double part = std::min(1.0, static_cast<double>(bytes_done) / static_cast<double>(bytes_total));
    const double left = rate > 0 ? static_cast<double>(bytes_total) * (1 - part) / rate : 0;
    figures = fmt::format(" {:3.0f}%, {:.1f} MB/s, {} left", part * 100, rate / 1e6, rate > 0 ? duration(left) : "?");
    const std::size_t room = columns > figures.size() + 2 ? columns - figures.size() - 2 : 0;
    const auto filled = static_cast<std::size_t>(part * static_cast<double>(room));
    if (room >= 10) bar = '[' + std::string(filled, '=') + std::string(room - filled, ' ') + ']';
  }
  return (bar + figures).substr(0, columns);
}

}  // namespace weft_kmer
