// SPDX-License-Identifier: BSD-3-Clause
#include "support/stored_message.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace weft::test {

namespace {

constexpr std::byte untouched{0xee};
constexpr std::size_t gap = 64;  // around each piece

constexpr std::size_t message_bytes_max = (std::size_t{1} << 20) + 1;
constexpr std::size_t messages_differ_in = std::size_t{1} << 16;

// Calls `copy(offset of the memory, offset of the message, bytes)` for each block that has some of the `bytes` bytes
// from `offset` on.
template <class Copy>
std::size_t each_block(const strided& shape, std::uint64_t offset, std::size_t bytes, const Copy& copy) {
  for (std::size_t done = 0; done < bytes;) {
    const auto in_block = static_cast<std::size_t>((offset + done) % shape.block);
    const std::size_t next = std::min(shape.block - in_block, bytes - done);
    copy(static_cast<std::size_t>((offset + done) / shape.block) * shape.stride + in_block, done, next);
    done += next;
  }
  return bytes;
}

}  // namespace

const char* name_of(storage where) noexcept {
  constexpr std::array names{"ordinary", "guarded", "words", "blocks", "touchable", "for_peers", "list", "mixed"};
  static_assert(names.size() == storage_count);
  return names[static_cast<std::size_t>(where)];
}

std::size_t strided::pack(const void* address, std::uint64_t offset, std::byte* to, std::size_t bytes) const noexcept {
  return each_block(*this, offset, bytes, [&](std::size_t at, std::size_t done, std::size_t count) {
    std::memcpy(to + done, static_cast<const std::byte*>(address) + at, count);
  });
}

std::size_t strided::unpack(void* address, std::uint64_t offset, const std::byte* from,
                            std::size_t bytes) const noexcept {
  return each_block(*this, offset, bytes, [&](std::size_t at, std::size_t done, std::size_t count) {
    std::memcpy(static_cast<std::byte*>(address) + at, from + done, count);
  });
}

namespace {

constexpr strided shape_of_words{8, 16};
constexpr strided shape_of_blocks{4096, 4096 + 64};

}  // namespace

kinds_of_memory::kinds_of_memory(runtime& rt, std::size_t guarded_bytes, const guarded_memory_options& options)
    : guarded{rt, guarded_bytes, options},
      touchable_kind_{rt, "touchable", {.processor_may_touch = true}},
      peers_kind_{rt, "for_peers", {.processor_may_touch = true, .peers_may_copy = true}},
      touchable_{touchable_kind_},
      for_peers_{peers_kind_},
      words_{shape_of_words},
      blocks_{shape_of_blocks} {}

const memory* kinds_of_memory::in(storage where) const noexcept {
  switch (where) {
    case storage::guarded: return &guarded.memory();
    case storage::words: return &words_;
    case storage::blocks: return &blocks_;
    case storage::touchable: return &touchable_;
    case storage::for_peers: return &for_peers_;
    default: return nullptr;
  }
}

const strided* kinds_of_memory::shape_of(storage where) const noexcept {
  return where == storage::words ? &shape_of_words : where == storage::blocks ? &shape_of_blocks : nullptr;
}

std::span<const std::byte> bytes_of_message(std::uint64_t key, std::size_t bytes) {
  static const std::vector<std::byte> all = [] {
    std::vector<std::byte> out(message_bytes_max + messages_differ_in);
    std::minstd_rand random{1};
    for (std::byte& each : out) each = static_cast<std::byte>(random() >> 8 & 0xff);
    return out;
  }();
  return std::span{all}.subspan(key * 0x9e37'79b9'7f4a'7c15 >> 48, bytes);
}

stored_message::stored_message(kinds_of_memory& kinds, storage where, std::size_t bytes)
    : kinds_{kinds}, where_{where}, bytes_{bytes}, guarded_begin_{kinds.free_guarded} {
  if (!is_list()) {
    add(where, bytes);
  } else {
    constexpr std::array order{storage::ordinary, storage::guarded,   storage::words,   storage::ordinary,
                               storage::blocks,   storage::touchable, storage::guarded, storage::for_peers};
    std::size_t left = bytes;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t next = i + 1 == order.size() ? left : i == 3 ? 0 : std::min(left, left / 3 + 1);
      add(where == storage::list ? storage::ordinary : order[i], next);
      left -= next;
    }
  }
  ordinary_.resize(ordinary_bytes_ + gap, untouched);
  guarded_bytes_ += gap;
  kinds.free_guarded += guarded_bytes_;
  for (const part& each : parts_) {
    std::byte* const at = each.where == storage::guarded ? kinds.guarded.address() + guarded_begin_ + each.offset
                                                         : ordinary_.data() + each.offset;
    const memory* const in = kinds.in(each.where);
    into_.push_back(in == nullptr ? buffer_ref{at, each.bytes} : buffer_ref{at, each.bytes, *in});
    from_.emplace_back(into_.back());
  }
  kinds.guarded.write(guarded_begin_, std::vector<std::byte>(guarded_bytes_, untouched));
}

