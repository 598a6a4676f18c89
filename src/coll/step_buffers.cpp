// SPDX-License-Identifier: BSD-3-Clause
#include "coll/step_buffers.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/assertion.hpp"
#include "core/door/door.hpp"
#include "weft/error.hpp"
#include "weft/memory.hpp"

namespace weft::coll {

namespace {

using core::memory_copies;

// Of one operand of a reduction, or of a copy. Two are on the stack, which may be a fiber's.
constexpr std::size_t piece_bytes = 4096;
// For any element: that of temporary memory.
constexpr std::size_t alignment = 64;

struct piece {
  alignas(alignment) std::byte bytes[piece_bytes];
};

// Memory of a piece: on the stack, or, for an element that is longer, on the heap.
class piece_memory {
 public:
  explicit piece_memory(std::size_t bytes)
      : is_own_{bytes > piece_bytes},
        at_{is_own_ ? static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment})) : small_.bytes} {}
  ~piece_memory() {
    if (is_own_) ::operator delete (at_, std::align_val_t{alignment});
  }
  piece_memory(const piece_memory&) = delete;
  piece_memory& operator=(const piece_memory&) = delete;

  [[nodiscard]] std::byte* at() const noexcept { return at_; }

 private:
  piece small_;
  bool is_own_;
  std::byte* at_;
};

void require(bool copied) {
  if (!copied) throw error{errc::memory_failed, "a collective: a function of a kind of memory has failed"};
}

}  // namespace

bool is_ordinary(const const_buffer_ref& of) noexcept {
  return of.memory() == nullptr || memory_copies::is_ordinary(*of.memory());
}

bool step_buffers::named_part::copy_out(std::uint64_t from, std::byte* to, std::size_t bytes) const noexcept {
  if (in.memory != nullptr) return memory_copies::out(*in.memory, in.address, offset + from, to, bytes);
  std::memcpy(to, in.address + offset + from, bytes);
  return true;
}

bool step_buffers::named_part::copy_in(std::uint64_t to, const std::byte* from, std::size_t bytes) const noexcept {
  if (in.memory != nullptr) return memory_copies::in(*in.memory, in.address, offset + to, from, bytes);
  std::memcpy(in.address + offset + to, from, bytes);
  return true;
}

// Its buffers have the address of a `named_part`.
struct step_buffers::layout_of_parts {
  [[nodiscard]] std::size_t pack(const void* address, std::uint64_t offset, std::byte* to,
                                 std::size_t bytes) const noexcept {
    return static_cast<const named_part*>(address)->copy_out(offset, to, bytes) ? bytes : 0;
  }
  [[nodiscard]] std::size_t unpack(void* address, std::uint64_t offset, const std::byte* from,
                                   std::size_t bytes) const noexcept {
    return static_cast<const named_part*>(address)->copy_in(offset, from, bytes) ? bytes : 0;
  }
};

step_buffers::step_buffers(const schedule& of)
    : steps_{of}, temporary_{new std::byte[of.temporary_bytes() + alignment]} {
  const std::uintptr_t behind = reinterpret_cast<std::uintptr_t>(temporary_.get()) % alignment;
  storages_[static_cast<std::size_t>(location::temporary)].address =
      temporary_.get() + (behind != 0 ? alignment - behind : 0);
}

step_buffers::storage step_buffers::storage_of(const const_buffer_ref& of) noexcept {
  auto* const address = static_cast<std::byte*>(const_cast<void*>(of.address()));
  return {address, is_ordinary(of) ? nullptr : of.memory()};
}

void step_buffers::use(const const_buffer_ref& in, const buffer_ref& out) {
  if (!is_ordinary(in) || !is_ordinary(out)) [[unlikely]]
    names_.resize(steps_.steps().size());
  storages_[static_cast<std::size_t>(location::in)] = storage_of(in);
  storages_[static_cast<std::size_t>(location::out)] = storage_of(out);
}

