// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <map>

#include "command_line.hpp"

namespace mpi_amlayer {

namespace {

const std::map<std::string, layer_form> forms{
    {"one", layer_form::one}, {"vci", layer_form::vci}, {"tag", layer_form::tag}};
const std::map<std::string, completion_kind> completions{{"poll", completion_kind::poll},
                                                         {"continue", completion_kind::continuation},
                                                         {"continue-request", completion_kind::continue_request}};
const std::map<std::string, traffic_kind> kinds{{"ping-pong", traffic_kind::ping_pong}, {"flood", traffic_kind::flood}};

template <class Value>
const char* find_name(const std::map<std::string, Value>& names, Value value) noexcept {
  for (const auto& [name, named] : names) {
    if (named == value) return name.c_str();
  }
  return "";
}

constexpr const char* footer =
    "Each rank of an even number sends to its neighbour. Environment variables of the MPI library choose the rest:\n"
    "  Weft    WEFT_MPI_VCIS=N: how many VCIs; WEFT_MPI_GLOBAL_PROGRESS=0: a thread makes progress on its own alone\n"
    "  MPICH   MPIR_CVAR_CH4_NUM_VCIS=N, MPIR_CVAR_CH4_GLOBAL_PROGRESS=0\n"
    "The exit code is 1 if a message was doubled or changed, and 2 for wrong arguments. The program waits for a lost "
    "one.";

}  // namespace

const char* name_of(layer_form form) noexcept { return find_name(forms, form); }
const char* name_of(completion_kind completion) noexcept { return find_name(completions, completion); }
const char* name_of(traffic_kind traffic) noexcept { return find_name(kinds, traffic); }

command_line read_command_line(int argc, const char* const* argv, const std::string& library) {
  command_line out;
  weft::command_parser parser{"Sends active messages between threads of two processes, by calls of MPI alone.",
                              "mpi-amlayer", "mpi-amlayer with " + library};
  parser
      .add_choice("--form", out.form, forms,
                  "one: a communicator for all threads; vci: one for each thread; tag: one, in which each thread "
                  "receives from any source by a tag of its own")
      .with_default(name_of(out.form));
  parser
      .add_choice("--completion", out.completion, completions,
                  "how requests but that of headers are seen to be complete: poll: by tests; continue: by callbacks of "
                  "MPIX_Continue; continue-request: by callbacks that are registered in a continuation request of each "
                  "device")
      .with_default(name_of(out.completion));
  parser
      .add_choice("--traffic", out.traffic, kinds,
                  "ping-pong: each thread and its partner answer each other; flood: threads of even ranks only send")
      .with_default(name_of(out.traffic));
  parser.add_numbers("--threads", out.threads, 1, threads_max, "threads of each process").with_default("1");
  parser.add_numbers("--bytes", out.bytes, bytes_min, bytes_max, "bytes of a payload").with_default("8");
  parser.add_number("--messages", out.messages, 1, 100'000'000, "messages of each thread")
      .with_default(weft::number_text(out.messages));
  parser
      .add_number("--window", out.window, 2, 1024, "flood: messages of a thread that its partner has not acknowledged")
      .with_default(weft::number_text(out.window));
  parser
      .add_number("--vcis", out.vcis, 1, threads_max,
                  "form vci: how many the library has; thread T asks for number T modulo this")
      .with_default("threads");
  parser
      .add_number("--yield-after", out.yield_after, 1, 1'000'000,
                  "calls without success until a thread yields its core")
      .with_default(weft::number_text(out.yield_after));
  parser.add_flag("--json", out.json, "a JSON object for each number of threads and bytes instead of a table");
  parser.set_footer(footer);
  if (const auto answer = parser.parse(argc, argv)) {
    out.exit_code = answer->exit_code;
    out.text = answer->text;
  }
  return out;
}

}  // namespace mpi_amlayer
