// SPDX-License-Identifier: BSD-3-Clause
#include "base/copies.hpp"

#include <fmt/format.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/log.hpp"
#include "weft/error.hpp"

// Owner "Weft" with its end, no description, type 1. As in assembly, since a compiler would call the section data.
asm(R"(.pushsection .note.weft, "a", %note
.balign 4
.long 5, 0, 1
.asciz "Weft"
.balign 4
.popsection)");

namespace weft::base {
namespace {

constexpr std::string_view owner{"Weft", sizeof "Weft"};

[[nodiscard]] constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) noexcept {
  return (bytes + to - 1) / to * to;
}

[[nodiscard]] bool has_note(const std::byte* address, std::size_t bytes, std::size_t alignment) noexcept {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note{};
    std::memcpy(&note, address, sizeof note);
    const std::size_t all = rounded_up(rounded_up(sizeof note + note.n_namesz, alignment) + note.n_descsz, alignment);
    if (all > bytes) return false;
    if (note.n_namesz == owner.size() && std::memcmp(address + sizeof note, owner.data(), owner.size()) == 0)
      return true;
    address += all;
    bytes -= all;
  }
  return false;
}

[[nodiscard]] bool has_weft(const dl_phdr_info& object) noexcept {
  for (std::size_t i = 0; i != object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    // The loader gives addresses as numbers.
    const auto* const segment = reinterpret_cast<const std::byte*>(object.dlpi_addr + part.p_vaddr);
    if (has_note(segment, part.p_memsz, part.p_align == 8 ? 8 : 4)) return true;
  }
  return false;
}

// An entry of the loader's list; the program has no name there.
[[nodiscard]] std::string file_of(const dl_phdr_info& object) {
  if (object.dlpi_name != nullptr && *object.dlpi_name != '\0') return object.dlpi_name;
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? "the program" : program.string();
}

// Empty if there is one copy.
[[nodiscard]] std::string describe_copies() {
  const std::vector<std::string> files = files_with_weft();
  if (files.size() < 2) return {};
  return fmt::format(
      "this process has {} copies of Weft: {}; each has ranks, devices and memory of its own, and only one can join a "
      "job: link the program and all its libraries with one libweft.so (CMake: weft::shared)",
      files.size(), fmt::join(files, ", "));
}

}  // namespace

std::vector<std::string> files_with_weft() {
  struct search {
    std::vector<std::string> files;
    std::exception_ptr failure;
  } found;
  const auto look = [](dl_phdr_info* object, std::size_t, void* into) -> int {
    search& to = *static_cast<search*>(into);
    try {
      if (has_weft(*object)) to.files.push_back(file_of(*object));
    } catch (...) {  // out of memory: the loader's code can't be unwound
      to.failure = std::current_exception();
      return 1;
    }
    return 0;
  };
  ::dl_iterate_phdr(look, &found);
  if (found.failure) std::rethrow_exception(found.failure);
  return std::move(found.files);
}

void warn_of_copies() noexcept {
  try {
    if (const std::string text = describe_copies(); !text.empty()) log_warn("{}", text);
  } catch (...) {
    log_warn("this process has no memory to look for other copies of Weft");
  }
}

void refuse_copies() {
  if (const std::string text = describe_copies(); !text.empty()) throw error{errc::boot_failed, text};
}

}  // namespace weft::base
