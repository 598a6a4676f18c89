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

std::string temporary_path(const std::string& path, std::uint64_t suffix) {
  return suffix == 0 ? path : path + ".unfinished-" + std::to_string(suffix);
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

output_file::output_file(const std::string& path) : path_{path} {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists || S_ISREG(status.st_mode)) suffix_ = static_cast<std::uint64_t>(::getpid());
  written_path_ = temporary_path(path, suffix_);
  const int flags = suffix_ == 0 ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC;
  const int fd = ::open(written_path_.c_str(), flags | O_CLOEXEC, 0666);
  if (fd < 0) fail(path);
  file_ = file_descriptor{fd};
}

output_file::~output_file() {
  if (suffix_ != 0 && !committed_) ::unlink(written_path_.c_str());
}

void output_file::write(std::string_view text) {
  write_all(path_, text, [this](auto rest) { return ::write(file_.get(), rest.data(), rest.size()); });
}

void output_file::commit() {
  // Some file systems say only now that there is no space.
  if (suffix_ != 0 && ::fsync(file_.get()) != 0) fail(path_);
  if (suffix_ != 0 && ::rename(written_path_.c_str(), path_.c_str()) != 0) fail(path_);
  committed_ = true;
}

output_part::output_part(const std::string& path, std::uint64_t suffix, std::uint64_t offset)
    : path_{path}, direct_{suffix == 0}, offset_{offset} {
  const int fd = ::open(temporary_path(path, suffix).c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) fail(path);
  file_ = file_descriptor{fd};
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