buffer_ref step_buffers::name(const step& of, const part& bytes) noexcept {
  const storage& in = at(bytes.at);
  const auto size = static_cast<std::size_t>(bytes.bytes);
  if (in.memory == nullptr) [[likely]]
    return {in.address + bytes.offset, size};
  if (size == 0) return {};
  // Peers and the system copy by the address: no function of the kind is needed.
  if (memory_copies::is_for_peers(*in.memory, in.address + bytes.offset))
    return {in.address + bytes.offset, size, *in.memory};
  static const layout_of_parts shape;
  static const layout parts{shape};
  named_part& named = names_[static_cast<std::size_t>(&of - steps_.steps().data())];
  named = {in, bytes.offset};
  return {&named, size, parts};
}

const_buffer_ref step_buffers::read(const step& of) noexcept { return name(of, of.from); }
buffer_ref step_buffers::written(const step& of) noexcept {
  WEFT_ASSERT_CHECKED(of.into.at != location::in);
  return name(of, of.into);
}

void step_buffers::reduce(const step& which, const reduction& by) const {
  if (which.into.bytes == 0) return;
  const storage &from = at(which.from.at), &into = at(which.into.at);
  auto* const combine = which.is_into_lower ? by.combine_higher : by.combine;
  if (from.memory != nullptr || into.memory != nullptr || combine == nullptr) return reduce_in_pieces(which, by);
  combine(from.address + which.from.offset, into.address + which.into.offset,
          static_cast<std::size_t>(which.into.bytes / by.element_bytes), by.context);
}

void step_buffers::reduce_in_pieces(const step& which, const reduction& by) const {
  const std::size_t whole = std::max(piece_bytes / by.element_bytes, std::size_t{1}) * by.element_bytes;
  const piece_memory in{whole}, inout{whole};
  const named_part from{at(which.from.at), which.from.offset}, into{at(which.into.at), which.into.offset};
  for (std::uint64_t done = 0; done < which.into.bytes; done += whole) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(whole, which.into.bytes - done));
    require(from.copy_out(done, in.at(), bytes) && into.copy_out(done, inout.at(), bytes));
    const std::size_t count = bytes / by.element_bytes;
    const std::byte* result = inout.at();
    if (!which.is_into_lower) {
      by.combine(in.at(), inout.at(), count, by.context);
    } else if (by.combine_higher != nullptr) {
      by.combine_higher(in.at(), inout.at(), count, by.context);
    } else {
      by.combine(inout.at(), in.at(), count, by.context);
      result = in.at();
    }
    require(into.copy_in(done, result, bytes));
  }
}

void step_buffers::copy(const step& which) const {
  if (which.into.bytes == 0) return;
  const storage &from = at(which.from.at), &into = at(which.into.at);
  if (from.memory != nullptr && into.memory != nullptr) return copy_in_pieces(which);
  const auto bytes = static_cast<std::size_t>(which.into.bytes);
  if (from.memory != nullptr) {
    require(named_part{from, which.from.offset}.copy_out(0, into.address + which.into.offset, bytes));
  } else if (into.memory != nullptr) {
    require(named_part{into, which.into.offset}.copy_in(0, from.address + which.from.offset, bytes));
  } else {
    std::memmove(into.address + which.into.offset, from.address + which.from.offset, bytes);
  }
}

// Both parts may be of one buffer and overlap: then from the end on which the source reaches beyond the target.
void step_buffers::copy_in_pieces(const step& which) const {
  const piece_memory through{piece_bytes};
  const named_part from{at(which.from.at), which.from.offset}, into{at(which.into.at), which.into.offset};
  const bool is_downwards = into.offset > from.offset;
  for (std::uint64_t left = which.into.bytes; left != 0;) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, left));
    const std::uint64_t begin = is_downwards ? left - bytes : which.into.bytes - left;
    require(from.copy_out(begin, through.at(), bytes) && into.copy_in(begin, through.at(), bytes));
    left -= bytes;
  }
}

}  // namespace weft::coll
