// What is short is named, and a post that needs it goes through once it is there again.
// ranks: 2
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
  const std::uint64_t before = dev.counters().retries_for(shortage::packets);
  const auto put = [&] { return dev.post_put(peer, bytes, {*theirs, 0}, sent); };
  const weft::status answer = put();
  require(answer.is_retry(), "a put without packets was taken");
  require(answer.reason() == shortage::packets,
          fmt::format("short of {}, not of packets", weft::name_of(answer.reason())));
  require(dev.counters().retries_for(shortage::packets) == before + 1, "the retry was counted as another one");
  packets.clear();
  static_cast<void>(weft::test::post(dev, put));
  dev.flush(peer);
  rt.barrier();
  require(memory == bytes, "the put is not there");
}

}  // namespace

int main() {
  using weft::test::set;
  set("WEFT_PACKET_COUNT", "64");
  set("WEFT_OPERATIONS_MAX", "1");
  set("WEFT_RECEIVES_MAX", "1");
  set("WEFT_SHM_CMA", "off");
  return weft::test::run_rank([](weft::runtime& rt) { put_without_packets(rt); });
}
