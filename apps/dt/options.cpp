// SPDX-License-Identifier: BSD-3-Clause
#include "dt/options.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "command_line.hpp"
#include "program_version.hpp"

namespace weft_dt {

namespace {

const std::map<std::string, graph_kind> kinds{
    {"BH", graph_kind::black_hole}, {"WH", graph_kind::white_hole}, {"SH", graph_kind::shuffle}};
const std::map<std::string, graph_class> classes{
    {"S", graph_class::s}, {"W", graph_class::w}, {"A", graph_class::a}, {"B", graph_class::b}};

template <class Value>
const char* find_name(const std::map<std::string, Value>& names, Value value) noexcept {
  for (const auto& [name, named] : names) {
    if (named == value) return name.c_str();
  }
  return "";
}

}  // namespace

const char* name_of(graph_kind kind) noexcept { return find_name(kinds, kind); }
const char* name_of(graph_class size_class) noexcept { return find_name(classes, size_class); }

command_line read_command_line(int argc, const char* const* argv) {
  command_line out;
  std::optional<std::int64_t> expected;
  bool quiet = false;
  weft::command_parser parser{"Sends arrays along the edges of a graph (NAS DT), with a fiber for each node.",
                              "weft-dt", weft::version_of("weft-dt")};
  parser
      .add_choice("GRAPH", out.run.kind, kinds,
                  "BH: many sources, one sink; WH: one source, many sinks; SH: layers that exchange")
      .required();
  parser.add_choice("CLASS", out.run.size, classes, "how many nodes, and how long arrays: S, W, A or B").required();
  parser.add_number("--workers", out.run.workers, 1, 1024, "threads of each process that run fibers")
      .with_default(weft::number_text(out.run.workers));
  const weft::command_option expects = parser.add_number(
      "--expect", expected, 0, INT64_MAX, "compare the checksum with this number, not with the published one");
  parser.add_flag("--alone", out.run.is_alone, "the arithmetic of the nodes, without messages").excludes(expects);
  parser.add_flag("--json", out.json, "one JSON object instead of text");
  parser.add_flag("--no-progress", quiet, "no progress line, even on a terminal");
  if (const auto answer = parser.parse(argc, argv)) {
    out.exit_code = answer->exit_code;
    out.text = answer->text;
  }
  if (expected) out.expected = *expected;
  out.show_progress = !quiet;
  return out;
}

}  // namespace weft_dt
