// SPDX-License-Identifier: BSD-3-Clause
// Restarts of persistent collectives of 8 bytes, and plain ones that are repeated, allocate nothing and lock no mutex.
//
// ranks: 1 2 3 8
// launchers: weft-run
// subject: src/coll src/graph
#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "base/sanitizer.hpp"
#include "process/am_load.hpp"

namespace {

using weft::test::eventually;

// Without a string, which would be counted.
void require(bool good, const char* description) {
  if (!good) weft::test::require(false, description);
}

// Of the thread, since it asked.
thread_local unsigned allocations = 0;
thread_local unsigned locks = 0;

void* counted(void* memory) {
  ++allocations;
  return memory != nullptr ? memory : throw std::bad_alloc{};
}
void* allocate(std::size_t bytes, std::align_val_t to) noexcept {
  const auto each = static_cast<std::size_t>(to);
  return std::aligned_alloc(each, (bytes + each - 1) / each * each);
}

// The library adds a barrier to one in so many collectives of a group. The first one that has it allocates.
constexpr int between_barriers = 1024;

// The root of a broadcast may run ahead until a ring is full; then its messages wait in a list that has a lock. So
// ranks wait for each other now and then, which is not counted.
constexpr int between_pauses = 16;

template <class Start>
void count(weft::runtime& rt, const std::string& name, int restarts, bool locks_may_be, const Start& start) {
  const auto repeat = [&](int times) {
    for (int i = 0; i < times; ++i) {
      start();
      if (i % between_pauses != between_pauses - 1) continue;
      const unsigned allocated = allocations, locked = locks;
      rt.barrier();
      allocations = allocated;
      locks = locked;
    }
  };
  repeat(restarts / 2);
  allocations = locks = 0;
  repeat(restarts);
  const unsigned allocated = allocations, locked = locks_may_be ? 0 : locks;
  if (allocated != 0 || locked != 0)
    std::fprintf(stderr, "%s: %u allocations, %u locked mutexes\n", name.c_str(), allocated, locked);
  require(allocated == 0, "a restart has allocated");
  require(locked == 0, "a restart has locked a mutex");
}

// A thread that waits may lock, to sleep; one that makes progress may not.
void count_all(weft::group whole, const std::string& name, const weft::collective& which, int restarts) {
  weft::group all = whole.dup();
  weft::device& dev = all.device();
  weft::counter ended{dev.runtime()};
  weft::persistent_collective again = which.keep(all);
  const auto finish = [&](std::uint64_t before) {
    require(eventually(dev, [&] { return ended.value() != before; }), "a collective does not end");
    require(ended.failed() == 0, "a collective fails");
  };
  count(dev.runtime(), name + ", started again", restarts, false, [&] {
    const std::uint64_t before = ended.value();
    static_cast<void>(again.start(ended));
    finish(before);
  });
  all = whole.dup();
  again = which.keep(all);
  constexpr int few = 100;
  count(dev.runtime(), name + ", run again", few, true, [&] { again.run(); });
  count(dev.runtime(), name + ", posted", few, false, [&] {
    const std::uint64_t before = ended.value();
    static_cast<void>(which.post(all, ended));
    finish(before);
  });
  count(dev.runtime(), name + ", run", few, true, [&] { which.run(all); });
}

}  // namespace

#if !defined(WEFT_ADDRESS_SANITIZER) && !defined(WEFT_THREAD_SANITIZER)
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static auto* const real = reinterpret_cast<int (*)(pthread_mutex_t*)>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return real(mutex);
}
#endif
void* operator new(std::size_t bytes) { return counted(std::malloc(bytes)); }
void* operator new[](std::size_t bytes) { return counted(std::malloc(bytes)); }
void* operator new(std::size_t bytes, std::align_val_t to) { return counted(allocate(bytes, to)); }
void* operator new[](std::size_t bytes, std::align_val_t to) { return counted(allocate(bytes, to)); }
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
    weft::group all = rt.world();
    std::uint64_t mine = rt.rank(), sum = 0;
    // A rank allocates when it hears of another one for the first time: of some that are ahead while it still counts.
    const std::vector<std::uint64_t> words(rt.size());
    std::vector<std::uint64_t> heard(rt.size());
    weft::collective::alltoall({words.data(), words.size() * 8}, {heard.data(), heard.size() * 8})
        .run(all, {.algorithm = "linear"});
    rt.barrier();
    count_all(all, "barrier", weft::collective::barrier(), 100);
    count_all(all, "broadcast", weft::collective::broadcast({&mine, sizeof mine}), 100);
    count_all(all, "allreduce",
              weft::collective::allreduce({&mine, sizeof mine}, {&sum, sizeof sum},
                                          weft::reduction::callable<std::uint64_t>()),
              between_barriers * 2 + 2);
    rt.barrier();
  });
}
