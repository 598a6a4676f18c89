// SPDX-License-Identifier: BSD-3-Clause
#include "base/config.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "base/collective_names.hpp"
#include "weft/error.hpp"

namespace weft::base {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view prefix = "WEFT_";
constexpr std::uint64_t count_max = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = KiB * KiB;
constexpr std::uint64_t GiB = KiB * MiB;

constexpr std::array boot_names{"auto"sv, "single"sv, "file"sv, "pmi1"sv};
constexpr std::array log_names{"error"sv, "warn"sv, "info"sv, "debug"sv};
constexpr std::array switch_names{"off"sv, "on"sv};
constexpr std::array check_names{"0"sv, "1"sv};
constexpr std::array bind_names{"none"sv, "auto"sv};
constexpr std::array cma_names{"auto"sv, "off"sv};
constexpr std::array long_names{"auto"sv, "packets"sv, "one_side"sv, "both"sv};
constexpr std::array policy_names{"local"sv, "random"sv, "all"sv, "adaptive"sv};

[[noreturn]] void refuse(const setting& row, given_value value, std::string_view why) {
  throw error{errc::configuration, fmt::format("{}='{}' {}; allowed: {}", origin_of(row, value.is_member), value.text,
                                               why, allowed_values(row))};
}

// Digits, then (sizes only) nothing, B, KiB, MiB or GiB.
std::uint64_t parse_number(const setting& row, given_value given) {
  const std::string_view text = given.text;
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc::result_out_of_range) refuse(row, given, "is out of range");
  if (problem != std::errc{}) refuse(row, given, "is not a number");
  const std::string_view suffix{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  std::uint64_t unit = 1;
  if (!suffix.empty()) {
    if (row.type != "bytes") refuse(row, given, "is not a whole number");
    if (suffix == "KiB")
      unit = KiB;
    else if (suffix == "MiB")
      unit = MiB;
    else if (suffix == "GiB")
      unit = GiB;
    else if (suffix != "B")
      refuse(row, given, "has an unknown unit");
  }
  if (value > std::numeric_limits<std::uint64_t>::max() / unit) refuse(row, given, "is out of range");
  value *= unit;
  if (value < row.least || value > row.most) refuse(row, given, "is out of range");
  if (row.power_of_two && (value & (value - 1)) != 0) refuse(row, given, "is not a power of two");
  if (row.multiple_of != 0 && value % row.multiple_of != 0) refuse(row, given, "is not such a multiple");
  return value;
}

template <auto Field>
using field_type = std::remove_reference_t<decltype(std::declval<settings&>().*Field)>;

template <class T>
struct unwrapped {
  using type = T;
};
template <class T>
struct unwrapped<std::optional<T>> {
  using type = T;
};

// A number, set or optional.
template <auto Field>
constexpr setting number(std::string_view name, std::string_view type, std::uint64_t least, std::uint64_t most,
                         std::string_view meaning) {
  using value = typename unwrapped<field_type<Field>>::type;
  setting row{name, type, meaning, least, most, 0, false, {}, nullptr, nullptr};
  row.assign = [](const setting& self, settings& into, given_value given) {
    into.*Field = static_cast<value>(parse_number(self, given));
  };
  row.show = [](const setting&, const settings& from) -> std::string {
    if constexpr (std::is_same_v<field_type<Field>, value>)
      return fmt::format("{}", from.*Field);
    else
      return from.*Field ? fmt::format("{}", *(from.*Field)) : std::string{};
  };
  return row;
}

constexpr setting power_of_two(setting row) {
  row.power_of_two = true;
  return row;
}

constexpr setting multiple_of(std::uint64_t divisor, setting row) {
  row.multiple_of = divisor;
  return row;
}

// An enumeration whose enumerators are 0, 1, 2 ... in the order of `names`.
template <auto Field>
constexpr setting choice(std::string_view name, std::span<const std::string_view> names, std::string_view meaning) {
  setting row{name, "choice", meaning, 0, 0, 0, false, names, nullptr, nullptr};
  row.assign = [](const setting& self, settings& into, given_value given) {
    const auto found = std::find(self.names.begin(), self.names.end(), given.text);
    if (found == self.names.end()) refuse(self, given, "is not one of the choices");
    into.*Field = static_cast<field_type<Field>>(found - self.names.begin());
  };
  row.show = [](const setting& self, const settings& from) {
    return std::string{self.names[static_cast<std::size_t>(from.*Field)]};
  };
  return row;
}

template <auto Field>
constexpr setting text(std::string_view name, std::string_view meaning) {
  setting row{name, "text", meaning, 0, 0, 0, false, {}, nullptr, nullptr};
  row.assign = [](const setting&, settings& into, given_value given) { into.*Field = given.text; };
  row.show = [](const setting&, const settings& from) { return from.*Field; };
  return row;
}

// Algorithms by operation.
template <auto Field>
constexpr setting algorithms(std::string_view name, std::string_view meaning) {
  setting row = text<Field>(name, meaning);
  row.type = "algorithms";
  row.assign = [](const setting& self, settings& into, given_value given) {
    if (const std::string fault = fault_of_algorithms(given.text); !fault.empty()) refuse(self, given, fault);
    into.*Field = given.text;
  };
  return row;
}

// Seconds, also parts of them.
template <auto Field>
constexpr setting seconds(std::string_view name, std::uint64_t most, std::string_view meaning) {
  setting row{name, "time", meaning, 0, most, 0, false, {}, nullptr, nullptr};
  row.assign = [](const setting& self, settings& into, given_value given) {
    const char* const end_of_text = given.text.data() + given.text.size();
    double value = 0;
    const auto [end, problem] = std::from_chars(given.text.data(), end_of_text, value);
    const bool is_whole = problem == std::errc{} && end == end_of_text;
    if (!is_whole && problem != std::errc::result_out_of_range) refuse(self, given, "is not a number");
    // Neither is a number that is none (NaN).
    if (!is_whole || !(value >= 0 && value <= static_cast<double>(self.most))) refuse(self, given, "is out of range");
    into.*Field = value;
  };
  row.show = [](const setting&, const settings& from) { return fmt::format("{:g}", from.*Field); };
  return row;
}

// The text of a member, as a variable would have it; "" if it is not given.
std::string text_of(const setting& /*row*/, const std::optional<std::size_t>& given) {
  return given ? fmt::format("{}", *given) : std::string{};
}
std::string text_of(const setting& /*row*/, const std::string& given) { return given; }
// False is `off`, `none` or `0`, on whichever side it stands.
std::string text_of(const setting& row, const std::optional<bool>& given) {
  if (!given) return {};
  const bool first_is_on = row.names[0] != "off" && row.names[0] != "none" && row.names[0] != "0";
  return std::string{row.names[*given == first_is_on ? 0 : 1]};
}
template <class Choice>
requires std::is_enum_v<Choice> std::string text_of(const setting& row, const std::optional<Choice>& given) {
  if (!given) return {};
  const auto index = static_cast<std::size_t>(*given);
  return index < row.names.size() ? std::string{row.names[index]} : fmt::format("{}", index);
}

// Marks a setting of a runtime, by its member.
template <auto Member>
constexpr setting of_rank(setting row) {
  row.scope = setting_scope::rank;
  row.member = [](const setting& self, const runtime_options& from) { return text_of(self, from.*Member); };
  return row;
}
template <auto Member>
constexpr setting of_job(setting row) {
  row = of_rank<Member>(row);
  row.scope = setting_scope::job;
  return row;
}

using s = settings;
using o = runtime_options;
constexpr std::array table{
    choice<&s::boot>("WEFT_BOOT", boot_names, "how ranks find each other; auto looks at the launcher's environment"),
    text<&s::boot_dir>("WEFT_BOOT_DIR", "file boot: a private directory shared by the ranks of the job"),
    text<&s::boot_key>("WEFT_BOOT_KEY",
                       "file boot: a text of this job's own; ranks that were told another are refused"),
    number<&s::rank>("WEFT_RANK", "count", 0, (1U << 24) - 1, "file boot: this process's rank"),
    number<&s::size>("WEFT_SIZE", "count", 1, 1U << 24, "file boot: the number of ranks"),
    number<&s::boot_timeout_s>("WEFT_BOOT_TIMEOUT_S", "seconds", 1, 86400, "how long a step of the start-up may take"),
    of_job<&o::bind>(choice<&s::bind>(
        "WEFT_BIND", bind_names,
        "auto: ranks that a launcher left on the same processors share the cores out, as weft-run does")),
    choice<&s::log>("WEFT_LOG", log_names, "what is told on standard error: this level and those before it"),
    of_rank<&o::print_counters>(
        choice<&s::print_counters>("WEFT_PRINT_COUNTERS", switch_names,
                                   "whether what a device has counted is told on standard error when it goes")),
    seconds<&s::stuck_after_s>("WEFT_STUCK_AFTER", 86400,
                               "if nothing moves for so long, the rank writes what it waits for to standard error; 0: "
                               "it does not; weft-run sets 10 unless it is set"),
    of_job<&o::packet_count>(
        number<&s::packet_count>("WEFT_PACKET_COUNT", "count", 64, 1U << 24, "packets in a runtime's pool")),
    of_job<&o::packet_bytes>(
        multiple_of(64, number<&s::packet_bytes>("WEFT_PACKET_BYTES", "bytes", 512, 16 * MiB, "bytes in a packet"))),
    of_job<&o::ring_cells>(power_of_two(number<&s::ring_cells>(
        "WEFT_RING_CELLS", "count", 8, 1U << 20, "64-byte cells in a shared-memory ring between two devices"))),
    of_job<&o::devices_max>(
        number<&s::devices_max>("WEFT_DEVICES_MAX", "count", 1, 64, "devices that a rank may have at a time")),
    of_rank<&o::progress_policy>(choice<&s::policy>(
        "WEFT_PROGRESS_POLICY", policy_names,
        "which devices a thread polls when its own is quiet: no other, another one, all, the neglected")),
    of_job<&o::shared_bytes>(
        multiple_of(4 * KiB, number<&s::shared_bytes>("WEFT_SHARED_BYTES", "bytes", 4 * MiB, 1024 * GiB,
                                                      "address space for memory that Weft allocates and peers map"))),
    of_job<&o::regions_max>(power_of_two(number<&s::regions_max>("WEFT_REGIONS_MAX", "count", 64, 1U << 20,
                                                                 "memory regions that a rank may have at a time"))),
    of_job<&o::transport>(text<&s::transport>(
        "WEFT_TRANSPORT",
        "the transports to use, in order of preference, separated by commas; sim: before one wraps it")),
    of_job<&o::coll>(algorithms<&s::coll>(
        "WEFT_COLL",
        "the algorithms of collectives, by operation, as in allreduce:ring,broadcast:binomial; what such an algorithm "
        "can't do is done by the one that the rules choose")),
    of_job<&o::check>(
        choice<&s::check>("WEFT_CHECK", check_names,
                          "1: before a collective its members compare their calls, and refuse calls that differ; MPI "
                          "refuses calls that its threads may not make; 1 is the default of debug builds")),
    of_rank<&o::sim_seed>(number<&s::sim_seed>("WEFT_SIM_SEED", "count", 0, std::numeric_limits<std::uint64_t>::max(),
                                               "sim: what all its choices come from; 0 draws one and prints it")),
    of_rank<&o::sim_delay_percent>(
        number<&s::sim_delay_percent>("WEFT_SIM_DELAY_PERCENT", "count", 0, 100, "sim: arrivals that are held back")),
    of_rank<&o::sim_refuse_percent>(number<&s::sim_refuse_percent>("WEFT_SIM_REFUSE_PERCENT", "count", 0, 100,
                                                                   "sim: posts that are refused though there is room")),
    of_rank<&o::sim_deny_percent>(
        number<&s::sim_deny_percent>("WEFT_SIM_DENY_PERCENT", "count", 0, 100,
                                     "sim: direct copies, and mappings of peers' memory, that are denied")),
    of_rank<&o::sim_fail>(
        text<&s::sim_fail>("WEFT_SIM_FAIL",
                           "sim: a direct copy that fails: read:17 is the 17th of a rank, read:17:gone as "
                           "if the peer were dead; or write:")),
    of_rank<&o::shm_cma>(
        choice<&s::shm_cma>("WEFT_SHM_CMA", cma_names, "whether large messages are read from the peer's memory")),
    of_rank<&o::long_messages>(choice<&s::long_messages>(
        "WEFT_LONG_MESSAGES", long_names,
        "how messages longer than a packet travel where the receiver can read the sender's memory: by both above 32 "
        "KiB "
        "and else as the first ones have shown to be fastest, in packets, copied by the receiver, or by both")),
    of_rank<&o::copy_piece_bytes>(multiple_of(
        4 * KiB, number<&s::copy_piece_bytes>("WEFT_COPY_PIECE_BYTES", "bytes", 0, 512 * KiB,
                                              "what a side copies at a time where both copy a long message; 0: chosen "
                                              "by size"))),
    of_rank<&o::ofi_provider>(text<&s::ofi_provider>(
        "WEFT_OFI_PROVIDER",
        "libfabric: the provider to use, as in tcp;ofi_rxm; rank 0 takes the fastest unless said")),
    of_rank<&o::unexpected_bytes_max>(
        number<&s::unexpected_bytes_max>("WEFT_UNEXPECTED_BYTES_MAX", "bytes", 0, 1024 * GiB,
                                         "memory for messages whose id is not registered yet; as much again for copies "
                                         "of messages without a receive, of each sender an equal part")),
    of_rank<&o::state_bytes_max>(number<&s::state_bytes_max>("WEFT_STATE_BYTES_MAX", "bytes", 1, 1024 * GiB,
                                                             "memory for all operations, receives and waiting messages "
                                                             "of a rank together; unless set, a quarter of what the "
                                                             "process may have")),
    of_rank<&o::operations_max>(number<&s::operations_max>(
        "WEFT_OPERATIONS_MAX", "count", 1, 1U << 24,
        "long operations of a rank that may be under way at a time; unless set, as many as `WEFT_STATE_BYTES_MAX` "
        "allows")),
    of_rank<&o::receives_max>(number<&s::receives_max>(
        "WEFT_RECEIVES_MAX", "count", 1, 1U << 24,
        "receives that may be posted at a time; unless set, as many as `WEFT_STATE_BYTES_MAX` allows")),
    of_rank<&o::unexpected_sends_max>(number<&s::unexpected_sends_max>(
        "WEFT_UNEXPECTED_SENDS_MAX", "count", 1, 1U << 24,
        "messages that may wait for their receives before senders are held back; unless set, as many as "
        "`WEFT_STATE_BYTES_MAX` allows")),
    of_rank<&o::unexpected_packets_max>(number<&s::unexpected_packets_max>(
        "WEFT_UNEXPECTED_PACKETS_MAX", "count", 1, 1U << 24,
        "packets of messages without a receive, all ranks' together, a quarter of `WEFT_PACKET_COUNT` at most; beyond "
        "a sender's share its messages are copied, and beyond its part of `WEFT_UNEXPECTED_BYTES_MAX` it keeps the "
        "bytes until they are wanted; 1: it does so without copies")),
    of_rank<&o::matching_buckets>(
        power_of_two(number<&s::matching_buckets>("WEFT_MATCHING_BUCKETS", "count", 16, 1U << 24,
                                                  "buckets that the table in which sends and receives meet has at "
                                                  "most; it begins with 1024 and doubles when much "
                                                  "waits"))),
    of_rank<&o::foreign_packets_max>(number<&s::foreign_packets_max>(
        "WEFT_FOREIGN_PACKETS_MAX", "count", 0, 1U << 24, "packets of peers that a rank keeps before delivery copies")),
    of_rank<&o::queue_capacity>(
        number<&s::queue_capacity>("WEFT_QUEUE_CAPACITY", "count", 1, 1U << 28,
                                   "entries of a bounded completion queue, for each of the first threads that signal")),
    number<&s::mpi_vcis>("WEFT_MPI_VCIS", "count", 1, 64,
                         "MPI: devices that the communicators of a rank share at MPI_THREAD_MULTIPLE; all ranks should "
                         "have as many"),
    choice<&s::mpi_global_progress>(
        "WEFT_MPI_GLOBAL_PROGRESS",
        check_names, "MPI: 0: a call makes progress on the devices of its own communicators alone, against MPI's rule"),
    choice<&s::mpi_progress_thread>("WEFT_MPI_PROGRESS_THREAD", check_names,
                                    "MPI: 1: a thread makes progress on each VCI while the program computes"),
    number<&s::launcher_pid>("WEFT_LAUNCHER_PID", "count", 1, count_max, "set by weft-run: its process id"),
    number<&s::run_terminal_columns>("WEFT_RUN_TERMINAL_COLUMNS", "count", 1, 1U << 16,
                                     "set by weft-run for rank 0: the width of the terminal its messages end on"),
    text<&s::run_ask_word>("WEFT_RUN_ASK_WORD",
                           "set by weft-run: the shared memory by which it asks its ranks what they wait for"),
    number<&s::test_ranks>("WEFT_TEST_RANKS", "count", 1, 1U << 16, "set by the tests: the ranks a test must find"),
};

static_assert(table.size() <= 64, "settings::from_members has a bit for each row");

// Names that say where something is installed: CMake reads <Package>_ROOT and <Package>_DIR, module files set most of
// the others. Some are one letter away from a setting.
constexpr std::array names_of_installations{
    "ROOT"sv,       "DIR"sv,         "HOME"sv,         "PREFIX"sv,    "PATH"sv,        "BASE"sv,          "VERSION"sv,
    "BIN"sv,        "BINDIR"sv,      "BIN_DIR"sv,      "LIB"sv,       "LIBDIR"sv,      "LIB_DIR"sv,       "LIBS"sv,
    "LIBRARY"sv,    "LIBRARIES"sv,   "INC"sv,          "INCDIR"sv,    "INC_DIR"sv,     "INCLUDE"sv,       "INCLUDES"sv,
    "INCLUDEDIR"sv, "INCLUDE_DIR"sv, "INCLUDE_DIRS"sv, "DOC"sv,       "DOC_DIR"sv,     "MAN"sv,           "SHARE"sv,
    "SRC"sv,        "SRC_DIR"sv,     "SOURCE_DIR"sv,   "BUILD_DIR"sv, "INSTALL_DIR"sv, "INSTALL_PREFIX"sv};

// Levenshtein's distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

// The name in capitals, its words in alphabetical order: MAX_RECEIVES is nearly RECEIVES_MAX.
std::string in_order(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (c == '_')
      words.emplace_back();
    else
      words.back() += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  std::sort(words.begin(), words.end());
  return fmt::format("{}", fmt::join(words, "_"));
}

// A name that is nearly a setting's is a slip, and refused; any other is of no concern to Weft, and may be meant for
// something else.
void take_foreign(std::string_view name, settings& into) {
  const std::string_view own = name.substr(prefix.size());
  if (std::find(names_of_installations.begin(), names_of_installations.end(), own) != names_of_installations.end())
    return;
  const setting* nearest = nullptr;
  std::size_t least = own.size() + name.size();
  const std::string ordered = in_order(own);
  for (const setting& row : table) {
    const std::string_view known = row.name.substr(prefix.size());
    const std::size_t far = std::min(distance(own, known), distance(ordered, in_order(known)));
    if (far < least) {
      least = far;
      nearest = &row;
    }
  }
  const std::size_t letters = nearest->name.size() - prefix.size();
  if (least <= (letters <= 5 ? 1U : letters <= 9 ? 2U : 3U)) {
    throw error{errc::configuration, fmt::format("environment variable {} is unknown to Weft; did you mean {}? "
                                                 "(docs/configuration.md lists all)",
                                                 name, nearest->name)};
  }
  into.foreign_variables.push_back(fmt::format(
      "environment variable {} is no setting of Weft's, and has no effect{} (docs/configuration.md lists all)", name,
      least <= letters / 2 ? fmt::format("; did you mean {}?", nearest->name) : std::string{}));
}

}  // namespace

