// SPDX-License-Identifier: BSD-3-Clause
// A shortage is named; an operation that needs the resource does not wait for it, and continues once it is there.
// ranks: 2
// subject: src/core/device src/core/memory src/core/operation
#include "process/am_load.hpp"

namespace {

using weft::shortage;
using weft::test::eventually;
using weft::test::require;

// All the packets that this rank can get.
std::vector<weft::packet> take_all_packets(weft::runtime& rt) {
  std::vector<weft::packet> out;
  while (auto packet = rt.try_take_packet()) out.push_back(std::move(*packet));
  return out;
}

// Memory that peers can't map, and the kernel may not copy: a put of it rides in a packet.
void put_without_packets(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::counter sent{rt};
  std::vector<std::byte> memory(1000);
  const weft::memory_region region{rt, std::span{memory}};
  std::optional<weft::remote_region> theirs;
  weft::handler learn{rt, [&](weft::completion_record&& message) {
                        std::memcpy(&theirs.emplace(), message.data().data(), sizeof *theirs);
                      }};
  const auto handles = rt.register_completion(learn, {.id = 1});
  const std::uint32_t peer = 1 - rt.rank();
  weft::test::post_until_taken(dev, peer, {1}, std::span{&region.handle(), 1}, sent);
  require(eventually(dev, [&] { return theirs.has_value(); }), "the peer's region was not heard of");

  const std::vector<std::byte> bytes(1000, std::byte{7});
  std::vector<weft::packet> packets = take_all_packets(rt);
  const std::uint64_t before = dev.counters().posts.retries_for(shortage::packets);
  const auto put = [&] { return dev.post_put(peer, bytes, {*theirs, 0}, sent); };
  const weft::status answer = put();
  require(answer.is_retry(), "a put without packets was taken");
  require(answer.reason() == shortage::packets,
          fmt::format("short of {}, not of packets", weft::name_of(answer.reason())));
  require(dev.counters().posts.retries_for(shortage::packets) == before + 1, "the retry was counted as another one");
  packets.clear();
  static_cast<void>(weft::test::post(dev, put));
  dev.flush(peer);
  rt.barrier();
  require(memory == bytes, "the put is not there");
}

// A send without a packet stays with its sender: all packets may hold messages that wait for their receives.
void send_without_packets(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::counter sent{rt}, received{rt};
  const std::uint32_t peer = 1 - rt.rank();
  const std::vector<std::byte> bytes(1000, std::byte{7});
  std::vector<std::byte> into(1000);
  rt.barrier();
  std::vector<weft::packet> packets = take_all_packets(rt);
  const weft::status answer = weft::test::post(dev, [&] { return dev.post_send(peer, bytes, sent, {.tag = 5}); });
  require(answer.is_posted(), "a send without packets has left its buffer");
  static_cast<void>(weft::test::post(dev, [&] { return dev.post_recv(peer, into, received, {.tag = 5}); }));
  packets.clear();
  require(eventually(dev, [&] { return received.value() == 1 && sent.value() == 1; }), "a send did not arrive");
  require(into == bytes, "a send has brought other bytes");
  rt.barrier();
}

// an RTS that a handler drops while every operation is in use, one of them by a message that waits for its return.
void drop_in_handler(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::counter local{rt};
  bool is_open = false, is_dropped = false;
  std::uint32_t came = 0;
  weft::handler closed{rt, [&](weft::completion_record&& message) {
                         if (!is_open) return weft::completion::answer::full;
                         const weft::completion_record taken{std::move(message)};
                         ++came;
                         return weft::completion::answer::taken;
                       }};
  weft::handler drops{rt, [&](weft::completion_record&& message) {
                        if (!dev.probe(1, {.tag = 3})) return weft::completion::answer::full;  // dropped immediately
                        const weft::completion_record taken{std::move(message)};
                        is_dropped = true;
                        return weft::completion::answer::taken;
                      }};
  const auto first = rt.register_completion(closed, {.id = 2});
  const auto second = rt.register_completion(drops, {.id = 3});
  rt.barrier();
  const std::vector<std::byte> bytes(100'000, std::byte{7});
  if (rt.rank() == 1) {
    static_cast<void>(weft::test::post(dev, [&] { return dev.post_am(0, {2}, bytes, local); }));
    require(eventually(dev, [&] { return local.value() == 1; }), "the first long message was not taken");
    static_cast<void>(weft::test::post(dev, [&] { return dev.post_send(0, bytes, local, {.tag = 3}); }));
    weft::test::post_until_taken(dev, 0, {3}, {}, local);
    require(eventually(dev, [&] { return local.value() == 2; }), "nobody said that the message was dropped");
  } else {
    std::uint64_t word = 0;
    const weft::status never = weft::test::post(dev, [&] {
      return dev.post_recv(1, weft::buffer_ref{&word, sizeof word}, local, {.tag = 99});
    });
    require(eventually(dev, [&] { return is_dropped; }), "the handler did not return");
    for (int i = 0; i < 100; ++i) dev.progress();
    require(rt.counters().messages_dropped == 1, "a message was dropped twice, or not at all");
    is_open = true;
    require(eventually(dev, [&] { return came == 1; }), "the first long message did not arrive");
    require(dev.cancel(never.ticket()) == weft::cancel_result::cancelled, "the receive could not be cancelled");
    require(eventually(dev, [&] { return local.value() == 1; }), "the cancelled receive was not signalled");
  }
  rt.barrier();
}

}  // namespace

int main() {
  using weft::test::set;
  set("WEFT_PACKET_COUNT", "64");
  set("WEFT_OPERATIONS_MAX", "1");
  set("WEFT_RECEIVES_MAX", "1");
  set("WEFT_SHM_CMA", "off");
  return weft::test::run_rank([](weft::runtime& rt) {
    put_without_packets(rt);
    send_without_packets(rt);
    drop_in_handler(rt);
  });
}