void stored_message::add(storage where, std::size_t bytes) {
  const strided* const shape = kinds_.shape_of(where);
  std::size_t& end = where == storage::guarded ? guarded_bytes_ : ordinary_bytes_;
  parts_.push_back({where, bytes, end + gap});
  end += gap + (shape != nullptr ? shape->extent(bytes) : bytes);
}

stored_message::image stored_message::image_of(std::uint64_t key, std::size_t count) const {
  image out{std::vector<std::byte>(ordinary_.size(), untouched), std::vector<std::byte>(guarded_bytes_, untouched)};
  std::span<const std::byte> message = bytes_of_message(key, count);
  for (const part& each : parts_) {
    const std::span<const std::byte> bytes = message.first(std::min(each.bytes, message.size()));
    message = message.subspan(bytes.size());
    std::byte* const at = (each.where == storage::guarded ? out.guarded : out.ordinary).data() + each.offset;
    if (const strided* const shape = kinds_.shape_of(each.where); shape != nullptr) {
      shape->unpack(at, 0, bytes.data(), bytes.size());
    } else {
      std::ranges::copy(bytes, at);
    }
  }
  return out;
}

void stored_message::fill(std::uint64_t key) {
  const image wanted = image_of(key, bytes_);
  std::ranges::copy(wanted.ordinary, ordinary_.begin());  // where it is: buffers name its addresses
  kinds_.guarded.write(guarded_begin_, wanted.guarded);
}

std::optional<std::string> stored_message::difference(std::uint64_t key, std::size_t count) const {
  const image wanted = image_of(key, count);
  std::vector<std::byte> guarded(guarded_bytes_);
  kinds_.guarded.read(guarded_begin_, guarded);
  const auto compare = [&](const std::vector<std::byte>& got, const std::vector<std::byte>& expected,
                           const char* of) -> std::optional<std::string> {
    if (got == expected) return std::nullopt;
    const auto at = std::ranges::mismatch(got, expected).in1 - got.begin();
    return std::string{name_of(where_)} + " of " + std::to_string(bytes_) + " bytes: byte " + std::to_string(at) +
           " of " + std::to_string(got.size()) + " " + of + " bytes is " +
           std::to_string(static_cast<int>(got[static_cast<std::size_t>(at)])) + " instead of " +
           std::to_string(static_cast<int>(expected[static_cast<std::size_t>(at)]));
  };
  if (auto problem = compare(ordinary_, wanted.ordinary, "ordinary")) return problem;
  return compare(guarded, wanted.guarded, "guarded");
}

std::optional<std::string> stored_message::problem_of(const completion_record& record, std::size_t count) const {
  const auto of = [&](const char* text) {
    return std::string{"the record of "} + name_of(where_) + " of " + std::to_string(count) + " bytes " + text;
  };
  if (record.error() != errc::none) return of("has the error ") + weft::name_of(record.error());
  if (record.memory() != in()) return of("names other memory");
  if (is_list()) return std::nullopt;
  if (record.bytes() != count) return of("has another size: ") + std::to_string(record.bytes());
  if (record.buffer().address() != one().address()) return of("has another address");
  if (record.buffer().memory() != in()) return of("has a buffer in other memory");
  if (record.data().size() != (in() == nullptr ? count : 0)) return of("has data of another size");
  return std::nullopt;
}

}  // namespace weft::test
