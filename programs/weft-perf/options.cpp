// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/options.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>

#include "program_version.hpp"
#include "weft-perf/option_groups.hpp"

namespace weft::perf {
namespace {

const std::map<std::string, mode> modes{{"processes", mode::processes},
                                        {"threads-dedicated", mode::threads_dedicated},
                                        {"threads-shared", mode::threads_shared}};
const std::map<std::string, operation> operations{{"am", operation::am},
                                                  {"sendrecv", operation::sendrecv},
                                                  {"receiver-first", operation::receiver_first},
                                                  {"ordered", operation::ordered}};
const std::map<std::string, memory> memories{{"ordinary", memory::ordinary}, {"weft", memory::weft}};
const std::map<std::string, strided::ends> ends_of_messages{
    {"both", strided::ends::both}, {"sender", strided::ends::sender}, {"receiver", strided::ends::receiver}};
const std::map<std::string, progress_policy> policies{{"local", progress_policy::local},
                                                      {"random", progress_policy::random},
                                                      {"all", progress_policy::all},
                                                      {"adaptive", progress_policy::adaptive}};

const std::map<std::string, long_messages> all_long_messages{{"auto", long_messages::automatic},
                                                             {"packets", long_messages::packets},
                                                             {"one_side", long_messages::one_side},
                                                             {"both", long_messages::both}};

std::size_t size_of(const std::string& text, const char* option) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = text.substr(digits);
  const int shift = unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : unit.empty() || unit == "B" ? 0 : -1;
  if (digits == 0 || digits > 12 || shift < 0) throw command_mistake(option, "'" + text + "' is no size");
  const std::size_t bytes = std::stoull(text.substr(0, digits)) << shift;
  if (bytes == 0 || bytes > std::size_t{1} << 40) {
    throw command_mistake(option, "'" + text + "' is not from 1 byte to 1024 GiB");
  }
  return bytes;
}

void add_layout(command_parser& parser, options& out, texts& text) {
  parser.add_text(
      "--layout", text.layout,
      "BLOCK:STRIDE, as in 8:16: sends and receives whose bytes lie in blocks, packed and unpacked by a layout");
  parser.add_choice("--layout-at", out.bench.blocks.packed_ends, ends_of_messages,
                    "both, sender or receiver: the ends at which the bytes lie in blocks");
  parser.add_flag("--by-loops", out.bench.blocks.by_loops,
                  "without a layout: the program packs and unpacks whole messages by loops");
}

void set_layout(const std::string& text, strided& out) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw command_mistake("--layout", "'" + text + "' is not BLOCK:STRIDE");
  out.block_bytes = size_of(text.substr(0, colon), "--layout");
  out.stride_bytes = size_of(text.substr(colon + 1), "--layout");
  if (out.stride_bytes < out.block_bytes)
    throw command_mistake("--layout", "'" + text + "': blocks that are longer than the stride overlap");
}

void add_transport(command_parser& parser, texts& text) {
  parser.add_text("--transport", text.transport, "as WEFT_TRANSPORT");
  parser.add_text("--provider", text.provider, "as WEFT_OFI_PROVIDER");
}

void add_measuring(command_parser& parser, options& out, texts& text) {
  add_common(parser, out);
  parser.add_texts("--sizes,--size", text.sizes, "bytes of a message: 8, 64KiB, 1MiB; several with commas")
      .with_commas();
  parser.add_numbers("--threads", out.threads, 1, 1024, "threads of each process; several with commas");
  parser.add_choice(
      "--mode", out.mode, modes,
      "processes: one thread each; threads-dedicated: a device for each thread; threads-shared: one for all");
  parser.add_choice("--memory", out.memory, memories, "ordinary, or weft: allocated by the library");
  parser.add_choice("--pin", out.bench.pin, pinnings,
                    "core: each thread to a core, another one than its partner's; or none");
  parser.add_number("--yield-after", out.bench.yield_after, 0, std::numeric_limits<std::uint32_t>::max(),
                    "looks in vain before a thread gives way (0: threads that share cores take turns)");
  add_transport(parser, text);
  parser.add_flag("--verify", out.verify, "fill every message and look at every byte that arrives");
}

