// SPDX-License-Identifier: BSD-3-Clause
// C++ shows an exception to handlers alone. A destructor that an exception runs finds it on the stack: the code that
// calls destructors of a scope keeps the address of the exception's header, to continue the unwinding with it. So the
// words of the stack are looked at, from this frame upwards, until one is the address of such a header.
//
// A word of the stack may be anything. So the kernel copies what it points to, and answers where that is no memory.
//
// Cost: a few thousand system calls at most, before the process ends.
#include "base/exception_text.hpp"

#include <cxxabi.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <typeinfo>

namespace weft::base {
namespace {

std::string name_of(const std::type_info& type) {
  const std::unique_ptr<char, void (*)(void*)> readable{abi::__cxa_demangle(type.name(), nullptr, nullptr, nullptr),
                                                        &std::free};
  return std::string{"an exception of type "} + (readable ? readable.get() : type.name());
}

#if defined(__GLIBCXX__) && defined(__LP64__)

// What libstdc++ has in front of a thrown object (unwind-cxx.h). In a dependent exception, which
// `std::rethrow_exception` makes, `type` is the address of the thrown object instead.
struct exception_header {
  const std::type_info* type;
  std::array<const void*, 4> unused;
  int handler_count;  // below 0: thrown on by a handler
  int unused_here;
  std::array<const void*, 4> unused_either;
  _Unwind_Exception unwind;
};
static_assert(offsetof(exception_header, unwind) == 80 && sizeof(exception_header) == 112);
constexpr std::uint64_t thrown_itself = 0x474e'5543'432b'2b00;  // "GNUCC++\0"
constexpr std::uint64_t dependent = thrown_itself + 1;
constexpr std::size_t count_offset = 16;  // the count of references lies so far in front of the header
constexpr int references_max = 1 << 16;

template <class T>
bool try_read(std::uintptr_t from, T& into) noexcept {
  const iovec here{&into, sizeof into};
  const iovec there{reinterpret_cast<void*>(from), sizeof into};  // NOLINT: a number that may be an address
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof into;
}

// The header of the object that was thrown. False: there is none at this address.
bool read_header_of(std::uintptr_t object, exception_header& out) noexcept {
  int references = 0;
  const std::uintptr_t header = object - sizeof out;
  return try_read(header - count_offset, references) && references > 0 && references <= references_max &&
         try_read(header, out) && out.unwind.exception_class == thrown_itself;
}

// Whether `word` is the address of the part of a header that unwinding uses, of an exception without a handler.
bool is_uncaught(std::uintptr_t word, std::uintptr_t& object, const std::type_info*& type) noexcept {
  constexpr std::size_t before = offsetof(exception_header, unwind);
  exception_header header;
  if (word % alignof(_Unwind_Exception) != 0 || word < before || !try_read(word - before, header)) return false;
  if (header.handler_count > 0) return false;
  const bool is_itself = header.unwind.exception_class == thrown_itself;
  if (!is_itself && header.unwind.exception_class != dependent) return false;
  object = is_itself ? word + sizeof(_Unwind_Exception) : reinterpret_cast<std::uintptr_t>(header.type);
  exception_header of_object;
  if (!read_header_of(object, of_object)) return false;
  type = of_object.type;
  std::array<std::uint64_t, 2> unused;
  return try_read(reinterpret_cast<std::uintptr_t>(type), unused);
}

std::string text_of(std::uintptr_t object, const std::type_info& type) {
  void* as_exception = reinterpret_cast<void*>(object);  // NOLINT: found as a number
  if (!typeid(std::exception).__do_catch(&type, &as_exception, 1)) return name_of(type);
  return static_cast<const std::exception*>(as_exception)->what();
}

[[gnu::noinline]] std::string find_on_stack() {
  constexpr std::size_t bytes_max = std::size_t{256} << 10;
  std::array<std::uintptr_t, 64> words;
  const auto begin = reinterpret_cast<std::uintptr_t>(&words) + sizeof words;
  for (std::uintptr_t address = begin; address < begin + bytes_max && try_read(address, words);
       address += sizeof words) {
    for (const std::uintptr_t word : words) {
      std::uintptr_t object = 0;
      const std::type_info* type = nullptr;
      if (is_uncaught(word, object, type)) return text_of(object, *type);
    }
  }
  return {};
}

// The address may be in a register that no function in between had to save.
[[gnu::noinline]] std::string text_of_uncaught() {
  __builtin_unwind_init();  // saves all registers in this frame
  std::string out = find_on_stack();
  asm volatile("" ::: "memory");  // so that the frame is there during the call
  return out;
}

#else

std::string text_of_uncaught() { return {}; }

#endif

}  // namespace

std::string exception_text() noexcept {
  try {
    if (is_unwinding()) return text_of_uncaught();
    if (const std::exception_ptr handled = std::current_exception(); handled != nullptr) {
      try {
        std::rethrow_exception(handled);
      } catch (const std::exception& known) {
        return known.what();
      } catch (...) {
        const std::type_info* const type = abi::__cxa_current_exception_type();
        return type != nullptr ? name_of(*type) : std::string{};
      }
    }
  } catch (...) {  // no memory for a text
  }
  return {};
}

}  // namespace weft::base
