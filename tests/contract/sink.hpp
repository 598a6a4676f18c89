// SPDX-License-Identifier: BSD-3-Clause
// The sink of the contract tests: all that a transport may call, or the least that a sink has.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fast_paths.hpp"
#include "net/transport.hpp"

namespace weft::contract {

/// A message as it arrived; its packet is given back with it.
struct received {
  explicit received(const net::arrival& message)
      : source{message.source},
        header{message.header},
        bytes{message.payload, message.payload + message.bytes},
        address{message.payload},
        owner{message.owner} {}
  received(received&& other) noexcept
      : source{other.source},
        header{other.header},
        bytes{std::move(other.bytes)},
        address{other.address},
        owner{std::exchange(other.owner, nullptr)} {}
  received& operator=(received&&) = delete;
  ~received() {
    if (owner != nullptr) owner->release(const_cast<std::byte*>(address), bytes.size());
  }

  std::uint32_t source;
  net::header header;
  std::vector<std::byte> bytes;
  const std::byte* address;
  detail::payload_owner* owner;
};

/// Has all that a transport may call, as the core's sink does. It takes arrivals while `room` lasts, some words by
/// each of its functions, leaves the others to the next one, and checks that they arrive there.
class sink {
 public:
  static constexpr std::array<net::word_kind, 2> word_kinds{{{3, false}, {4, true}}};

  sink() = default;
  sink(const sink&) = delete;
  sink& operator=(const sink&) = delete;
  ~sink() { expect_settled(); }

  template <std::size_t Kind>
  [[nodiscard]] const void* take_word(std::uint32_t source, std::uint64_t id_and_sequence,
                                      const std::byte* tag_and_payload) noexcept {
    return take_word_of(word_kinds[Kind].kind, source, id_and_sequence, tag_and_payload);
  }

  [[nodiscard]] bool must_follow_up(const void* signalled) noexcept {
    EXPECT_EQ(signalled, signalled_) << "not what the last word has signalled";
    if (awaited_every == 0 || words % awaited_every != 0) return false;
    ++awaited;
    return true;
  }
  void follow_up(const void* signalled) noexcept {
    EXPECT_EQ(signalled, signalled_) << "not what the last word has signalled";
    ++woken;
  }
  void count_words(unsigned count) noexcept { words_told += count; }
  void on_target_full() noexcept { ++refusals_noted; }
  void on_lost(std::uint32_t peer, const net::header& header, const char* cause) noexcept {
    losses.push_back({peer, header, cause});
  }

  [[nodiscard]] bool fast_take(std::uint32_t source, const net::header& header, const std::byte* payload,
                               std::uint32_t bytes, bool& consumed) noexcept {
    expect_passed_on(source, header);
    ++shown_at_once;
    if (at_once_left_every != 0 && shown_at_once % at_once_left_every == 0) {
      pass_on(source, header);
      return false;
    }
    consumed = has_room();
    if (consumed) messages.emplace_back(net::arrival{source, header, payload, bytes, nullptr});
    return true;
  }

  [[nodiscard]] bool on_message(net::arrival message) noexcept {
    expect_passed_on(message.source, message.header);
    if (!has_room()) return false;
    messages.emplace_back(message);
    return true;
  }

  /// After a poll: the transport has called all that it has to call.
  void expect_settled() const {
    EXPECT_EQ(words_told, words) << "words that were counted, and words that were taken";
    EXPECT_EQ(refusals_noted, refused);
    EXPECT_EQ(woken, awaited);
    EXPECT_FALSE(passed_on_) << "a message that one function left to the next one has not come there";
  }

  struct lost {
    std::uint32_t peer;
    net::header header;
    std::string cause;
  };
  std::vector<lost> losses;

  void forget_refusals() { refused = refusals_noted = 0; }

  std::size_t room = ~std::size_t{0};
  std::deque<received> messages;

  // One in so many is left to the next function, and a thread awaits one in so many; 0: none.
  std::size_t words_left_every = 3;
  std::size_t at_once_left_every = 2;
  std::size_t awaited_every = 0;

  std::size_t words = 0, words_of_kind[2] = {}, words_told = 0;
  std::size_t shown_words = 0, shown_at_once = 0;
  std::size_t refused = 0, refusals_noted = 0;
  std::size_t awaited = 0, woken = 0;

 private:
  struct shown {
    std::uint32_t source;
    std::uint64_t tag;
  };

  [[nodiscard]] const void* take_word_of(std::uint32_t kind, std::uint32_t source, std::uint64_t id_and_sequence,
                                         const std::byte* tag_and_payload) noexcept {
    net::header header{.kind = kind,
                       .id = static_cast<std::uint32_t>(id_and_sequence),
                       .sequence = static_cast<std::uint32_t>(id_and_sequence >> 32)};
    std::memcpy(&header.tag, tag_and_payload, sizeof header.tag);
    expect_passed_on(source, header);
    EXPECT_EQ(woken, awaited) << "another word came before the one who awaits the last was woken";
    ++shown_words;
    if (room == 0 || (words_left_every != 0 && shown_words % words_left_every == 0)) {
      pass_on(source, header);
      return nullptr;
    }
    --room;
    messages.emplace_back(net::arrival{source, header, tag_and_payload + sizeof header.tag, net::word_bytes, nullptr});
    ++words;
    ++words_of_kind[kind - word_kinds[0].kind];
    signalled_ = &objects_[words % objects_.size()];
    return signalled_;
  }

  [[nodiscard]] bool has_room() noexcept {
    if (room == 0) {
      ++refused;
      return false;
    }
    --room;
    return true;
  }

  void pass_on(std::uint32_t source, const net::header& header) noexcept { passed_on_ = shown{source, header.tag}; }
  void expect_passed_on(std::uint32_t source, const net::header& header) noexcept {
    if (passed_on_) {
      EXPECT_EQ(source, passed_on_->source);
      EXPECT_EQ(header.tag, passed_on_->tag) << "another message came before the one that was left to this function";
    }
    passed_on_.reset();
  }

  std::array<std::byte, 4> objects_{};
  const void* signalled_ = nullptr;
  std::optional<shown> passed_on_;
};

/// A sink that has no more functions than each must have.
class least_sink {
 public:
  explicit least_sink(sink& to) noexcept : to_{&to} {}
  [[nodiscard]] bool on_message(const net::arrival& message) noexcept {
    const bool consumed = to_->on_message(message);
    if (!consumed) to_->on_target_full();  // the transport can't
    return consumed;
  }

 private:
  sink* to_;
};

static_assert(net::takes_words<sink> == base::has_fast_paths && net::hears_of_full_targets<sink> &&
              net::hears_of_losses<sink>);
static_assert(!net::has_fast_take<least_sink> && !net::takes_words<least_sink> &&
              !net::hears_of_full_targets<least_sink>);

}  // namespace weft::contract
