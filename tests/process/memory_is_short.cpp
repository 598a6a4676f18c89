// Where memory is short, what ends goes through: a device that closes, a region that is withdrawn, rings that a peer
// has opened. And what is opened is refused with an error that says so.
//
// ranks: 2
// launchers: weft-run
#include <array>
#include <cstdlib>
#include <new>
#include <optional>

#include "process/am_load.hpp"

namespace {

using weft::test::eventually;
using weft::test::require;

thread_local bool is_short = false;

void* allocate(std::size_t bytes) noexcept { return is_short ? nullptr : std::malloc(bytes); }
void* allocate(std::size_t bytes, std::align_val_t to) noexcept {
  const auto each = static_cast<std::size_t>(to);
  return is_short ? nullptr : std::aligned_alloc(each, (bytes + each - 1) / each * each);
}
void* or_throw(void* memory) { return memory != nullptr ? memory : throw std::bad_alloc{}; }

// While one lives, this thread gets no memory.
struct shortage {
  shortage() { is_short = true; }
  ~shortage() { is_short = false; }
};

constexpr std::size_t devices = 8;

// Messages of devices that nobody has heard of: their rings are found, sooner or later.
void hear_from_new_devices(weft::runtime& rt) {
  weft::counter inbox{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 1});
  weft::device& dev = rt.default_device();
  rt.barrier();
  {
    const shortage now;
    for (int i = 0; i < 1000; ++i) dev.progress();
  }
  require(eventually(dev, [&] { return inbox.value() == devices; }), "messages of new devices are lost");
  rt.barrier();
}

void send_from_new_devices(weft::runtime& rt) {
  weft::counter sent{rt};
  std::array<std::optional<weft::device>, devices> mine;
  for (auto& each : mine) each.emplace(rt);
  rt.barrier();
  for (auto& each : mine) {
    const std::uint64_t word = 7;
    static_cast<void>(weft::test::post(*each, [&] {
      return each->post_am(0, {1}, std::as_bytes(std::span{&word, 1}), sent);
    }));
  }
  rt.barrier();
  const shortage now;
  for (auto& each : mine) each.reset();
}

void withdraw_regions(weft::runtime& rt) {
  std::optional<weft::memory_region> first{std::in_place, rt, std::size_t{1} << 20};
  std::optional<weft::memory_region> middle{std::in_place, rt, std::size_t{1} << 20};
  std::optional<weft::memory_region> last{std::in_place, rt, std::size_t{1} << 20};
  bool refused = false;
  {
    const shortage now;
    middle.reset();
    try {
      middle.emplace(rt, std::size_t{1} << 20);
    } catch (const std::bad_alloc&) {
      refused = true;
    } catch (const weft::error& thrown) {
      refused = thrown.code() == weft::errc::out_of_memory;
    }
    first.reset();
    last.reset();
  }
  require(refused, "a region was made of nothing");
  middle.emplace(rt, std::size_t{3} << 20);
  require(middle->memory().size() == std::size_t{3} << 20, "what was given back is lost");
}

}  // namespace

void* operator new(std::size_t bytes) { return or_throw(allocate(bytes)); }
void* operator new[](std::size_t bytes) { return or_throw(allocate(bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t to) { return or_throw(allocate(bytes, to)); }
void* operator new[](std::size_t bytes, std::align_val_t to) { return or_throw(allocate(bytes, to)); }
void* operator new(std::size_t bytes, std::align_val_t to, const std::nothrow_t&) noexcept {
  return allocate(bytes, to);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

int main() {
  return weft::test::run_rank([](weft::runtime& rt) {
    if (rt.rank() == 0) {
      hear_from_new_devices(rt);
    } else {
      send_from_new_devices(rt);
    }
    withdraw_regions(rt);
    rt.barrier();
  });
}
