// A number goes round the ranks, three times, and each rank adds one. A handler does it, from inside progress.
#include <cstdio>
#include <cstring>
#include <span>

#include <weft/weft.hpp>

constexpr std::uint64_t laps = 3;

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  weft::counter sent{rt};
  const std::uint32_t next = (rt.rank() + 1) % rt.size();
  std::uint64_t home = 0, visits = 0;  // only this thread makes progress, so these need not be atomic

  using answer = weft::completion::answer;
  weft::handler pass_on{rt, [&](weft::completion_record&& token) {
                          std::uint64_t number = 0;
                          std::memcpy(&number, token.data().data(), sizeof number);
                          ++number;
                          if (number == laps * rt.size()) {
                            home = number;
                            ++visits;
                            return answer::taken;
                          }
                          // No room on the way: leave the token where it is, progress will bring it again.
                          if (dev.post_am(next, {.id = 1}, std::span{&number, 1}, sent).is_retry()) return answer::full;
                          ++visits;
                          return answer::taken;
                        }};
  const auto arrivals = rt.register_completion(pass_on, {.id = 1});

  if (rt.rank() == 0) {
    const std::uint64_t start = 0;
    dev.until_accepted([&] { return dev.post_am(next, {.id = 1}, std::span{&start, 1}, sent); });
    while (home == 0) dev.progress();
    std::printf("after %u laps of %u ranks: %u\n", unsigned{laps}, rt.size(), static_cast<unsigned>(home));
  }
  rt.barrier();  // makes progress: here the other ranks pass the number on
  return visits == laps ? 0 : 1;
}
