// SPDX-License-Identifier: BSD-3-Clause
// The last rank stops to take messages, and ends in the middle of the job, without a word. The others have messages to
// it under way, and are told of it.
// by script
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include <unistd.h>

#include "support/waiting.hpp"
#include "weft/weft.hpp"

namespace {

void require(bool fulfilled, const char* description) {
  if (fulfilled) return;
  std::fprintf(stderr, "not so: %s\n", description);
  std::_Exit(1);
}

// Tells the others which process it is, and waits, without progress, until each of them has said that it may end.
[[noreturn]] void end_in_the_middle(weft::runtime& rt, weft::completion& sent) {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGRTMIN);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  const pid_t process = ::getpid();
  for (std::uint32_t peer = 0; peer + 1 < rt.size(); ++peer) {
    static_cast<void>(weft::test::post_until_taken(rt.default_device(), peer, {.id = 1},
                                                   weft::const_buffer_ref{&process, sizeof process}, sent));
  }
  rt.barrier();
  for (std::uint32_t told = 0; told + 1 < rt.size(); ++told) {
    int received = 0;
    sigwait(&wanted, &received);
  }
  std::_Exit(0);
}

}  // namespace

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  weft::completion_queue inbox{rt}, over{rt};
  weft::counter sent{rt};
  const weft::registration arrivals = rt.register_completion(inbox, {.id = 1});
  const std::uint32_t gone = rt.size() - 1;
  if (rt.rank() == gone) end_in_the_middle(rt, sent);
  std::optional<weft::completion_record> told;
  require(weft::test::eventually(dev, [&] { return (told = inbox.pop()).has_value(); }),
          "the last rank says who it is");
  pid_t process = 0;
  std::memcpy(&process, told->data().data(), sizeof process);
  rt.barrier();
  const std::vector<std::byte> packet(rt.attributes().packet_bytes), large(packet.size() + 1);
  for (int refused = 0; refused < 2000; ++refused) {
    if (!dev.post_am(gone, {.id = 1}, packet, sent).is_retry()) refused = 0;
    dev.progress();
  }
  require(dev.post_am(gone, {.id = 1}, large, over, {.allow_retry = false}).is_posted(), "a long one waits for room");
  sigqueue(process, SIGRTMIN, {});
  require(weft::test::eventually(dev, [&] { return (told = over.pop()).has_value(); }), "the long one ends");
  require(told->error() == weft::errc::transport_failed && told->peer() == gone, "it says who, and what happened");
  try {
    static_cast<void>(dev.post_am(gone, {.id = 1}, weft::const_buffer_ref{&gone, sizeof gone}, sent));
    require(false, "a post says that it can't be sent");
  } catch (const weft::error& reason) {
    std::printf("rank %u: %s\n", rt.rank(), reason.what());
    std::fflush(stdout);
  }
  std::_Exit(0);  // no barrier will be complete any more
}
