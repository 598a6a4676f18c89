// SPDX-License-Identifier: BSD-3-Clause
// As many memory regions as WEFT_REGIONS_MAX allows, here more than by default: peers put into the last one, one more
// is refused with advice, and a withdrawn one makes room.
// ranks: 2
// subject: src/core/runtime
#include <cstring>
#include <deque>
#include <vector>

#include "process/am_load.hpp"

namespace {

using namespace weft;
using test::require;

constexpr std::uint32_t regions_max = 4096;

// The handles of all regions of the peer.
std::vector<remote_region> exchange_handles(runtime& rt, const std::vector<remote_region>& mine) {
  device& dev = rt.default_device();
  std::vector<remote_region> theirs(mine.size());
  counter done{rt};
  const status receiving = dev.post_recv(1 - rt.rank(), std::as_writable_bytes(std::span{theirs}), done, {.tag = 1});
  require(receiving.is_posted() || receiving.is_done(), "a receive was not posted");
  const status sending =
      test::post(dev, [&] { return dev.post_send(1 - rt.rank(), std::as_bytes(std::span{mine}), done, {.tag = 1}); });
  const std::uint64_t all = (receiving.is_posted() ? 1U : 0U) + (sending.is_posted() ? 1U : 0U);
  require(test::eventually(dev, [&] { return done.value() == all; }), "the handles did not come");
  return theirs;
}

}  // namespace

int main() {
  test::set("WEFT_REGIONS_MAX", std::to_string(regions_max).c_str());
  return test::run_rank([](runtime& rt) {
    device& dev = rt.default_device();
    require(rt.attributes().regions_max == regions_max, "another number of regions");
    std::vector<std::uint64_t> words(regions_max);
    std::deque<memory_region> regions;
    std::vector<remote_region> handles;
    for (std::uint32_t i = 0; i + 1 < regions_max; ++i) {
      handles.push_back(regions.emplace_back(rt, std::as_writable_bytes(std::span{&words[i], 1})).handle());
    }
    handles.push_back(regions.emplace_back(rt, sizeof(std::uint64_t)).handle());
    try {
      const memory_region beyond{rt, 8};
      require(false, "a region beyond the greatest number");
    } catch (const error& refusal) {
      require(refusal.code() == errc::invalid_state, refusal.what());
      require(std::strstr(refusal.what(), "raise it for all ranks") != nullptr, refusal.what());
    }
    const std::vector<remote_region> theirs = exchange_handles(rt, handles);
    counter put{rt};
    std::uint64_t posted = 0;
    for (std::uint64_t i = 0; i < regions_max; ++i) {
      const std::uint64_t value = i * 3 + rt.rank() + 1;
      const status answer = test::post(dev, [&] {
        return dev.post_put(1 - rt.rank(), std::as_bytes(std::span{&value, 1}), {theirs[i], 0}, put);
      });
      if (!answer.is_posted()) continue;
      ++posted;
      require(test::eventually(dev, [&] { return put.value() == posted; }), "a put did not end");
    }
    dev.flush();
    rt.barrier();
    words.back() = regions.back().as<std::uint64_t>()[0];
    for (std::uint64_t i = 0; i < regions_max; ++i) {
      require(words[i] == i * 3 + (1 - rt.rank()) + 1, fmt::format("region {} has {}", i, words[i]));
    }
    regions.pop_front();
    const memory_region again{rt, 8};
    rt.barrier();
  });
}
