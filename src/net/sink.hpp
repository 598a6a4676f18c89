// SPDX-License-Identifier: BSD-3-Clause
// The sink, to which a transport delivers arriving messages: functions that it must have, and functions that it may
// have.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "base/fast_paths.hpp"
#include "net/message.hpp"

namespace weft::net {

/// The target of arrivals: any class with
///   bool on_message(const arrival& message) noexcept;
/// True: consumed; the sink now has to release a payload that has an owner. False: no room; the transport keeps the
/// message, and all that came after it from the same device of that peer, for a later poll. The class is a parameter of
/// the endpoints, so that the code for an arrival is compiled into the poll.
///
/// A sink that also has
///   bool fast_take(std::uint32_t source, const net::header& header, const std::byte* payload, std::uint32_t bytes,
///                     bool& consumed) noexcept;
/// gets messages without an owner first. If it answers false, the message goes to `on_message`.
template <class Sink>
concept has_fast_take = base::has_fast_paths &&
    requires(Sink& sink, const net::header& header, const std::byte* payload, bool& consumed) {
  { sink.fast_take(std::uint32_t{}, header, payload, std::uint32_t{}, consumed) } -> std::same_as<bool>;
};

/// A sink that gets messages in packets first by
///   bool fast_take_packet(const arrival& message, bool& consumed) noexcept;
/// If it answers false, nothing has happened, and the message goes to `on_message`.
template <class Sink>
concept has_fast_take_packet = base::has_fast_paths && requires(Sink& sink, const arrival& message, bool& consumed) {
  { sink.fast_take_packet(message, consumed) } -> std::same_as<bool>;
};

/// A kind of messages of one word that a sink takes in a loop without function calls.
struct word_kind {
  std::uint32_t kind;  // kind in their headers
  bool takes_long;     // the transport should prefetch the next cell meanwhile
};

/// A sink that takes messages of one word by such a loop for each of its kinds:
///   static constexpr std::array<word_kind, 2> word_kinds;
///   template <std::size_t Kind>  // an index into these
///   const void* take_word(std::uint32_t source, std::uint64_t id_and_sequence,
///                         const std::byte* tag_and_payload) noexcept;
///   bool must_follow_up(const void* mark) noexcept;
///   void follow_up(const void* mark) noexcept;
///   void count_words(unsigned count) noexcept;
/// `id_and_sequence` has these two of the header, the id in the low half. `take_word` answers a mark, whose meaning
/// only the sink knows. Null: nothing has happened, and the message goes to the other functions. If
/// `must_follow_up(mark)` is true, the loop ends with `follow_up(mark)`. `count_words` gets the number of messages
/// taken.
template <class Sink>
concept takes_words = has_fast_take<Sink> && requires(Sink& sink) {
  Sink::word_kinds;
};

/// A sink that is told of each message that it had no room for.
template <class Sink>
concept hears_of_full_targets = requires(Sink& sink) {
  sink.on_target_full();
};

/// A sink that is told of messages that will never arrive:
///   void on_lost(std::uint32_t peer, const net::header& header, const char* cause) noexcept;
/// The header is as it was posted; `cause` is a text for people, and stays valid. If the post of the message answered
/// `full`, as its peer can't be reached any more, the header has no note: its poster still has the message.
template <class Sink>
concept hears_of_losses = requires(Sink& sink, const net::header& header, const char* cause) {
  sink.on_lost(std::uint32_t{}, header, cause);
};

}  // namespace weft::net
