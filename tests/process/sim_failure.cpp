// A copy from a peer's memory that fails: both sides are told, once, and what comes after it arrives.
// ranks: 2
// launchers: weft-run
#include "process/am_load.hpp"

namespace {

using weft::test::eventually;
using weft::test::require;

void send(weft::runtime& rt, const std::vector<std::byte>& payload) {
  weft::completion_queue sent{rt};
  for (std::uint64_t tag = 1; tag <= 3; ++tag) {
    require(weft::test::post_until_taken(rt.default_device(), 1, {1}, payload, sent, {.tag = tag}), "not posted");
    std::optional<weft::completion_record> done;
    require(eventually(rt.default_device(), [&] { return (done = sent.pop()).has_value(); }), "not sent");
    const auto expected = tag == 2 ? weft::errc::transport_failed : weft::errc::none;
    require(done->error() == expected, fmt::format("message {} ended with {}", tag, static_cast<int>(done->error())));
  }
  rt.barrier();
  require(!sent.pop().has_value(), "told twice");
}

void receive(weft::runtime& rt, const std::vector<std::byte>& payload) {
  weft::completion_queue inbox{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 1});
  for (std::uint64_t tag = 1; tag <= 3; ++tag) {
    std::optional<weft::completion_record> got;
    require(eventually(rt.default_device(), [&] { return (got = inbox.pop()).has_value(); }), "nothing came");
    require(got->tag() == tag && got->source() == 0, "another message came");
    require((got->error() == weft::errc::none) == (tag != 2), fmt::format("message {} failed or did not", tag));
    require(tag == 2 || std::ranges::equal(got->data(), payload), "other bytes came");
  }
  rt.barrier();
  require(rt.counters().faults_failed == 1, "the copy that was chosen did not fail");
}

}  // namespace

int main() {
  weft::test::set("WEFT_TRANSPORT", "sim:shm");
  weft::test::set("WEFT_SIM_SEED", "1");
  weft::test::set("WEFT_SIM_DENY_PERCENT", "0");
  weft::test::set("WEFT_SIM_FAIL", "read:2");
  return weft::test::run_rank([](weft::runtime& rt) {
    const std::vector<std::byte> payload(60'000, std::byte{7});  // one read for each message, by the receiver alone
    rt.rank() == 0 ? send(rt, payload) : receive(rt, payload);
  });
}
