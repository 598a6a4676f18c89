// SPDX-License-Identifier: BSD-3-Clause
#include "core/protocol/step_bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"

namespace weft::test {

net::post_result scripted_endpoint::keep(std::uint32_t device, const net::header& header, const void* payload,
                                         std::uint32_t bytes) noexcept {
  if (has_vanished) return net::post_result::full;
  if (meanwhile) std::exchange(meanwhile, nullptr)();
  if (refusals > 0) {
    --refusals;
    return net::post_result::full;
  }
  const auto* const from = static_cast<const std::byte*>(payload);
  sent.push_back({device, header, std::vector<std::byte>(from, from + bytes)});
  return net::post_result::ok;
}

net::post_result scripted_endpoint::try_send_inline(std::uint32_t /*peer*/, std::uint32_t device,
                                                    const net::header& header, const void* payload,
                                                    std::uint32_t bytes) noexcept {
  return keep(device, header, payload, bytes);
}

net::post_result scripted_endpoint::try_send(std::uint32_t /*peer*/, std::uint32_t device, const net::header& header,
                                             std::uint32_t packet, std::uint32_t bytes) noexcept {
  const net::post_result out = keep(device, header, packets_->data(packet), bytes);
  if (out == net::post_result::ok) packets_->put(packet);
  return out;
}

net::copy_result scripted_endpoint::copy(net::memory_pieces to, net::memory_pieces from) const noexcept {
  // A transport that may not read the peer's memory does not look whether the peer is there.
  if (has_vanished && of_copies != net::copy_result::unavailable) return net::copy_result::peer_gone;
  if (of_copies == net::copy_result::done) net::copy_here(to, from);
  return of_copies;
}

net::copy_result scripted_endpoint::read_remote(std::uint32_t /*peer*/, net::memory_pieces here,
                                                net::memory_pieces there) noexcept {
  return copy(here, there);
}

net::copy_result scripted_endpoint::write_remote(std::uint32_t /*peer*/, net::memory_pieces here,
                                                 net::memory_pieces there) noexcept {
  return copy(there, here);
}

void step_bench::run(const std::function<void(step_bench&)>& body, const runtime_options& options) {
  local_job{2, options}.run([&](runtime& own) {
    own.barrier();
    if (own.rank() != 0) return;
    step_bench bench{own};
    body(bench);
  });
}

step_bench::step_bench(runtime& own)
    : runtime_{&own},
      script_{state().memory().packets()},
      real_{&state().devices().standard().routes().endpoint_to(peer)} {
  replace_endpoint(&script_);
}

step_bench::~step_bench() { replace_endpoint(real_); }

core::runtime_state& step_bench::state() noexcept { return local_job::state_of(*runtime_); }

void step_bench::replace_endpoint(core::routes::endpoint* endpoint) noexcept {
  state().devices().standard().routes().replace(peer, *endpoint);
}

sent_message step_bench::take(core::wire kind) {
  if (script_.sent.empty() || script_.sent.front().kind() != kind) {
    ADD_FAILURE() << "expected a message of kind " << static_cast<unsigned>(kind) << ", found "
                  << (script_.sent.empty() ? 0 : static_cast<unsigned>(script_.sent.front().kind()));
    return {};
  }
  sent_message out = std::move(script_.sent.front());
  script_.sent.pop_front();
  return out;
}

bool step_bench::deliver(const net::header& header, const void* payload, std::uint32_t bytes) noexcept {
  // Whole words are copied: those behind the last byte have to be readable.
  std::vector<std::uint64_t> words((bytes + 7) / 8 + 1);
  if (bytes != 0) std::memcpy(words.data(), payload, bytes);
  return state().devices().standard().on_message(
      {peer, header, reinterpret_cast<const std::byte*>(words.data()), bytes, nullptr});
}

void step_bench::vanish() {
  script_.has_vanished = true;
  state().peer_ends().note({.rank = peer, .in_order = false});
  core::device_state& of = state().devices().standard();
  // Cut off, closed, settled, ended: a look for each.
  for (int looks = 0; looks < 4; ++looks) {
    advance(std::chrono::milliseconds{100});
    step();
    ASSERT_TRUE(of.gate().try_enter());
    state().peer_ends().look(of);
    of.gate().leave();
  }
  EXPECT_TRUE(state().peers().is_settled(peer));
}

}  // namespace weft::test
