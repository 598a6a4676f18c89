// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/copy_choices.hpp"

#include <fmt/format.h>

#include <new>
#include <string_view>

#include "base/log.hpp"
#include "base/ticks.hpp"
#include "core/matching/engine_state.hpp"
#include "core/message/shared_copy.hpp"
#include "core/operation/operation_state.hpp"
#include "weft/matching_engine.hpp"

namespace weft::core {
namespace {

constexpr std::uint8_t short_piece_pages = 8;
// Longer messages go by both sides: their trials show too little of a copy by both among messages by another way
// (docs/decisions/long-messages.md).
constexpr std::uint64_t learned_bytes_max = std::uint64_t{32} << 10;

// Messages of collectives are exchanged one or a few at a time, and both sides of most are busy with another one:
// whether the receiver copies them or both sides do is learned at all sizes.
std::uint64_t learned_bytes_max_of(const operation_state& receiving) noexcept {
  // relaxed: the receive was made with it.
  const engine_state* const engine = receiving.receiving.engine.load(std::memory_order_relaxed);
  return engine != nullptr && engine->id == group_matching_engine ? ~std::uint64_t{0} : learned_bytes_max;
}

// The time that is measured with: so few bits of it are kept that a message that takes half a minute is the longest.
std::uint64_t time_now() noexcept { return base::ticks() >> 4; }

constexpr std::string_view name_of(copy_method method) noexcept {
  switch (method) {
    case copy_method::packets: return "in packets";
    case copy_method::one_side: return "copied by the receiver";
    case copy_method::both_short: return "copied by both in short pieces";
    case copy_method::both_long: return "copied by both";
  }
  return "unknown";
}

// The method that a setting names.
constexpr copy_method forced_by(long_messages choice) noexcept {
  switch (choice) {
    case long_messages::packets: return copy_method::packets;
    case long_messages::one_side: return copy_method::one_side;
    case long_messages::automatic:
    case long_messages::both: break;
  }
  return copy_method::both_long;
}

std::string size_of(std::uint64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

}  // namespace

copy_choices::copy_choices(std::uint32_t rank, std::uint32_t rank_count, const base::settings& settings)
    : rank_{rank},
      rank_count_{rank_count},
      long_messages_{settings.long_messages},
      asked_pages_{static_cast<std::uint8_t>(settings.copy_piece_bytes / copy_state::page_bytes)},
      packet_bytes_{settings.packet_bytes},
      began_time_{time_now()},
      began_{base::clock::now()},
      peers_{std::make_unique<std::atomic<peer_choice*>[]>(rank_count)} {}

copy_choices::~copy_choices() {
  // [own] no thread uses the runtime any more.
  for (std::uint32_t peer = 0; peer < rank_count_; ++peer) delete peers_[peer].load(std::memory_order_relaxed);
}

// Both sides copy a message of two pieces or more; pieces of two lengths differ only where a half is longer than the
// short one.
class_methods copy_choices::methods_of(std::size_t index) const noexcept {
  const std::uint64_t longest = packet_bytes_ << (index + 1);
  const std::uint64_t piece =
      asked_pages_ != 0 ? std::uint64_t{asked_pages_} * copy_state::page_bytes : copy_state::piece_bytes_min;
  class_methods out;
  out.allowed = set_of(copy_method::packets) | set_of(copy_method::one_side);
  // Bytes of collectives alone, whose long bytes are read where they lie.
  if (packet_bytes_ << index >= learned_bytes_max) out.allowed = set_of(copy_method::one_side);
  if (longest < 2 * piece) return out;
  out.first = copy_method::both_long;
  out.allowed |= set_of(copy_method::both_long);
  if (asked_pages_ == 0 && longest > 4 * copy_state::piece_bytes_min) out.allowed |= set_of(copy_method::both_short);
  return out;
}

peer_choice* copy_choices::choice_of(std::uint32_t peer) noexcept {
  // [copy_choices.find] acquire <- [copy_choices.make]: the object.
  peer_choice* found = peers_[peer].load(std::memory_order_acquire);
  if (found != nullptr) [[likely]]
    return found;
  std::array<class_methods, peer_choice::classes> methods;
  for (std::size_t i = 0; i < methods.size(); ++i) methods[i] = methods_of(i);
  auto* const made = new (std::nothrow) peer_choice{methods};
  if (made == nullptr) return nullptr;
  // [copy_choices.make] release -> [copy_choices.find], [copy_choices.again], [copy_choices.read]: the new object.
  if (peers_[peer].compare_exchange_strong(found, made, std::memory_order_release, std::memory_order_relaxed))
    return made;
  delete made;
  // [copy_choices.again] acquire <- [copy_choices.make]: another thread was first.
  return peers_[peer].load(std::memory_order_acquire);
}

// Lists, and memory of kinds, are not measured: their pieces decide how fast they are, and they travel as they did
// before there was a choice.
timed_copy copy_choices::choose(const operation_state& receiving) noexcept {
  constexpr timed_copy usual{.chosen = {.method = copy_method::both_long}};
  if (long_messages_ != long_messages::automatic) return {.chosen = {.method = forced_by(long_messages_)}};
  const copy_part& copying = receiving.copying;
  if (receiving.bytes <= packet_bytes_ || receiving.bytes > learned_bytes_max_of(receiving) ||
      copying.remote_address == 0 || copying.remote.pieces != 0 || !receiving.receiving.into.is_ordinary() ||
      receiving.peer == rank_) {
    return usual;
  }
  peer_choice* const known = choice_of(receiving.peer);
  return known == nullptr ? usual : known->begin(peer_choice::class_of(receiving.bytes, packet_bytes_), time_now());
}

void copy_choices::begin(operation_state& receiving) noexcept {
  const timed_copy out = choose(receiving);
  receiving.copying.chosen_at = out.begun;
  receiving.copying.chosen = out.chosen;
  const bool is_short = asked_pages_ == 0 && out.chosen.method == copy_method::both_short;
  receiving.copying.chosen.asked_pages = is_short ? short_piece_pages : asked_pages_;
}

void copy_choices::end(const operation_state& receiving) noexcept {
  const timed_copy chosen{receiving.copying.chosen, receiving.copying.chosen_at};
  if (chosen.begun == 0 || receiving.error != errc::none) return;
  const std::size_t index = peer_choice::class_of(receiving.bytes, packet_bytes_);
  // [copy_choices.ended] relaxed: `begin` has seen the object.
  peer_choice* const known = peers_[receiving.peer].load(std::memory_order_relaxed);
  if (known == nullptr) return;  // a faulty peer has ended the operation twice
  if (known->end(index, chosen, receiving.bytes, time_now())) [[unlikely]]
    log_change(receiving.peer, index, *known);
}

double copy_choices::times_for_ns() const noexcept {
  const auto ns = static_cast<double>((base::clock::now() - began_).count());
  const auto times = static_cast<double>(time_now() - began_time_);
  return ns > 0 && times > 0 ? times / ns : 1;
}

std::string copy_choices::bounds_of(std::size_t index) const {
  const std::string from = size_of(packet_bytes_ << index);
  return index + 1 == peer_choice::classes ? fmt::format("more than {}", from)
                                           : fmt::format("{} to {}", from, size_of(packet_bytes_ << (index + 1)));
}

std::string copy_choices::speeds_of(const class_choice& known) const {
  std::string out;
  const double rate = times_for_ns();
  for (std::size_t i = 0; i < copy_methods; ++i) {
    const auto method = static_cast<copy_method>(i);
    const std::uint32_t score = known.score(method);
    if (score == 0) continue;
    out += fmt::format("{}{:.3g} GB/s {}", out.empty() ? "" : ", ", static_cast<double>(1 << 20) * rate / score,
                       name_of(method));
  }
  return out;
}

void copy_choices::log_change(std::uint32_t peer, std::size_t index, peer_choice& about) const noexcept {
  if (!base::log_enabled(base::log_level::info)) return;
  class_choice known;
  if (!about.try_read(index, known)) return;
  try {
    base::log_info("messages of {} from rank {} travel {} from here on: {}", bounds_of(index), peer,
                   name_of(known.settled()), speeds_of(known));
  } catch (...) {  // there is no memory for the words
  }
}

bool copy_choices::try_read(std::uint32_t peer, std::size_t index, class_choice& out) const noexcept {
  // [copy_choices.read] acquire <- [copy_choices.make]: the object.
  peer_choice* const about = peers_[peer].load(std::memory_order_acquire);
  return about != nullptr && about->try_read(index, out);
}

copy_method copy_choices::usual(std::uint32_t peer, std::uint64_t bytes) const noexcept {
  if (long_messages_ != long_messages::automatic) return forced_by(long_messages_);
  if (bytes > learned_bytes_max) return copy_method::both_long;
  const std::size_t index = peer_choice::class_of(bytes, packet_bytes_);
  class_choice known;
  return try_read(peer, index, known) ? known.settled() : methods_of(index).first;
}

std::string copy_choices::describe(std::uint32_t peer, std::uint64_t bytes) const {
  if (long_messages_ != long_messages::automatic)
    return fmt::format("  {}: WEFT_LONG_MESSAGES={}\n", name_of(forced_by(long_messages_)),
                       weft::name_of(long_messages_));
  if (peer == rank_) return fmt::format("  {}: of the rank itself\n", name_of(copy_method::one_side));
  if (bytes > learned_bytes_max)
    return fmt::format("  {}: so are messages of more than {} (WEFT_LONG_MESSAGES=auto)\n",
                       name_of(copy_method::both_long), size_of(learned_bytes_max));
  const std::size_t index = peer_choice::class_of(bytes, packet_bytes_);
  class_choice known;
  if (!try_read(peer, index, known) || known.is_learning()) {
    return fmt::format(
        "  the receiver finds out by the first messages of {} whether packets or its own copy is "
        "faster (WEFT_LONG_MESSAGES=auto)\n",
        bounds_of(index));
  }
  return fmt::format(
      "  messages of {} from rank {} travel {}, as the last ones have shown (WEFT_LONG_MESSAGES=auto): {}\n",
      bounds_of(index), peer, name_of(known.settled()), speeds_of(known));
}

}  // namespace weft::core
