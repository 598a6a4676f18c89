// Two workers share 64 fibers, each of which reads a piece of the next rank's memory and adds it up; who is idle
// steals.
#include <array>
#include <cstdio>
#include <numeric>
#include <vector>

#include <weft/weft.hpp>

constexpr std::size_t pieces = 64;
constexpr std::size_t piece_words = 512;
using piece = std::array<std::uint64_t, piece_words>;

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();  // shared, as both workers use it
  weft::memory_region mine{rt, pieces * sizeof(piece)};
  std::iota(mine.as<std::uint64_t>().begin(), mine.as<std::uint64_t>().end(), rt.rank());

  weft::blocking_device io{dev};
  const std::uint32_t next = (rt.rank() + 1) % rt.size();
  const std::uint32_t previous = (rt.rank() + rt.size() - 1) % rt.size();
  weft::remote_region theirs;
  std::uint64_t sum = 0;
  {
    std::array<weft::device*, 1> served{&dev};
    weft::fiber_scheduler fibers{{.workers = 2, .devices = served, .steal = true}};
    // The region's handle goes to the previous rank, as a message.
    weft::fiber tells = fibers.spawn([&] { io.send(previous, std::span{&mine.handle(), 1}); });
    weft::fiber learns = fibers.spawn([&] { static_cast<void>(io.recv(next, std::span{&theirs, 1})); });
    tells.join();
    learns.join();

    weft::fiber_mutex guard;  // a std::mutex would block the worker of a fiber that waits for it
    std::vector<weft::fiber> all;
    for (std::size_t i = 0; i < pieces; ++i) {
      all.push_back(fibers.spawn([&, i] {
        piece here;
        io.get(next, {here.data(), sizeof here}, {theirs, i * sizeof here});
        const std::uint64_t part = std::accumulate(here.begin(), here.end(), std::uint64_t{0});
        const std::lock_guard locked{guard};
        sum += part;
      }));
    }
    for (weft::fiber& each : all) each.join();
  }
  const std::uint64_t count = pieces * piece_words;
  const std::uint64_t expected = count * next + count * (count - 1) / 2;
  std::printf("rank %u: the words of rank %u add up, %s\n", rt.rank(), next, sum == expected ? "rightly" : "wrongly");
  rt.barrier();  // the next rank still reads
  return sum == expected ? 0 : 1;
}