void add_operation(command_parser& parser, options& out) {
  parser.add_choice("--operation", out.operation, operations,
                    "am, sendrecv, receiver-first or ordered; the first two unless given");
}

void add_long_messages(command_parser& parser, options& out) {
  parser.add_choices(
      "--long-messages", out.bench.long_messages, all_long_messages,
      "how messages longer than a packet travel, as WEFT_LONG_MESSAGES; of several with commas, each has a "
      "round in turn");
}

void add_window(command_parser& parser, options& out) {
  parser.add_numbers("--window", out.windows, 1, 1 << 20, "messages before an answer is awaited; several with commas");
}

void add_attentiveness(command_parser& app, options& out, texts& text) {
  command_parser& parser =
      app.add_subcommand("attentiveness", "how long messages wait while the threads of devices compute");
  add_common(parser, out);
  add_transport(parser, text);
  parser.add_numbers("--threads", out.threads, 1, 64,
                     "threads that compute and make progress in turns; several with commas");
  parser.add_numbers("--devices", out.devices, 1, 62, "devices that they share, at most one each; several with commas");
  parser.add_choices("--policies", out.policies, policies, "several with commas; all of them unless given");
  parser.add_number("--handler-us", out.handler_us, 0.0, 1e6, "microseconds that handling a message takes (0)");
  parser.add_number("--task-us", out.task_us, 1.0, 1e6, "microseconds that a task takes, on average");
}

void add_subcommands(command_parser& app, options& out, texts& text) {
  command_parser& limits = app.add_subcommand("limits", "what the machine allows; runs alone, without a launcher");
  add_common(limits, out);
  command_parser& latency = app.add_subcommand("latency", "messages to and fro");
  command_parser& rate = app.add_subcommand("rate", "small messages, many at once, for a fixed time");
  command_parser& bandwidth = app.add_subcommand("bandwidth", "large messages, several at once");
  command_parser& put = app.add_subcommand("put", "puts, at the origin and visible at the target, and gets");
  command_parser& ring = app.add_subcommand("ring", "a message that goes round all ranks, which wait by device::wait");
  for (command_parser* each : {&latency, &rate, &bandwidth, &put, &ring}) add_measuring(*each, out, text);
  for (command_parser* each : {&latency, &rate, &bandwidth, &ring}) add_operation(*each, out);
  for (command_parser* each : {&latency, &bandwidth}) add_long_messages(*each, out);
  for (command_parser* each : {&rate, &bandwidth, &put}) add_window(*each, out);
  for (command_parser* each : {&latency, &rate}) {
    each->add_flag("--plain", out.uses_defaults,
                   "as a plain program: threads wait by device::wait, on the cores that the launcher gives them");
  }
  bandwidth.add_text("--pieces", text.pieces, "messages are lists of pieces of so many bytes, at both sides");
  for (command_parser* each : {&latency, &bandwidth}) add_layout(*each, out, text);
  rate.add_flag("--stream", out.stream, "active messages without windows: the transport alone holds them back");
  put.add_flag("--touch", out.touch, "the origin writes and the target reads the data each time, outside the time");
  command_parser& wait = app.add_subcommand("wait", "what an idle wait costs, and how long a wake-up takes");
  add_common(wait, out);
  add_transport(wait, text);
  add_attentiveness(app, out, text);
  command_parser& hooks =
      app.add_subcommand("hooks", "how soon hooks notice that a task is over; runs without a launcher");
  add_common(hooks, out);
  hooks.add_numbers("--threads", out.threads, 1, 62,
                    "threads that make progress, where they are what varies; with commas");
  command_parser& fibers = app.add_subcommand(
      "fibers", "user-level threads: switches and signals, without a launcher; messages between them, as two ranks");
  add_common(fibers, out);
  add_transport(fibers, text);
  fibers.add_numbers("--writes", out.fibers.writes, 0, 1 << 24,
                     "to random places of 1 GiB, by a fiber before each message; with commas");
  fibers.add_texts("--sizes", text.sizes, "bytes of a message, whole words; several with commas").with_commas();
  fibers.add_numbers("--workers", out.fibers.workers, 0, 64,
                     "of each rank; 0: one for each of its cores; several with commas");
  fibers.add_flag("--progress-thread", out.fibers.progress_thread, "a thread makes progress, and the workers none");
  fibers.add_text("--peers", out.peers_folder, "folder of the sources that are compiled for peers");
  fibers.add_numbers("--fibers", out.fibers.counts, 1, 1 << 22,
                     "of each of two ranks; without a launcher, these beside as many threads; with commas");
  add_comparisons(app, out, text);
}

