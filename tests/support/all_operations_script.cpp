// SPDX-License-Identifier: BSD-3-Clause
#include "support/all_operations_script.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::test::all_operations {
namespace {

constexpr std::size_t offset_max = 64;

std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ value >> 30) * 0xbf58'476d'1ce4'e5b9;
  value = (value ^ value >> 27) * 0x94d0'49bb'1331'11eb;
  return value ^ value >> 31;
}

// Eight bytes of a content.
std::uint64_t word_of(std::uint64_t key, std::size_t index) noexcept {
  return mix(key + index * 0x9e37'79b9'7f4a'7c15);
}

// How often, of 40.
constexpr std::array<std::pair<action, unsigned>, 11> frequencies{{{action::am, 9},
                                                                   {action::send, 10},
                                                                   {action::ordered_send, 5},
                                                                   {action::put, 4},
                                                                   {action::put_signal, 3},
                                                                   {action::get, 3},
                                                                   {action::get_signal, 1},
                                                                   {action::own_atomic, 2},
                                                                   {action::shared_atomic, 1},
                                                                   {action::cancel, 1},
                                                                   {action::flush, 1}}};

action draw_action(dice& from) noexcept {
  std::uint64_t left = from.below(40);
  for (const auto& [kind, frequency] : frequencies) {
    if (left < frequency) return kind;
    left -= frequency;
  }
  return action::am;
}

match_policy draw_policy(dice& from) noexcept {
  const std::uint64_t die = from.below(8);
  if (die < 4) return match_policy::rank_tag;
  return die < 6 ? match_policy::tag_only : die == 6 ? match_policy::rank_only : match_policy::none;
}

receipt draw_receipt(dice& from) noexcept {
  const std::uint64_t die = from.below(8);
  return die < 3 ? receipt::first : die < 6 ? receipt::posted : die == 6 ? receipt::probed : receipt::cut;
}

template <class Word>
void store(std::span<std::byte> region, std::size_t position, std::uint64_t value) noexcept {
  const auto word = static_cast<Word>(value);
  std::memcpy(region.data() + position, &word, sizeof word);
}

std::uint64_t load_word(std::span<const std::byte> region, std::size_t position) noexcept {
  std::uint64_t word;
  std::memcpy(&word, region.data() + position, sizeof word);
  return word;
}

}  // namespace

