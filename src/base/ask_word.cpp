// SPDX-License-Identifier: BSD-3-Clause
#include "base/ask_word.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <utility>

namespace weft::base {

struct ask_word::words {
  std::atomic<std::uint32_t> joins;
  std::atomic<std::uint32_t> lasts;
};

namespace {

constexpr std::size_t file_bytes = 4096;

// The descriptor and the number of the file that it has to refer to.
bool parse(const std::string& text, int& fd, ino_t& file) noexcept {
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, fd);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ':') return false;
  const auto second = std::from_chars(first.ptr + 1, end, file);
  return second.ec == std::errc{} && second.ptr == end;
}

}  // namespace

ask_word::~ask_word() {
  if (words_ != nullptr) ::munmap(words_, file_bytes);
}

void ask_word::map(int fd, int access) noexcept {
  void* const mapped = ::mmap(nullptr, file_bytes, access, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) words_ = static_cast<words*>(mapped);
}

std::string ask_word::make() {
  // The file stays below the limit: beyond it the system would end this process by a signal.
  rlimit files{};
  if (::getrlimit(RLIMIT_FSIZE, &files) != 0 || files.rlim_cur < file_bytes) return {};
  file_ = base::descriptor{::memfd_create("weft-run-asks", MFD_CLOEXEC)};
  struct stat made {};
  if (!file_ || ::ftruncate(file_.get(), file_bytes) != 0 || ::fstat(file_.get(), &made) != 0) return {};
  map(file_.get(), PROT_READ | PROT_WRITE);
  return words_ == nullptr ? std::string{} : fmt::format("{}:{}", file_.get(), made.st_ino);
}

void ask_word::ask(request kind) noexcept {
  if (words_ == nullptr) return;
  // [ask.add] relaxed -> [ask.take]: carries nothing.
  (kind == request::last ? words_->lasts : words_->joins).fetch_add(1, std::memory_order_relaxed);
}

void ask_word::open(const std::string& text) noexcept {
  int fd = -1;
  ino_t number = 0;
  struct stat file {};
  if (!parse(text, fd, number) || ::fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_ino != number) return;
  if (file.st_size != static_cast<off_t>(file_bytes)) return;
  map(fd, PROT_READ);
  const base::descriptor closed{fd};  // the programs that this one starts are no ranks
}

ask_word::request ask_word::take() noexcept {
  if (words_ == nullptr) return request::none;
  // [ask.take] relaxed <- [ask.add]: carries nothing.
  const std::uint32_t joins = words_->joins.load(std::memory_order_relaxed);
  const std::uint32_t lasts = words_->lasts.load(std::memory_order_relaxed);
  const bool is_last = std::exchange(seen_lasts_, lasts) != lasts;
  const bool is_join = std::exchange(seen_joins_, joins) != joins;
  return is_last ? request::last : is_join ? request::join : request::none;
}

}  // namespace weft::base
