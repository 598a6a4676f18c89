// SPDX-License-Identifier: BSD-3-Clause
// Explains to people which protocol and transport a message takes, from its size and from what transports can do.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/config.hpp"
#include "base/counted.hpp"
#include "core/api/checks.hpp"
#include "core/message/choose_protocol.hpp"
#include "core/runtime/runtime_state.hpp"
#include "net/transport.hpp"
#include "net/transport_list.hpp"
#include "weft/error.hpp"
#include "weft/runtime.hpp"

namespace weft {
namespace {

using core::message_protocol;

constexpr std::string_view by_copy = "rendezvous by copy", by_packets = "rendezvous by packets";

std::string description_of(message_protocol chosen, bool copies) {
  switch (chosen) {
    case message_protocol::inlined: return "inline: the bytes go in the cell that announces the message";
    case message_protocol::packet:
      return "packet: the bytes are copied into a packet of the sender's, which is handed over";
    case message_protocol::rendezvous: break;
  }
  return copies ? fmt::format(
                      "{}: RTS, then straight from the sender's buffer into the receiver's, by the receiver, or "
                      "by both",
                      by_copy)
                : fmt::format("{}: RTS, then in packets when the receiver asks for them", by_packets);
}

std::string reasons(message_protocol chosen, std::size_t bytes, const runtime_attributes& sizes,
                    const net::direct_copies& copies, bool is_copied) {
  std::string out;
  const auto not_by = [&](std::string_view name, const std::string& why) {
    out += fmt::format("  not {}: {}\n", name, why);
  };
  if (chosen == message_protocol::inlined) {
    not_by("packet", "that is for what no cell holds");
  } else {
    not_by("inline", fmt::format("a cell holds at most {} bytes", sizes.inject_bytes_max));
  }
  if (chosen != message_protocol::rendezvous) {
    not_by("rendezvous", fmt::format("{} {} there before {} could be asked for", base::counted(bytes, "byte"),
                                     base::form_for(bytes, "is", "are"), base::form_for(bytes, "it", "they")));
    return out;
  }
  not_by("packet", fmt::format("a packet holds {} bytes (WEFT_PACKET_BYTES)", sizes.packet_bytes));
  if (is_copied) {
    not_by(by_packets, fmt::format("direct copies are possible: {}", copies.description));
  } else if (copies.possible) {
    not_by(by_copy, "the receiver of these messages chooses packets");
  } else {
    not_by(by_copy, fmt::format("no direct copies: {}", copies.description));
  }
  return out;
}

// Transports that are listed and were not made, for the reasons of `make_transports`.
std::string not_made(const base::settings& settings, const std::vector<std::unique_ptr<net::transport>>& made,
                     std::uint32_t ranks) {
  std::string out;
  for (const net::listed_transport& listed : net::listed_transports(settings)) {
    const std::string name = (listed.simulated ? "sim:" : "") + listed.name;
    // Only the first word of a transport's name is compared; the rest are details.
    const auto is_it = [&](const auto& each) {
      const std::string_view full = each->name();
      return full.substr(0, full.find(' ')) == name;
    };
    if (std::none_of(made.begin(), made.end(), is_it)) {
      out += fmt::format("  not {}: not opened, as {}\n", name,
                         ranks == 1 ? "there is no other rank" : "one before it lets every rank reach every other");
    }
  }
  return out;
}

// Whether threads of both ranks may run on the same core, if that is known.
std::string meeting_of(const core::neighbours& here, std::uint32_t self, std::uint32_t peer) {
  const base::processor_set mine = here.processors_of(self);
  const base::processor_set theirs = here.processors_of(peer);
  if (self == peer || mine.count() == 0 || theirs.count() == 0) return {};
  return fmt::format("processors: {} may run on {}, {} on {}: {}\n", self, mine.to_text(), peer, theirs.to_text(),
                     mine.meets(theirs)
                         ? "threads of both may meet on one core, where a thread that waits holds the other up; "
                           "weft-run --bind auto keeps them apart, WEFT_BIND=auto under other launchers"
                         : "their threads don't meet");
}

}  // namespace

std::string runtime::explain(std::uint32_t peer, std::size_t bytes) const {
  if (peer >= size()) core::refuse_rank("explain", peer, size());
  const auto& transports = state_->transports().all();
  const net::transport* transport = nullptr;
  std::string others;
  for (const auto& each : transports) {
    if (transport == nullptr && each->reaches(peer)) {
      transport = each.get();
    } else {
      others += fmt::format(
          "  not {}: {}\n", each->name(),
          each->reaches(peer) ? "it comes later in WEFT_TRANSPORT" : fmt::format("it doesn't reach rank {}", peer));
    }
  }
  if (transport == nullptr) return fmt::format("rank {} reaches rank {} by no transport\n", rank(), peer);
  const runtime_attributes& sizes = attributes();
  const base::settings& settings = state_->job().settings();
  const net::direct_copies copies = transport->copies(peer);
  const message_protocol chosen = core::choose_protocol(bytes, sizes.packet_bytes);
  core::copy_choices& choices = state_->memory().copy_choices();
  const bool has_choice = chosen == message_protocol::rendezvous && copies.possible;
  const bool is_copied = has_choice && choices.usual(peer, bytes) != core::copy_method::packets;
  return fmt::format("{} from rank {} to rank {}\n{}\n{}{}transport {} (WEFT_TRANSPORT={})\n{}{}",
                     base::counted(bytes, "byte"), rank(), peer, description_of(chosen, is_copied),
                     reasons(chosen, bytes, sizes, copies, is_copied), has_choice ? choices.describe(peer, bytes) : "",
                     transport->name(), settings.transport, others + not_made(settings, transports, size()),
                     meeting_of(state_->transports().neighbours(), rank(), peer));
}

}  // namespace weft
