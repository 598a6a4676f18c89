// One 8-byte message after another from a device of one rank to a device of another, through a shared-memory ring: as
// an active message (post, progress at the receiver, completion), then as a send that finds its receive posted
// (receive, post, progress, completion). Run under callgrind by scripts/instructions, which adds up what the functions
// below cost. Never `self`, never an empty poll: each step happens exactly once a message.
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

[[gnu::noinline]] bool counted_receive(weft::device& dev, std::uint64_t& into, weft::completion& received) {
  return dev.post_recv(0, std::span{&into, 1}, received, {.tag = 7}).is_posted();
}
[[gnu::noinline]] bool counted_send(weft::device& dev, std::uint64_t word, weft::completion& sent) {
  return dev.post_send(1, std::span{&word, 1}, sent, {.tag = 7}).is_done();
}
[[gnu::noinline]] bool counted_match(weft::device& dev) { return dev.progress(); }
[[gnu::noinline]] std::optional<weft::completion_record> counted_pop_received(weft::completion_queue& inbox) {
  return inbox.pop();
}
[[gnu::noinline]] bool counted_received(weft::completion_queue& inbox) {
  const auto got = counted_pop_received(inbox);
  return got && got->bytes() == sizeof(std::uint64_t) && got->error() == weft::errc::none;
}

namespace {

[[gnu::noinline]] bool warm_receive(weft::device& dev, std::uint64_t& into, weft::completion& received) {
  return dev.post_recv(0, std::span{&into, 1}, received, {.tag = 7}).is_posted();
}
[[gnu::noinline]] bool warm_send(weft::device& dev, std::uint64_t word, weft::completion& sent) {
  return dev.post_send(1, std::span{&word, 1}, sent, {.tag = 7}).is_done();
}

[[gnu::noinline]] bool warm_post(weft::device& dev, std::uint64_t word, weft::completion& sent) {
  return dev.post_am(1, {1}, std::span{&word, 1}, sent, {.tag = word}).is_done();
}
[[gnu::noinline]] bool warm_completion(weft::completion_queue& inbox) { return inbox.pop().has_value(); }

}  // namespace

int main() {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::completion_queue inbox{rt};
    weft::counter sent{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    weft::device dev{rt, {.shared = false}};
    static weft::device* devices[2];
    static weft::completion_queue* inboxes[2];
    devices[rt.rank()] = &dev;
    inboxes[rt.rank()] = &inbox;
    rt.barrier();
    if (rt.rank() == 0) {
      // Both devices are this thread's now: the other rank waits in the barrier, on its default device.
      for (int i = 0; i < warm_up; ++i) {
        expect(warm_post(dev, 1, sent), "a post was not done");
        while (!warm_completion(*inboxes[1])) devices[1]->progress();
      }
      for (std::uint64_t i = 0; i < counted; ++i) {
        expect(counted_post(dev, i, sent), "a post was not done");
        expect(counted_progress(*devices[1]), "a poll was empty");
        expect(counted_completion(*inboxes[1], i), "a message was not there");
      }
      std::uint64_t into = 0;
      for (int i = 0; i < warm_up; ++i) {
        expect(warm_receive(*devices[1], into, *inboxes[1]), "a receive was not posted");
        expect(warm_send(dev, 1, sent), "a send was not done");
        while (!warm_completion(*inboxes[1])) devices[1]->progress();
      }
      for (std::uint64_t i = 0; i < counted; ++i) {
        expect(counted_receive(*devices[1], into, *inboxes[1]), "a receive was not posted");
        expect(counted_send(dev, i, sent), "a send was not done");
        expect(counted_match(*devices[1]), "a poll was empty");
        expect(counted_received(*inboxes[1]) && into == i, "a message was not received");
      }
      std::printf("%d\n", counted);
    }
    rt.barrier();
  });
}
