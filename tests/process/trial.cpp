// SPDX-License-Identifier: BSD-3-Clause
// Trials of a job beside loads: floods, extreme values, many threads, many runtimes, and death at any moment.
//   trial WHAT [COUNT]
// by script
#include <array>
#include <cstdint>
#include <deque>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "process/am_load.hpp"

namespace {

using weft::test::eventually;
using weft::test::post;
using weft::test::require;

void send_word(weft::device& dev, std::uint32_t peer, std::uint64_t word, std::uint64_t tag, weft::completion& sent) {
  static_cast<void>(post(dev, [&] {
    return dev.post_am(peer, {1}, std::as_bytes(std::span{&word, 1}), sent, {.tag = tag});
  }));
}

// A message that is too long changes no byte, neither in the buffer nor beside it.
void overflow(weft::runtime& rt, std::uint64_t count) {
  weft::device& dev = rt.default_device();
  const std::uint32_t to = (rt.rank() + 1) % rt.size(), from = (rt.rank() + rt.size() - 1) % rt.size();
  constexpr std::size_t guard = 64;
  const std::byte untouched{0xa5};
  for (std::uint64_t round = 0; round < count; ++round) {
    const std::size_t room = std::size_t{1} << (round % 20), bytes = room + 1 + round;
    weft::completion_queue received{rt};
    weft::counter sent{rt};
    std::vector<std::byte> memory(room + 2 * guard, untouched);
    const std::vector<std::byte> message(bytes, std::byte{1});
    const weft::buffer_ref buffer{memory.data() + guard, room};
    static_cast<void>(post(dev, [&] { return dev.post_recv(from, buffer, received, {.tag = round}); }));
    const bool goes = post(dev, [&] { return dev.post_send(to, message, sent, {.tag = round}); }).is_posted();
    std::optional<weft::completion_record> got;
    require(eventually(dev, [&] { return (got = received.pop()).has_value(); }), "nothing came");
    require(got->error() == weft::errc::truncated, "a message fits that is too long");
    require(got->message_bytes() == bytes, "a length that is not the message's");
    for (const std::byte each : memory) require(each == untouched, "bytes were written");
    require(!goes || eventually(dev, [&] { return sent.value() == 1; }), "not sent");
  }
}

void tags(weft::runtime& rt, std::uint64_t count) {
  constexpr std::array<std::uint64_t, 8> extreme{
      0, 1, 0x7fff'ffff, 0x8000'0000, 0xffff'ffff, 0x1'0000'0000, 0x8000'0000'0000'0000, 0xffff'ffff'ffff'ffff};
  weft::device& dev = rt.default_device();
  const std::uint32_t to = (rt.rank() + 1) % rt.size(), from = (rt.rank() + rt.size() - 1) % rt.size();
  for (std::uint64_t round = 0; round < count; ++round) {
    weft::completion_queue received{rt};
    weft::counter sent{rt};
    std::array<std::uint64_t, extreme.size()> in{};
    std::uint64_t posted = 0;
    for (std::size_t i = 0; i < extreme.size(); ++i) {
      const auto receive = [&] { return dev.post_recv(from, std::span{&in[i], 1}, received, {.tag = extreme[i]}); };
      static_cast<void>(post(dev, receive));
    }
    for (const std::uint64_t& tag : extreme) {
      posted += post(dev, [&] { return dev.post_send(to, std::span{&tag, 1}, sent, {.tag = tag}); }).is_posted();
    }
    for (std::size_t i = 0; i < extreme.size(); ++i) {
      std::optional<weft::completion_record> got;
      require(eventually(dev, [&] { return (got = received.pop()).has_value(); }), "nothing came");
      std::uint64_t word = 0;
      require(got->data().size() == sizeof word, "another size");
      std::memcpy(&word, got->data().data(), sizeof word);
      require(got->tag() == word, "a message met another tag");
    }
    require(eventually(dev, [&] { return sent.value() == posted; }), "not sent");
  }
}

// All to rank 0, whose queue is small.
void flood(weft::runtime& rt, std::uint64_t count) {
  weft::completion_queue inbox{rt, {.capacity = 16}};
  weft::counter sent{rt};
  const weft::registration arrivals = rt.register_completion(inbox, {.id = 1});
  weft::device& dev = rt.default_device();
  rt.barrier();
  if (rt.rank() != 0) {
    for (std::uint64_t i = 0; i < count; ++i) send_word(dev, 0, i, rt.rank(), sent);
  } else {
    std::vector<std::uint64_t> sum(rt.size());
    std::uint64_t came = 0;
    require(eventually(dev,
                       [&] {
                         while (const auto got = inbox.pop()) {
                           std::uint64_t word = 0;
                           std::memcpy(&word, got->data().data(), sizeof word);
                           sum.at(got->tag()) += word;
                           ++came;
                         }
                         return came == count * (rt.size() - 1);
                       }),
            "messages are lost");
    for (std::uint32_t rank = 1; rank < rt.size(); ++rank) {
      require(sum[rank] == count * (count - 1) / 2, "other messages came than were sent");
    }
  }
  rt.barrier();
}

// Each thread with a device of its own, as long as there are any; the others share one.
void threads(weft::runtime& rt, std::uint64_t count) {
  weft::counter inbox{rt};
  const weft::registration arrivals = rt.register_completion(inbox, {.id = 1});
  std::deque<weft::device> own;
  while (own.size() + 2 < rt.attributes().devices_max && own.size() < count / 2) {
    own.emplace_back(rt, weft::device_options{.shared = false});
  }
  rt.barrier();
  std::vector<std::thread> all;
  for (std::uint64_t i = 0; i < count; ++i) {
    all.emplace_back([&, i] {
      weft::device& dev = i < own.size() ? own[i] : rt.default_device();
      weft::counter sent{rt};
      for (std::uint32_t n = 0; n < 100; ++n) send_word(dev, (rt.rank() + n) % rt.size(), n, i, sent);
      while (dev.progress()) {
      }
    });
  }
  for (std::thread& each : all) each.join();
  weft::device& dev = rt.default_device();
  require(eventually(dev,
                     [&] {
                       for (weft::device& each : own) each.progress();
                       return inbox.value() == count * 100;
                     }),
          "messages are lost");
  rt.barrier();
}

void barriers(weft::runtime& rt, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) rt.barrier();
}

// Until it is killed. Prints its rank once all are there.
void steady(weft::runtime& rt, std::uint64_t /*count*/) {
  weft::counter inbox{rt}, sent{rt};
  const weft::registration arrivals = rt.register_completion(inbox, {.id = 1});
  weft::device& dev = rt.default_device();
  rt.barrier();
  std::cout << "ready " << getpid() << std::endl;
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes{5};
  const std::vector<std::byte> large(100'000, std::byte{1});
  while (std::chrono::steady_clock::now() < until) {
    for (std::uint32_t peer = 0; peer < rt.size(); ++peer) {
      static_cast<void>(dev.post_am(peer, {1}, large, sent));
      static_cast<void>(dev.post_am(peer, {1}, std::as_bytes(std::span{&peer, 1}), sent));
    }
    dev.progress();
  }
  require(false, "nobody has killed this");
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(weft::runtime&, std::uint64_t)> trials{
      {"overflow", overflow}, {"tags", tags},         {"flood", flood},
      {"threads", threads},   {"barriers", barriers}, {"steady", steady}};
  const std::string name = argc > 1 ? argv[1] : "";
  const std::uint64_t count = argc > 2 ? std::stoull(argv[2]) : 1;
  const bool has_new_runtimes = name == "runtimes";  // each with a runtime of its own
  const auto found = trials.find(has_new_runtimes ? "tags" : name);
  if (found == trials.end()) {
    std::cerr << "trial: there is no trial '" << name << "'\n";
    return 2;
  }
  try {
    for (std::uint64_t i = 0; i < (has_new_runtimes ? count : 1); ++i) {
      weft::runtime rt;
      found->second(rt, has_new_runtimes ? 1 : count);
      rt.barrier();
    }
  } catch (const std::exception& problem) {
    std::cerr << "weft: " << problem.what() << '\n';
    return 1;
  }
}
