// SPDX-License-Identifier: BSD-3-Clause
// Every setting: a WEFT_* variable of the environment, and where it is a runtime's, a member of `runtime_options`. One
// field in `settings` with its default, and one row in the table of config.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/long_messages.hpp"
#include "weft/progress_policy.hpp"
#include "weft/runtime_options.hpp"

namespace weft::base {

enum class boot_method : std::uint8_t { automatic, single, file, pmi1 };
enum class log_level : std::uint8_t { error, warn, info, debug };
enum class bind_kind : std::uint8_t { none, automatic };
enum class cma_mode : std::uint8_t { automatic, off };

// The typed values, in four parts.

/// Settings of the process: read once, and equal for all its runtimes.
struct settings_of_process {
  boot_method boot = boot_method::automatic;
  std::string boot_dir;
  std::string boot_key;
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> size;
  std::uint32_t boot_timeout_s = 60;
  log_level log = log_level::warn;
  double stuck_after_s = 0;
  std::optional<std::uint32_t> launcher_pid;
  std::optional<std::uint32_t> run_terminal_columns;
  std::string run_ask_word;
  std::optional<std::uint32_t> mpi_vcis;
  bool mpi_global_progress = true;
  bool mpi_progress_thread = false;
  std::optional<std::uint32_t> test_ranks;

  /// Names in the environment that start with WEFT_ and are no settings, as a line about each.
  std::vector<std::string> foreign_variables;
};

/// Settings of a runtime, alike at all ranks of its job.
struct settings_of_job {
  std::uint32_t packet_count = 4096;
  std::size_t packet_bytes = 8192;
  std::uint32_t ring_cells = 256;
  std::uint32_t devices_max = 64;
  bind_kind bind = bind_kind::none;
  std::size_t shared_bytes = std::size_t{8} << 30;
  std::uint32_t regions_max = 1U << 18;
  std::string transport = "shm,ofi";
  std::string coll;
#ifdef WEFT_COMPARES_CALLS
  bool check = true;
#else
  bool check = false;
#endif
};

/// Settings of a runtime's simulated network.
struct settings_of_sim {
  std::uint64_t sim_seed = 0;
  std::uint32_t sim_delay_percent = 30;
  std::uint32_t sim_refuse_percent = 10;
  std::uint32_t sim_deny_percent = 25;
  std::string sim_fail;
};

/// Settings of a runtime, this rank's own.
struct settings_of_rank {
  bool print_counters = false;
  progress_policy policy = progress_policy::local;
  cma_mode shm_cma = cma_mode::automatic;
  weft::long_messages long_messages = weft::long_messages::automatic;
  std::size_t copy_piece_bytes = 0;
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

  /// The rows of the table, a bit each, whose values are from `runtime_options`.
  std::uint64_t from_members = 0;
};

/// All of them. To add one: a field in one of the parts with its default, a row of its name in config.cpp, and for a
/// setting of a runtime a member in `runtime_options`.
struct settings : settings_of_process, settings_of_job, settings_of_sim, settings_of_rank {};

/// Whose a setting is.
enum class setting_scope : std::uint8_t {
  process,  ///< the process's: a variable of the environment alone
  rank,     ///< a runtime's: a variable, and a member of `runtime_options`
  job,      ///< a runtime's, too; all ranks of its job must give one value
};

/// A value that a variable or a member gives.
struct given_value {
  std::string_view text;
  bool is_member = false;
};

/// One row of the table from which docs/configuration.md is made, and which the parser obeys.
struct setting {
  std::string_view name;                    ///< WEFT_...
  std::string_view type;                    ///< count, bytes, seconds, time (seconds and parts of them), choice, text,
                                            ///< algorithms
  std::string_view meaning;                 ///< one sentence
  std::uint64_t least;                      ///< numbers: the smallest value allowed
  std::uint64_t most;                       ///< numbers: the largest value allowed
  std::uint64_t multiple_of;                ///< numbers: 0, or a number that must divide the value
  bool power_of_two;                        ///< numbers: whether only powers of two are allowed
  std::span<const std::string_view> names;  ///< choices: the allowed texts, in the order of the enumerators
  void (*assign)(const setting& row, settings& into, given_value value);
  std::string (*show)(const setting& row, const settings& from);  ///< the value as one would write it; "" if unset
  setting_scope scope = setting_scope::process;
  /// The member's value as one would write it; "" if it is not given. Null for a setting of the process.
  std::string (*member)(const setting& row, const runtime_options& from) = nullptr;
};

[[nodiscard]] std::span<const setting> setting_table() noexcept;

/// How many buckets the matching table may have: as many as were asked for, or else as many as it can have.
[[nodiscard]] std::uint32_t matching_bucket_count(const settings& from) noexcept;

/// The member of `runtime_options` that a row of a runtime's is named by: `packet_bytes` for WEFT_PACKET_BYTES.
[[nodiscard]] std::string member_name(const setting& row);

/// The origin of a value, for messages: `environment variable WEFT_…`, or `runtime_options::…` of a member.
[[nodiscard]] std::string origin_of(const setting& row, bool is_member);
[[nodiscard]] std::string origin_of(const settings& settings, std::string_view name);

/// The values that a row accepts, in words: `8192, 8KiB ...: from 512 to 1048576`.
[[nodiscard]] std::string allowed_values(const setting& row);

/// Reads the WEFT_* variables of an environment block (NAME=VALUE strings, then a null pointer).
/// **Errors** configuration: a WEFT_* name that is nearly one in the table, or a value that is ill-formed or out of
/// range.
[[nodiscard]] settings parse_settings(const char* const* environment);

/// This process's settings, read from its environment by the first call.
/// **Threads** any. **Errors** those of `parse_settings`, at every call.
[[nodiscard]] const settings& process_settings();

/// The settings of a runtime: the members that `options` gives, and `process` for the others.
/// **Errors** configuration: a member out of range, and settings that contradict each other.
[[nodiscard]] settings settings_of_runtime(const settings& process, const runtime_options& options);

}  // namespace weft::base
