// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/byte_stream.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "kmer/input_error.hpp"

namespace weft_kmer {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{64} << 10;

template <typename Read>
std::size_t read_all(std::span<std::byte> out, Read&& read_some) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = read_some(out.subspan(done), done);
    if (got == 0) break;
    if (got < 0) {
      if (errno == EINTR) continue;
      throw stream_error{std::string{"cannot be read: "} + std::strerror(errno)};
    }
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace

file_descriptor::file_descriptor(file_descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}

file_descriptor& file_descriptor::operator=(file_descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

file_descriptor::~file_descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

file_descriptor open_for_reading(const std::string& path) {
  const int fd = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw stream_error{std::string{"cannot be opened: "} + std::strerror(errno)};
  return file_descriptor{fd};
}

std::size_t read_fully(int fd, std::span<std::byte> out) {
  return read_all(out, [fd](auto rest, std::size_t) { return ::read(fd, rest.data(), rest.size()); });
}

std::size_t read_fully_at(int fd, std::span<std::byte> out, std::uint64_t offset) {
  return read_all(out, [=](auto rest, std::size_t done) {
    return ::pread(fd, rest.data(), rest.size(), static_cast<off_t>(offset + done));
  });
}

byte_stream::byte_stream(const std::string& path) : file_{open_for_reading(path)}, buffer_(buffer_bytes) {
  if (!refill()) return;
  if (end_ >= 2 && buffer_[0] == std::byte{0x1f} && buffer_[1] == std::byte{0x8b}) {
    inflater_ = std::make_unique<gzip_inflater>();
    inflater_->feed({buffer_.data(), end_});
  }
}

bool byte_stream::refill() {
  begin_ = 0;
  end_ = read_fully(file_.get(), buffer_);
  bytes_read_ += end_;
  return end_ > 0;
}

std::size_t byte_stream::read(std::span<char> text) {
  if (failure_) throw stream_error{*failure_};
  return inflater_ ? read_gzip(text) : read_uncompressed(text);
}

std::size_t byte_stream::read_uncompressed(std::span<char> text) {
  std::size_t done = 0;
  while (done < text.size()) {
    if (begin_ == end_ && !refill()) break;
    const std::size_t some = std::min(end_ - begin_, text.size() - done);
    std::memcpy(text.data() + done, buffer_.data() + begin_, some);
    begin_ += some;
    done += some;
  }
  return done;
}

std::size_t byte_stream::read_gzip(std::span<char> text) {
  std::size_t done = 0;
  try {
    while (done < text.size()) {
      done += inflater_->inflate(text.subspan(done));
      if (done == text.size()) break;
      if (!inflater_->needs_input()) continue;
      if (!refill()) {
        inflater_->check_complete();
        break;
      }
      inflater_->feed({buffer_.data(), end_});
    }
  } catch (const stream_error& e) {
    // What came before the damage may hold the record that explains it.
    if (done == 0) throw;
    failure_ = e.what();
  }
  return done;
}

std::uint64_t byte_stream::bytes_consumed() const noexcept {
  return bytes_read_ - (inflater_ ? inflater_->unread() : end_ - begin_);
}

}  // namespace weft_kmer
