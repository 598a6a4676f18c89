// SPDX-License-Identifier: BSD-3-Clause
// The system has no memory for a slab: posts answer retry or throw, as at a bound, and operations under way
// continue. Then there is memory again.
// ranks: 2
// launchers: weft-run
// stages: release general
// not under sanitizers
// subject: src/core/memory src/core/operation src/core/matching
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "process/am_load.hpp"

namespace {

using weft::test::eventually;
using weft::test::require;

// From its making on the process has no more addresses than it has at that moment, but for so many bytes.
class short_of_memory {
 public:
  explicit short_of_memory(std::uint64_t spare_bytes) {
    std::uint64_t pages = 0;
    std::ifstream{"/proc/self/statm"} >> pages;
    require(pages != 0 && ::getrlimit(RLIMIT_AS, &before_) == 0, "the process does not know its memory");
    const rlimit less{pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + spare_bytes, before_.rlim_max};
    require(::setrlimit(RLIMIT_AS, &less) == 0, "the process may not limit itself");
  }
  ~short_of_memory() { ::setrlimit(RLIMIT_AS, &before_); }
  short_of_memory(const short_of_memory&) = delete;
  short_of_memory& operator=(const short_of_memory&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

int main() {
  return weft::test::run_rank([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::counter received{rt}, sent{rt}, inbox{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    std::uint64_t word = 0;
    const auto receive = [&](bool allow_retry) {
      return dev.post_recv(1 - rt.rank(), std::span{&word, 1}, received, {.tag = 1, .allow_retry = allow_retry});
    };
    std::vector<std::uint64_t> tickets;
    tickets.reserve(1U << 20);
    const std::vector<std::byte> bytes(50'000, std::byte{7});
    const auto post_receives = [&] {
      for (;;) {
        const weft::status answer = receive(true);
        if (answer.is_retry() && answer.reason() == weft::shortage::lock) continue;
        if (answer.is_retry()) return;
        tickets.push_back(answer.ticket());
        require(tickets.size() < tickets.capacity(), "receives are taken without memory");
      }
    };
    rt.barrier();
    {
      const short_of_memory now{std::uint64_t{16} << 20};
      post_receives();
      bool is_refused = false;
      try {
        static_cast<void>(receive(false));
      } catch (const weft::error& refusal) {
        is_refused = refusal.code() == weft::errc::backlog_full;
      }
      require(is_refused, "a receive without memory was taken");
      rt.barrier();
      for (int i = 0; i < 20; ++i)
        weft::test::post_until_taken(dev, 1 - rt.rank(), {1}, std::span{bytes}.first(8), sent);
      require(eventually(dev, [&] { return inbox.value() == 20; }), "messages do not go through");
      rt.barrier();
    }
    require(tickets.size() > 256, "there was no memory from the beginning");
    tickets.push_back(weft::test::post(dev, [&] { return receive(true); }).ticket());
    for (const std::uint64_t ticket : tickets) {
      require(eventually(dev, [&] { return dev.cancel(ticket) == weft::cancel_result::cancelled; }),
              "a receive was not cancelled");
    }
    rt.barrier();
  });
}
