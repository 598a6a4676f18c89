// Every WEFT_* environment variable: one field in `settings`, with its default, and one row in the table of config.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/progress_policy.hpp"

namespace weft::base {

enum class boot_method : std::uint8_t { automatic, single, file, pmi1 };
enum class log_level : std::uint8_t { error, warn, info, debug };
enum class bind_kind : std::uint8_t { none, automatic };
enum class cma_mode : std::uint8_t { automatic, off };

/// The typed values. To add a variable: a field here with its default, a row of its name in config.cpp.
struct settings {
  boot_method boot = boot_method::automatic;
  std::string boot_dir;
  std::string boot_key;
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> size;
  std::uint32_t boot_timeout_s = 60;
  log_level log = log_level::warn;
  bool print_counters = false;
  double stuck_after_s = 0;
  std::uint32_t packet_count = 4096;
  std::size_t packet_bytes = 8192;
  std::uint32_t ring_cells = 256;
  std::uint32_t devices_max = 64;
  bind_kind bind = bind_kind::none;
  progress_policy policy = progress_policy::local;
  std::size_t shared_bytes = std::size_t{8} << 30;
  std::uint32_t regions_max = 1024;
  std::string transport = "shm,ofi";
  std::uint64_t sim_seed = 0;
  std::uint32_t sim_delay_percent = 30;
  std::uint32_t sim_refuse_percent = 10;
  std::uint32_t sim_deny_percent = 25;
  std::string sim_fail;
  cma_mode shm_cma = cma_mode::automatic;
  std::string ofi_provider;
  std::size_t unexpected_bytes_max = std::size_t{64} << 20;
  std::optional<std::size_t> state_bytes_max;
  std::optional<std::uint32_t> operations_max;
  std::optional<std::uint32_t> receives_max;
  std::optional<std::uint32_t> unexpected_sends_max;
  std::uint32_t unexpected_packets_max = 1024;
  std::optional<std::uint32_t> matching_buckets;
  std::uint32_t foreign_packets_max = 1024;
  std::uint32_t queue_capacity = 4096;
  std::optional<std::uint32_t> launcher_pid;
  std::optional<std::uint32_t> run_terminal_columns;
  std::string run_ask_word;
  std::optional<std::uint32_t> test_ranks;

  /// Names in the environment that start with WEFT_ and are no settings, as a line about each.
  std::vector<std::string> foreign_variables;
};

/// One row of the table from which docs/configuration.md is made, and which the parser obeys.
struct setting {
  std::string_view name;                    ///< WEFT_...
  std::string_view type;                    ///< count, bytes, seconds, time (seconds and parts of them), choice, text
  std::string_view meaning;                 ///< one sentence
  std::uint64_t least;                      ///< numbers: the smallest value allowed
  std::uint64_t most;                       ///< numbers: the largest value allowed
  std::uint64_t multiple_of;                ///< numbers: 0, or a number that must divide the value
  bool power_of_two;                        ///< numbers: whether only powers of two are allowed
  std::span<const std::string_view> names;  ///< choices: the allowed texts, in the order of the enumerators
  void (*assign)(const setting& row, settings& into, std::string_view text);
  std::string (*show)(const setting& row, const settings& from);  ///< the value as one would write it; "" if unset
};

[[nodiscard]] std::span<const setting> setting_table() noexcept;

/// How many buckets the matching table has: as many as were asked for, or else half as many as receives, if their
/// number is set, within bounds.
[[nodiscard]] std::uint32_t matching_bucket_count(const settings& from) noexcept;

/// The values that a row accepts, in words: `8192, 8KiB ...: from 512 to 1048576`.
[[nodiscard]] std::string allowed_values(const setting& row);

/// Reads the WEFT_* variables of an environment block (NAME=VALUE strings, then a null pointer).
/// **Errors** configuration: a WEFT_* name that is nearly one in the table, or a value that is ill-formed or out of
/// range.
[[nodiscard]] settings parse_settings(const char* const* environment);

/// This process's settings, read from its environment by the first call.
/// **Threads** any. **Errors** those of `parse_settings`, at every call.
[[nodiscard]] const settings& process_settings();

}  // namespace weft::base