std::uint64_t dice::next() noexcept { return mix(state_ += 0x9e37'79b9'7f4a'7c15); }

void fill(std::span<std::byte> out, std::uint64_t key, std::size_t from) noexcept {
  for (std::size_t i = 0; i < out.size();) {
    const std::uint64_t word = word_of(key, (from + i) / 8);
    const std::size_t within = (from + i) % 8;
    const std::size_t bytes = std::min(8 - within, out.size() - i);
    std::memcpy(out.data() + i, reinterpret_cast<const std::byte*>(&word) + within, bytes);
    i += bytes;
  }
}

std::optional<std::size_t> first_wrong(std::span<const std::byte> bytes, std::uint64_t key, std::size_t from) noexcept {
  std::array<std::byte, 512> expected;
  for (std::size_t i = 0; i < bytes.size(); i += expected.size()) {
    const std::size_t count = std::min(expected.size(), bytes.size() - i);
    fill(std::span{expected}.first(count), key, from + i);
    if (std::memcmp(expected.data(), bytes.data() + i, count) == 0) continue;
    for (std::size_t k = 0;; ++k) {
      if (expected[k] != bytes[i + k]) return i + k;
    }
  }
  return std::nullopt;
}

std::uint64_t combine(const atomic_plan& change, std::uint64_t old) noexcept {
  const std::uint64_t mask = change.wide ? ~std::uint64_t{0} : 0xffff'ffff;
  switch (change.op) {
    case atomic_op::fetch_add: return (old + change.operand) & mask;
    case atomic_op::fetch_and: return old & change.operand & mask;
    case atomic_op::fetch_or: return (old | change.operand) & mask;
    case atomic_op::fetch_xor: return (old ^ change.operand) & mask;
    case atomic_op::swap: return change.operand & mask;
    case atomic_op::compare_and_swap: return old == (change.compare & mask) ? change.operand & mask : old;
  }
  return old;
}

script::script(const all_operations_load& load, std::uint32_t ranks, const runtime_attributes& sizes)
    : load_{load},
      ranks_{ranks},
      packet_bytes_{sizes.packet_bytes},
      inject_bytes_{sizes.inject_bytes_max},
      usual_bytes_max_{5 * packet_bytes_},
      large_put_bytes_{std::max(std::min<std::size_t>(load.bytes_max, 600'001), usual_bytes_max_)} {
  plans_.reserve(std::size_t{ranks} * load.threads() * load.operations);
  for (std::uint32_t source = 0; source < ranks; ++source) {
    for (std::uint32_t thread = 0; thread < load.threads(); ++thread) {
      for (std::uint32_t number = 0; number < load.operations; ++number) {
        plans_.push_back(draw(source, thread, number));
      }
    }
  }
}

std::size_t script::draw_bytes(dice& from) const noexcept {
  if (from.one_in(100)) return load_.bytes_max;
  const std::array<std::size_t, 18> sizes{0,
                                          1,
                                          8,
                                          inject_bytes_ - 1,
                                          inject_bytes_,
                                          inject_bytes_ + 1,
                                          from.below(64),
                                          from.below(packet_bytes_),
                                          from.below(packet_bytes_),
                                          packet_bytes_ - 24,
                                          packet_bytes_ - from.below(64),
                                          packet_bytes_ - 1,
                                          packet_bytes_,
                                          packet_bytes_ + 1,
                                          2 * packet_bytes_ + 1,
                                          3 * packet_bytes_,
                                          from.below(usual_bytes_max_),
                                          usual_bytes_max_};
  return sizes[from.below(sizes.size())];
}

plan script::draw(std::uint32_t source, std::uint32_t thread, std::uint32_t number) const noexcept {
  plan out{};
  out.source = source;
  out.thread = thread;
  out.number = number;
  dice from{mix(load_.seed) ^ out.tag()};
  out.key = from.next();
  out.kind = draw_action(from);
  out.peer = static_cast<std::uint32_t>(from.below(ranks_));
  out.bytes = draw_bytes(from);
  out.as_list = from.one_in(4);
  out.allow_done = !from.one_in(4);
  out.allow_retry = !from.one_in(4);
  out.device = from.one_in(8) ? static_cast<std::uint32_t>(from.below(8)) : any_device;
  out.policy = draw_policy(from);
  out.receipt_kind = draw_receipt(from);
  if (out.policy == match_policy::rank_only || out.policy == match_policy::none) out.receipt_kind = receipt::posted;
  if (out.receipt_kind == receipt::cut && out.bytes == 0) out.receipt_kind = receipt::posted;
  out.delivered = from.one_in(4);
  // A flush waits for what is to be delivered, so its receive may not wait for a flush.
  if (out.kind == action::send) out.delivered = out.delivered && out.receipt_kind == receipt::first;
  if (out.kind == action::ordered_send) out.delivered = false;
  // A receive that takes any message has room for the usual ones.
  const bool wild =
      out.kind == action::ordered_send || out.policy == match_policy::rank_only || out.policy == match_policy::none;
  if (wild || out.kind == action::get || out.kind == action::get_signal) {
    out.bytes = std::min(out.bytes, usual_bytes_max_);
  }
  out.region = static_cast<std::uint32_t>(from.below(2));
  out.slot = static_cast<std::uint32_t>(from.below(slots));
  out.offset = from.below(offset_max);
  if (out.kind == action::put || out.kind == action::put_signal) {
    out.bytes = std::min(out.bytes, large_put_bytes_);
    if (out.bytes > usual_bytes_max_) out.slot = small_slots;
  }
  return out;
}

std::span<const plan> script::planned(std::uint32_t source, std::uint32_t thread) const noexcept {
  return std::span{plans_}.subspan((std::size_t{source} * load_.threads() + thread) * load_.operations,
                                   load_.operations);
}

const plan* script::find(std::uint64_t tag) const noexcept {
  const auto source = static_cast<std::uint32_t>(tag >> 48);
  const auto thread = static_cast<std::uint32_t>(tag >> 32 & 0xffff);
  const auto number = static_cast<std::uint32_t>(tag);
  if (source >= ranks_ || thread >= load_.threads() || number >= load_.operations) return nullptr;
  return &planned(source, thread)[number];
}

std::size_t script::slot_at(std::uint32_t slot) const noexcept {
  const std::size_t small = (usual_bytes_max_ + offset_max + 63) / 64 * 64;
  if (slot <= small_slots) return slot * small;
  return small_slots * small + (large_put_bytes_ + offset_max + 63) / 64 * 64;
}

std::size_t script::area_at(std::uint32_t source, std::uint32_t thread) const noexcept {
  return (std::size_t{source} * load_.threads() + thread) * area_bytes();
}

// Words of threads' own come in pairs, one of 8 bytes and one of 4 with room behind it.
std::size_t script::own_word_at(std::uint32_t source, std::uint32_t thread, bool wide) const noexcept {
  return area_at(ranks_, 0) + (std::size_t{source} * load_.threads() + thread) * 16 + (wide ? 0 : 8);
}

std::size_t script::shared_word_at(std::uint64_t index) const noexcept {
  return own_word_at(ranks_, 0, true) + index * 8;
}

std::size_t script::region_bytes() const noexcept { return shared_word_at(shared_words); }

atomic_plan script::own_atomic(const plan& planned, std::uint64_t word) noexcept {
  dice from{planned.key};
  atomic_plan out{
      .op = static_cast<atomic_op>(from.below(6)), .wide = is_wide(planned), .operand = from.next(), .compare = 0};
  out.compare = from.one_in(3) ? from.next() : word;
  return out;
}

std::vector<std::byte> script::final_region(std::uint32_t rank, std::uint32_t region) const {
  std::vector<std::byte> out(region_bytes());
  for (const plan& each : plans_) {
    if (each.peer != rank || each.region != region) continue;
    if (each.kind == action::put || each.kind == action::put_signal) {
      fill(std::span{out}.subspan(offset_of(each), each.bytes), each.key);
    } else if (each.kind == action::own_atomic) {
      const std::size_t position = own_word_at(each.source, each.thread, is_wide(each));
      const std::uint64_t old = load_word(out, position);
      store<std::uint64_t>(out, position, combine(own_atomic(each, old), old));
    } else if (each.kind == action::shared_atomic) {
      const std::size_t position = shared_word_at(shared_word(each));
      store<std::uint64_t>(out, position, load_word(out, position) + shared_operand(each));
    }
  }
  return out;
}

}  // namespace weft::test::all_operations
