// Each rank makes a child that has copies of all it holds and destroys them as it ends. The ranks go on as before.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "support/waiting.hpp"
#include "weft/weft.hpp"

namespace {

void require(bool fulfilled, const char* description) {
  if (fulfilled) return;
  std::fprintf(stderr, "not so: %s\n", description);
  std::_Exit(1);
}

// All that a rank has, in the order in which it goes.
struct holdings {
  weft::runtime rt;
  weft::device second{rt};
  weft::completion_queue inbox{rt};
  weft::counter sent{rt};
  weft::registration arrivals{rt.register_completion(inbox, {.id = 1})};
  weft::memory_region region{rt, std::size_t{1} << 16};
  weft::progress_thread helper{second};
  weft::wait_descriptor ready{rt.default_device()};
  std::optional<weft::completion_record> record;
};

void exchange(holdings& mine, const std::vector<std::byte>& bytes) {
  const std::uint32_t next = (mine.rt.rank() + 1) % mine.rt.size();
  weft::device& dev = mine.rt.default_device();
  static_cast<void>(weft::test::post_until_taken(dev, next, {.id = 1}, bytes, mine.sent));
  const bool came = weft::test::eventually(dev, [&] {
    mine.record = mine.inbox.pop();
    return mine.record.has_value();
  });
  require(came && std::ranges::equal(mine.record->data(), bytes), "a message comes, and is what was sent");
}

}  // namespace

int main() {
  auto mine = std::make_unique<holdings>();
  std::ranges::fill(mine->region.memory(), std::byte{7});
  const std::vector<std::byte> bytes(1000, std::byte{9});
  exchange(*mine, bytes);
  for (int round = 0; round < 3; ++round) {
    static_cast<void>(mine->ready.arm());  // so that its thread sleeps
    const pid_t child = ::fork();
    if (child == 0) {
      mine.reset();
      ::_exit(0);
    }
    int status = 0;
    require(::waitpid(child, &status, 0) == child && status == 0, "the child ends well");
    mine->rt.barrier();
    require(std::ranges::equal(mine->record->data(), bytes), "the message that is held is as it was");
    require(std::ranges::all_of(mine->region.memory(), [](std::byte each) { return each == std::byte{7}; }),
            "the region is as it was");
    exchange(*mine, bytes);
  }
  mine->rt.barrier();
}
