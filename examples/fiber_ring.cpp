// 500 fibers of each rank pass a token around the ring of ranks. Each is a plain function that sends, receives and
// waits.
#include <array>
#include <cstdio>
#include <vector>

#include <weft/weft.hpp>

constexpr std::uint64_t fiber_count = 500;

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  weft::blocking_device io{dev};  // its operations return when they are complete
  const std::uint32_t right = (rt.rank() + 1) % rt.size();
  const std::uint32_t left = (rt.rank() + rt.size() - 1) % rt.size();

  std::uint64_t arrived = 0;  // fibers of one worker run one at a time: no lock is needed
  {
    std::array<weft::device*, 1> served{&dev};  // a worker that has nothing to run makes progress here
    weft::fiber_scheduler fibers{{.devices = served}};
    std::vector<weft::fiber> all;
    for (std::uint64_t tag = 0; tag < fiber_count; ++tag) {
      all.push_back(fibers.spawn([&, tag] {
        std::uint64_t token = tag;
        for (std::uint32_t step = 0; step < rt.size(); ++step) {
          const std::uint64_t of_step = tag * rt.size() + step;  // messages of one tag have no order
          std::uint64_t from_left = 0;
          io.send(right, {&token, sizeof token}, {.tag = of_step});  // suspends this fiber, not the thread
          static_cast<void>(io.recv(left, {&from_left, sizeof from_left}, {.tag = of_step}));
          token = from_left + 1;
        }
        if (token == tag + rt.size()) ++arrived;  // each rank has added one
      }));
    }
    for (weft::fiber& each : all) each.join();
  }
  std::printf("rank %u: %llu tokens came around\n", rt.rank(), static_cast<unsigned long long>(arrived));
  rt.barrier();
  return arrived == fiber_count ? 0 : 1;
}
