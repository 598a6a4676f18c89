// SPDX-License-Identifier: BSD-3-Clause
// One 8-byte message after another from a device of one rank to a device of another, through a shared-memory ring: as
// an active message (post, progress at the receiver, completion), then as a send that finds its receive posted
// (receive, post, progress, completion) in the default engine, in an unordered one of the program's own, and in an
// ordered one. The same with 64 bytes, which travel in a packet. Run under callgrind by scripts/instructions, which
// adds up what the functions below cost. Never `self`, never an empty poll: each step happens exactly once a message.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

constexpr int warm_up = 1000;  // first contact, lazily touched pages
constexpr int counted = 10'000;

void expect(bool true_here, const char* problem) {
  if (true_here) return;
  std::fprintf(stderr, "instructions: %s\n", problem);
  std::exit(1);
}

}  // namespace

// Found by these names in callgrind's output.
[[gnu::noinline]] bool counted_post(weft::device& dev, std::uint64_t word, weft::completion& sent) {
  return dev.post_am(1, {1}, std::span{&word, 1}, sent, {.tag = word}).is_done();
}
[[gnu::noinline]] bool counted_progress(weft::device& dev) { return dev.progress(); }
// The pop alone, whether it is inlined or not.
[[gnu::noinline]] std::optional<weft::completion_record> counted_pop(weft::completion_queue& inbox) {
  return inbox.pop();
}
[[gnu::noinline]] bool counted_completion(weft::completion_queue& inbox, std::uint64_t word) {
  const auto got = counted_pop(inbox);
  return got && got->tag() == word && got->bytes() == sizeof word;
}

// The same of 64 bytes. The pop gives the packet back.
using long_message = std::array<std::uint64_t, 8>;
[[gnu::noinline]] bool counted_long_post(weft::device& dev, const long_message& words, weft::completion& sent) {
  return dev.post_am(1, {1}, std::span{words}, sent, {.tag = words[0]}).is_done();
}
[[gnu::noinline]] bool counted_long_progress(weft::device& dev) { return dev.progress(); }
[[gnu::noinline]] bool counted_long_pop(weft::completion_queue& inbox, std::uint64_t word) {
  const auto got = inbox.pop();
  return got && got->tag() == word && got->bytes() == sizeof(long_message);
}
[[gnu::noinline]] bool counted_long_completion(weft::completion_queue& inbox, std::uint64_t word) {
  return counted_long_pop(inbox, word);
}
template <bool InOrder>
[[gnu::noinline]] bool counted_long_receive(weft::device& dev, long_message& into, weft::completion& received,
                                            const weft::matching_engine* engine) {
  if constexpr (!InOrder)
    return dev.post_recv(0, std::span{into}, received, {.tag = 7}).is_posted();
  else
    return dev.post_recv(0, std::span{into}, received, {.tag = 7, .engine = *engine}).is_posted();
}
template <bool InOrder>
[[gnu::noinline]] bool counted_long_send(weft::device& dev, const long_message& words, weft::completion& sent,
                                         const weft::matching_engine* engine) {
  if constexpr (!InOrder)
    return dev.post_send(1, std::span{words}, sent, {.tag = 7}).is_done();
  else
    return dev.post_send(1, std::span{words}, sent, {.tag = 7, .engine = *engine}).is_done();
}
template <bool InOrder>
[[gnu::noinline]] bool counted_long_match(weft::device& dev) {
  return dev.progress();
}
template <bool InOrder>
[[gnu::noinline]] std::optional<weft::completion_record> counted_long_pop_received(weft::completion_queue& inbox) {
  return inbox.pop();
}
template <bool InOrder>
[[gnu::noinline]] bool counted_long_received(weft::completion_queue& inbox) {
  const auto got = counted_long_pop_received<InOrder>(inbox);
  return got && got->bytes() == sizeof(long_message) && got->error() == weft::errc::none;
}

// `Kind` gives each engine functions of its own.
enum class engine_of { everybody, its_own, order };
template <engine_of Kind>
[[gnu::noinline]] bool counted_receive(weft::device& dev, std::uint64_t& into, weft::completion& received,
                                       const weft::matching_engine* in) {
  if constexpr (Kind == engine_of::everybody)
    return dev.post_recv(0, std::span{&into, 1}, received, {.tag = 7}).is_posted();
  else
    return dev.post_recv(0, std::span{&into, 1}, received, {.tag = 7, .engine = *in}).is_posted();
}
template <engine_of Kind>
[[gnu::noinline]] bool counted_send(weft::device& dev, std::uint64_t word, weft::completion& sent,
                                    const weft::matching_engine* in) {
  if constexpr (Kind == engine_of::everybody)
    return dev.post_send(1, std::span{&word, 1}, sent, {.tag = 7}).is_done();
  else
    return dev.post_send(1, std::span{&word, 1}, sent, {.tag = 7, .engine = *in}).is_done();
}
template <engine_of Kind>
[[gnu::noinline]] bool counted_match(weft::device& dev) {
  return dev.progress();
}
template <engine_of Kind>
[[gnu::noinline]] std::optional<weft::completion_record> counted_pop_received(weft::completion_queue& inbox) {
  return inbox.pop();
}
template <engine_of Kind>
[[gnu::noinline]] bool counted_received(weft::completion_queue& inbox) {
  const auto got = counted_pop_received<Kind>(inbox);
  return got && got->bytes() == sizeof(std::uint64_t) && got->error() == weft::errc::none;
}

