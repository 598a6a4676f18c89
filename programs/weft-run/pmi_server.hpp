// SPDX-License-Identifier: BSD-3-Clause
// The server's side of PMI-1, without sockets: bytes of a rank go in, bytes for ranks come out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "boot/pmi1_wire.hpp"
#include "weft-run/program.hpp"

namespace weft::run {

/// One job's key-value space and barrier. Whatever a rank sends, the server answers it, or refuses it and says why.
class pmi_server {
 public:
  /// Without a list of programs all ranks run one.
  explicit pmi_server(std::uint32_t size, const std::vector<program>& programs = {});

  /// Takes bytes that `rank` sent. Answers lie in `take_replies` afterwards, of this rank and, when a barrier opens, of
  /// all. **Returns** why the job can't go on, if so: malformed input, or a rank waited for that has ended.
  [[nodiscard]] std::optional<std::string> receive(std::uint32_t rank, std::string_view bytes);

  /// Tells that the rank's process has ended, so that it will take part in nothing more. **Returns** as `receive`.
  [[nodiscard]] std::optional<std::string> rank_ended(std::uint32_t rank);

  /// What is to be sent to the rank, once.
  [[nodiscard]] std::string take_replies(std::uint32_t rank);
  /// The ranks that have replies to be taken, once.
  [[nodiscard]] std::vector<std::uint32_t> take_ranks_with_replies();

  /// Set when a rank asked for the end of the job (`cmd=abort`): the exit code it wants.
  [[nodiscard]] std::optional<int> abort_code() const noexcept { return abort_code_; }
  /// Whether the rank has a connection of a Weft program, which has not taken its leave.
  [[nodiscard]] bool is_in_use(std::uint32_t rank) const noexcept {
    return peers_[rank].state == phase::initialized || peers_[rank].state == phase::waiting;
  }
  [[nodiscard]] bool ever_used() const noexcept { return initialized_ > 0; }

 private:
  enum class phase : std::uint8_t { fresh, initialized, waiting, finalized };
  struct peer {
    boot::pmi1_wire::line_reader lines;
    std::string replies;
    std::size_t stored_bytes = 0;
    phase state = phase::fresh;
    bool ended = false;
    bool refused = false;
  };

  using message = boot::pmi1_wire::message;
  [[nodiscard]] std::optional<std::string> handle(std::uint32_t rank, const message& request);
  void put(std::uint32_t rank, const message& request);
  void get(std::uint32_t rank, const message& request);
  [[nodiscard]] std::optional<std::string> enter_barrier(std::uint32_t rank);
  [[nodiscard]] std::optional<std::string> find_hopeless_wait() const;
  void reply(std::uint32_t rank, std::string_view line);
  [[nodiscard]] std::string list(phase state, bool same) const;

  std::vector<peer> peers_;
  const std::vector<program> programs_;
  std::vector<std::uint32_t> replied_;
  std::map<std::string, std::string, std::less<>> values_;
  std::uint32_t waiting_ = 0;
  std::uint32_t initialized_ = 0;
  bool any_gone_ = false;
  std::optional<int> abort_code_;
};

}  // namespace weft::run
