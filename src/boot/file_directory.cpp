// SPDX-License-Identifier: BSD-3-Clause
#include "boot/file_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "weft/error.hpp"

namespace weft::boot {
namespace {

constexpr const char* mutex_name = "mutex";
constexpr const char* made_name = "made-by-weft";

// A lock of the open file, not of the process: it ends with the last copy of the descriptor, and asking doesn't take
// it.
bool try_lock(int fd) noexcept {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_SETLK, &whole) == 0;
}

bool write_all(int fd, std::string_view contents) noexcept {
  while (!contents.empty()) {
    const ssize_t n = ::write(fd, contents.data(), contents.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    contents.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

private_directory::private_directory(std::string path) : path_{std::move(path)} { open(); }

void private_directory::open() {
  const bool made = ::mkdir(path_.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) fail("can't be made");
  here_ = base::descriptor{::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!here_) fail("can't be opened");
  check();
  if (made) write(made_name, "");
}

void private_directory::check() const {
  struct stat status {};
  if (::fstat(here_.get(), &status) != 0) fail("can't be examined");
  if (status.st_uid != ::geteuid()) {
    throw error{errc::boot_failed,
                fmt::format("file boot: WEFT_BOOT_DIR={} belongs to another user (uid {}); give each job "
                            "a private directory of its own, as mktemp -d makes it",
                            path_, status.st_uid)};
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw error{errc::boot_failed, fmt::format("file boot: others may write to WEFT_BOOT_DIR={} (mode {:o}); make it "
                                               "private (chmod 700)",
                                               path_, status.st_mode & 07777)};
  }
}

void private_directory::fail(std::string_view problem, const std::string& name) const {
  throw error{errc::boot_failed, fmt::format("file boot: {}{}{} {}: {}", path_, name.empty() ? "" : "/", name, problem,
                                             std::strerror(errno))};
}

held_file private_directory::lock(clock::time_point deadline) {
  for (;;) {
    const int fd = ::openat(here_.get(), mutex_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno != ENOENT) fail("can't be opened", mutex_name);
    if (fd < 0) {  // the last of an earlier job has just removed the directory
      open();
      continue;
    }
    held_file mine{base::descriptor{fd}};
    struct stat status {};
    // An unlinked mutex belongs to a directory that has been dissolved; nobody else will meet us there.
    if (try_lock(fd) && ::fstat(fd, &status) == 0 && status.st_nlink > 0) return mine;
    if (clock::now() >= deadline) {
      errno = ETIMEDOUT;
      fail("is held by another process", mutex_name);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

held_file private_directory::create_held(const std::string& name, std::string_view contents) {
  const int fd = ::openat(here_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) fail("can't be made", name);
  held_file mine{base::descriptor{fd}};
  if (!try_lock(fd)) fail("can't be locked", name);
  if (!write_all(fd, contents)) fail("can't be written", name);
  return mine;
}

bool private_directory::is_held(const std::string& name) const {
  const int fd = ::openat(here_.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  const base::descriptor closes_it{fd};
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(fd, F_OFD_GETLK, &whole) != 0) fail("can't be asked for its lock", name);
  return whole.l_type != F_UNLCK;
}

void private_directory::write(const std::string& name, std::string_view contents) {
  const std::string part = name + ".part";
  const int fd = ::openat(here_.get(), part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) fail("can't be made", part);
  const base::descriptor closes_it{fd};
  if (!write_all(fd, contents)) fail("can't be written", part);
  if (::renameat(here_.get(), part.c_str(), here_.get(), name.c_str()) != 0) fail("can't be given its name", part);
}

std::optional<std::string> private_directory::read(const std::string& name) const {
  const int fd = ::openat(here_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return std::nullopt;
  if (fd < 0) fail("can't be opened", name);
  const base::descriptor closes_it{fd};
  std::string contents;
  std::array<char, 8192> bytes;
  for (;;) {
    const ssize_t n = ::read(fd, bytes.data(), bytes.size());
    if (n == 0) return contents;
    if (n > 0)
      contents.append(bytes.data(), static_cast<std::size_t>(n));
    else if (errno != EINTR)
      fail("can't be read", name);
  }
}

bool private_directory::exists(const std::string& name) const noexcept {
  return ::faccessat(here_.get(), name.c_str(), F_OK, 0) == 0;
}

void private_directory::remove(const std::string& name) noexcept { ::unlinkat(here_.get(), name.c_str(), 0); }

std::vector<std::string> private_directory::list() const {
  // A description of its own: the position is not shared with an earlier listing.
  const int fd = ::openat(here_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const directory = fd < 0 ? nullptr : ::fdopendir(fd);
  if (directory == nullptr) {
    const base::descriptor closes_it{fd};
    fail("can't be listed");
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name{entry->d_name};
    if (name != "." && name != ".." && name != mutex_name && name != made_name) names.emplace_back(name);
  }
  ::closedir(directory);
  return names;
}

void private_directory::dissolve() noexcept {
  const bool made = exists(made_name);
  remove(made_name);
  remove(mutex_name);
  if (made) ::rmdir(path_.c_str());  // not if there is anything in it that is not ours
}

}  // namespace weft::boot
