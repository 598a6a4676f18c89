// SPDX-License-Identifier: BSD-3-Clause
// A notice to a sender that its packets are not welcome takes no operation away from answers to peers: with one
// operation of each kind and no room aside, a rank that has filled its own ring still gets on.
// ranks: 1
// launchers: weft-run
#include "process/am_load.hpp"

namespace {

using weft::test::eventually;
using weft::test::require;

void run(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::counter sent{rt}, inbox{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 1});
  const std::vector<std::byte> packet(100), large(20'000);
  const auto post_small = [&] { return dev.post_am(0, {1}, std::span{packet}.first(8), sent).is_done(); };
  for (const std::uint64_t tag : {1, 2}) {
    require(dev.post_send(0, packet, sent, {.tag = tag}).is_done(), "a send found no room");
  }
  require(dev.post_am(0, {1}, large, sent).is_posted(), "the large message was not posted");
  std::uint64_t posted = 1;
  while (post_small()) ++posted;
  // The sends are kept, and too many; messages behind them have to arrive nevertheless.
  for (int i = 0; i < 3; ++i) {
    dev.progress();
    while (post_small()) ++posted;
  }
  require(eventually(dev, [&] { return inbox.value() == posted; }),
          fmt::format("{} of {} messages arrived", inbox.value(), posted));
  std::vector<std::byte> into(100);
  weft::counter received{rt};
  for (const std::uint64_t tag : {1, 2}) {
    static_cast<void>(weft::test::post(dev, [&] { return dev.post_recv(0, std::span{into}, received, {.tag = tag}); }));
  }
  require(eventually(dev, [&] { return received.value() == 2; }), "the sends were not received");
}

}  // namespace

int main() {
  using weft::test::set;
  set("WEFT_OPERATIONS_MAX", "1");
  set("WEFT_UNEXPECTED_BYTES_MAX", "0");
  set("WEFT_UNEXPECTED_PACKETS_MAX", "1");
  set("WEFT_RING_CELLS", "8");
  return weft::test::run_rank(run);
}
