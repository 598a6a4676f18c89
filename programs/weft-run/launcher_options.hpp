// SPDX-License-Identifier: BSD-3-Clause
// Options that scripts give to launchers of other MPI libraries: those with a meaning on one machine are obeyed, others
// are accepted with a line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft-run/hosts.hpp"
#include "weft-run/options.hpp"
#include "weft-run/program.hpp"

namespace weft::run {

/// A wrong command line, in a line.
struct refusal {
  std::string text;
};

class launcher_options {
 public:
  /// Options of all programs go to `job`; the words of the command line are taken from `words`.
  launcher_options(options& job, std::span<char*>& words) : job_{job}, words_{words} {}

  /// Takes the option at the front of the words, with its values, if it is one of the options of launchers. **Returns**
  /// whether it is. **Errors** refusal.
  [[nodiscard]] bool try_take(program& program);
  /// Takes the next word. **Errors** refusal if there is none, which names the option or program that lacks it.
  [[nodiscard]] std::string next(std::string_view lacking);
  /// How many ranks the options since the last call ask for; nothing if they don't say so.
  [[nodiscard]] std::optional<std::uint32_t> take_ranks();
  /// Sets a variable of `-x`, in either form: `NAME=VALUE`, or `NAME` for the value of weft-run's own environment.
  void set_exported(std::vector<std::string>& environment, const std::string& text);
  /// Adds a line to `job` for options without effect.
  void note_effects();

 private:
  enum class meaning : std::uint8_t;
  struct names_of;

  [[nodiscard]] static std::optional<meaning> find(std::string_view name);
  void obey(meaning given, program& program);
  [[nodiscard]] std::uint32_t next_count();
  [[nodiscard]] std::string next_assignment();
  void set_binding(const std::string& text);
  void set_timeout(const std::string& text);
  void check_hosts(const std::vector<named_host>& hosts, const std::string& text);
  void note_without_effect(unsigned values, const std::string& value = {});

  options& job_;
  std::span<char*>& words_;
  std::string given_;                 // the option under way, as the user writes it
  std::optional<std::string> value_;  // of `--name=value`
  std::optional<std::uint32_t> ranks_;
  std::optional<std::uint32_t> ranks_of_node_;
  std::optional<std::uint32_t> slots_;
  std::string without_effect_;
};

}  // namespace weft::run
