// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/collective/user_reduction.hpp"

#include <algorithm>
#include <memory>

#include "mpi/objects/datatype_handle.hpp"

namespace weft::mpi {
namespace {

// Memory for elements of a type, in which each lies as in an array of a program.
class element_array {
 public:
  element_array(const datatype& type, std::int64_t count) {
    const std::int64_t last = (count - 1) * type.extent();
    const std::int64_t below = type.true_lower_bound() + std::min<std::int64_t>(last, 0);
    const std::int64_t above = type.true_lower_bound() + type.true_extent() + std::max<std::int64_t>(last, 0);
    memory_ = std::make_unique<std::byte[]>(static_cast<std::size_t>(above - below + alignment));
    // Element 0 is aligned for any basic type, as in an array of the program.
    const auto origin = reinterpret_cast<std::uintptr_t>(memory_.get()) - static_cast<std::uintptr_t>(below);
    first_ = reinterpret_cast<void*>((origin + alignment - 1) / alignment * alignment);
  }
  [[nodiscard]] void* first() const noexcept { return first_; }

 private:
  static constexpr std::int64_t alignment = 64;
  std::unique_ptr<std::byte[]> memory_;
  void* first_;
};

}  // namespace

reduction user_reduction::reduction() noexcept {
  weft::reduction out{
      .combine = [](const void* input, void* inout, std::size_t count,
                    void* self) { static_cast<const user_reduction*>(self)->combine(input, inout, count); },
      .context = this,
      .element_bytes = static_cast<std::size_t>(std::max<std::int64_t>(type_->size(), 1)),
      .is_commutative = operation_->is_commutative()};
  // Unpacked elements may be written, whichever rank they are of. Others would be written in the sender's array.
  if (!type_->is_contiguous(2)) {
    out.combine_higher = [](const void* input, void* inout, std::size_t count, void* self) {
      static_cast<const user_reduction*>(self)->combine_unpacked(static_cast<const std::byte*>(input),
                                                                 static_cast<std::byte*>(inout), count, true);
    };
  }
  return out;
}

void user_reduction::combine(const void* input, void* inout, std::size_t count) const {
  const auto* const from = static_cast<const std::byte*>(input);
  auto* const into = static_cast<std::byte*>(inout);
  if (!type_->is_contiguous(2)) return combine_unpacked(from, into, count, false);
  const std::int64_t begin = type_->map().data.displacement;  // the data begin here in an element
  operation_->apply(const_cast<std::byte*>(from) - begin, into - begin, static_cast<std::int64_t>(count),
                    handle_of(*type_));
}

void user_reduction::combine_unpacked(const std::byte* input, std::byte* inout, std::size_t count,
                                      bool is_higher) const {
  constexpr std::int64_t room_bytes = 16384;
  const std::int64_t extent = std::max<std::int64_t>(std::abs(type_->extent()), 1);
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(room_bytes / extent, 1));
  const auto size = static_cast<std::size_t>(type_->size());
  const auto length = static_cast<std::int64_t>(std::min(most, count));
  const element_array lower{*type_, length}, higher{*type_, length};
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t some = std::min(most, count - done), bytes = some * size;
    type_->unpack(lower.first(), 0, (is_higher ? inout : input) + done * size, bytes);
    type_->unpack(higher.first(), 0, (is_higher ? input : inout) + done * size, bytes);
    operation_->apply(lower.first(), higher.first(), static_cast<std::int64_t>(some), handle_of(*type_));
    type_->pack(higher.first(), 0, inout + done * size, bytes);
  }
}

}  // namespace weft::mpi
