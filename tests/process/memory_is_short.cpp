// SPDX-License-Identifier: BSD-3-Clause
// Where memory is short, ends succeed: a device closes, a region is withdrawn, rings that a peer has opened are found.
// The opening of anything is refused with an error that says so.
//
// ranks: 2
// launchers: weft-run
// subject: src/core/runtime src/net/shm
#include <array>
#include <cstdlib>
#include <limits>
#include <new>
#include <optional>

#include "process/am_load.hpp"

namespace {

using weft::test::eventually;
using weft::test::require;

constexpr std::size_t plenty = std::numeric_limits<std::size_t>::max();
thread_local std::size_t left = plenty;  // so often this thread gets memory

bool may_allocate() noexcept { return left == plenty || (left != 0 && left-- != 0); }
void* allocate(std::size_t bytes) noexcept { return may_allocate() ? std::malloc(bytes) : nullptr; }
void* allocate(std::size_t bytes, std::align_val_t to) noexcept {
  const auto each = static_cast<std::size_t>(to);
  return may_allocate() ? std::aligned_alloc(each, (bytes + each - 1) / each * each) : nullptr;
}
void* or_throw(void* memory) { return memory != nullptr ? memory : throw std::bad_alloc{}; }

// While one lives, this thread gets memory `times` times.
struct shortage {
  explicit shortage(std::size_t times = 0) { left = times; }
  ~shortage() { left = plenty; }
};

constexpr std::size_t devices = 8;

// Messages of devices that this rank does not know: it finds their rings, sooner or later.
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

// A device is tried with memory for one step more each time. While it isn't there, the default device gets the
// messages of a peer's device of its index; in the second pass, the default device has the rings of one that was there
// before.
void open_a_device(weft::runtime& rt) {
  weft::counter inbox{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 2});
  weft::device& dev = rt.default_device();
  std::uint64_t expected = 0;
  rt.barrier();
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t steps = 0;; ++steps) {
      std::optional<weft::device> mine;
      try {
        const shortage now{steps};
        mine.emplace(rt);
      } catch (const std::bad_alloc&) {
      }
      const bool is_made = mine.has_value();
      std::uint64_t word = is_made ? 1 : 0;
      weft::counter told{rt};
      static_cast<void>(weft::test::post(dev, [&] {
        return dev.post_am(1, {3}, std::as_bytes(std::span{&word, 1}), told);
      }));
      ++expected;
      require(eventually(is_made ? *mine : dev, [&] { return inbox.value() == expected; }),
              "what was sent to a device that could not be made is lost");
      if (is_made) break;
      require(steps < 1000, "a device is never made");
    }
  }
  rt.barrier();
}

void send_to_a_device(weft::runtime& rt) {
  weft::completion_queue answers{rt};
  const auto told = rt.register_completion(answers, {.id = 3});
  weft::device& dev = rt.default_device();
  weft::counter sent{rt};
  weft::device mine{rt};
  rt.barrier();
  for (int made = 0; made < 2;) {
    std::optional<weft::completion_record> got;
    require(eventually(dev, [&] { return (got = answers.pop()).has_value(); }),
            "rank 0 does not say whether a device is there");
    made += static_cast<int>(std::to_integer<unsigned>(got->data()[0]));
    const std::uint64_t word = 7;
    static_cast<void>(weft::test::post(mine, [&] {
      return mine.post_am(0, {2}, std::as_bytes(std::span{&word, 1}), sent);
    }));
  }
  rt.barrier();
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
      open_a_device(rt);
    } else {
      send_from_new_devices(rt);
      send_to_a_device(rt);
    }
    withdraw_regions(rt);
    rt.barrier();
  });
}