// What the library reads; it is asked only after this.
void set_environment(const texts& text) {
  if (!text.transport.empty()) setenv("WEFT_TRANSPORT", text.transport.c_str(), 1);
  if (!text.provider.empty()) setenv("WEFT_OFI_PROVIDER", text.provider.c_str(), 1);
}

void check_together(const options& chosen) {
  const bool threaded =
      std::any_of(chosen.threads.begin(), chosen.threads.end(), [](std::uint32_t each) { return each > 1; });
  const bool has_modes = chosen.command != "attentiveness" && chosen.command != "hooks" &&
                         chosen.command != "collectives" && chosen.command != "resources";
  if (threaded && has_modes && chosen.mode == mode::processes) {
    throw command_mistake("--threads",
                          "several threads need --mode threads-dedicated or threads-shared; several processes "
                          "come with weft-run -n");
  }
  if (chosen.stream && chosen.operation.value_or(operation::am) != operation::am) {
    throw command_mistake("--stream", "only active messages need no receives, so only they can stream");
  }
  if (threaded && chosen.command == "ring") throw command_mistake("--threads", "one of each rank is in the ring");
  const strided& blocks = chosen.bench.blocks;
  if (blocks.block_bytes == 0) {
    if (blocks.by_loops || blocks.packed_ends != strided::ends::both)
      throw command_mistake(blocks.by_loops ? "--by-loops" : "--layout-at", "it needs --layout BLOCK:STRIDE");
    return;
  }
  if (chosen.operation == operation::am)
    throw command_mistake("--layout", "a layout is measured by sends and receives, not by active messages");
  if (chosen.bench.piece_bytes != 0)
    throw command_mistake("--layout", "messages lie either in the blocks of a layout or in --pieces");
}

// What follows from several options. Throws command_mistake.
void set_from_all(const texts& text, options& out) {
  for (const std::string& each : text.sizes) out.sizes.push_back(size_of(each, "--sizes"));
  if (!text.pieces.empty()) out.bench.piece_bytes = size_of(text.pieces, "--pieces");
  if (!text.layout.empty()) set_layout(text.layout, out.bench.blocks);
  if (out.command == "ring") out.uses_defaults = true;
  if (out.uses_defaults) {
    out.bench.pin = bench_options::pinning::none;
    if (out.mode == mode::processes) out.mode = mode::threads_dedicated;
  }
  check_together(out);
}

}  // namespace

std::optional<options> parse_options(int argc, char** argv, int& exit_code) {
  options out;
  texts text;
  command_parser parser{
      "Measures Weft, the machine, and what else moves messages here.\n"
      "latency, rate, bandwidth, put, ring, wait and attentiveness run as ranks: weft-run -n 2 weft-perf latency",
      "weft-perf", version_of("weft-perf")};
  add_subcommands(parser, out, text);
  auto answer = parser.parse(argc, argv);
  try {
    if (!answer) {
      out.command = parser.chosen_subcommand();
      set_from_all(text, out);
    }
  } catch (const command_mistake& mistake) {
    answer = parser.refuse(mistake);
  }
  if (answer) {
    if (answer->mistake.empty())
      std::fputs(answer->text.c_str(), stdout);
    else
      std::fprintf(stderr, "weft-perf: %s (see weft-perf --help)\n", answer->mistake.c_str());
    exit_code = answer->exit_code;
    return std::nullopt;
  }
  set_environment(text);
  return out;
}

}  // namespace weft::perf
