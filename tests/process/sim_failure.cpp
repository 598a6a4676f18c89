// SPDX-License-Identifier: BSD-3-Clause
// A copy that fails: its operation ends once, with the error of the cause, and later operations are whole.
// ranks: 2
// launchers: weft-run
// subject: src/net/sim src/core/protocol
//
// WEFT_SIM_FAIL says which copy: number 2 of the reads or writes of each rank; tests/scripts/seeds_test.py runs them
// all.
#include <cstring>
#include <set>
#include <string_view>

#include "process/am_load.hpp"

namespace {

using weft::test::eventually;
using weft::test::require;

constexpr std::size_t bytes = 60'000;  // one copy each
constexpr std::uint64_t count = 3;

struct chosen {
  bool write;
  bool gone;
  [[nodiscard]] weft::errc error() const { return gone ? weft::errc::peer_failed : weft::errc::transport_failed; }
};

std::vector<std::byte> pattern(std::uint64_t seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = weft::test::byte_of(seed, i);
  return out;
}

weft::completion_record next(weft::runtime& rt, weft::completion_queue& from, const char* missing) {
  std::optional<weft::completion_record> got;
  require(eventually(rt.default_device(), [&] { return (got = from.pop()).has_value(); }), missing);
  return std::move(*got);
}

void expect_error(const weft::completion_record& done, weft::errc expected, const char* operation) {
  require(done.error() == expected, fmt::format("a {} ended with '{}' instead of '{}'", operation,
                                                weft::name_of(done.error()), weft::name_of(expected)));
}

// Messages that the receiver reads. It answers a sender that it takes for gone, as the sender is there.
void send_messages(weft::runtime& rt, const chosen& fails) {
  weft::completion_queue sent{rt};
  for (std::uint64_t tag = 1; tag <= count; ++tag) {
    const auto payload = pattern(tag);
    require(weft::test::post_until_taken(rt.default_device(), 1, {1}, payload, sent, {.tag = tag}), "not posted");
    expect_error(next(rt, sent, "a message was not sent"), !fails.write && tag == 2 ? fails.error() : weft::errc::none,
                 "sent message");
  }
  rt.barrier();
  require(!sent.pop().has_value(), "told twice");
}

void receive_messages(weft::runtime& rt, weft::completion_queue& inbox, const chosen& fails) {
  for (std::uint64_t tag = 1; tag <= count; ++tag) {
    const auto got = next(rt, inbox, "a message did not come");
    require(got.tag() == tag && got.source() == 0, "another message came");
    const bool has_failed = !fails.write && tag == 2;
    expect_error(got, has_failed ? fails.error() : weft::errc::none, "received message");
    require(has_failed || std::ranges::equal(got.data(), pattern(tag)), "other bytes came");
  }
  rt.barrier();
}

// Puts and gets of rank 0, which writes and reads itself.
void put_and_get(weft::runtime& rt, const weft::remote_region& region, const chosen& fails) {
  weft::device& dev = rt.default_device();
  weft::completion_queue local{rt};
  for (std::uint64_t i = 1; i <= count; ++i) {
    const auto payload = pattern(10 + i);
    const weft::remote_buffer there{region, i * bytes};
    static_cast<void>(weft::test::post(
        dev, [&] { return dev.post_put(1, payload, there, local, {.signal = {2}, .tag = i, .allow_done = false}); }));
    expect_error(next(rt, local, "a put was not told"), fails.write && i == 2 ? fails.error() : weft::errc::none,
                 "put");
  }
  for (std::uint64_t i = 1; i <= count; ++i) {
    std::vector<std::byte> here(bytes);
    const weft::remote_buffer there{region, 0};
    static_cast<void>(
        weft::test::post(dev, [&] { return dev.post_get(1, here, there, local, {.allow_done = false}); }));
    const bool failed = !fails.write && i == 2;
    expect_error(next(rt, local, "a get was not told"), failed ? fails.error() : weft::errc::none, "get");
    require(failed || here == pattern(7), "other bytes were got");
  }
  rt.barrier();
  require(!local.pop().has_value(), "told twice");
}

void be_put_to(weft::runtime& rt, const std::vector<std::byte>& memory, weft::completion_queue& signals,
               const chosen& fails) {
  std::set<std::uint64_t> missing{1, 2, 3};
  static_assert(count == 3);
  if (fails.write) missing.erase(2);
  while (!missing.empty()) {  // in any order
    const std::uint64_t i = next(rt, signals, "a signal did not come").tag();
    require(missing.erase(i) == 1, "another put's signal came");
    require(std::ranges::equal(std::span{memory}.subspan(i * bytes, bytes), pattern(10 + i)), "other bytes were put");
  }
  rt.barrier();
  require(!signals.pop().has_value(), "a signal came of a put that had failed");
}

// The region of rank 1, which tells rank 0 of it.
weft::remote_region agree_on_region(weft::runtime& rt, const weft::memory_region& mine, weft::completion_queue& told) {
  weft::counter sent{rt};
  weft::remote_region out = mine.handle();
  if (rt.rank() == 1) {
    static_cast<void>(weft::test::post_until_taken(rt.default_device(), 0, {3}, std::span{&out, 1}, sent));
  } else {
    std::memcpy(&out, next(rt, told, "the region was not told").data().data(), sizeof out);
  }
  rt.barrier();
  return out;
}

}  // namespace

int main() {
  weft::test::set("WEFT_TRANSPORT", "sim:shm");
  weft::test::set("WEFT_SIM_DENY_PERCENT", "0");
  ::setenv("WEFT_SIM_SEED", "1", 0);
  ::setenv("WEFT_SIM_FAIL", "read:2", 0);
  const std::string_view choice = std::getenv("WEFT_SIM_FAIL");
  const chosen fails{.write = choice.starts_with("write"), .gone = choice.ends_with(":gone")};
  return weft::test::run_rank([&](weft::runtime& rt) {
    std::vector<std::byte> memory((1 + count) * bytes);
    std::ranges::copy(pattern(7), memory.begin());
    const weft::memory_region region{rt, memory};
    weft::completion_queue inbox{rt}, signals{rt}, told{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    const auto puts = rt.register_completion(signals, {.id = 2});
    const auto regions = rt.register_completion(told, {.id = 3});
    const weft::remote_region target = agree_on_region(rt, region, told);
    const bool is_origin = rt.rank() == 0;
    is_origin ? put_and_get(rt, target, fails) : be_put_to(rt, memory, signals, fails);
    is_origin ? send_messages(rt, fails) : receive_messages(rt, inbox, fails);
    require(rt.counters().faults_failed == (is_origin || !fails.write ? 1U : 0U), "another number of copies failed");
    rt.barrier();
  });
}
