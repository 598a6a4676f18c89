// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/needed_libraries.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "weft-run/descriptor.hpp"

namespace weft::run {
namespace {

class mapped_file {
 public:
  explicit mapped_file(const std::string& path) {
    const descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat status {};
    if (!file.open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return;
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapped != MAP_FAILED) text_ = {static_cast<const char*>(mapped), bytes};
  }
  ~mapped_file() {
    if (!text_.empty()) ::munmap(const_cast<char*>(text_.data()), text_.size());
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  [[nodiscard]] std::string_view text() const noexcept { return text_; }

  /// The object at this offset, if it lies in the file.
  template <class T>
  [[nodiscard]] std::optional<T> read(std::uint64_t offset) const noexcept {
    if (offset > text_.size() || text_.size() - offset < sizeof(T)) return std::nullopt;
    T out;
    std::memcpy(&out, text_.data() + offset, sizeof out);
    return out;
  }

 private:
  std::string_view text_;
};

using header = ElfW(Ehdr);
using segment = ElfW(Phdr);
using entry = ElfW(Dyn);

class elf_file {
 public:
  explicit elf_file(const mapped_file& file) : file_{file} {
    const auto head = file.read<header>(0);
    constexpr unsigned char own_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != own_class) return;
    for (unsigned i = 0; i < head->e_phnum && head->e_phentsize == sizeof(segment); ++i) {
      if (const auto each = file.read<segment>(head->e_phoff + std::uint64_t{i} * sizeof(segment)))
        segments_.push_back(*each);
    }
  }

  [[nodiscard]] std::vector<std::string> needed() const {
    std::vector<std::uint64_t> names;
    std::optional<std::uint64_t> table;
    for (const segment& each : segments_) {
      if (each.p_type != PT_DYNAMIC) continue;
      for (std::uint64_t i = 0; i < each.p_filesz / sizeof(entry); ++i) {
        const auto found = file_.read<entry>(each.p_offset + i * sizeof(entry));
        if (!found || found->d_tag == DT_NULL) break;
        if (found->d_tag == DT_NEEDED) names.push_back(found->d_un.d_val);
        if (found->d_tag == DT_STRTAB) table = offset_of(found->d_un.d_ptr);
      }
    }
    std::vector<std::string> out;
    for (const std::uint64_t name : names) {
      if (!table || *table > file_.text().size() || name > file_.text().size() - *table) continue;
      const std::string_view rest = file_.text().substr(*table + name);
      out.emplace_back(rest.substr(0, rest.find('\0')));
    }
    return out;
  }

 private:
  // Of an address in memory, the place in the file.
  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t address) const noexcept {
    for (const segment& each : segments_) {
      if (each.p_type == PT_LOAD && address >= each.p_vaddr && address - each.p_vaddr < each.p_filesz)
        return address - each.p_vaddr + each.p_offset;
    }
    return std::nullopt;
  }

  const mapped_file& file_;
  std::vector<segment> segments_;
};

}  // namespace

std::vector<std::string> needed_libraries(const std::string& path) {
  const mapped_file file{path};
  return elf_file{file}.needed();
}

bool has_text(const std::string& path, const std::string& text) {
  return mapped_file{path}.text().find(text) != std::string_view::npos;
}

}  // namespace weft::run
