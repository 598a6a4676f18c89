// SPDX-License-Identifier: BSD-3-Clause
// Messages between fibers: between so many of each of two ranks, with random writes between two, of several sizes
// (Figures 5 and 6 of dang2016), and beside as many threads of Weft and of MPI libraries.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "weft-perf/compare/fibers.hpp"
#include "weft-perf/compare/launch.hpp"
#include "weft-perf/compare/peers.hpp"
#include "weft-perf/report/clock.hpp"
#include "weft-perf/report/machine.hpp"
#include "weft/weft.hpp"

namespace weft::perf {
namespace {

/// The point of one line of figures.
struct message_point {
  std::uint32_t fibers = 1;
  std::uint32_t workers = 1;  ///< 0: one for each of the rank's cores
  bool has_progress_thread = false;
  std::size_t bytes = 8;
  std::uint64_t writes = 0;
};

// Memory that fibers write to at random between two messages: larger than any cache (dang2016, 4.3.1).
class random_writes {
 public:
  explicit random_writes(bool is_used) : memory_{is_used ? std::size_t{1} << 27 : 0} {}

  void operator()(std::uint64_t count, std::uint64_t& state) {
    for (std::uint64_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      // relaxed: no fiber reads it; fibers of several workers write concurrently.
      std::atomic_ref{memory_[(state >> 33) % memory_.size()]}.store(state, std::memory_order_relaxed);
    }
  }

  /// ns of `count` writes without communication.
  double alone(std::uint64_t count) {
    if (count == 0) return 0;
    std::uint64_t state = 1;
    std::uint64_t times = 0;
    const auto begin = clock::now();
    for (; times < 16 || ns_since(begin) < 20e6; ++times) (*this)(count, state);
    return ns_since(begin) / static_cast<double>(times);
  }

 private:
  std::vector<std::uint64_t> memory_;
};

// A message: the receiver checks its first word. One word stays on the fiber's stack.
class message_words {
 public:
  explicit message_words(std::size_t bytes) : more_(bytes > sizeof word_ ? bytes / sizeof word_ : 0) {}
  [[nodiscard]] std::uint64_t& word() noexcept { return more_.empty() ? word_ : more_.front(); }
  [[nodiscard]] std::span<std::uint64_t> all() noexcept {
    return more_.empty() ? std::span{&word_, 1} : std::span{more_};
  }

 private:
  std::uint64_t word_ = 0;
  std::vector<std::uint64_t> more_;
};

// What the fibers of one rank do: each has a partner at the other rank and a tag of its own.
class message_fibers {
 public:
  message_fibers(runtime& rt, device& own, const message_point& point, random_writes& write)
      : messages_{own}, peer_{1 - rt.rank()}, point_{point}, write_{write} {}

  // Rank 0's side: sends, waits for the answer, and says with its last message that it is the last one.
  void lead(std::uint64_t tag) {
    std::uint64_t random = tag;
    message_words out{point_.bytes};
    message_words back{point_.bytes};
    std::uint64_t round = 0;
    std::uint64_t bad = 0;
    for (std::uint64_t is_last = 0; is_last == 0; ++round) {
      write_(point_.writes, random);
      // relaxed: nothing but the wish to stop.
      is_last = is_over_.load(std::memory_order_relaxed) ? 1 : 0;
      out.word() = (round << 32 | tag) << 1 | is_last;
      back.word() = 0;
      messages_.send(peer_, out.all(), {.tag = tag});
      static_cast<void>(messages_.recv(peer_, back.all(), {.tag = tag}));
      bad += back.word() != ~out.word();
    }
    sent_.fetch_add(round, std::memory_order_relaxed);  // [stat]
    wrong_.fetch_add(bad, std::memory_order_relaxed);   // [stat]
  }
  // Rank 1's side.
  void follow(std::uint64_t tag) {
    std::uint64_t random = tag;
    message_words received{point_.bytes};
    message_words back{point_.bytes};
    for (bool is_last = false; !is_last;) {
      static_cast<void>(messages_.recv(peer_, received.all(), {.tag = tag}));
      is_last = (received.word() & 1) != 0;
      write_(point_.writes, random);
      back.word() = ~received.word();
      messages_.send(peer_, back.all(), {.tag = tag});
    }
  }

  // relaxed: nothing but the wish to stop.
  void stop() noexcept { is_over_.store(true, std::memory_order_relaxed); }
  // Messages that `lead` has sent, once its fibers have ended. **Errors**: weft::error if an answer was another one.
  [[nodiscard]] std::uint64_t count() const {
    const std::uint64_t bad = wrong_.load(std::memory_order_relaxed);  // [stat]
    if (bad != 0) throw error{errc::transport_failed, fmt::format("{} messages were not what was sent", bad)};
    return sent_.load(std::memory_order_relaxed);  // [stat]
  }

