#include "dt/options.hpp"

#include <CLI/CLI.hpp>

#include <map>

#include "command_line.hpp"
#include "number_option.hpp"
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

// For `transform`: one of these names, and no number, which CLI11's own would also take.
template <class Value>
CLI::Validator one_of(const std::map<std::string, Value>& names) {
  std::string all;
  for (const auto& [name, value] : names) all += (all.empty() ? "" : ", ") + name;
  const auto check = [&names, all](std::string& text) -> std::string {
    const auto found = names.find(text);
    if (found == names.end()) return "'" + text + "' is none of " + all;
    text = std::to_string(static_cast<unsigned>(found->second));
    return {};
  };
  return CLI::Validator{check, "one of " + all};
}

}  // namespace

const char* name_of(graph_kind kind) noexcept { return find_name(kinds, kind); }
const char* name_of(graph_class of) noexcept { return find_name(classes, of); }

command_line read_command_line(int argc, const char* const* argv) {
  command_line out;
  unsigned kind = 0, size = 0;
  std::int64_t expected = 0;
  bool quiet = false;
  CLI::App app{"Sends arrays along the edges of a graph (NAS DT), with a fiber for each node.", "weft-dt"};
  app.add_option("GRAPH", kind, "BH: many sources, one sink; WH: one source, many sinks; SH: layers that exchange")
      ->required()
      ->transform(one_of(kinds));
  app.add_option("CLASS", size, "how many nodes, and how long arrays: S, W, A or B")
      ->required()
      ->transform(one_of(classes));
  app.add_option("--workers", out.run.workers, "threads of each process that run fibers")
      ->transform(weft::number_from(1, 1024))
      ->capture_default_str();
  CLI::Option* const expects =
      app.add_option("--expect", expected, "compare the checksum with this number, not with the published one")
          ->transform(weft::number_from<std::int64_t>(0, INT64_MAX));
  CLI::Option* const alone = app.add_flag("--alone", out.run.is_alone, "the arithmetic of the nodes, without messages");
  alone->excludes(expects);
  app.add_flag("--json", out.json, "one JSON object instead of text");
  app.add_flag("--no-progress", quiet, "no progress line, even on a terminal");
  app.set_version_flag("--version", weft::version_of("weft-dt"));
  try {
    app.parse(argc, argv);
    out.run.kind = static_cast<graph_kind>(kind);
    out.run.size = static_cast<graph_class>(size);
    if (expects->count() != 0) out.expected = expected;
  } catch (const CLI::ParseError& e) {
    out.exit_code = weft::answer_to(app, e, out.text);
  }
  out.show_progress = !quiet;
  return out;
}

}  // namespace weft_dt
