// A program whose data lies in a device's memory, tested on a machine without a device: no processor may touch guarded
// memory, but in the functions of its kind.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <weft/test/guarded_memory.hpp>
#include <weft/weft.hpp>

constexpr std::size_t bytes = 100'000;

// The part of the program under test. It never touches the bytes, and each buffer names the memory that it lies in.
void shift(weft::runtime& rt, weft::const_buffer_ref from, weft::buffer_ref into) {
  weft::device& dev = rt.default_device();
  weft::counter done{rt};
  dev.until_accepted([&] { return dev.post_recv((rt.rank() + rt.size() - 1) % rt.size(), into, done); });
  dev.until_accepted([&] { return dev.post_send((rt.rank() + 1) % rt.size(), from, done); });
  dev.wait_all(done);
}

// Whether a buffer that forgets to name its memory is found.
bool is_refused(weft::device& dev, const weft::test::guarded_memory& memory, weft::counter& done) {
  try {
    static_cast<void>(dev.post_send(0, {memory.address(), bytes}, done));
  } catch (const weft::error& thrown) {
    return thrown.code() == weft::errc::invalid_argument;
  }
  return false;
}

int main() {
  weft::runtime rt;
  weft::counter done{rt};
  weft::test::guarded_memory memory{rt, 2 * bytes};
  memory.write(0, std::vector<std::byte>(bytes, std::byte(rt.rank() + 1)));

  shift(rt, memory.buffer(0, bytes), memory.buffer(bytes, bytes));

  std::vector<std::byte> received(bytes);
  memory.read(bytes, received);
  const std::uint32_t previous = (rt.rank() + rt.size() - 1) % rt.size();
  const bool is_whole = std::ranges::count(received, std::byte(previous + 1)) == std::ptrdiff_t{bytes};
  const bool is_found = is_refused(rt.default_device(), memory, done);
  std::printf("rank %u: the bytes of rank %u came %s; a buffer that does not name its memory %s\n", rt.rank(), previous,
              is_whole ? "whole" : "NOT whole", is_found ? "is refused" : "goes UNNOTICED");
  rt.barrier();
  return is_whole && is_found ? 0 : 1;
}
