// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/pmi_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "boot/backends.hpp"

namespace weft::run {
namespace {

using boot::pmi1_wire::printable;

constexpr std::string_view space = "weft";
constexpr std::size_t key_bytes_max = 256;
constexpr std::size_t value_bytes_max = 1024;
constexpr std::size_t stored_bytes_max = std::size_t{16} << 20;  // of one rank

}  // namespace

pmi_server::pmi_server(std::uint32_t size, const std::vector<program>& programs) : peers_(size), programs_{programs} {
  // MPICH asks which ranks share a node, and believes that it is alone on its own when nobody tells.
  values_.emplace("PMI_process_mapping", fmt::format("(vector,(0,1,{}))", size));
}

std::optional<std::string> pmi_server::receive(std::uint32_t rank, std::string_view bytes) {
  peer& self = peers_[rank];
  if (self.refused) return std::nullopt;  // one complaint is enough
  self.lines.append(bytes);
  while (const auto line = self.lines.next()) {
    const auto request = message::parse(*line);
    auto complaint = request ? handle(rank, *request)
                             : fmt::format("rank {} sent '{}', which is no line of PMI-1", rank, printable(*line));
    if (complaint) {
      self.refused = true;
      return complaint;
    }
  }
  if (!self.lines.overrun()) return std::nullopt;
  self.refused = true;
  return fmt::format("rank {} sent a PMI-1 line longer than {} bytes", rank,
                     boot::pmi1_wire::line_reader::line_bytes_max);
}

std::optional<std::string> pmi_server::handle(std::uint32_t rank, const message& request) {
  peer& self = peers_[rank];
  const std::string_view command = request.command();
  if (self.state == phase::waiting && command != "weft_missing" && command != "abort") {
    return fmt::format("rank {} sent '{}' while it waits in a barrier", rank, printable(command));
  }
  if (command == "init") {
    if (self.state != phase::fresh) {
      return fmt::format(
          "rank {} started a second Weft program{}; a rank is one Weft program: start each by a weft-run of "
          "its own, as in weft-run -n {} a && weft-run -n {} b",
          rank, self.state == phase::finalized ? " after its first" : "", peers_.size(), peers_.size());
    }
    const bool known = request.find_number("pmi_version") == 1;
    if (known) {
      self.state = phase::initialized;
      ++initialized_;
    }
    reply(rank,
          fmt::format("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc={} launcher=weft-run", known ? 0 : -1));
    return std::nullopt;
  }
  if (command == "abort") {
    abort_code_ = static_cast<int>(request.find_number("exitcode").value_or(1));
    return std::nullopt;
  }
  if (self.state == phase::fresh || self.state == phase::finalized) {
    return fmt::format("rank {} sent '{}' {}", rank, printable(command),
                       self.state == phase::fresh ? "before it introduced itself" : "after it took its leave");
  }
  if (command == "get_maxes") {
    reply(rank,
          fmt::format("cmd=maxes rc=0 kvsname_max=64 keylen_max={} vallen_max={}", key_bytes_max, value_bytes_max));
  } else if (command == "get_my_kvsname") {
    reply(rank, fmt::format("cmd=my_kvsname rc=0 kvsname={}", space));
  } else if (command == "get_appnum") {
    reply(rank, fmt::format("cmd=appnum rc=0 appnum={}", program_index(programs_, rank)));
  } else if (command == "get_universe_size") {
    reply(rank, fmt::format("cmd=universe_size rc=0 size={}", peers_.size()));
  } else if (command == "put") {
    put(rank, request);
  } else if (command == "get") {
    get(rank, request);
  } else if (command == "barrier_in") {
    return enter_barrier(rank);
  } else if (command == "weft_missing") {
    reply(rank, fmt::format("cmd=weft_missing rc=0 ranks={}", list(phase::waiting, false)));
  } else if (command == "finalize") {
    self.state = phase::finalized;
    any_gone_ = true;
    reply(rank, "cmd=finalize_ack rc=0");
    return find_hopeless_wait();
  } else {
    return fmt::format("rank {} sent the PMI-1 command '{}', which weft-run does not offer", rank, printable(command));
  }
  return std::nullopt;
}

void pmi_server::put(std::uint32_t rank, const message& request) {
  peer& self = peers_[rank];
  const auto key = request.find("key");
  const auto value = request.find("value");
  std::string_view problem;
  if (request.find("kvsname") != space)
    problem = "unknown_kvsname";
  else if (!key || key->empty() || key->size() >= key_bytes_max)
    problem = "bad_key";
  else if (!value || value->size() >= value_bytes_max)
    problem = "bad_value";
  else if (self.stored_bytes + key->size() + value->size() > stored_bytes_max)
    problem = "no_room";
  else if (!values_.emplace(*key, *value).second)
    problem = "duplicate_key";
  else
    self.stored_bytes += key->size() + value->size();
  reply(rank,
        problem.empty() ? "cmd=put_result rc=0 msg=success" : fmt::format("cmd=put_result rc=-1 msg={}", problem));
}

void pmi_server::get(std::uint32_t rank, const message& request) {
  const auto key = request.find("key");
  const auto found = key && request.find("kvsname") == space ? values_.find(*key) : values_.end();
  reply(rank, found == values_.end() ? std::string{"cmd=get_result rc=-1 msg=key_not_found"}
                                     : fmt::format("cmd=get_result rc=0 value={}", found->second));
}

std::optional<std::string> pmi_server::enter_barrier(std::uint32_t rank) {
  peers_[rank].state = phase::waiting;
  if (++waiting_ < peers_.size()) return find_hopeless_wait();
  waiting_ = 0;
  for (std::uint32_t r = 0; r < peers_.size(); ++r) {
    peers_[r].state = phase::initialized;
    reply(r, "cmd=barrier_out rc=0");
  }
  return std::nullopt;
}

std::optional<std::string> pmi_server::rank_ended(std::uint32_t rank) {
  any_gone_ = true;
  peers_[rank].ended = true;
  return find_hopeless_wait();
}

// Ranks in a barrier that some rank has made sure never to enter.
std::optional<std::string> pmi_server::find_hopeless_wait() const {
  if (waiting_ == 0 || !any_gone_) return std::nullopt;
  for (std::uint32_t r = 0; r < peers_.size(); ++r) {
    const peer& other = peers_[r];
    if (!other.ended && other.state != phase::finalized) continue;
    const char* ending = other.state == phase::fresh       ? "ended without ever making a Weft runtime (or using PMI)"
                         : other.state == phase::finalized ? "took its leave"
                                                           : "ended without taking its leave";
    return fmt::format("rank {} {}, while ranks {} wait for it in a barrier", r, ending, list(phase::waiting, true));
  }
  return std::nullopt;
}

std::string pmi_server::list(phase state, bool same) const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t r = 0; r < peers_.size(); ++r) {
    if ((peers_[r].state == state) == same) ranks.push_back(r);
  }
  std::string text = boot::list_of_ranks(ranks);
  if (!same) std::replace(text.begin(), text.end(), ' ', '_');  // a value on the wire holds no blanks
  return text;
}

void pmi_server::reply(std::uint32_t rank, std::string_view line) {
  std::string& replies = peers_[rank].replies;
  if (replies.empty()) replied_.push_back(rank);
  replies.append(line).push_back('\n');
}

std::string pmi_server::take_replies(std::uint32_t rank) { return std::exchange(peers_[rank].replies, {}); }

std::vector<std::uint32_t> pmi_server::take_ranks_with_replies() { return std::exchange(replied_, {}); }

}  // namespace weft::run
