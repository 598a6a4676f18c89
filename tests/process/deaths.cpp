// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are killed, and a rank that leaves: what waits for them ends with an error that names them, and the other
// ranks continue.
// ranks: 1
// launchers: weft-run
// subject: src/core/runtime src/core/protocol src/net src/boot src/fiber src/coll
//
// The rank that the launcher starts runs jobs of its own, from the file boot, so that no launcher ends them:
//   deaths [SCENARIO]
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "process/am_load.hpp"
#include "support/time_limit.hpp"

namespace {

using weft::errc;
using weft::test::eventually;
using weft::test::require;

constexpr std::uint32_t ranks = 3;
constexpr std::uint32_t gone = 1;  // between the two others, for the barrier
constexpr int ready_fd = 3;        // where ranks say how far they are

// The two engines of a rank besides the default one, and where messages arrive.
struct rank_parts {
  explicit rank_parts(weft::runtime& of) : rt{of} {}
  weft::runtime& rt;
  weft::device& dev{rt.default_device()};
  weft::completion_queue inbox{rt}, over{rt};
  weft::counter sent{rt};
  weft::registration arrivals{rt.register_completion(inbox, {.id = 1})};
  weft::matching_engine ordered{rt, {.id = 3, .ordered = true}};
  weft::matching_engine receiver_first{rt, {.id = 4, .receiver_first = true}};
  std::vector<std::byte> memory = std::vector<std::byte>(1 << 20);
  weft::memory_region region{rt, memory};
  std::vector<weft::remote_region> regions = std::vector<weft::remote_region>(rt.size());

