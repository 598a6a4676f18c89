// SPDX-License-Identifier: BSD-3-Clause
// UCX and libfabric, by the programs that come with them; one thread each. Their hand-over is measured before and after
// the launch, as they do not do it themselves.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "weft-perf/compare/peers.hpp"
#include "weft-perf/limits/handover.hpp"
#include "weft/error.hpp"

namespace weft::perf {
namespace {

constexpr double pair_limit_s = 20;

// How often, for about the time that a point has.
std::size_t iterations(const point& measured) {
  const double least = measured.over_network() ? 4e-5 : measured.kind == kind::latency ? 3e-7 : 1e-7;
  const double each = std::max(least, static_cast<double>(measured.bytes) / 8e9);
  return std::clamp<std::size_t>(static_cast<std::size_t>(measured.seconds / each), 10, 5'000'000);
}

// Of the last line that begins with a number.
std::vector<std::string> last_words(const std::string& output) {
  std::istringstream lines{output};
  std::vector<std::string> words;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream text{line};
    std::vector<std::string> now;
    for (std::string word; text >> word;) now.push_back(word);
    if (!now.empty() && std::isdigit(static_cast<unsigned char>(now[0][0])) != 0) words = now;
  }
  return words;
}

double number_at(const std::vector<std::string>& words, std::size_t index) {
  return index < words.size() ? std::strtod(words[index].c_str(), nullptr) : 0;
}

template <class Measure>
std::optional<sample> labelled_sample(Measure&& measure) {
  sample out;
  out.before_ns = measure_handover_here();
  out.value = measure();
  out.after_ns = measure_handover_here();
  return out.value > 0 ? std::optional{out} : std::nullopt;
}

std::string ucx_test(const point& measured) {
  if (measured.threads > 1 || measured.over_network()) return {};
  switch (measured.kind) {
    case kind::latency: return measured.operation == operation::am ? "ucp_am_lat" : "tag_lat";
    case kind::stream:
    case kind::rate: return measured.operation == operation::am ? "ucp_am_bw" : "tag_bw";
    case kind::bandwidth: return "tag_bw";
    case kind::put_visible: return "ucp_put_lat";
    case kind::put_rate: return "ucp_put_bw";
    case kind::get: return "ucp_get";
    default: return {};  // of puts, until they are complete at the target; and all ranks together
  }
}

// Its last line: iterations; latencies (median, average, overall; us); bandwidths (average, overall; MiB/s); messages a
// second (average, overall).
double ucx_value(const point& measured, const launched& result) {
  const std::vector<std::string> words = last_words(result.output);
  if (result.exit_code != 0 || words.size() < 8) return 0;
  if (measured.is_latency()) return number_at(words, 3) * 1e3;
  if (measured.kind == kind::bandwidth || measured.kind == kind::put_rate) return number_at(words, 5) * 1048576.0;
  return number_at(words, 7);
}

round_result run_ucx(const std::string& program, const std::vector<point>& points) {
  round_result out(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const point& measured = points[i];
    const std::string test = ucx_test(measured);
    if (test.empty()) continue;
    const std::string port = std::to_string(20000 + (std::hash<std::string>{}(measured.text()) + i) % 20000);
    const std::size_t count = iterations(measured);
    const std::vector<std::string> client{program, "127.0.0.1",
                                          "-p",    port,
                                          "-t",    test,
                                          "-s",    std::to_string(measured.bytes),
                                          "-n",    std::to_string(count),
                                          "-w",    std::to_string(count / 4 + 1),
                                          "-c",    "1",
                                          "-f"};
    out[i] = labelled_sample([&] {
      return ucx_value(measured, run_pair({program, "-p", port, "-c", "0"}, client, pair_limit_s,
                                          {{"UCX_WARN_UNUSED_ENV_VARS", "n"}}));
    });
  }
  return out;
}

// Columns: bytes, sent, acknowledged, total, time, MB/s, us a transfer, M transfers a second.
round_result run_libfabric(const std::string& program, const std::vector<point>& points) {
  round_result out(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const point& measured = points[i];
    if (measured.threads > 1 || measured.kind != kind::latency) continue;
    const std::string port = std::to_string(42000 + i);
    const std::string provider = measured.over_network() ? measured.provider : "shm";
    const std::vector<std::string> common{program,
                                          "-p",
                                          provider,
                                          "-e",
                                          "rdm",
                                          "-I",
                                          std::to_string(iterations(measured)),
                                          "-S",
                                          std::to_string(measured.bytes)};
    std::vector<std::string> server{"taskset", "-c", "0"};
    std::vector<std::string> client{"taskset", "-c", "1"};
    server.insert(server.end(), common.begin(), common.end());
    client.insert(client.end(), common.begin(), common.end());
    server.insert(server.end(), {"-B", port});
    client.insert(client.end(), {"-P", port, "127.0.0.1"});
    out[i] = labelled_sample([&] {
      const launched result = run_pair(server, client, pair_limit_s);
      const std::vector<std::string> words = last_words(result.output);
      return result.exit_code == 0 ? number_at(words, 6) * 1e3 : 0.0;
    });
  }
  return out;
}

}  // namespace

void add_ucx_peer(peer_list& to) {
  if (const auto program = find_program("ucx_perftest")) {
    to.present.push_back(
        {"UCX", [program = *program](const std::vector<point>& points) { return run_ucx(program, points); }});
  } else {
    to.absent.emplace_back("UCX");
  }
}

void add_libfabric_peer(peer_list& to) {
  if (const auto program = find_program("fi_pingpong")) {
    to.present.push_back({"libfabric", [program = *program](const std::vector<point>& points) {
                            return run_libfabric(program, points);
                          }});
  } else {
    to.absent.emplace_back("libfabric");
  }
}

}  // namespace weft::perf
