// SPDX-License-Identifier: BSD-3-Clause
// Ranks that end in all ways, as others see it: their memory is refused as their messages are, and what they had sent
// to a device that no thread polls is received, then what waits for them ends. ranks: 1 launchers: weft-run subject:
// src/core/runtime src/core/protocol src/core/progress src/net/shm
//
// The rank that the launcher starts runs jobs of two ranks, from the file boot, so that no launcher ends them.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "process/am_load.hpp"

namespace {

using weft::errc;
using weft::test::eventually;
using weft::test::require;

constexpr std::uint64_t messages = 20;
constexpr std::uint32_t gone = 1;
constexpr std::uint32_t ordered = 3, receiver_first = 4;  // engines

// Rank 1's end; `leave` destroys its runtime.
enum class end { leave, exit_at_once, killed };

struct job {
  std::string name;
  end how;
  int devices;  // of rank 0 that no thread polls
};

const std::vector<job>& jobs() {
  static const std::vector<job> all{
      {"leave", end::leave, 1},        {"leave, 3 devices", end::leave, 3}, {"leave, 0 devices", end::leave, 0},
      {"_exit", end::exit_at_once, 1}, {"killed", end::killed, 2},
  };
  return all;
}

[[noreturn]] void end_without_runtime(end how) {
  if (how == end::exit_at_once) ::_exit(0);
  ::raise(SIGKILL);
  std::abort();
}

void expect_refusal(const char* call, const std::function<void()>& post) {
  try {
    post();
  } catch (const weft::error& reason) {
    return require(reason.code() == errc::peer_failed, fmt::format("{}: {}", call, reason.what()));
  }
  require(false, fmt::format("{} to a rank that has ended is not refused", call));
}

struct regions {
  weft::remote_region allocated, own;
};

// Posts to memory of rank 1, which is known to have ended.
void expect_memory_refused(weft::runtime& rt, const weft::remote_region& region) {
  weft::device& dev = rt.default_device();
  weft::completion_queue over{rt};
  const weft::remote_buffer there{region, 8};
  std::uint64_t word = 7, old = 0;
  std::vector<std::byte> page(2000);
  const auto refuses = [&](const char* call, const auto& post) {
    expect_refusal(call, [&] { static_cast<void>(post()); });
  };
  refuses("a put", [&] { return dev.post_put(gone, {&word, 8}, there, over); });
  refuses("a put of a page", [&] { return dev.post_put(gone, page, there, over); });
  refuses("a put, delivered",
          [&] { return dev.post_put(gone, page, there, over, {.complete_at = weft::completion_level::delivered}); });
  refuses("a put with signal", [&] { return dev.post_put(gone, {&word, 8}, there, over, {.signal = {1}}); });
  refuses("a get", [&] { return dev.post_get(gone, {&word, 8}, there, over); });
  refuses("a get, signalled", [&] { return dev.post_get(gone, {&word, 8}, there, over, {.allow_done = false}); });
  refuses("an atomic", [&] {
    return dev.post_atomic<std::uint64_t>(gone, weft::atomic_op::compare_and_swap, 1, there, over, {.result = &old});
  });
  require(rt.mapped(there, 8).empty(), "memory of a rank that has ended is not mapped");
  require(over.outstanding() == 0 && word == 7 && old == 0, "a post that is refused does nothing");
}

// No post answers done or posted, whatever its size, its engine and its options.
void expect_messages_refused(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::completion_queue over{rt};
  const std::vector<std::byte> word(8), packet(1000), large(200'000);
  for (const auto* bytes : {&word, &packet, &large}) {
    for (const bool may_be_done : {true, false}) {
      expect_refusal("an active message", [&] {
        static_cast<void>(dev.post_am(gone, {1}, *bytes, over, {.allow_done = may_be_done, .allow_retry = false}));
      });
      for (const std::uint32_t engine : {weft::default_matching_engine, ordered, receiver_first}) {
        expect_refusal("a send", [&] {
          static_cast<void>(
              dev.post_send(gone, *bytes, over, {.engine = engine, .allow_done = may_be_done, .allow_retry = false}));
        });
      }
    }
  }
  require(over.outstanding() == 0, "a message that is refused does nothing");
}

void send_and_end(weft::runtime& rt, const job& which) {
  weft::device& dev = rt.default_device();
  weft::completion_queue over{rt};
  for (std::uint64_t tag = 0; tag < messages; ++tag) {
    static_cast<void>(weft::test::post(dev, [&] {
      return dev.post_send(0, {&tag, 8}, over,
                           {.tag = tag, .device = static_cast<std::uint32_t>(tag) % (which.devices + 1U)});
    }));
  }
  if (which.how != end::leave) end_without_runtime(which.how);
}

void receive_all(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::completion_queue over{rt};
  std::uint64_t word = 0;
  // The first one never gets a message: by its end all messages are here.
  for (std::uint64_t tag = messages; tag-- != 0;) {
    const bool is_first = tag + 1 == messages;
    for (const bool is_never : {true, false}) {
      if (is_never && !is_first) continue;
      static_cast<void>(weft::test::post(dev, [&] {
        return dev.post_recv(gone, {&word, 8}, over, {.tag = is_never ? messages : tag});
      }));
      const auto got = dev.wait(over, {.timeout = weft::test::patience});
      require(got.has_value(), fmt::format("the receive of message {} ends", tag));
      require(got->error() == (is_never ? errc::peer_failed : errc::none),
              fmt::format("a receive ends with {}", weft::name_of(got->error())));
      require(is_never || word == tag, "a message comes whole");
    }
  }
}

void be_rank(const job& which) {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  std::vector<std::unique_ptr<weft::device>> alone;
  for (int i = 0; i < which.devices; ++i) alone.push_back(std::make_unique<weft::device>(rt));
  std::vector<std::byte> memory(4096);
  std::optional<weft::memory_region> allocated{std::in_place, rt, std::size_t{4096}}, own{std::in_place, rt, memory};
  weft::completion_queue inbox{rt};
  weft::counter sent{rt};
  const weft::registration arrivals = rt.register_completion(inbox, {.id = 1});
  const weft::matching_engine in_order{rt, {.id = ordered, .ordered = true}};
  const weft::matching_engine announcing{rt, {.id = receiver_first, .receiver_first = true}};
  for (const auto* each : {&allocated, &own}) {
    const weft::remote_region handle = (*each)->handle();
    static_cast<void>(weft::test::post_until_taken(dev, 1 - rt.rank(), {1}, {&handle, sizeof handle}, sent,
                                                   {.tag = each == &own ? 1U : 0U}));
  }
  regions theirs;
  for (int i = 0; i < 2; ++i) {
    std::optional<weft::completion_record> got;
    require(eventually(dev, [&] { return (got = inbox.pop()).has_value(); }), "a region is told");
    std::memcpy(got->tag() == 1 ? &theirs.own : &theirs.allocated, got->data().data(), sizeof(weft::remote_region));
  }
  const std::span<std::byte> before = rt.mapped({theirs.allocated, 0}, 8);
  rt.barrier();
  if (rt.rank() == gone) return send_and_end(rt, which);
  receive_all(rt);
  expect_memory_refused(rt, theirs.allocated);
  expect_memory_refused(rt, theirs.own);
  expect_messages_refused(rt);
  // A pointer that was taken before stays readable, whatever is there.
  if (!before.empty()) static_cast<void>(*static_cast<volatile const std::byte*>(before.data()));
}

void run(const char* program, std::size_t index) {
  const job& which = jobs()[index];
  std::string folder = (std::filesystem::temp_directory_path() / "weft-ended-XXXXXX").string();
  require(::mkdtemp(folder.data()) != nullptr, "there is a folder");
  pid_t ranks[2] = {};
  for (int rank = 0; rank < 2; ++rank) {
    ranks[rank] = ::fork();
    if (ranks[rank] != 0) continue;
    ::setenv("WEFT_BOOT", "file", 1);
    ::setenv("WEFT_BOOT_DIR", folder.c_str(), 1);
    ::setenv("WEFT_RANK", std::to_string(rank).c_str(), 1);
    ::setenv("WEFT_SIZE", "2", 1);
    ::execl(program, program, "--rank", std::to_string(index).c_str(), static_cast<char*>(nullptr));
    std::_Exit(127);
  }
  int status = 0;
  require(::waitpid(ranks[0], &status, 0) == ranks[0] && status == 0, fmt::format("{}: rank 0 is content", which.name));
  require(::waitpid(ranks[1], &status, 0) == ranks[1], fmt::format("{}: rank 1 ends", which.name));
  std::filesystem::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view{argv[1]} == "--rank") {
    // A wait that never ends fails the test.
    ::alarm(static_cast<unsigned>(2 * weft::test::patience.count()));
    be_rank(jobs()[static_cast<std::size_t>(std::atoi(argv[2]))]);
    return 0;
  }
  for (std::size_t index = 0; index < jobs().size(); ++index) run(argv[0], index);
  ::setenv("WEFT_SHM_CMA", "off", 1);
  run(argv[0], 0);
  run(argv[0], jobs().size() - 1);
  return 0;
}
