#include "weft-perf/options.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "number_option.hpp"
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
  if (digits == 0 || digits > 12 || shift < 0) throw CLI::ValidationError(option, "'" + text + "' is no size");
  const std::size_t bytes = std::stoull(text.substr(0, digits)) << shift;
  if (bytes == 0 || bytes > std::size_t{1} << 40) {
    throw CLI::ValidationError(option, "'" + text + "' is not from 1 byte to 1024 GiB");
  }
  return bytes;
}

void add_layout(CLI::App& to, options& out, texts& text) {
  to.add_option(
      "--layout", text.layout,
      "BLOCK:STRIDE, as in 8:16: sends and receives whose bytes lie in blocks, packed and unpacked by a layout");
  add_choice(to, "--layout-at", out.bench.blocks.at, ends_of_messages,
             "both, sender or receiver: the ends at which the bytes lie in blocks");
  to.add_flag("--by-loops", out.bench.blocks.by_loops,
              "without a layout: the program packs and unpacks whole messages by loops");
}

void set_layout(const std::string& text, strided& out) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw CLI::ValidationError("--layout", "'" + text + "' is not BLOCK:STRIDE");
  out.block_bytes = size_of(text.substr(0, colon), "--layout");
  out.stride_bytes = size_of(text.substr(colon + 1), "--layout");
  if (out.stride_bytes < out.block_bytes)
    throw CLI::ValidationError("--layout", "'" + text + "': blocks that are longer than the stride overlap");
}

void add_transport(CLI::App& to, texts& text) {
  to.add_option("--transport", text.transport, "as WEFT_TRANSPORT");
  to.add_option("--provider", text.provider, "as WEFT_OFI_PROVIDER");
}

void add_measuring(CLI::App& to, options& out, texts& text) {
  add_common(to, out);
  to.add_option("--sizes,--size", text.sizes, "bytes of a message: 8, 64KiB, 1MiB; several with commas")
      ->delimiter(',');
  to.add_option("--threads", out.threads, "threads of each process; several with commas")
      ->delimiter(',')
      ->transform(number_from(1, 1024));
  add_choice(to, "--mode", out.mode, modes,
             "processes: one thread each; threads-dedicated: a device for each thread; threads-shared: one for all");
  add_choice(to, "--memory", out.memory, memories, "ordinary, or weft: allocated by the library");
  add_choice(to, "--pin", out.bench.pin, pinnings,
             "core: each thread to a core, another one than its partner's; or none");
  to.add_option("--yield-after", out.bench.yield_after,
                "looks in vain before a thread gives way (0: threads that share cores take turns)");
  add_transport(to, text);
  to.add_flag("--verify", out.verify, "fill every message and look at every byte that arrives");
}

void add_operation(CLI::App& to, options& out) {
  add_choice(to, "--operation", out.operation, operations,
             "am, sendrecv, receiver-first or ordered; the first two unless given");
}

void add_long_messages(CLI::App& to, options& out) {
  const auto choose = [&](const std::vector<std::string>& chosen) {
    out.bench.long_messages.clear();
    for (const std::string& each : chosen) out.bench.long_messages.push_back(all_long_messages.at(each));
  };
  to.add_option_function<std::vector<std::string>>(
        "--long-messages", choose,
        "how messages longer than a packet travel, as WEFT_LONG_MESSAGES; of several with commas, each has a round in "
        "turn")
      ->delimiter(',')
      ->check(CLI::IsMember(all_long_messages));
}

void add_window(CLI::App& to, options& out) {
  to.add_option("--window", out.windows, "messages before an answer is awaited; several with commas")
      ->delimiter(',')
      ->transform(number_from(1, 1 << 20));
}

void add_attentiveness(CLI::App& app, options& out, texts& text) {
  CLI::App& to = *app.add_subcommand("attentiveness", "how long messages wait while the threads of devices compute");
  add_common(to, out);
  add_transport(to, text);
  to.add_option("--threads", out.threads, "threads that compute and make progress in turns; several with commas")
      ->delimiter(',')
      ->transform(number_from(1, 64));
  to.add_option("--devices", out.devices, "devices that they share, at most one each; several with commas")
      ->delimiter(',')
      ->transform(number_from(1, 62));
  to.add_option_function<std::vector<std::string>>(
        "--policies",
        [&](const std::vector<std::string>& chosen) {
          out.policies.clear();
          for (const std::string& each : chosen) out.policies.push_back(policies.at(each));
        },
        "several with commas; all of them unless given")
      ->delimiter(',')
      ->check(CLI::IsMember(policies));
  to.add_option("--handler-us", out.handler_us, "microseconds that handling a message takes (0)")
      ->transform(number_from(0.0, 1e6));
  to.add_option("--task-us", out.task_us, "microseconds that a task takes, on average")
      ->transform(number_from(1.0, 1e6));
}

