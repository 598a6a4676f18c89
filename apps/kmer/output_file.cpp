// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "kmer/input_error.hpp"

namespace weft_kmer {

namespace {

[[noreturn]] void fail(const std::string& path) {
  throw job_error{path + ": cannot be written: " + std::strerror(errno)};
}

std::string temporary_path(const output_target& target, std::uint64_t suffix) {
  return suffix == 0 ? target.path : target.path + ".unfinished-" + std::to_string(suffix);
}

// For writing. Returns: -1 where it can't be, with errno.
file_descriptor open_direct(const output_target& target) {
  const int fd = target.descriptor >= 0 ? ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0)
                                        : ::open(target.path.c_str(), O_WRONLY | O_CLOEXEC);
  return file_descriptor{fd};
}

template <typename Write>
void write_all(const std::string& path, std::string_view text, Write&& write_some) {
  while (!text.empty()) {
    const ssize_t written = write_some(text);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

output_file::output_file(const std::string& path) : path_{path}, target_{find_output_target(path)} {
  if (target_.is_direct) {
    file_ = open_direct(target_);
  } else {
    create();
  }
  if (file_.get() < 0) fail(path);
}

// Under a name that no file has: one may be left from a process that was killed.
void output_file::create() {
  for (std::uint64_t attempt = 0; attempt < 100; ++attempt) {
    suffix_ = static_cast<std::uint64_t>(::getpid()) + (attempt << 32);
    written_path_ = temporary_path(target_, suffix_);
    file_ = file_descriptor{::open(written_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
    if (file_.get() >= 0 || errno != EEXIST) return;
  }
}

output_file::~output_file() {
  if (suffix_ != 0 && !committed_ && file_.get() >= 0) ::unlink(written_path_.c_str());
}

void output_file::write(std::string_view text) {
  write_all(path_, text, [this](auto rest) { return ::write(file_.get(), rest.data(), rest.size()); });
}

void output_file::commit() {
  // Some file systems say only now that there is no space.
  if (suffix_ != 0 && ::fsync(file_.get()) != 0) fail(path_);
  if (suffix_ != 0 && ::rename(written_path_.c_str(), target_.path.c_str()) != 0) fail(path_);
  committed_ = true;
}

void check_output_part(const std::string& path, std::uint64_t suffix) {
  const output_target target = find_output_target(path);
  if (target.is_direct != (suffix == 0)) {
    throw job_error{path + (target.is_direct ? ": is a pipe or a device here, but a file for rank 0"
                                             : ": is a file here, but a pipe or a device for rank 0")};
  }
  struct stat status {};
  if (suffix != 0 && ::stat(temporary_path(target, suffix).c_str(), &status) != 0) {
    throw job_error{path +
                    ": rank 0 has made this output, and it is not here: all ranks write to it, so give it by its "
                    "whole path, in a folder that all of them see"};
  }
}

output_part::output_part(const std::string& path, std::uint64_t suffix, std::uint64_t offset)
    : path_{path}, direct_{suffix == 0}, offset_{offset} {
  const output_target target = find_output_target(path);
  file_ = direct_ ? open_direct(target)
                  : file_descriptor{::open(temporary_path(target, suffix).c_str(), O_WRONLY | O_CLOEXEC)};
  if (file_.get() < 0) fail(path);
}

char* output_part::reserve(std::size_t bytes) {
  if (buffer_.size() + bytes > (std::size_t{1} << 20)) flush();
  buffer_.resize(buffer_.size() + bytes);
  return buffer_.data() + buffer_.size() - bytes;
}

void output_part::flush() {
  write_all(path_, buffer_, [this](std::string_view rest) {
    const ssize_t written = direct_ ? ::write(file_.get(), rest.data(), rest.size())
                                    : ::pwrite(file_.get(), rest.data(), rest.size(), static_cast<off_t>(offset_));
    if (written > 0) offset_ += static_cast<std::uint64_t>(written);
    return written;
  });
  buffer_.clear();
}

}  // namespace weft_kmer
