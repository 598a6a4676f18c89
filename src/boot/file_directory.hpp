// SPDX-License-Identifier: BSD-3-Clause
// The private directory of a file boot: small files, locks that tell the living from the dead, and a mutex.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/not_inherited.hpp"

namespace weft::boot {

/// A file that its process keeps locked while it lives. Closing it, or dying, releases it; children of fork() close
/// their copies.
class held_file final : private base::not_inherited {
 public:
  held_file() = default;
  explicit held_file(base::descriptor file) : file_{std::move(file)} {}
  held_file(held_file&& other) : file_{std::move(other.file_)} {}
  held_file& operator=(held_file&& other) noexcept {
    file_ = std::move(other.file_);
    return *this;
  }
  [[nodiscard]] bool held() const noexcept { return static_cast<bool>(file_); }

 private:
  void become_copy() noexcept override { file_ = base::descriptor{}; }

  base::descriptor file_;
  base::fork_entry at_forks_{*this};
};

/// All names are those of files in the directory. **Errors** boot_failed, with path and cause.
class private_directory {
 public:
  using clock = base::clock;

  /// Opens the directory; makes it, with mode 0700, if only its last part is missing. One that another user owns or may
  /// write to is refused.
  explicit private_directory(std::string path);
  private_directory(const private_directory&) = delete;
  private_directory& operator=(const private_directory&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Excludes all other processes until what it returns is gone. **Blocking** until the deadline.
  [[nodiscard]] held_file lock(clock::time_point deadline);

  /// A new file with these contents that stays locked by this process. The name must be free.
  [[nodiscard]] held_file create_held(const std::string& name, std::string_view contents);
  /// Whether a living process holds the file. False if there is no such file.
  [[nodiscard]] bool is_held(const std::string& name) const;

  /// Appears under its name only when it is whole.
  void write(const std::string& name, std::string_view contents);
  /// Nothing if there is no such file.
  [[nodiscard]] std::optional<std::string> read(const std::string& name) const;
  [[nodiscard]] bool exists(const std::string& name) const noexcept;
  void remove(const std::string& name) noexcept;
  [[nodiscard]] std::vector<std::string> list() const;

  /// Removes the mutex's file and, if it was this class that made it, the directory. To be called with the lock held,
  /// by the last to leave.
  void dissolve() noexcept;

 private:
  void open();
  void check() const;
  [[noreturn]] void fail(std::string_view problem, const std::string& name = {}) const;

  std::string path_;
  base::descriptor here_;
};

}  // namespace weft::boot
