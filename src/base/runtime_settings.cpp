// SPDX-License-Identifier: BSD-3-Clause
// The settings of one runtime: its members over the environment over the defaults.
#include <fmt/format.h>

#include <algorithm>

#include "base/config.hpp"
#include "weft/error.hpp"

namespace weft::base {
namespace {

const setting& row_of(std::string_view name) noexcept {
  return *std::ranges::find(setting_table(), name, &setting::name);
}

std::uint64_t bit_of(const setting& row) noexcept { return std::uint64_t{1} << (&row - setting_table().data()); }

bool is_member(const settings& settings, std::string_view name) noexcept {
  return (settings.from_members & bit_of(row_of(name))) != 0;
}

[[noreturn]] void refuse_both(const settings& all, std::string_view first, std::string_view other,
                              std::string_view why) {
  const auto given = [&](std::string_view name) {
    return fmt::format("{}={}", origin_of(all, name), row_of(name).show(row_of(name), all));
  };
  throw error{errc::configuration, fmt::format("{} contradicts {}: {}", given(first), given(other), why)};
}

// A variable may be meant for other programs of the environment. A member is meant for this runtime.
void refuse_contradictions(const settings& all) {
  const auto lists = [&](std::string_view part) { return all.transport.find(part) != std::string::npos; };
  if (is_member(all, "WEFT_SIM_FAIL") && !lists("sim:")) {
    refuse_both(all, "WEFT_SIM_FAIL", "WEFT_TRANSPORT",
                "no transport is simulated; sim: before a transport simulates it");
  }
  if (is_member(all, "WEFT_OFI_PROVIDER") && !lists("ofi")) {
    refuse_both(all, "WEFT_OFI_PROVIDER", "WEFT_TRANSPORT", "libfabric (ofi) is not among the transports");
  }
}

}  // namespace

std::string origin_of(const settings& settings, std::string_view name) {
  return origin_of(row_of(name), is_member(settings, name));
}

settings settings_of_runtime(const settings& process, const runtime_options& options) {
  settings result = process;
  for (const setting& row : setting_table()) {
    const std::string text = row.member != nullptr ? row.member(row, options) : std::string{};
    if (text.empty()) continue;
    row.assign(row, result, {.text = text, .is_member = true});
    result.from_members |= bit_of(row);
  }
  refuse_contradictions(result);
  return result;
}

}  // namespace weft::base
