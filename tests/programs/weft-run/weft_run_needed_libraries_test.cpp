// SPDX-License-Identifier: BSD-3-Clause
// The libraries that a file asks the loader for, of right files and of any bytes.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "weft-run/needed_libraries.hpp"

namespace weft::run {
namespace {

std::string own_bytes() {
  std::ifstream file{"/proc/self/exe", std::ios::binary};
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

class written_file {
 public:
  explicit written_file(const std::string& bytes)
      : path_{testing::TempDir() + "weft-needed-" + std::to_string(::getpid())} {
    std::ofstream{path_, std::ios::binary} << bytes;
  }
  ~written_file() { ::unlink(path_.c_str()); }
  written_file(const written_file&) = delete;
  written_file& operator=(const written_file&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

std::vector<std::string> needed_by(const std::string& bytes) {
  const written_file file{bytes};
  return needed_libraries(file.path());
}

template <class T>
void write(std::string& bytes, std::size_t offset, T value) {
  ASSERT_LE(offset + sizeof value, bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

TEST(needed_libraries, are_those_of_this_program) {
  EXPECT_THAT(needed_libraries("/proc/self/exe"), testing::Contains(testing::StartsWith("libc.so")));
  EXPECT_EQ(needed_by(own_bytes()), needed_libraries("/proc/self/exe"));
}

TEST(needed_libraries, of_what_is_no_program_are_none) {
  for (const char* path : {"/no/such/file", "/", "/dev/null", "/dev/zero", "/etc/passwd", ""})
    EXPECT_THAT(needed_libraries(path), testing::IsEmpty()) << path;
  EXPECT_THAT(needed_by("#!/bin/sh\n"), testing::IsEmpty());
  EXPECT_THAT(needed_by("\177ELF"), testing::IsEmpty());
}

TEST(needed_libraries, of_files_that_are_cut_off_or_have_numbers_beyond_their_end_are_none_or_fewer) {
  const std::string whole = own_bytes();
  for (std::size_t bytes = 0; bytes < sizeof(ElfW(Ehdr)) + 20 * sizeof(ElfW(Phdr)); bytes += 8)
    static_cast<void>(needed_by(whole.substr(0, bytes)));
  ElfW(Ehdr) head{};
  std::memcpy(&head, whole.data(), sizeof head);
  constexpr std::uint64_t beyond[] = {std::numeric_limits<std::uint64_t>::max(), std::uint64_t{1} << 63,
                                      std::numeric_limits<std::uint64_t>::max() - 63, std::uint64_t{1} << 32};
  for (const std::uint64_t number : beyond) {
    std::string bytes = whole;
    write(bytes, offsetof(ElfW(Ehdr), e_phoff), static_cast<ElfW(Off)>(number));
    EXPECT_THAT(needed_by(bytes), testing::IsEmpty());
    for (unsigned i = 0; i < head.e_phnum; ++i) {
      const std::size_t at = head.e_phoff + i * sizeof(ElfW(Phdr));
      for (const std::size_t field :
           {offsetof(ElfW(Phdr), p_offset), offsetof(ElfW(Phdr), p_filesz), offsetof(ElfW(Phdr), p_vaddr)}) {
        bytes = whole;
        write(bytes, at + field, static_cast<ElfW(Off)>(number));
        static_cast<void>(needed_by(bytes));
      }
    }
  }
}

TEST(needed_libraries, a_text_of_a_file_is_found) {
  const written_file file{"abc\0def"};
  EXPECT_TRUE(has_text(file.path(), "bc"));
  EXPECT_FALSE(has_text(file.path(), "cb"));
  EXPECT_FALSE(has_text("/no/such/file", "a"));
}

}  // namespace
}  // namespace weft::run
