// SPDX-License-Identifier: BSD-3-Clause
// One bound in bytes for all pools: at it receives and posts answer retry or throw, peers are held back, and operations
// under way continue. Then there is room again.
// ranks: 2
// launchers: weft-run
// subject: src/core/memory src/core/operation src/core/matching src/core/device src/core/protocol src/core/runtime
#include <utility>

#include "process/am_load.hpp"

namespace {

using weft::test::eventually;
using weft::test::require;

constexpr std::size_t bytes_max = std::size_t{4} << 20;

// The error of a post that may not answer retry.
template <class Post>
std::string refusal_of(const Post& post) {
  try {
    static_cast<void>(post());
  } catch (const weft::error& refusal) {
    require(refusal.code() == weft::errc::backlog_full, refusal.what());
    return refusal.what();
  }
  return {};
}

// Long messages both ways, which need operations of their own on both sides.
void exchange(weft::runtime& rt) {
  static std::uint32_t id = 10;  // an id is used once
  weft::device& dev = rt.default_device();
  weft::counter sent{rt}, inbox{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = ++id});
  const std::vector<std::byte> bytes(50'000, std::byte{7});
  rt.barrier();
  for (int i = 0; i < 20; ++i) weft::test::post_until_taken(dev, 1 - rt.rank(), {id}, bytes, sent);
  require(eventually(dev, [&] { return inbox.value() == 20 && sent.outstanding() == 0; }),
          "long messages do not go through");
  rt.barrier();
}

void use_up_by_receives(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::counter received{rt};
  std::uint64_t word = 0;
  const auto receive = [&](bool allow_retry) {
    return dev.post_recv(1 - rt.rank(), std::span{&word, 1}, received, {.tag = 1, .allow_retry = allow_retry});
  };
  for (int round = 0; round < 2; ++round) {
    std::vector<std::uint64_t> tickets;
    for (;;) {
      const weft::status answer = receive(true);
      if (answer.is_retry() && answer.reason() == weft::shortage::lock) continue;
      if (answer.is_retry()) {
        require(answer.reason() == weft::shortage::receives, "another shortage than that of receives");
        break;
      }
      tickets.push_back(answer.ticket());
      require(tickets.size() < bytes_max / 256, "more receives than there are bytes for");
    }
    require(tickets.size() > bytes_max / 2 / 384, "the bound was met too early");
    require(refusal_of([&] { return receive(false); }).find("WEFT_STATE_BYTES_MAX") != std::string::npos,
            "the error does not name the bound");
    exchange(rt);
    for (const std::uint64_t ticket : tickets) {
      require(eventually(dev, [&] { return dev.cancel(ticket) == weft::cancel_result::cancelled; }),
              "a receive was not cancelled");
    }
  }
}

// Rank 0 posts to rank 1, which does not look.
void use_up_by_posts(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::counter sent{rt}, inbox{rt};
  weft::completion_queue totals{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 2});
  const auto told = rt.register_completion(totals, {.id = 3});
  rt.barrier();
  if (rt.rank() == 0) {
    const std::uint64_t word = 5;
    std::uint64_t posted = 0;
    const auto post = [&] { return dev.post_am(1, {2}, std::span{&word, 1}, sent, {.allow_retry = false}); };
    while (refusal_of(post).empty()) require(++posted < bytes_max, "posts are taken without end");
    require(posted > 256, "the bound was met too early");
    weft::test::post_until_taken(dev, 1, {3}, std::span{&posted, 1}, sent);
    require(eventually(dev, [&] { return sent.outstanding() == 0; }), "a post did not end");
    require(sent.failed() == 0, "a post failed");
  } else {
    std::optional<weft::completion_record> total;
    require(eventually(dev, [&] { return total || (total = totals.pop()).has_value(); }), "no total came");
    std::uint64_t posted = 0;
    std::memcpy(&posted, total->data().data(), sizeof posted);
    require(eventually(dev, [&] { return inbox.value() == posted; }), "a post did not arrive");
  }
  rt.barrier();
}

// Rank 0 sends more than rank 1 can have waiting, which receives when nothing arrives any more.
void use_up_by_waiting_messages(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::counter sent{rt}, received{rt};
  constexpr std::uint64_t count = 40'000;
  std::uint64_t word = 7, into = 0;
  rt.barrier();
  if (rt.rank() == 0) {
    for (std::uint64_t i = 0; i < count; ++i) {
      static_cast<void>(weft::test::post(dev, [&] { return dev.post_send(1, std::span{&word, 1}, sent); }));
    }
    require(eventually(dev, [&] { return sent.outstanding() == 0; }), "a send did not end");
  } else {
    std::uint64_t waiting = 0;
    int quiet = 0;
    const auto is_quiet = [&] {
      const std::uint64_t before = std::exchange(waiting, rt.counters().sends_waiting);
      quiet = waiting == before && waiting >= 256 ? quiet + 1 : 0;
      return quiet == 3000;
    };
    require(eventually(dev, is_quiet), "messages arrive without end");
    require(waiting < count, "more messages wait than there are bytes for");
    for (std::uint64_t i = 0; i < count; ++i) {
      static_cast<void>(weft::test::post(dev, [&] { return dev.post_recv(0, std::span{&into, 1}, received); }));
      require(eventually(dev, [&] { return received.value() == i + 1; }),
              "a message that was held back did not arrive");
    }
  }
  rt.barrier();
}

}  // namespace

int main() {
  weft::test::set("WEFT_STATE_BYTES_MAX", std::to_string(bytes_max).c_str());
  weft::test::set("WEFT_STUCK_AFTER", "0");
  return weft::test::run_rank([](weft::runtime& rt) {
    require(rt.attributes().state_bytes_max == bytes_max, "another bound");
    use_up_by_receives(rt);
    use_up_by_posts(rt);
    use_up_by_waiting_messages(rt);
    exchange(rt);
  });
}