std::span<const setting> setting_table() noexcept { return table; }

std::uint32_t matching_bucket_count(const settings& from) noexcept {
  constexpr std::uint32_t most = 1U << 24;
  return from.matching_buckets.value_or(most);
}

std::string member_name(const setting& row) {
  std::string out{row.name.substr(prefix.size())};
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string origin_of(const setting& row, bool is_member) {
  return is_member ? fmt::format("runtime_options::{}", member_name(row))
                   : fmt::format("environment variable {}", row.name);
}

std::string allowed_values(const setting& row) {
  if (row.type == "choice") return fmt::format("{}", fmt::join(row.names, ", "));
  if (row.type == "text") return "text that is not empty";
  if (row.type == "algorithms") return fmt::format("operation:algorithm, separated by commas, of {}", all_algorithms());
  if (row.type == "time") return fmt::format("seconds from {} to {}, as in 10 or 0.5", row.least, row.most);
  std::string words = fmt::format("a whole number from {} to {}", row.least, row.most);
  if (row.type == "bytes") words += " (bytes, or with a unit as in 8KiB, 1MiB, 2GiB)";
  if (row.type == "seconds") words += " (seconds)";
  if (row.power_of_two) words += ", a power of two";
  if (row.multiple_of != 0) words += fmt::format(", a multiple of {}", row.multiple_of);
  return words;
}

settings parse_settings(const char* const* environment) {
  settings result;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry{*environment};
    if (!entry.starts_with(prefix)) continue;
    const std::size_t equals = entry.find('=');
    const std::string_view name = entry.substr(0, equals);
    const std::string_view value = equals == entry.npos ? std::string_view{} : entry.substr(equals + 1);
    const auto row = std::find_if(table.begin(), table.end(), [&](const setting& r) { return r.name == name; });
    if (row == table.end()) {
      take_foreign(name, result);
      continue;
    }
    if (value.empty()) refuse(*row, {value}, "is empty");
    row->assign(*row, result, {value});
  }
  return result;
}

const settings& process_settings() {
  // Never destroyed: a runtime may end in a function of atexit, or in a destructor of a library.
  static const settings& parsed = *new settings{parse_settings(::environ)};
  return parsed;
}

}  // namespace weft::base
