// SPDX-License-Identifier: BSD-3-Clause
#include "coll/run/step_buffers.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/assertion.hpp"
#include "coll/args/buffers.hpp"
#include "core/door/door.hpp"
#include "weft/error.hpp"
#include "weft/memory.hpp"

namespace weft::coll {

namespace {

using core::memory_copies;

// The bytes of one operand of a reduction, or of a copy. Two pieces are on the stack, which may be a fiber's.
constexpr std::size_t piece_bytes = 4096;
// The alignment of scratch memory, which suits any element.
constexpr std::size_t alignment = 64;

struct piece {
  alignas(alignment) std::byte bytes[piece_bytes];
};

// Memory of a piece: on the stack, or, for an element that is longer, on the heap.
class piece_memory {
 public:
  explicit piece_memory(std::size_t size)
      : is_own_{size > piece_bytes},
        bytes_{is_own_ ? static_cast<std::byte*>(::operator new (size, std::align_val_t{alignment})) : small_.bytes} {}
  ~piece_memory() {
    if (is_own_) ::operator delete (bytes_, std::align_val_t{alignment});
  }
  piece_memory(const piece_memory&) = delete;
  piece_memory& operator=(const piece_memory&) = delete;

  [[nodiscard]] std::byte* bytes() const noexcept { return bytes_; }

 private:
  piece small_;
  bool is_own_;
  std::byte* bytes_;
};

void require(bool copied) {
  if (!copied) throw error{errc::memory_failed, "a collective: a function of a kind of memory has failed"};
}

}  // namespace

bool step_buffers::named_part::copy_out(std::uint64_t from, std::byte* to, std::size_t bytes) const noexcept {
  if (buffer.memory != nullptr)
    return memory_copies::copy_out(*buffer.memory, buffer.address, offset + from, to, bytes);
  std::memcpy(to, buffer.address + offset + from, bytes);
  return true;
}

bool step_buffers::named_part::copy_in(std::uint64_t to, const std::byte* from, std::size_t bytes) const noexcept {
  if (buffer.memory != nullptr) return memory_copies::copy_in(*buffer.memory, buffer.address, offset + to, from, bytes);
  std::memcpy(buffer.address + offset + to, from, bytes);
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

step_buffers::step_buffers(const schedule& steps)
    : steps_{steps}, scratch_{new std::byte[steps.scratch_bytes() + alignment]} {
  const std::uintptr_t behind = reinterpret_cast<std::uintptr_t>(scratch_.get()) % alignment;
  storages_[static_cast<std::size_t>(location::scratch)].address =
      scratch_.get() + (behind != 0 ? alignment - behind : 0);
}

step_buffers::storage step_buffers::storage_of(const const_buffer_ref& buffer) noexcept {
  auto* const address = static_cast<std::byte*>(const_cast<void*>(buffer.address()));
  return {address, is_ordinary(buffer) ? nullptr : buffer.memory()};
}

void step_buffers::use(const const_buffer_ref& input, const buffer_ref& output) {
  if (!is_ordinary(input) || !is_ordinary(output)) [[unlikely]]
    names_.resize(steps_.steps().size());
  storages_[static_cast<std::size_t>(location::input)] = storage_of(input);
  storages_[static_cast<std::size_t>(location::output)] = storage_of(output);
}

buffer_ref step_buffers::name(const step& step, const part& bytes) noexcept {
  const storage& buffer = storage_at(bytes.location);
  const auto size = static_cast<std::size_t>(bytes.bytes);
  if (buffer.memory == nullptr) [[likely]]
    return {buffer.address + bytes.offset, size};
  if (size == 0) return {};
  // Peers and the system copy by the address: no function of the kind is needed.
  if (memory_copies::is_for_peers(*buffer.memory, buffer.address + bytes.offset))
    return {buffer.address + bytes.offset, size, *buffer.memory};
  static const layout_of_parts shape;
  static const layout parts{shape};
  named_part& named = names_[static_cast<std::size_t>(&step - steps_.steps().data())];
  named = {buffer, bytes.offset};
  return {&named, size, parts};
}

const_buffer_ref step_buffers::read(const step& step) noexcept { return name(step, step.from); }
buffer_ref step_buffers::written(const step& step) noexcept {
  WEFT_ASSERT_CHECKED(step.into.location != location::input);
  return name(step, step.into);
}

void step_buffers::reduce(const step& step, const reduction& reduction) const {
  if (step.into.bytes == 0) return;
  const storage &from = storage_at(step.from.location), &into = storage_at(step.into.location);
  auto* const combine = step.is_into_lower ? reduction.combine_higher : reduction.combine;
  if (from.memory != nullptr || into.memory != nullptr || combine == nullptr) return reduce_in_pieces(step, reduction);
  combine(from.address + step.from.offset, into.address + step.into.offset,
          static_cast<std::size_t>(step.into.bytes / reduction.element_bytes), reduction.context);
}

void step_buffers::reduce_in_pieces(const step& step, const reduction& reduction) const {
  const std::size_t whole = std::max(piece_bytes / reduction.element_bytes, std::size_t{1}) * reduction.element_bytes;
  const piece_memory input{whole}, inout{whole};
  const named_part from{storage_at(step.from.location), step.from.offset},
      into{storage_at(step.into.location), step.into.offset};
  for (std::uint64_t done = 0; done < step.into.bytes; done += whole) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(whole, step.into.bytes - done));
    require(from.copy_out(done, input.bytes(), bytes) && into.copy_out(done, inout.bytes(), bytes));
    const std::size_t count = bytes / reduction.element_bytes;
    const std::byte* result = inout.bytes();
    if (!step.is_into_lower) {
      reduction.combine(input.bytes(), inout.bytes(), count, reduction.context);
    } else if (reduction.combine_higher != nullptr) {
      reduction.combine_higher(input.bytes(), inout.bytes(), count, reduction.context);
    } else {
      reduction.combine(inout.bytes(), input.bytes(), count, reduction.context);
      result = input.bytes();
    }
    require(into.copy_in(done, result, bytes));
  }
}

void step_buffers::copy(const step& step) const {
  if (step.into.bytes == 0) return;
  const storage &from = storage_at(step.from.location), &into = storage_at(step.into.location);
  if (from.memory != nullptr && into.memory != nullptr) return copy_in_pieces(step);
  const auto bytes = static_cast<std::size_t>(step.into.bytes);
  if (from.memory != nullptr) {
    require(named_part{from, step.from.offset}.copy_out(0, into.address + step.into.offset, bytes));
  } else if (into.memory != nullptr) {
    require(named_part{into, step.into.offset}.copy_in(0, from.address + step.from.offset, bytes));
  } else {
    std::memmove(into.address + step.into.offset, from.address + step.from.offset, bytes);
  }
}

// Both parts may be of one buffer and overlap: then from the end on which the source reaches beyond the target.
void step_buffers::copy_in_pieces(const step& step) const {
  const piece_memory staging{piece_bytes};
  const named_part from{storage_at(step.from.location), step.from.offset},
      into{storage_at(step.into.location), step.into.offset};
  const bool is_downwards = into.offset > from.offset;
  for (std::uint64_t left = step.into.bytes; left != 0;) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, left));
    const std::uint64_t begin = is_downwards ? left - bytes : step.into.bytes - left;
    require(from.copy_out(begin, staging.bytes(), bytes) && into.copy_in(begin, staging.bytes(), bytes));
    left -= bytes;
  }
}

}  // namespace weft::coll
