// SPDX-License-Identifier: BSD-3-Clause
// The environment, one variable a line: refused with an error that says why, or settings that every row can show.
#include <array>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "boot/environment.hpp"
#include "fuzz/input.hpp"
#include "net/transport_list.hpp"
#include "weft/error.hpp"

namespace {

using namespace std::string_view_literals;
using weft::fuzz::require;

constexpr std::array transports{"self"sv, "shm"sv, "ofi"sv};

void expect_error(const weft::error& problem) {
  require(problem.code() == weft::errc::configuration || problem.code() == weft::errc::boot_failed, "another error");
  require(std::string_view{problem.what()}.size() > 10, "an error without words");
}

// What a row shows, it also reads, and shows again.
void read_back(const weft::base::settings& settings) {
  for (const weft::base::setting& row : weft::base::setting_table()) {
    const std::string shown = row.show(row, settings);
    if (shown.empty()) continue;
    weft::base::settings again;
    row.assign(row, again, {shown});
    require(row.show(row, again) == shown, "a value changes when it is read back");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::vector<const char*> environment;
  for (const std::string& line : lines) environment.push_back(line.c_str());
  environment.push_back(nullptr);
  try {
    const weft::base::settings settings = weft::base::parse_settings(environment.data());
    read_back(settings);
    const auto job = weft::boot::describe_job(environment.data(), settings);
    require(job.rank < job.size, "a rank beyond the job");
  } catch (const weft::error& problem) {
    expect_error(problem);
  }
  try {
    const auto list = weft::net::parse_transport_list(text, transports, size % 2 == 0);
    require(!list.empty() && list.front().name == "self" && list.size() <= transports.size(), "a list without self");
  } catch (const weft::error& problem) {
    expect_error(problem);
  }
  return 0;
}