namespace {

[[gnu::noinline]] bool warm_post(weft::device& dev, std::uint64_t word, weft::completion& sent) {
  return dev.post_am(1, {1}, std::span{&word, 1}, sent, {.tag = word}).is_done();
}
[[gnu::noinline]] void warm_progress(weft::device& dev) { static_cast<void>(dev.progress()); }
[[gnu::noinline]] bool warm_completion(weft::completion_queue& inbox) { return inbox.pop().has_value(); }

// What both ranks have; all of it is used by the thread of rank 0.
struct side {
  weft::device* dev;
  weft::completion_queue* inbox;
  const weft::matching_engine* own;
  const weft::matching_engine* ordered;
};

[[nodiscard]] const weft::matching_engine* engine_at(const side& at, engine_of kind) {
  return kind == engine_of::its_own ? at.own : at.ordered;
}

// Not inlined here, so that the functions above are called from it alone.
template <engine_of Kind>
[[gnu::noinline]] void exchange(const side (&at)[2], weft::counter& sent) {
  std::uint64_t into = 0;
  const weft::matching_engine* const from = engine_at(at[0], Kind);
  const weft::matching_engine* const to = engine_at(at[1], Kind);
  for (int i = 0; i < warm_up; ++i) {
    // By ids: other functions, so that the first messages are not counted.
    const weft::engine_ref engine =
        Kind == engine_of::everybody ? weft::engine_ref{} : weft::engine_ref{engine_at(at[0], Kind)->id()};
    expect(at[1].dev->post_recv(0, std::span{&into, 1}, *at[1].inbox, {.tag = 7, .engine = engine}).is_posted(),
           "a receive was not posted");
    expect(at[0].dev->post_send(1, std::span{&into, 1}, sent, {.tag = 7, .engine = engine}).is_done(),
           "a send was not done");
    while (!warm_completion(*at[1].inbox)) at[1].dev->progress();
    warm_progress(*at[0].dev);
  }
  for (std::uint64_t i = 0; i < counted; ++i) {
    expect(counted_receive<Kind>(*at[1].dev, into, *at[1].inbox, to), "a receive was not posted");
    expect(counted_send<Kind>(*at[0].dev, i, sent, from), "a send was not done");
    expect(counted_match<Kind>(*at[1].dev), "a poll was empty");
    expect(counted_received<Kind>(*at[1].inbox) && into == i, "a message was not received");
    if (i % 64 == 0) warm_progress(*at[0].dev);  // the sender of numbered messages gets its credits back
  }
}

void exchange_long_active_messages(const side (&at)[2], weft::counter& sent) {
  long_message words{};
  for (int i = 0; i < counted; ++i) {
    words[0] = static_cast<std::uint64_t>(i);
    expect(counted_long_post(*at[0].dev, words, sent), "a post of 64 bytes was not done");
    expect(counted_long_progress(*at[1].dev), "a poll was empty");
    expect(counted_long_completion(*at[1].inbox, words[0]), "a message of 64 bytes was not there");
  }
}

template <bool InOrder>
[[gnu::noinline]] void exchange_long(const side (&at)[2], weft::counter& sent) {
  long_message words{};
  long_message into{};
  for (int i = 0; i < counted; ++i) {
    words[7] = static_cast<std::uint64_t>(i);
    expect(counted_long_receive<InOrder>(*at[1].dev, into, *at[1].inbox, at[1].ordered), "a receive was not posted");
    expect(counted_long_send<InOrder>(*at[0].dev, words, sent, at[0].ordered), "a send of 64 bytes was not done");
    expect(counted_long_match<InOrder>(*at[1].dev), "a poll was empty");
    expect(counted_long_received<InOrder>(*at[1].inbox) && into == words, "a message of 64 bytes was not received");
    if (i % 64 == 0) warm_progress(*at[0].dev);
  }
}

}  // namespace

int main() {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::completion_queue inbox{rt};
    weft::counter sent{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    weft::device dev{rt, {.shared = false}};
    const weft::matching_engine own{rt, {.id = 1}};
    const weft::matching_engine ordered{rt, {.id = 2, .ordered = true}};
    static side sides[2];
    sides[rt.rank()] = {&dev, &inbox, &own, &ordered};
    rt.barrier();
    if (rt.rank() == 0) {
      // Both devices are this thread's now: the other rank waits in the barrier, on its default device.
      weft::device& target = *sides[1].dev;
      for (int i = 0; i < warm_up; ++i) {
        expect(warm_post(dev, 1, sent), "a post was not done");
        while (!warm_completion(*sides[1].inbox)) target.progress();
      }
      for (std::uint64_t i = 0; i < counted; ++i) {
        expect(counted_post(dev, i, sent), "a post was not done");
        expect(counted_progress(target), "a poll was empty");
        expect(counted_completion(*sides[1].inbox, i), "a message was not there");
      }
      exchange<engine_of::everybody>(sides, sent);
      exchange<engine_of::its_own>(sides, sent);
      exchange<engine_of::order>(sides, sent);
      exchange_long_active_messages(sides, sent);
      exchange_long<false>(sides, sent);
      exchange_long<true>(sides, sent);
      std::printf("%d\n", counted);
    }
    rt.barrier();
  });
}
