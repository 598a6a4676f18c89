// SPDX-License-Identifier: BSD-3-Clause
// A peer that sends any header with any body. It names existing ids, regions and tickets of operations more often than
// chance would.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/config.hpp"
#include "core/protocol/complete.hpp"
#include "core/runtime/runtime_state.hpp"
#include "fuzz/input.hpp"
#include "support/boundaries.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft::fuzz {

class wild_peer {
 public:
  explicit wild_peer(runtime& rt) : state_{test::local_job::state_of(rt)} {}

  /// A kind, an id, a sequence number, a tag, a size, and the words of the body.
  void send_one(input& in) {
    const auto how = in.take<std::uint8_t>();
    net::header header;
    header.kind = how % 32;
    header.id = id(in);
    header.sequence = in.take<std::uint8_t>();
    if (core::kind_of(header.kind) == core::wire::atomic) {
      header.sequence = (header.sequence & 0xf) | (header.sequence >> 4) << 8;
    } else if (header.sequence >= 0x80) {
      header.kind |= (header.sequence >> 4 & 7) << 8 | (header.sequence & 0xfU) << 12;
      header.sequence %= 16;
    }
    if (core::is_for_engine(header.kind)) header.sequence += core::first_order_number - 1;  // often the next one
    header.tag = word(in);
    const core::wire kind = core::kind_of(header.kind);
    if ((kind == core::wire::chunk || kind == core::wire::last_chunk) && how >= 128) {
      const std::uint64_t offset = word(in);
      header.id = static_cast<std::uint32_t>(offset);
      header.sequence = static_cast<std::uint32_t>(offset >> 32);
    }
    const std::size_t bytes = in.take<std::uint8_t>() * (how >= 224 ? 2U : 1U);
    std::array<std::uint64_t, 64> body{};
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes / 8, 5); ++i) body[i] = word(in);
    const auto* const start = reinterpret_cast<const std::byte*>(body.data());
    if (how >= 192) {
      deliver_packet(header, start, static_cast<std::uint32_t>(std::min(bytes, sizeof body)));
    } else {
      inject(header, start, bytes % (detail::inline_bytes_max + 1),
             std::make_index_sequence<detail::inline_bytes_max + 1>{});
    }
  }

  /// Forgets the operations that it has begun and will never end, so that they do not hold the runtime up.
  void forget_what_waits_for_packets() {
    for (core::operation_pool* pool : {&state_.operations().arrivals(), &state_.operations().receives()}) {
      pool->each([&](core::operation_state& each) {
        // relaxed: no thread makes progress meanwhile.
        const core::step at = each.next.load(std::memory_order_relaxed);
        if (at != core::step::wait_for_chunks && at != core::step::wait_for_sender) return;
        if (each.owed.target != nullptr) core::promise::cancel(*each.owed.target);
        if (each.receiving.owner != nullptr)
          each.receiving.owner->release(each.receiving.into.address(), each.receiving.into.bytes());
        core::complete::put_back(state_.devices().standard(), each);
      });
    }
  }

  /// Forgets sends that wait in a receiver-first engine.
  void forget_what_waits_for_receives() {
    state_.operations().posts().each([&](core::operation_state& each) {
      // relaxed: no thread makes progress meanwhile.
      if (each.next.load(std::memory_order_relaxed) != core::step::wait_for_match) return;
      const auto& engine =
          *static_cast<core::engine_state*>(state_.matching().engines().find_outside(each.key.engine()).object);
      core::matched_messages released;
      if (engine.ordered->remove(each, released) != core::match_result::removed) return;
      core::promise::cancel(*each.owed.target);
      core::complete::put_back(state_.devices().standard(), each);
    });
  }

  /// Gives back the memory of all others that will never end, once no thread makes progress any more. Their completion
  /// objects are gone by then.
  void forget_memory() {
    state_.operations().arrivals().each([&](core::operation_state& each) {
      if (each.receiving.owner != nullptr)
        each.receiving.owner->release(each.receiving.into.address(), each.receiving.into.bytes());
      each.receiving.owner = nullptr;
    });
    auto& all = state_.operations();
    for (core::operation_pool* pool : {&all.posts(), &all.arrivals(), &all.receives(), &all.late_receives()}) {
      pool->each([](core::operation_state& each) { each.owed.target = nullptr; });
    }
  }

 private:
  [[nodiscard]] static std::uint32_t id(input& in) {
    const auto kind = in.take<std::uint8_t>();
    if (kind == 0xee) return default_matching_engine;
    return kind >= 0xf0 ? 0xffff'ff00 + kind : kind;
  }

  [[nodiscard]] static std::uint64_t word(input& in) {
    const auto kind = in.take<std::uint8_t>();
    if (kind >= 0xf0) return in.take<std::uint64_t>();
    if (kind >= 0xe8) return (kind % 4 + 1U) * base::process_settings().regions_max + kind % 4U;  // a region
    if (kind >= 0xe0) return test::boundary_words[in.take<std::uint8_t>() % test::boundary_words.size()];
    // A ticket: generation, set, and index + 1.
    if (kind >= 0xc0) return std::uint64_t{(kind - 0xc0U) / 8 + 1} << 32 | (kind / 4 % 2 + 1U) << 28 | (kind % 4 + 1U);
    if (kind >= 0x80) return kind - 0x80U;
    return std::uint64_t{kind / 8U} << 32 | kind % 8U;  // of a post
  }

  template <std::size_t... Sizes>
  void inject(const net::header& header, const std::byte* body, std::size_t bytes, std::index_sequence<Sizes...>) {
    if (bytes == 0) static_cast<void>(state_.devices().standard().on_kept_message({0, header, nullptr, 0, nullptr}));
    (inject_if<Sizes>(header, body, bytes), ...);
  }
  template <std::size_t Bytes>
  void inject_if(const net::header& header, const std::byte* body, std::size_t bytes) {
    if (Bytes != bytes || Bytes == 0) return;
    std::array<std::byte, std::max<std::size_t>(Bytes, 1)> exact;
    std::memcpy(exact.data(), body, exact.size());
    static_cast<void>(state_.devices().standard().routes().try_send_body(0, net::any_device, header, exact));
  }

  void deliver_packet(const net::header& header, const std::byte* body, std::uint32_t bytes) {
    core::packet_pool& packets = state_.memory().packets();
    const std::uint32_t packet = packets.try_get();
    if (packet == core::packet_pool::none) return;
    std::memcpy(packets.data(packet), body, bytes);
    const net::arrival message{0, header, packets.data(packet), bytes, &packets.owner()};
    packets.count_lent(1);
    if (state_.devices().standard().on_kept_message(message)) return;
    packets.count_lent(-1);
    packets.put(packet);
  }

  core::runtime_state& state_;
};

}  // namespace weft::fuzz
