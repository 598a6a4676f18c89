// SPDX-License-Identifier: BSD-3-Clause
// Says how much memory each thing of a runtime takes, for tests/memory/sizing_test.py: `sizing RANKS` runs the ranks as
// threads of this process, over one mapping of each segment, and prints a line `NAME BYTES` for each thing.
// by script
// not under sanitizers
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/records.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft;

// The address space of the process.
std::size_t address_bytes() {
  std::ifstream facts{"/proc/self/statm"};
  std::size_t pages = 0;
  facts >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// The memory of the process without files.
std::size_t memory_bytes() {
  std::ifstream facts{"/proc/self/smaps_rollup"};
  std::size_t kib = 0;
  unsigned found = 0;
  for (std::string line; std::getline(facts, line);) {
    if (!line.starts_with("Pss_Anon:") && !line.starts_with("Pss_Shmem:")) continue;
    std::istringstream words{line.substr(line.find(':') + 1)};
    std::size_t value = 0;
    words >> value;
    kib += value;
    ++found;
  }
  if (found != 2) {
    std::fprintf(stderr, "sizing: the kernel does not say Pss_Anon and Pss_Shmem\n");
    std::_Exit(77);
  }
  return kib * 1024;
}

// Steps that all ranks do together. One of them measures.
class steps {
 public:
  explicit steps(std::uint32_t ranks) : ranks_{ranks}, together_{static_cast<std::ptrdiff_t>(ranks)} {}

  void together() { together_.arrive_and_wait(); }

  /// Calls `make`, at all ranks, which makes `count` things at each; prints the bytes of one.
  void measure(const runtime& rt, const char* name, double count, const std::function<void()>& make) {
    together();
    if (rt.rank() == 0) before_ = memory_bytes();
    together();
    make();
    together();
    if (rt.rank() == 0) print(name, static_cast<double>(memory_bytes()) - static_cast<double>(before_), count);
    together();
  }
  void print(const char* name, double bytes, double count) const {
    std::printf("%s %.0f\n", name, bytes / count / ranks_);
  }

 private:
  std::uint32_t ranks_;
  std::barrier<> together_;
  std::size_t before_ = 0;
};

void post(device& dev, const std::vector<std::unique_ptr<device>>& all, const std::function<status()>& once) {
  while (once().is_retry()) {
    for (const auto& each : all) each->progress();
    dev.progress();
  }
}

// Each device sends more messages than a ring has cells to its counterpart at each other rank, so that all cells of all
// rings between them are in use once.
void fill_rings(steps& job, runtime& rt, const std::vector<std::unique_ptr<device>>& devices, counter& inbox,
                counter& sent) {
  const std::uint32_t each = 2 * rt.attributes().ring_cells;
  const std::uint64_t expected = std::uint64_t{each} * devices.size() * (rt.size() - 1);
  const std::uint64_t word = 0;
  for (std::uint32_t i = 0; i < each; ++i) {
    for (const auto& dev : devices) {
      for (std::uint32_t peer = 0; peer < rt.size(); ++peer) {
        if (peer == rt.rank()) continue;
        const auto bytes = std::as_bytes(std::span{&word, 1});
        post(rt.default_device(), devices,
             [&] { return dev->post_am(peer, {1}, bytes, sent, {.device = dev->index()}); });
      }
    }
  }
  while (inbox.value() < expected) {
    for (const auto& dev : devices) dev->progress();
    rt.default_device().progress();
  }
  job.together();
}

void measure_all(steps& job, runtime& rt) {
  constexpr std::size_t device_count = 4, engine_count = 500, operation_count = 50'000, packet_count = 1000,
                        thread_count = 4;
  device& dev = rt.default_device();
  counter inbox{rt}, sent{rt};
  const registration mail = rt.register_completion(inbox, {.id = 1});
  rt.barrier();
  std::vector<std::unique_ptr<device>> devices;
  job.measure(rt, "device", device_count, [&] {
    for (std::size_t i = 0; i < device_count; ++i) devices.push_back(std::make_unique<device>(rt));
  });
  if (rt.size() > 1) {
    job.measure(rt, "ring", device_count * (rt.size() - 1.0), [&] { fill_rings(job, rt, devices, inbox, sent); });
  }
  {
    std::vector<std::unique_ptr<matching_engine>> engines;
    job.measure(rt, "unordered", engine_count, [&] {
      for (std::size_t i = 0; i < engine_count; ++i) engines.push_back(std::make_unique<matching_engine>(rt));
    });
  }
  {
    std::vector<std::unique_ptr<matching_engine>> engines;
    job.measure(rt, "ordered", engine_count, [&] {
      for (std::size_t i = 0; i < engine_count; ++i) {
        engines.push_back(std::make_unique<matching_engine>(rt, matching_engine_options{.ordered = true}));
      }
    });
  }
  counter received{rt};
  std::vector<std::uint64_t> tickets;
  tickets.reserve(operation_count);
  std::uint64_t word = 0;
  const buffer_ref target{&word, sizeof word};
  job.measure(rt, "receive", operation_count, [&] {
    for (std::size_t i = 0; i < operation_count; ++i) {
      post(dev, devices, [&] { return dev.post_recv(rt.rank(), target, received, {.tag = i}); });
    }
  });
  for (std::size_t i = 0; i < operation_count; ++i) {
    post(dev, devices, [&] { return dev.post_send(rt.rank(), {&word, sizeof word}, sent, {.tag = i}); });
  }
  while (received.value() < operation_count) dev.progress();
  job.measure(rt, "unexpected", operation_count, [&] {
    for (std::size_t i = 0; i < operation_count; ++i) {
      post(dev, devices, [&] { return dev.post_send(rt.rank(), {&word, sizeof word}, sent, {.tag = i}); });
    }
    while (rt.counters().sends_waiting < operation_count) dev.progress();
  });
  for (std::size_t i = 0; i < operation_count; ++i) {
    post(dev, devices, [&] { return dev.post_recv(rt.rank(), target, received, {.tag = i}); });
  }
  while (received.value() < 2 * operation_count) dev.progress();
  {
    std::vector<packet> packets;
    packets.reserve(packet_count);
    job.measure(rt, "packet", packet_count, [&] {
      while (packets.size() < packet_count) {
        packets.push_back(std::move(*rt.try_take_packet()));
        for (std::byte& each : packets.back().memory()) each = std::byte{1};
      }
    });
  }
  {
    std::barrier<> there{thread_count + 1};
    std::vector<std::thread> threads;
    job.measure(rt, "thread", thread_count, [&] {
      for (std::size_t i = 0; i < thread_count; ++i) {
        threads.emplace_back([&] {
          static_cast<void>(rt.try_take_packet());
          there.arrive_and_wait();
          there.arrive_and_wait();
        });
      }
      there.arrive_and_wait();
    });
    there.arrive_and_wait();
    for (std::thread& each : threads) each.join();
  }
  std::optional<completion_queue> queue;
  job.measure(rt, "queue", rt.attributes().queue_capacity, [&] {
    queue.emplace(rt);
    while (queue->signal(test::failed_record(errc::none)) == completion::answer::taken) {
    }
  });
  while (queue->pop()) {
  }
  queue.reset();
  rt.barrier();
}

}  // namespace

int main(int count, char** arguments) {
  ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // or memory comes in pieces of 2 MiB
  ::mallopt(M_ARENA_MAX, 1);                // or each thread takes some memory of its own
  ::mallopt(M_MMAP_THRESHOLD, 64 << 10);
  const auto ranks = static_cast<std::uint32_t>(count > 1 ? std::atoi(arguments[1]) : 1);
  steps job{ranks};
  {
    test::local_job{1}.run([](runtime&) {});
  }  // what the process has once
  const std::size_t before = memory_bytes(), addresses_before = address_bytes();
  test::local_job{ranks}.run([&](runtime& rt) {
    job.together();
    if (rt.rank() == 0) {
      job.print("runtime", static_cast<double>(memory_bytes() - before), 1);
      job.print("addresses", static_cast<double>(address_bytes() - addresses_before), 1);
    }
    job.together();
    measure_all(job, rt);
  });
}
