// SPDX-License-Identifier: BSD-3-Clause
#include "core/memory/memory_kinds.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "base/backoff.hpp"
#include "base/callback_scope.hpp"
#include "base/exception_text.hpp"
#include "base/log.hpp"
#include "base/not_inherited.hpp"

namespace weft::core {

namespace {

struct kind_table {
  std::array<kind_state, memory_kinds::kinds_max> kinds;
  base::process_lock lock;  // makes and ends kinds
  std::uint32_t last_number = 0;
  std::atomic<std::uint64_t> last_runtime{0};
};

// Never destroyed: buffers of static objects may still name kinds.
kind_table& table() noexcept {
  static kind_table* const all = new kind_table;
  return *all;
}

bool is_aligned(const void* address, std::size_t alignment) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

// Writes one line of the failing copies of layouts, and one of those of each kind.
void log_failure(const memory& memory, const char* why, const std::string& text) noexcept {
  static base::said_once said_of_layouts;
  static std::array<base::said_once, 8> said_of_kinds;
  const std::string_view kind = memory_copies::kind_of(memory);
  base::said_once& said = memory_copies::is_layout(memory)
                              ? said_of_layouts
                              : said_of_kinds[std::hash<std::string_view>{}(kind) % said_of_kinds.size()];
  base::log_once(said, base::log_level::error,
                 "a function of memory of kind '{}' {}{}{}: the operation fails with memory_failed; of further ones "
                 "nothing is said",
                 kind, why, text.empty() ? "" : ": ", text);
}

}  // namespace

// [kinds.runtime] relaxed: only the number counts.
memory_kinds::memory_kinds() noexcept : number_{table().last_runtime.fetch_add(1, std::memory_order_relaxed) + 1} {}

kind_state* memory_kinds::try_make(std::string_view name, const memory_functions& functions) noexcept {
  kind_table& all = table();
  const std::scoped_lock lock{all.lock};
  for (kind_state& each : all.kinds) {
    if (each.number != 0) continue;
    if (++all.last_number == 0) ++all.last_number;
    each.number = all.last_number;
    each.runtime = number_;
    each.name = name;
    each.functions = functions;
    each.gate.open(each.number);
    if (functions.contains != nullptr) knowing_.fetch_add(1, std::memory_order_relaxed);  // [hint] see knows_addresses
    return &each;
  }
  return nullptr;
}

void memory_kinds::end(kind_state& kind) noexcept {
  kind.gate.close();
  for (base::backoff waiting; !kind.gate.is_left(); waiting.pause()) {
  }
  if (kind.functions.contains != nullptr) knowing_.fetch_sub(1, std::memory_order_relaxed);  // [hint]
  const std::scoped_lock lock{table().lock};
  kind.number = 0;
}

// Not called if the kind has ended. It may end, and another one take its place, as soon as this thread is outside.
template <class Look>
void memory_copies::look(const memory& memory, const Look& look_at) noexcept {
  kind_state& kind = *memory.kind_;
  if (!kind.gate.try_enter(number_of(memory))) return;
  look_at(std::as_const(kind));
  kind.gate.leave();
}

refused_memory memory_kinds::check(const memory* memory, const void* address, std::uint64_t bytes) const noexcept {
  if (memory == nullptr) return knows_addresses() ? find_unnamed(address, bytes) : refused_memory{};
  if (memory_copies::is_layout(*memory)) return {};
  refused_memory out{memory_refusal::ended, "ended"};
  memory_copies::look(*memory, [&](const kind_state& kind) {
    out = {kind.runtime != number_                         ? memory_refusal::foreign
           : is_aligned(address, kind.functions.alignment) ? memory_refusal::none
                                                           : memory_refusal::unaligned,
           kind.name};
  });
  return out;
}

refused_memory memory_kinds::find_unnamed(const void* address, std::uint64_t bytes) const noexcept {
  if (bytes == 0) return {};
  for (kind_state& each : table().kinds) {
    const std::uint32_t number = each.gate.number();
    if (number == 0 || !each.gate.try_enter(number)) continue;
    bool is_of_kind = false;
    const std::string_view name = each.name;
    if (each.runtime == number_ && each.functions.contains != nullptr) {
      const base::callback_scope asks_program;
      try {
        is_of_kind = each.functions.contains(each.functions.context, address, static_cast<std::size_t>(bytes));
      } catch (...) {  // it can't tell
      }
    }
    each.gate.leave();
    if (is_of_kind) return {memory_refusal::unnamed, name};
  }
  return {};
}

bool memory_copies::is_ordinary(const memory& memory) noexcept {
  return memory.kind_ == nullptr && static_cast<const layout&>(memory).is_contiguous();
}

bool memory_copies::is_for_peers(const memory& memory) noexcept {
  bool out = false;
  if (memory.kind_ != nullptr) look(memory, [&](const kind_state& kind) { out = kind.functions.peers_may_copy; });
  return out;
}

bool memory_copies::is_for_peers(const memory& memory, const void* address) noexcept {
  bool out = false;
  if (memory.kind_ != nullptr) {
    look(memory, [&](const kind_state& kind) {
      out = kind.functions.peers_may_copy && is_aligned(address, kind.functions.alignment);
    });
  }
  return out;
}

std::string_view memory_copies::kind_of(const memory& memory) noexcept {
  if (memory.kind_ == nullptr) return "layout";
  std::string_view out = "ended";
  look(memory, [&](const kind_state& kind) { out = kind.name; });
  return out;
}

// Calls `copy`, a function of the user's.
template <class Copy>
bool memory_copies::run(const memory& memory, std::size_t bytes, const Copy& copy) noexcept {
  const base::callback_scope calls_program;
  try {
    const std::size_t copied = copy();
    if (copied == bytes) return true;
    log_failure(memory,
                copied < bytes ? "has copied fewer bytes than it was asked for"
                               : "says that it has copied more bytes than it was asked for",
                {});
  } catch (...) {
    log_failure(memory, "has thrown", base::exception_text());
  }
  return false;
}

template <class Copy>
bool memory_copies::in_kind(const memory& memory, std::size_t bytes, const Copy& copy) noexcept {
  kind_state& kind = *memory.kind_;
  if (!kind.gate.try_enter(number_of(memory))) {
    log_failure(memory, "has ended before its memory was copied", {});
    return false;
  }
  const bool copied = run(memory, bytes, [&] { return copy(kind.functions); });
  kind.gate.leave();
  return copied;
}

bool memory_copies::copy_out(const memory& memory, const void* address, std::uint64_t offset, std::byte* to,
                             std::size_t bytes) noexcept {
  if (bytes == 0) return true;
  if (memory.kind_ == nullptr) {
    const auto& shape = static_cast<const layout&>(memory);
    return run(memory, bytes, [&] { return shape.functions_.pack(memory.context_, address, offset, to, bytes); });
  }
  return in_kind(memory, bytes, [&](const memory_functions& kind) {
    if (kind.copy_out != nullptr) return kind.copy_out(memory, address, offset, to, bytes);
    std::memcpy(to, static_cast<const std::byte*>(address) + offset, bytes);
    return bytes;
  });
}

bool memory_copies::copy_in(const memory& memory, void* address, std::uint64_t offset, const std::byte* from,
                            std::size_t bytes) noexcept {
  if (bytes == 0) return true;
  if (memory.kind_ == nullptr) {
    const auto& shape = static_cast<const layout&>(memory);
    return run(memory, bytes, [&] { return shape.functions_.unpack(memory.context_, address, offset, from, bytes); });
  }
  return in_kind(memory, bytes, [&](const memory_functions& kind) {
    if (kind.copy_in != nullptr) return kind.copy_in(memory, address, offset, from, bytes);
    std::memcpy(static_cast<std::byte*>(address) + offset, from, bytes);
    return bytes;
  });
}

}  // namespace weft::core
