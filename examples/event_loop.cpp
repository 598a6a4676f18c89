// Weft in an event loop of the program: epoll waits for messages and for a timer, and nothing polls meanwhile.
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <span>

#include <weft/weft.hpp>

constexpr std::uint64_t last = 5;

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  weft::completion_queue mail{rt};
  weft::counter local{rt};
  const weft::registration box = rt.register_completion(mail, {.id = 1});
  const auto tell_next = [&](std::uint64_t round) {
    dev.until_accepted([&] { return dev.post_am((rt.rank() + 1) % rt.size(), {1}, std::span{&round, 1}, local); });
  };

  const int loop = epoll_create1(0);
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  const itimerspec tick{{0, 10'000'000}, {0, 10'000'000}};
  timerfd_settime(timer, 0, &tick, nullptr);
  for (const int each : {rt.wait_fd(), timer}) {
    epoll_event wanted{.events = EPOLLIN, .data = {.fd = each}};
    epoll_ctl(loop, EPOLL_CTL_ADD, each, &wanted);
  }

  std::uint64_t rounds = 0, sum = 0;
  const auto read_mail = [&] {
    const std::uint64_t before = rounds;
    for (; auto record = mail.pop(); ++rounds) {
      std::uint64_t round = 0;
      std::memcpy(&round, record->data().data(), sizeof round);
      sum += round;
      if (round < last) tell_next(round + 1);
    }
    return rounds != before;
  };
  tell_next(0);
  while (rounds <= last) {
    // Between `arm` and the sleep comes one more look: whatever happens after that makes the descriptor readable.
    if (dev.progress() || read_mail() || !rt.arm() || read_mail()) continue;
    epoll_event found{};
    if (epoll_wait(loop, &found, 1, 1000) == 1 && found.data.fd == timer) {
      std::uint64_t ticks = 0;
      if (read(timer, &ticks, sizeof ticks) != sizeof ticks) break;
    }
  }
  rt.barrier();
  std::printf("rank %u: %llu messages came around the ring\n", rt.rank(), static_cast<unsigned long long>(rounds));
  close(timer);
  close(loop);
  return rounds == last + 1 && sum == last * (last + 1) / 2 ? 0 : 1;
}
