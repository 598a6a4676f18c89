// SPDX-License-Identifier: BSD-3-Clause
// All ranks use up their resources for each other before any of them makes progress: no rank may wait for ever.
// ranks: 2 3
#include "boot/bootstrap.hpp"
#include "process/am_load.hpp"
#include "support/between_threads.hpp"

namespace {

using weft::test::eventually;
using weft::test::require;

// Posts `bytes` to the other ranks in turn until a post to each of them is short of `expected`; returns how many went
// to each.
std::vector<std::uint64_t> post_all_there_is_room_for(weft::runtime& rt, std::uint32_t id,
                                                      const std::vector<std::byte>& bytes, weft::completion& sent,
                                                      weft::shortage expected) {
  std::vector<std::uint64_t> posted(rt.size());
  for (std::uint32_t short_in_a_row = 0, peer = rt.rank(); short_in_a_row < rt.size();) {
    peer = (peer + 1) % rt.size();
    const weft::status answer = rt.default_device().post_am(peer, {id}, bytes, sent);
    short_in_a_row = answer.is_retry() ? short_in_a_row + 1 : 0;
    posted[peer] += !answer.is_retry();
    require(!answer.is_retry() || answer.reason() == expected,
            fmt::format("short of {}, not of {}", weft::name_of(answer.reason()), weft::name_of(expected)));
  }
  return posted;
}

void use_up(weft::runtime& rt, std::uint32_t id, std::size_t bytes, weft::shortage expected) {
  weft::counter sent{rt}, inbox{rt};
  weft::test::tally<> told, total;
  weft::handler add{rt, [&](weft::completion_record&& count) {
                      total.add(count.tag());
                      told.add();
                    }};
  const auto arrivals = rt.register_completion(inbox, {.id = id});
  const auto totals = rt.register_completion(add, {.id = id + 1});
  rt.barrier();

  const std::vector<std::byte> payload(bytes, std::byte{5});
  const auto posted = post_all_there_is_room_for(rt, id, payload, sent, expected);
  // No rank has made progress yet when all have nothing left: this fence does not.
  weft::boot::process_bootstrap()->fence();
  std::uint64_t all = 0;
  for (std::uint32_t peer = 0; peer < rt.size(); ++peer) {
    all += posted[peer];
    static_cast<void>(
        weft::test::post_until_taken(rt.default_device(), peer, {id + 1}, {}, sent, {.tag = posted[peer]}));
  }
  const std::uint64_t to_be_signalled = expected == weft::shortage::operations ? all : 0;
  require(all > 0, "nothing could be posted");
  const bool completed = eventually(rt.default_device(), [&] {
    return sent.value() == to_be_signalled && told.value() == rt.size() && inbox.value() == total.value();
  });
  require(completed, fmt::format("rank {}: {} of {} posts of {} bytes complete, {} of {} arrived", rt.rank(),
                                 sent.value(), to_be_signalled, bytes, inbox.value(), total.value()));
  require(sent.failed() == 0 && inbox.failed() == 0, "a post failed");
  rt.barrier();
  std::printf("rank %u: %llu messages of %zu bytes posted, %llu arrived\n", rt.rank(),
              static_cast<unsigned long long>(all), bytes, static_cast<unsigned long long>(inbox.value()));
}

}  // namespace

int main() {
  using weft::test::set;
  set("WEFT_PACKET_COUNT", "64");
  set("WEFT_FOREIGN_PACKETS_MAX", "0");
  set("WEFT_OPERATIONS_MAX", "16");
  set("WEFT_SHM_CMA", "off");
  return weft::test::run_rank([](weft::runtime& rt) {
    for (std::uint32_t round = 0; round < 5; ++round) {
      use_up(rt, 10 * round + 1, 100'000, weft::shortage::operations);
      use_up(rt, 10 * round + 5, 5000, weft::shortage::packets);
    }
  });
}
