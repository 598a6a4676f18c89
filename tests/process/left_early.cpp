// A rank leaves as soon as its own work is done, while an answer to its peer still waits for a call of progress.
// ranks: 2
#include "process/am_load.hpp"

int main() {
  return weft::test::run_rank([](weft::runtime& rt) {
    using weft::test::eventually;
    using weft::test::require;
    weft::device& dev = rt.default_device();
    if (rt.rank() == 1) {
      weft::counter sent{rt};
      const std::vector<std::byte> payload(100'000);
      const weft::status answer = weft::test::post(dev, [&] { return dev.post_send(0, payload, sent, {.tag = 3}); });
      require(answer.is_posted(), "a long message was not posted");
      require(eventually(dev, [&] { return sent.value() == 1; }), "the rank that left has not answered");
    } else {
      std::optional<weft::matched_message> found;
      require(eventually(dev, [&] { return (found = dev.probe(1, {.tag = 3})).has_value(); }), "there is no message");
      found.reset();  // it is not wanted: from here on this rank makes no progress
    }
  });
}
