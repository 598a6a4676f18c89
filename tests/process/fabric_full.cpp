// SPDX-License-Identifier: BSD-3-Clause
// Two devices of rank 0 send until the way to rank 1 is full, again and again; the end of each round has to come
// without anything more being sent behind it.
// by script
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "support/waiting.hpp"
#include "weft/weft.hpp"

namespace {

constexpr std::uint32_t rounds = 300;
constexpr std::uint32_t senders = 2;  // a single one would send from the endpoint at which everything arrives

// Of each device: from what a socket holds at least to more than it holds, in steps of less than what a provider puts
// aside when it is full.
std::uint32_t messages_of(std::uint32_t round) { return 250 + round; }

void send_rounds(weft::runtime& rt, weft::registration& acknowledged, weft::completion_queue& acknowledgements) {
  weft::device dev{rt, weft::device_options{.shared = false}};
  weft::counter sent{rt};
  const std::vector<std::byte> payload(rt.attributes().packet_bytes, std::byte{7});
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::uint32_t i = 0; i < messages_of(round); ++i) {
      static_cast<void>(
          weft::test::post(dev, [&] { return dev.post_am(1, {.id = 1}, payload, sent, {.tag = acknowledged.id()}); }));
    }
    if (weft::test::eventually(dev, [&] { return acknowledgements.pop().has_value(); })) continue;
    std::fprintf(stderr, "round %u of a device did not come\n", round);
    std::_Exit(1);
  }
}

void send_from_two_devices(weft::runtime& rt) {
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < senders; ++i) {
    threads.emplace_back([&rt, i] {
      weft::completion_queue acknowledgements{rt};
      auto acknowledged = rt.register_completion(acknowledgements, {.id = 2 + i});
      send_rounds(rt, acknowledged, acknowledgements);
    });
  }
  for (std::thread& each : threads) each.join();
}

// Looks away while a round is sent, so that it fills the sockets.
void take_rounds(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::completion_queue inbox{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 1});
  weft::counter sent{rt};
  for (std::uint32_t round = 0; round < rounds; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    std::vector<std::uint32_t> came(2 + senders);
    std::uint32_t ended = 0;
    const bool all = weft::test::eventually(dev, [&] {
      while (const auto message = inbox.pop()) {
        ended += ++came[static_cast<std::size_t>(message->tag())] == messages_of(round);
      }
      return ended == senders;
    });
    if (!all) {
      std::fprintf(stderr, "round %u: %u and %u of %u messages came\n", round, came[2], came[3], messages_of(round));
      std::_Exit(1);
    }
    for (std::uint32_t i = 0; i < senders; ++i) {
      static_cast<void>(weft::test::post(dev, [&] { return dev.post_am(0, {.id = 2 + i}, {}, sent); }));
    }
  }
}

}  // namespace

int main() {
  weft::runtime rt;
  if (rt.rank() == 0) {
    send_from_two_devices(rt);
  } else {
    take_rounds(rt);
  }
  rt.barrier();
}
