// SPDX-License-Identifier: BSD-3-Clause
// Every rank sends to every other, counts what came, and says how much of it went through a fabric.
// by script
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/waiting.hpp"
#include "weft/weft.hpp"

namespace {

constexpr std::uint32_t messages = 100;  // to each rank
constexpr std::size_t bytes = 1000;

}  // namespace

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  weft::completion_queue inbox{rt};
  weft::counter sent{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 1});
  const std::vector<std::byte> payload(bytes, std::byte{7});
  std::uint32_t came = 0;
  const auto serve = [&] {
    dev.progress();
    while (const auto message = inbox.pop()) {
      if (message->bytes() != bytes || message->data().back() != std::byte{7}) std::_Exit(1);
      ++came;
    }
  };
  for (std::uint32_t i = 0; i < messages; ++i) {
    for (std::uint32_t peer = 0; peer < rt.size(); ++peer) {
      if (peer == rt.rank()) continue;
      const bool posted = weft::test::eventually(dev, [&] {
        serve();
        return !dev.post_am(peer, {.id = 1}, payload, sent).is_retry();
      });
      if (posted) continue;
      std::fprintf(stderr, "rank %u: rank %u takes no messages\n", rt.rank(), peer);
      std::_Exit(1);
    }
  }
  const bool all = weft::test::eventually(dev, [&] {
    serve();
    return came == messages * (rt.size() - 1);
  });
  if (!all) std::fprintf(stderr, "rank %u: %u messages came\n", rt.rank(), came);
  std::string nodes;
  for (std::uint32_t rank = 0; rank < rt.size(); ++rank) nodes += " " + std::to_string(rt.node_of(rank));
  std::printf("rank %u sees nodes%s\n", rt.rank(), nodes.c_str());
  const weft::runtime_counters counted = rt.counters();
  std::printf("rank %u fabric_messages %llu fabric_bytes %llu\n", rt.rank(),
              static_cast<unsigned long long>(counted.fabric_messages),
              static_cast<unsigned long long>(counted.fabric_bytes));
  std::fflush(stdout);
  if (!all) std::_Exit(1);
  rt.barrier();
}
