// The last rank ends in the middle of the job, without a word. The others have posted to it, and are told of it.
// by script
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "support/waiting.hpp"
#include "weft/weft.hpp"

namespace {

void require(bool fulfilled, const char* what) {
  if (fulfilled) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::_Exit(1);
}

}  // namespace

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  weft::completion_queue over{rt};
  weft::counter sent{rt};
  const std::uint32_t gone = rt.size() - 1;
  rt.barrier();
  if (rt.rank() == gone) std::_Exit(0);
  // Short ones, which are done once they are posted.
  try {
    const bool refused = weft::test::eventually(dev, [&] {
      static_cast<void>(dev.post_am(gone, {.id = 1}, weft::const_buffer_ref{&gone, sizeof gone}, sent));
      return false;
    });
    require(refused, "a post says that it can't be sent");
  } catch (const weft::error& reason) {
    std::printf("rank %u: %s\n", rt.rank(), reason.what());
    std::fflush(stdout);
  }
  // A long message, which would wait for an answer.
  const std::vector<std::byte> large(rt.attributes().packet_bytes + std::size_t{1});
  static_cast<void>(dev.post_am(gone, {.id = 1}, large, over, {.allow_retry = false}));
  std::optional<weft::completion_record> told;
  require(weft::test::eventually(dev, [&] { return (told = over.pop()).has_value(); }), "the long one ends");
  require(told->error() == weft::errc::transport_failed && told->peer() == gone, "it says who, and what happened");
  std::_Exit(0);  // no barrier will be complete any more
}