 private:
  blocking_device messages_;
  std::uint32_t peer_;
  const message_point& point_;
  random_writes& write_;
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> wrong_{0};
  std::atomic<bool> is_over_{false};
};

/// ns a message: the fibers of each of two ranks send and receive.
double messages(runtime& rt, device& own, const message_point& point, double seconds, random_writes& write) {
  std::array<device*, 1> served{&own};
  message_fibers work{rt, own, point, write};
  std::optional<progress_thread> helper;
  if (point.has_progress_thread) helper.emplace(own);
  fiber_scheduler fibers{{.workers = point.workers,
                          .fibers_per_worker = point.fibers,
                          .stack_bytes = 16384,
                          .guarded_stacks = 64,
                          .devices = helper ? std::span<device*>{} : std::span<device*>{served}}};
  std::vector<fiber> all;
  all.reserve(point.fibers);
  rt.barrier();
  const auto begin = clock::now();
  for (std::uint32_t i = 0; i < point.fibers; ++i) {
    all.push_back(fibers.spawn([&, i] { rt.rank() == 0 ? work.lead(i) : work.follow(i); }));
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  work.stop();
  for (fiber& each : all) each.join();
  const double spent = ns_since(begin);
  rt.barrier();
  const std::uint64_t count = work.count();
  return rt.rank() == 0 ? spent / static_cast<double>(count) / 2 : 0;
}

std::vector<message_point> points_of(const options& chosen) {
  std::vector<message_point> out;
  const auto counts =
      chosen.fibers.counts.empty() ? std::vector<std::uint32_t>{1, 4, 16, 64, 256, 1024} : chosen.fibers.counts;
  const auto workers = chosen.fibers.workers.empty() ? std::vector<std::uint32_t>{1} : chosen.fibers.workers;
  const auto sizes = chosen.sizes.empty() ? std::vector<std::size_t>{sizeof(std::uint64_t)} : chosen.sizes;
  const auto writes = chosen.fibers.writes.empty() ? std::vector<std::uint64_t>{0} : chosen.fibers.writes;
  for (const std::uint32_t each : workers) {
    for (const std::uint64_t count_of_writes : writes) {
      for (const std::size_t bytes : sizes) {
        for (const std::uint32_t count : counts) {
          out.push_back({.fibers = count,
                         .workers = each,
                         .has_progress_thread = chosen.fibers.progress_thread,
                         .bytes = bytes,
                         .writes = count_of_writes});
        }
      }
    }
  }
  return out;
}

void check(const options& chosen, std::uint32_t receives_max) {
  for (const message_point& each : points_of(chosen)) {
    if (each.fibers > receives_max) {
      throw error{
          errc::invalid_argument,
          fmt::format("{0} fibers receive at a time, and there is room for {1} receives: set WEFT_RECEIVES_MAX={0} at "
                      "least, or do not set it, and raise WEFT_STATE_BYTES_MAX",
                      each.fibers, receives_max)};
    }
    if (each.bytes % sizeof(std::uint64_t) != 0) {
      throw error{
          errc::invalid_argument,
          fmt::format("--sizes: a message of fibers is of whole words of 8 bytes; {} bytes are not", each.bytes)};
    }
  }
}

figure figure_of(const char* detail, const message_point& measured, std::vector<double> rounds) {
  figure out = fiber_figure(detail, measured.fibers, std::move(rounds));
  out.bytes = measured.bytes;
  out.settings["workers"] = measured.workers;
  out.settings["progress_thread"] = measured.has_progress_thread ? 1 : 0;
  out.settings["writes"] = measured.writes;
  return out;
}

// One round of a point by fibers, by two ranks that are started for it.
double round_by_ranks(const options& chosen, message_point& measured) {
  const std::string folder = program_folder();
  std::vector<std::string> command{folder + "/weft-run", "-n", "2", folder + "/weft-perf", "fibers", "--json"};
  for (const auto& [option, value] :
       {std::pair{"--rounds", std::string{"1"}}, std::pair{"--duration", fmt::format("{}", chosen.seconds)},
        std::pair{"--fibers", fmt::format("{}", measured.fibers)},
        std::pair{"--workers", fmt::format("{}", measured.workers)}}) {
    command.insert(command.end(), {option, value});
  }
  if (measured.has_progress_thread) command.emplace_back("--progress-thread");
  const launched result = run_program(command, 60 + 20 * chosen.seconds, {});
  if (result.exit_code != 0) throw error{errc::transport_failed, "Weft: " + result.last_error()};
  const auto line = nlohmann::json::parse(result.output);
  measured.workers = line.at("workers").get<std::uint32_t>();  // a rank has other cores than this program
  return line.at("weft").at("median").get<double>();
}

// Likewise by calls of Weft's MPI; nothing where mpi-fibers is not beside this program.
std::optional<double> round_by_mpi(const options& chosen, const message_point& measured) {
  const std::string program = program_folder() + "/mpi-fibers";
  if (!find_program(program) || measured.has_progress_thread) return std::nullopt;
  const launched result =
      run_program({program_folder() + "/weft-run", "-n", "2", program, "--json", "--rounds", "1", "--milliseconds",
                   fmt::format("{}", static_cast<int>(std::ceil(chosen.seconds * 1e3))), "--fibers",
                   fmt::format("{}", measured.fibers), "--workers", fmt::format("{}", measured.workers)},
                  60 + 20 * chosen.seconds, {});
  if (result.exit_code != 0) throw error{errc::transport_failed, "mpi-fibers: " + result.last_error()};
  return nlohmann::json::parse(result.output).at("message_ns").get<double>();
}

// The exchange by threads: elapsed time over messages, there and back.
std::optional<double> round_by_threads(const contestant& peer, const point& measured) {
  const round_result got = peer.run({measured});
  return got.front() ? std::optional{1e9 / (2 * got.front()->value)} : std::nullopt;
}

// Each of Weft's threads has a device, and a rank has 64 devices by default, the default device included.
constexpr std::uint32_t threads_max = 63;

}  // namespace

void run_fiber_messages(runtime& rt, const options& chosen, printer& out) {
  check(chosen, static_cast<std::uint32_t>(rt.attributes().receives_max));
  const bool has_writes =
      std::any_of(chosen.fibers.writes.begin(), chosen.fibers.writes.end(), [](auto count) { return count > 0; });
  random_writes write{has_writes};
  for (message_point measured : points_of(chosen)) {
    if (measured.workers == 0) measured.workers = core_count();
    // A device of one thread's own is quicker, and all that one worker needs.
    device own{rt, {.shared = measured.workers > 1 || measured.has_progress_thread}};
    std::vector<double> rounds;
    for (std::uint32_t i = 0; i < fiber_rounds(chosen); ++i) {
      // The time in which one fiber of each rank computes is no part of the communication's; many fibers compute while
      // others wait. One rank computes at a time there, and here.
      const double computing = measured.fibers == 1 && rt.rank() == 0 ? write.alone(measured.writes) : 0;
      rt.barrier();
      rounds.push_back(std::max(messages(rt, own, measured, chosen.seconds, write) - computing, 0.0));
    }
    if (rt.rank() == 0) out.print(figure_of("message", measured, std::move(rounds)));
    rt.barrier();  // the other rank's device of this index stays until all has arrived
  }
}

void compare_fiber_messages(const options& chosen, printer& out) {
  check(chosen, std::numeric_limits<std::uint32_t>::max());
  const temporary_folder folder;
  peer_list peers;
  add_mpi_peers(peers, chosen, folder.path());
  out.name_absent(peers.absent);
  std::vector<contestant> all = std::move(peers.present);
  all.push_back(weft_itself(chosen));
  all.back().name = threads_weft;
  for (message_point measured : points_of(chosen)) {
    if (measured.bytes != sizeof(std::uint64_t) || measured.writes != 0) {
      throw error{errc::invalid_argument, "--sizes and --writes are for two ranks: weft-run -n 2 weft-perf fibers"};
    }
    const point by_threads{.kind = kind::rate,
                           .operation = operation::sendrecv,
                           .mode = measured.fibers == 1 ? mode::processes : mode::threads_dedicated,
                           .threads = measured.fibers,
                           .window = 1,
                           .seconds = chosen.seconds};
    std::vector<double> rounds;
    std::map<std::string, std::vector<double>> others;
    for (std::uint32_t i = 0; i < fiber_rounds(chosen); ++i) {
      rounds.push_back(round_by_ranks(chosen, measured));
      if (const auto value = round_by_mpi(chosen, measured)) others[std::string{mpi_of_weft}].push_back(*value);
      if (measured.fibers > threads_max) continue;
      for (contestant& each : all) {
        if (!each.run) continue;
        try {
          if (const auto value = round_by_threads(each, by_threads)) others[each.name].push_back(*value);
        } catch (const error& problem) {
          fmt::print(stderr, "weft-perf: {}; it takes no further part\n", problem.what());
          each.run = nullptr;
        }
      }
    }
    figure shown = figure_of("message, compared", measured, std::move(rounds));
    for (auto& [name, values] : others) shown.peers[name] = summarize(std::move(values));
    shown.absent = peers.absent;
    out.print(shown);
  }
}

}  // namespace weft::perf