  [[nodiscard]] std::uint32_t other() const { return rt.rank() == 0 ? 2 : 0; }
};

// A letter to the process that runs the job.
void say(char letter) { require(::write(ready_fd, &letter, 1) == 1, "the pipe takes a letter"); }

// Waits for a letter of the process that runs the job.
void hear_from_job(const char* news) {
  char letter = 0;
  require(::read(0, &letter, 1) == 1, fmt::format("a rank hears that {}", news));
}

[[noreturn]] void wait_to_be_killed() {
  for (;;) ::pause();
}

void tell_regions(rank_parts& mine) {
  const weft::remote_region own = mine.region.handle();
  for (std::uint32_t peer = 0; peer < ranks; ++peer) {
    static_cast<void>(weft::test::post_until_taken(mine.dev, peer, {1}, {&own, sizeof own}, mine.sent));
  }
  for (std::uint32_t i = 0; i < ranks; ++i) {
    std::optional<weft::completion_record> got;
    require(eventually(mine.dev, [&] { return (got = mine.inbox.pop()).has_value(); }), "a region is told");
    std::memcpy(&mine.regions[got->source()], got->data().data(), sizeof own);
  }
  mine.rt.barrier();
}

// Calls `post` until it throws, and expects that the error says which rank has ended.
void expect_refusal(weft::device* dev, const char* call, const std::function<void()>& post,
                    const char* cause = "its process has ended in the middle") {
  weft::test::time_limit limit;
  try {
    while (!limit.is_over()) {
      post();
      if (dev != nullptr) dev->progress();
    }
  } catch (const weft::error& reason) {
    const std::string text = reason.what();
    require(reason.code() == errc::peer_failed, fmt::format("{} ends with peer_failed, not: {}", call, text));
    require(text.find("rank 1 ") != text.npos && text.find(cause) != text.npos,
            fmt::format("{} says which rank and why, not: {}", call, text));
    return;
  }
  require(false, fmt::format("{} was not refused", call));
}

// The ranks that are left go on with each other.
void go_on(rank_parts& mine) {
  const std::vector<std::byte> bytes(100'000, std::byte{7});
  std::vector<std::byte> into(bytes.size());
  weft::completion_queue mail{mine.rt};
  static_cast<void>(
      weft::test::post(mine.dev, [&] { return mine.dev.post_recv(mine.other(), into, mail, {.tag = 77}); }));
  static_cast<void>(weft::test::post(
      mine.dev, [&] { return mine.dev.post_send(mine.other(), bytes, mail, {.tag = 77, .allow_done = false}); }));
  for (int i = 0; i < 2; ++i) {
    std::optional<weft::completion_record> got;
    require(eventually(mine.dev, [&] { return (got = mail.pop()).has_value(); }), "the others continue");
    require(got->error() == errc::none, "the others continue without an error");
  }
  require(into == bytes, "the others' bytes come");
}

// Operations of all kinds wait for the rank when it is killed; each ends once, with the error.
void leave_operations(rank_parts& mine, bool sleeps) {
  if (mine.rt.rank() == gone) {
    say('r');
    wait_to_be_killed();
  }
  weft::device& dev = mine.dev;
  const std::vector<std::byte> large(200'000), small(64), word(8);
  std::vector<std::vector<std::byte>> into(6, std::vector<std::byte>(200'000));
  const weft::remote_buffer there{mine.regions[gone], 0};
  std::uint64_t old = 0;
  unsigned posted = 0;
  const auto post = [&](auto&& once) { posted += weft::test::post(dev, once).is_posted(); };
  weft::completion& over = mine.over;
  post([&] { return dev.post_am(gone, {1}, large, over); });
  post([&] { return dev.post_am(gone, {1}, small, over, {.complete_at = weft::completion_level::delivered}); });
  post([&] { return dev.post_send(gone, large, over); });
  post([&] { return dev.post_send(gone, large, over, {.engine = 3}); });
  post([&] { return dev.post_send(gone, large, over, {.engine = 4}); });
  post([&] { return dev.post_recv(gone, into[0], over); });
  post([&] { return dev.post_recv(gone, into[1], over, {.policy = weft::match_policy::rank_only}); });
  post([&] { return dev.post_recv(gone, into[2], over, {.engine = 3}); });
  post([&] { return dev.post_recv(gone, into[3], over, {.engine = 4}); });
  post([&] { return dev.post_put(gone, large, there, over, {.signal = {1}, .allow_done = false}); });
  post([&] { return dev.post_get(gone, into[4], there, over, {.allow_done = false}); });
  post([&] {
    return dev.post_atomic<std::uint64_t>(gone, weft::atomic_op::fetch_add, 1, there, over,
                                          {.result = &old, .allow_done = false});
  });
  // These wait for rank 1 no more than for others.
  weft::completion_queue others{mine.rt};
  const weft::status any_rank =
      weft::test::post(dev, [&] { return dev.post_recv(gone, into[5], others, {.policy = weft::match_policy::none}); });
  const weft::status from_other = weft::test::post(dev, [&] { return dev.post_recv(mine.other(), into[5], others); });
  // Until there is no room for more, so that some wait in the backlog.
  for (int refused = 0; refused < 2; ++refused) {  // a simulated network refuses some, but not two in a row
    if (!dev.post_am(gone, {1}, word, mine.sent).is_retry()) refused = -1;
  }
  post([&] { return dev.post_am(gone, {1}, small, over, {.allow_done = false, .allow_retry = false}); });
  post([&] { return dev.post_send(gone, large, over, {.allow_retry = false}); });
  say('p');
  unsigned failed = 0;
  for (unsigned i = 0; i < posted; ++i) {
    std::optional<weft::completion_record> got;
    const auto comes = [&] { return (got = mine.over.pop()).has_value(); };
    require(sleeps ? dev.wait(mine.over, comes, {.timeout = weft::test::patience}) : eventually(dev, comes),
            fmt::format("operation {} of {} ends", i + 1, posted));
    require(got->peer() == gone, "an operation names the rank");
    // Puts, gets and atomics that need no answer may have been complete before.
    const bool is_one_sided = got->operation() == weft::operation::put || got->operation() == weft::operation::get ||
                              got->operation() == weft::operation::atomic;
    require(got->error() == errc::peer_failed || (is_one_sided && got->error() == errc::none),
            fmt::format("a {} ends with peer_failed, not with {}", weft::name_of(got->operation()),
                        weft::name_of(got->error())));
    failed += got->error() == errc::peer_failed;
  }
  require(failed >= posted - 3, "operations end with the error");
  require(mine.over.outstanding() == 0, "no operation is left");
  expect_refusal(&dev, "a flush", [&] { dev.flush(gone); });
  expect_refusal(&dev, "a barrier", [&] { mine.rt.barrier(); });
  expect_refusal(&dev, "a word", [&] { static_cast<void>(dev.post_am(gone, {1}, word, mine.sent)); });
  expect_refusal(&dev, "a packet", [&] { static_cast<void>(dev.post_am(gone, {1}, large, mine.over)); });
  expect_refusal(&dev, "a send", [&] { static_cast<void>(dev.post_send(gone, small, mine.sent, {.engine = 4})); });
  // A receive that is posted afterwards ends, too.
  require(weft::test::post(dev, [&] { return dev.post_recv(gone, into[0], mine.over); }).is_posted(), "it is posted");
  std::optional<weft::completion_record> last;
  require(eventually(dev, [&] { return (last = mine.over.pop()).has_value(); }), "a receive after the end ends");
  require(last->error() == errc::peer_failed && last->peer() == gone, "it says why");
  require(!mine.over.pop().has_value(), "no operation ends twice");
  go_on(mine);
  require(!others.pop().has_value(), "receives from other ranks wait on");
  require(dev.cancel(any_rank.ticket()) == weft::cancel_result::cancelled, "a receive from any rank waits on");
  require(dev.cancel(from_other.ticket()) == weft::cancel_result::cancelled, "a receive from another rank waits on");
}

void operations(rank_parts& mine) { leave_operations(mine, false); }
void sleepers(rank_parts& mine) { leave_operations(mine, true); }

// Posts that are answered retry, without a call of progress.
void posts(rank_parts& mine) {
  const std::vector<std::byte> word(8), packet(1000);
  if (mine.rt.rank() == gone) {
    say('r');
    wait_to_be_killed();
  }
  say('p');
  if (mine.rt.rank() == 0) {
    expect_refusal(nullptr, "a word", [&] { static_cast<void>(mine.dev.post_am(gone, {1}, word, mine.sent)); });
  } else {
    expect_refusal(nullptr, "a packet", [&] { static_cast<void>(mine.dev.post_am(gone, {1}, packet, mine.sent)); });
  }
  go_on(mine);
}

void barrier(rank_parts& mine) {
  if (mine.rt.rank() == gone) {
    say('r');
    wait_to_be_killed();
  }
  say('p');
  expect_refusal(nullptr, "a barrier", [&] { mine.rt.barrier(); });
  go_on(mine);
}

void flush(rank_parts& mine) {
  if (mine.rt.rank() == gone) {
    say('r');
    wait_to_be_killed();
  }
  const std::vector<std::byte> bytes(64);
  require(weft::test::post(mine.dev,
                           [&] {
                             return mine.dev.post_am(gone, {1}, bytes, mine.over,
                                                     {.complete_at = weft::completion_level::delivered});
                           })
              .is_posted(),
          "a message waits for its arrival");
  say('p');
  expect_refusal(nullptr, "a flush", [&] { mine.dev.flush(); });
  std::optional<weft::completion_record> got;
  require(eventually(mine.dev, [&] { return (got = mine.over.pop()).has_value(); }), "the message ends");
  go_on(mine);
}

weft::task<> barrier_in(weft::run_loop& loop) { co_await loop.barrier(); }

// Fibers, coroutines, and a thread that blocks.
void blocked(rank_parts& mine) {
  if (mine.rt.rank() == gone) {
    say('r');
    wait_to_be_killed();
  }
  say('p');
  weft::blocking_device blocking{mine.dev};
  const auto receive = [&blocking] {
    std::uint64_t word = 0;
    try {
      static_cast<void>(blocking.recv(gone, {&word, sizeof word}));
      require(false, "nothing was sent");
    } catch (const weft::error& reason) {
      require(reason.code() == errc::peer_failed, fmt::format("a blocking receive says: {}", reason.what()));
    }
  };
  receive();
  {
    weft::device* const devices[] = {&mine.dev};
    weft::fiber_scheduler scheduler{{.devices = devices}};
    std::vector<weft::fiber> fibers;
    for (int i = 0; i < 4; ++i) fibers.push_back(scheduler.spawn(receive));
    for (weft::fiber& each : fibers) each.join();
  }
  weft::run_loop loop{mine.dev};
  expect_refusal(nullptr, "a coroutine's barrier", [&] { loop.run(barrier_in(loop)); });
  go_on(mine);
}

// Traffic of all kinds, in which the rank is killed at any moment.
void steady(rank_parts& mine) {
  const std::vector<std::byte> large(100'000), packet(1000), word(8);
  std::vector<std::byte> into(100'000);
  if (mine.rt.rank() == gone) say('r');
  say('p');
  weft::test::time_limit limit;
  bool is_refused = false;
  std::uint64_t posted = 0, ended = 0;
  const auto take = [&] {
    while (const auto got = mine.over.pop()) {
      require(got->error() == errc::none || (got->error() == errc::peer_failed && got->peer() == gone),
              fmt::format("a {} ends with {}", weft::name_of(got->operation()), weft::name_of(got->error())));
      ++ended;
    }
    while (mine.inbox.pop()) {
    }
  };
  const std::uint32_t to = mine.rt.rank() == gone ? 0 : gone;
  while (!is_refused && !limit.is_over()) {
    try {
      for (const auto* bytes : {&word, &packet, &large}) {
        posted += mine.dev.post_am(to, {1}, *bytes, mine.over, {.allow_done = true}).is_posted();
        posted += mine.dev.post_send(to, *bytes, mine.over, {.tag = 5, .engine = 3}).is_posted();
        posted += mine.dev.post_send(to, *bytes, mine.over, {.tag = 5, .engine = 4}).is_posted();
      }
      for (const std::uint32_t engine : {3U, 4U}) {
        posted += mine.dev.post_recv(to, into, mine.over, {.tag = 5, .engine = engine}).is_posted();
      }
      const weft::remote_buffer there{mine.regions[to], 0};
      posted += mine.dev.post_put(to, large, there, mine.over, {.signal = {1}}).is_posted();
      posted += mine.dev.post_get(to, into, there, mine.over).is_posted();
    } catch (const weft::error& reason) {
      require(reason.code() == errc::peer_failed && mine.rt.rank() != gone,
              fmt::format("a post says: {}", reason.what()));
      is_refused = true;
    }
    mine.dev.progress();
    take();
  }
  require(is_refused, "posts are refused");
  require(eventually(mine.dev, [&] { return take(), ended == posted; }), "all operations end");
  require(mine.over.outstanding() == 0, "each operation ends once");
  go_on(mine);
}

std::uint32_t engine_of(std::uint64_t tag) { return tag % 2 == 0 ? weft::default_matching_engine : 3; }

// A rank that ends in order, after it has sent what it owes: all that arrives, also late, and only then there is an
// error.
void leaves(rank_parts& mine) {
  constexpr std::uint64_t count = 100;  // which the rings have room for
  std::uint64_t word = 0;
  if (mine.rt.rank() == gone) {
    for (std::uint64_t i = 0; i < count; ++i) {
      for (const std::uint32_t peer : {0U, 2U}) {
        static_cast<void>(weft::test::post(mine.dev, [&] {
          return mine.dev.post_send(peer, std::span{&i, 1}, mine.sent, {.tag = i, .engine = engine_of(i)});
        }));
      }
    }
    say('r');
    return;
  }
  say('p');
  hear_from_job("rank 1 has left");
  for (std::uint64_t i = 0; i < count; ++i) {
    static_cast<void>(weft::test::post(mine.dev, [&] {
      return mine.dev.post_recv(gone, {&word, sizeof word}, mine.over, {.tag = i, .engine = engine_of(i)});
    }));
    std::optional<weft::completion_record> got;
    require(eventually(mine.dev, [&] { return (got = mine.over.pop()).has_value(); }), "what was sent before comes");
    require(got->error() == errc::none && word == i, "what was sent before comes whole");
  }
  static_cast<void>(weft::test::post(mine.dev, [&] { return mine.dev.post_recv(gone, {&word, 8}, mine.over); }));
  std::optional<weft::completion_record> got;
  require(eventually(mine.dev, [&] { return (got = mine.over.pop()).has_value(); }), "what will never come ends");
  require(got->error() == errc::peer_failed && got->peer() == gone, "it says why");
  mine.dev.flush();  // nothing is owed
  const char* const cause = "it has ended, and destroyed its runtime";
  expect_refusal(
      &mine.dev, "a word",
      [&] {
        static_cast<void>(mine.dev.post_am(gone, {1}, {&word, 8}, mine.sent));
      },
      cause);
  expect_refusal(
      &mine.dev, "a barrier", [&] { mine.rt.barrier(); }, cause);
  go_on(mine);
}

weft::task<void> await_sum(weft::run_loop& loop, weft::group all, std::vector<std::uint64_t>& words, errc& end) {
  const weft::completion_record record = co_await weft::collective::allreduce({}, words).await(loop, all);
  end = record.error();
}

// Collectives that the rank takes no part in: posted ones, one that a thread waits for, and an awaited one.
void collectives(rank_parts& mine) {
  if (mine.rt.rank() == gone) {
    say('r');
    wait_to_be_killed();
  }
  weft::group all = mine.rt.world();
  std::vector<std::uint64_t> first(1), second(3000), third(3000);
  weft::completion_queue ends{mine.rt};
  static_cast<void>(weft::collective::barrier().post(all, ends));
  static_cast<void>(weft::collective::allreduce({}, first).post(all, ends));
  static_cast<void>(weft::collective::allreduce({}, second).post(all, ends));
  static_cast<void>(weft::collective::broadcast(third, gone).post(all, ends));
  say('p');
  try {
    weft::collective::allreduce({}, third).run(all);
    require(false, "a collective without a rank ends well");
  } catch (const weft::error& reason) {
    require(reason.code() == errc::peer_failed,
            fmt::format("a collective ends with peer_failed, not: {}", reason.what()));
  }
  for (int i = 0; i < 4; ++i) {
    const auto end = mine.dev.wait(ends, {.timeout = weft::test::patience});
    require(end && end->error() != errc::none, fmt::format("posted collective {} ends with an error", i));
  }
  weft::run_loop loop{mine.dev};
  errc awaited = errc::none;
  loop.spawn(await_sum(loop, all, first, awaited));
  loop.run();
  require(awaited != errc::none, "an awaited collective ends with an error");
  go_on(mine);
}

struct scenario {
  void (*body)(rank_parts&);
  bool kills = true;
};

const std::map<std::string, scenario> scenarios{
    {"operations", {operations}}, {"sleepers", {sleepers}},    {"posts", {posts}},
    {"barrier", {barrier}},       {"flush", {flush}},          {"blocked", {blocked}},
    {"steady", {steady}},         {"leaves", {leaves, false}}, {"collectives", {collectives}},
};

int be_rank(const std::string& name) {
  // A barrier or flush that never ends fails the test.
  ::alarm(static_cast<unsigned>(2 * weft::test::patience.count()));
  try {
    weft::runtime rt;
    rank_parts mine{rt};
    tell_regions(mine);
    if (rt.rank() != gone) hear_from_job("rank 1 is where it is to end");
    scenarios.at(name).body(mine);
    if (rt.rank() == gone) return 0;
    say('d');
    // Rank 0 and 2 leave together, so that neither finds the other one ended.
    hear_from_job("the other one is done");
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "deaths: %s\n", problem.what());
    return 1;
  }
}

struct rank_process {
  pid_t process = 0;
  int to = -1;    // its standard input
  int from = -1;  // what it says
};

rank_process start(const char* program, const std::string& name, const std::string& folder, std::uint32_t rank) {
  int in[2], out[2];
  require(::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0, "there are pipes");
  rank_process made{.process = ::fork(), .to = in[1], .from = out[0]};
  if (made.process == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], ready_fd);
    ::setenv("WEFT_BOOT", "file", 1);
    ::setenv("WEFT_BOOT_DIR", folder.c_str(), 1);
    ::setenv("WEFT_RANK", std::to_string(rank).c_str(), 1);
    ::setenv("WEFT_SIZE", std::to_string(ranks).c_str(), 1);
    ::execl(program, program, "--rank", name.c_str(), static_cast<char*>(nullptr));
    std::_Exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  return made;
}

// The next letter of a rank; 0 if it has ended.
char hear(const rank_process& of) {
  char letter = 0;
  return ::read(of.from, &letter, 1) == 1 ? letter : '\0';
}

void tell(const std::vector<rank_process>& all, char letter) {
  for (const std::uint32_t rank : {0U, 2U}) require(::write(all[rank].to, &letter, 1) == 1, "a pipe takes a letter");
}

void run_job(const char* program, const std::string& name, unsigned microseconds) {
  const scenario& which = scenarios.at(name);
  std::string folder = (std::filesystem::temp_directory_path() / "weft-deaths-XXXXXX").string();
  require(::mkdtemp(folder.data()) != nullptr, "there is a folder");
  std::vector<rank_process> all;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) all.push_back(start(program, name, folder, rank));
  require(hear(all[gone]) == 'r', fmt::format("{}: rank 1 is ready", name));
  tell(all, 'g');
  for (const std::uint32_t rank : {0U, 2U})
    require(hear(all[rank]) == 'p', fmt::format("{}: rank {} has posted", name, rank));
  if (which.kills) {
    ::usleep(microseconds);
    ::kill(all[gone].process, SIGKILL);
  }
  int status = 0;
  require(::waitpid(all[gone].process, &status, 0) == all[gone].process, "rank 1 ends");
  require(which.kills ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0,
          fmt::format("{}: rank 1 ends as it should", name));
  if (!which.kills) tell(all, 'l');
  for (const std::uint32_t rank : {0U, 2U})
    require(hear(all[rank]) == 'd', fmt::format("{}: rank {} is done", name, rank));
  tell(all, 'e');
  for (const std::uint32_t rank : {0U, 2U}) {
    require(::waitpid(all[rank].process, &status, 0) == all[rank].process && status == 0,
            fmt::format("{}: rank {} ends in order", name, rank));
  }
  for (const rank_process& each : all) {
    ::close(each.from);
    ::close(each.to);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string{argv[1]} == "--rank") return be_rank(argv[2]);
  const std::string only = argc > 1 ? argv[1] : "";
  const unsigned repeat = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
  for (unsigned round = 0; round < repeat; ++round) {
    for (const auto& [name, which] : scenarios) {
      if (!only.empty() && name != only) continue;
      const bool is_random = which.body == steady;
      for (unsigned moment = 0; moment < (is_random ? 6 : 1); ++moment) run_job(argv[0], name, moment * moment * 100);
    }
    for (const char* copies : {"WEFT_SHM_CMA=off", "WEFT_TRANSPORT=sim:self,sim:shm"}) {
      const std::string text = copies;
      ::setenv(text.substr(0, text.find('=')).c_str(), text.substr(text.find('=') + 1).c_str(), 1);
      for (const char* name : {"operations", "sleepers", "steady", "leaves"}) {
        if (only.empty() || only == name) run_job(argv[0], name, 1000);
      }
      ::unsetenv(text.substr(0, text.find('=')).c_str());
    }
  }
  return 0;
}
