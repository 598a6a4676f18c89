// A mapped segment: the owner's, sealed against shrinking, or a peer's.
#pragma once

#include <cstddef>
#include <utility>

namespace weft::net::shm {

/// A file descriptor that is closed when it goes.
class unique_fd {
 public:
  unique_fd() noexcept = default;
  explicit unique_fd(int fd) noexcept : fd_{fd} {}
  unique_fd(unique_fd&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~unique_fd();

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

class segment {
 public:
  segment() noexcept = default;
  segment(segment&& other) noexcept
      : memory_{std::exchange(other.memory_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}
  segment& operator=(segment&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~segment();

  /// Makes a memfd of `bytes` zeroes, of which only what is touched takes memory. **Errors**: out_of_memory,
  /// also where the limit on file sizes is lower (`ulimit -f`), before the kernel sends SIGXFSZ.
  [[nodiscard]] static std::pair<segment, unique_fd> create(std::size_t bytes);

  /// Maps a peer's. **Errors**: transport_failed where it is not of that size or its owner could still shrink it.
  [[nodiscard]] static segment map(const unique_fd& file, std::size_t bytes);

  [[nodiscard]] std::byte* memory() const noexcept { return memory_; }

 private:
  segment(std::byte* memory, std::size_t bytes) noexcept : memory_{memory}, bytes_{bytes} {}

  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace weft::net::shm