void add_subcommands(CLI::App& app, options& out, texts& text) {
  CLI::App& limits = *app.add_subcommand("limits", "what the machine allows; runs alone, without a launcher");
  add_common(limits, out);
  CLI::App& latency = *app.add_subcommand("latency", "messages to and fro");
  CLI::App& rate = *app.add_subcommand("rate", "small messages, many at once, for a fixed time");
  CLI::App& bandwidth = *app.add_subcommand("bandwidth", "large messages, several at once");
  CLI::App& put = *app.add_subcommand("put", "puts, at the origin and visible at the target, and gets");
  CLI::App& ring = *app.add_subcommand("ring", "a message that goes round all ranks, which wait by device::wait");
  for (CLI::App* each : {&latency, &rate, &bandwidth, &put, &ring}) add_measuring(*each, out, text);
  for (CLI::App* each : {&latency, &rate, &bandwidth, &ring}) add_operation(*each, out);
  for (CLI::App* each : {&latency, &bandwidth}) add_long_messages(*each, out);
  for (CLI::App* each : {&rate, &bandwidth, &put}) add_window(*each, out);
  for (CLI::App* each : {&latency, &rate}) {
    each->add_flag("--plain", out.uses_defaults,
                   "as a plain program: threads wait by device::wait, on the cores that the launcher gives them");
  }
  bandwidth.add_option("--pieces", text.pieces, "messages are lists of pieces of so many bytes, at both sides");
  for (CLI::App* each : {&latency, &bandwidth}) add_layout(*each, out, text);
  rate.add_flag("--stream", out.stream, "active messages without windows: the transport alone holds them back");
  put.add_flag("--touch", out.touch, "the origin writes and the target reads the data each time, outside the time");
  CLI::App& wait = *app.add_subcommand("wait", "what an idle wait costs, and how long a wake-up takes");
  add_common(wait, out);
  add_transport(wait, text);
  add_attentiveness(app, out, text);
  CLI::App& hooks = *app.add_subcommand("hooks", "how soon hooks notice that a task is over; runs without a launcher");
  add_common(hooks, out);
  hooks.add_option("--threads", out.threads, "threads that make progress, where they are what varies; with commas")
      ->delimiter(',')
      ->transform(number_from(1, 62));
  CLI::App& fibers = *app.add_subcommand(
      "fibers", "user-level threads: switches and signals, without a launcher; messages between them, as two ranks");
  add_common(fibers, out);
  add_transport(fibers, text);
  fibers
      .add_option("--writes", out.fibers.writes,
                  "to random places of 1 GiB, by a fiber before each message; with commas")
      ->delimiter(',')
      ->transform(number_from(0, 1 << 24));
  fibers.add_option("--sizes", text.sizes, "bytes of a message, whole words; several with commas")->delimiter(',');
  fibers.add_option("--workers", out.fibers.workers, "of each rank; 0: one for each of its cores; several with commas")
      ->delimiter(',')
      ->transform(number_from(0, 64));
  fibers.add_flag("--progress-thread", out.fibers.progress_thread, "a thread makes progress, and the workers none");
  fibers.add_option("--peers", out.peers_folder, "folder of the sources that are compiled for peers");
  fibers
      .add_option("--fibers", out.fibers.counts,
                  "of each of two ranks; without a launcher, these beside as many threads; with commas")
      ->delimiter(',')
      ->transform(number_from(1, 1 << 22));
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
    throw CLI::ValidationError("--threads",
                               "several threads need --mode threads-dedicated or threads-shared; several processes "
                               "come with weft-run -n");
  }
  if (chosen.stream && chosen.operation.value_or(operation::am) != operation::am) {
    throw CLI::ValidationError("--stream", "only active messages need no receives, so only they can stream");
  }
  if (threaded && chosen.command == "ring") throw CLI::ValidationError("--threads", "one of each rank is in the ring");
  const strided& blocks = chosen.bench.blocks;
  if (blocks.block_bytes == 0) {
    if (blocks.by_loops || blocks.at != strided::ends::both)
      throw CLI::ValidationError(blocks.by_loops ? "--by-loops" : "--layout-at", "it needs --layout BLOCK:STRIDE");
    return;
  }
  if (chosen.operation == operation::am)
    throw CLI::ValidationError("--layout", "a layout is measured by sends and receives, not by active messages");
  if (chosen.bench.piece_bytes != 0)
    throw CLI::ValidationError("--layout", "messages lie either in the blocks of a layout or in --pieces");
}

}  // namespace

std::optional<options> parse_options(int argc, char** argv, int& exit_code) {
  options out;
  texts text;
  CLI::App app{
      "Measures Weft, the machine, and what else moves messages here.\n"
      "latency, rate, bandwidth, put, ring, wait and attentiveness run as ranks: weft-run -n 2 weft-perf latency",
      "weft-perf"};
  app.require_subcommand(1);
  app.set_version_flag("--version", version_of("weft-perf"));
  try {
    add_subcommands(app, out, text);
    app.parse(argc, argv);
    for (const std::string& each : text.sizes) out.sizes.push_back(size_of(each, "--sizes"));
    if (!text.pieces.empty()) out.bench.piece_bytes = size_of(text.pieces, "--pieces");
    if (!text.layout.empty()) set_layout(text.layout, out.bench.blocks);
    out.command = app.get_subcommands().front()->get_name();
    if (out.command == "ring") out.uses_defaults = true;
    if (out.uses_defaults) {
      out.bench.pin = bench_options::pinning::none;
      if (out.mode == mode::processes) out.mode = mode::threads_dedicated;
    }
    check_together(out);
  } catch (const CLI::ParseError& problem) {
    const bool asked = problem.get_exit_code() == 0;
    if (asked)
      (void)app.exit(problem);
    else
      std::fprintf(stderr, "weft-perf: %s (see weft-perf --help)\n", problem.what());
    exit_code = asked ? 0 : 2;
    return std::nullopt;
  }
  set_environment(text);
  return out;
}

}  // namespace weft::perf
