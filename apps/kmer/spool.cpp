// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/spool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "kmer/input_error.hpp"
#include "kmer/kmer.hpp"

namespace weft_kmer {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{256} << 10;

std::string directory() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

[[noreturn]] void fail(const char* problem) {
  throw job_error{directory() + ": standard input or a pipe can't be kept there for the second pass: " + problem +
                  ": " + std::strerror(errno) + " (TMPDIR names another directory; --exact needs one pass only)"};
}

std::size_t packed_bytes(std::size_t bases) noexcept { return (bases + 3) / 4; }

}  // namespace

void spool::bases(std::string_view letters) {
  for (const char letter : letters) {
    if (code_of(letter) == no_base) {
      letters_.skip(letter);
      end_run();
    } else {
      run_.push_back(letter);
    }
  }
}

// A run in the file: how many bases (four bytes), then the bases.
void spool::end_run() {
  if (run_.size() >= k_) {
    kmers_ += run_.size() - k_ + 1;
    const auto bases = static_cast<std::uint32_t>(run_.size());
    const std::size_t at = buffer_.size();
    buffer_.resize(at + sizeof bases + packed_bytes(bases));
    std::memcpy(buffer_.data() + at, &bases, sizeof bases);
    std::byte* packed = buffer_.data() + at + sizeof bases;
    for (std::size_t i = 0; i < bases; ++i) packed[i / 4] |= std::byte{code_of(run_[i])} << (2 * (i % 4));
    if (buffer_.size() >= buffer_bytes) write_buffer();
  }
  run_.clear();
}

void spool::open() {
  // O_TMPFILE is not known to all file systems.
  std::string name = directory() + "/weft-kmer-XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) fail("a file can't be made");
  ::unlink(name.c_str());
  file_ = file_descriptor{fd};
}

void spool::write_buffer() {
  if (file_.get() < 0) open();
  for (std::size_t done = 0; done < buffer_.size();) {
    const ssize_t some = ::write(file_.get(), buffer_.data() + done, buffer_.size() - done);
    if (some < 0 && errno != EINTR) fail("writing failed");
    if (some > 0) done += static_cast<std::size_t>(some);
  }
  buffer_.clear();
}

void spool::finish() {
  end_run();
  if (!buffer_.empty()) write_buffer();
  rewind();
}

void spool::rewind() {
  read_offset_ = 0;
  begin_ = 0;
  buffer_.clear();
}

// At least so many unread bytes are in the buffer afterwards, or the file has ended.
bool spool::refill(std::size_t bytes) {
  if (buffer_.size() - begin_ >= bytes) return true;
  if (file_.get() < 0) return false;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(begin_));
  begin_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + buffer_bytes + bytes);
  std::size_t got = 0;
  try {
    got = read_fully_at(file_.get(), std::span{buffer_}.subspan(before), read_offset_);
  } catch (const stream_error&) {
    fail("reading failed");
  }
  buffer_.resize(before + got);
  read_offset_ += got;
  return buffer_.size() >= bytes;
}

bool spool::read_run() {
  std::uint32_t bases = 0;
  if (!refill(sizeof bases)) return false;
  std::memcpy(&bases, buffer_.data() + begin_, sizeof bases);
  begin_ += sizeof bases;
  if (!refill(packed_bytes(bases))) return false;
  const std::byte* packed = buffer_.data() + begin_;
  run_.resize(bases);
  for (std::size_t i = 0; i < bases; ++i)
    run_[i] = "ACGT"[std::to_integer<unsigned>(packed[i / 4] >> (2 * (i % 4))) & 3];
  begin_ += packed_bytes(bases);
  return true;
}

}  // namespace weft_kmer
