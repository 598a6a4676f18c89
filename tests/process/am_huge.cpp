// SPDX-License-Identifier: BSD-3-Clause
// A message of more than 2 GiB, once. Skipped, and said so, where the machine has no room for it.
// ranks: 2
// launchers: weft-run
// stages: release asan tsan
#include <sys/mman.h>

#include <cstring>
#include <fstream>

#include "process/am_load.hpp"

namespace {

using weft::test::eventually;
using weft::test::require;

constexpr std::size_t bytes = (std::size_t{22} << 30) / 10 & ~std::size_t{7};
constexpr std::size_t words = bytes / 8;
constexpr std::size_t stride = 8191;  // every so many words one is not zero, so that the sender's pages stay few

constexpr std::uint64_t word_at(std::size_t index) { return index * 0x9e37'79b9'7f4a'7c15 + 1; }

// Why not, or nothing.
std::string reason_to_skip() {
  if (weft::base::under_sanitizer) return "sanitizers need several times the memory";
  std::ifstream facts{"/proc/meminfo"};
  for (std::string name; facts >> name;) {
    std::uint64_t kib = 0;
    if (name == "MemAvailable:" && facts >> kib) {
      return kib > 7 * (std::uint64_t{1} << 20) ? "" : fmt::format("only {} MiB are available", kib >> 10);
    }
  }
  return "the system doesn't say how much memory is available";
}

void send(weft::runtime& rt) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(memory != MAP_FAILED, "no address space");
  auto* data = static_cast<std::uint64_t*>(memory);
  for (std::size_t i = 0; i < words; i += stride) data[i] = word_at(i);
  data[words - 1] = word_at(words - 1);
  weft::counter sent{rt};
  require(weft::test::post_until_taken(rt.default_device(), 1, {1}, {data, bytes}, sent, {.tag = 99}), "not posted");
  require(eventually(rt.default_device(), [&] { return sent.value() == 1; }), "not sent within a minute");
  require(sent.failed() == 0, "failed");
  ::munmap(memory, bytes);
}

void receive(weft::runtime& rt, weft::completion_queue& inbox) {
  std::optional<weft::completion_record> got;
  require(eventually(rt.default_device(), [&] { return (got = inbox.pop()).has_value(); }), "nothing came");
  require(got->error() == weft::errc::none && got->tag() == 99, "something else came");
  require(got->bytes() == bytes, fmt::format("{} bytes came", got->bytes()));
  const auto* data = reinterpret_cast<const std::uint64_t*>(got->data().data());
  std::uint64_t sum = 0, expected = 0;
  for (std::size_t i = 0; i < words; ++i) sum += data[i];
  for (std::size_t i = 0; i < words; i += stride) {
    require(data[i] == word_at(i), fmt::format("word {} is wrong", i));
    expected += word_at(i);
  }
  require(data[words - 1] == word_at(words - 1), "the last word is wrong");
  if ((words - 1) % stride != 0) expected += word_at(words - 1);
  require(sum == expected, "somewhere between there are bytes that nobody sent");
  std::printf("%zu bytes came whole\n", bytes);
}

}  // namespace

int main() {
  return weft::test::run_rank([](weft::runtime& rt) {
    weft::completion_queue inbox{rt};
    weft::completion_queue told{rt};
    weft::counter sent{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    const auto decisions = rt.register_completion(told, {.id = 2});
    if (rt.rank() == 0) {
      const std::string why = reason_to_skip();
      static_cast<void>(
          weft::test::post_until_taken(rt.default_device(), 1, {2}, {}, sent, {.tag = why.empty() ? 1U : 0U}));
      if (!why.empty()) std::printf("skipped: %s\n", why.c_str());
      if (why.empty()) send(rt);
    } else {
      std::optional<weft::completion_record> decision;
      require(eventually(rt.default_device(), [&] { return (decision = told.pop()).has_value(); }), "nothing was said");
      if (decision->tag() == 1) receive(rt, inbox);
    }
    rt.barrier();
  });
}
