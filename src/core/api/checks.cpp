// SPDX-License-Identifier: BSD-3-Clause
#include "core/api/checks.hpp"

#include <fmt/format.h>

#include "core/message/payload.hpp"
#include "core/protocol/one_sided_origin.hpp"
#include "weft/error.hpp"

namespace weft::core {

void refuse_rank(const char* call, std::uint32_t peer, std::uint32_t size) {
  throw error{errc::invalid_argument,
              fmt::format("{}: there is no rank {}; the job has ranks 0 to {}", call, peer, size - 1)};
}

void refuse_buffer(const char* call, std::uint32_t peer, std::uint64_t bytes) {
  if (bytes > buffer_bytes_max) {
    throw error{errc::invalid_argument,
                fmt::format("{} with rank {}: {} bytes can't be; was a negative size converted?", call, peer, bytes)};
  }
  throw error{errc::invalid_argument,
              fmt::format("{} with rank {}: a buffer is null but has bytes ({} in all)", call, peer, bytes)};
}

void refuse_long_list(const char* call, std::uint32_t peer) {
  throw error{errc::invalid_argument,
              fmt::format("{} with rank {}: a list has more than {} buffers", call, peer, buffer_list_pieces_max)};
}

const char* reason_of(memory_refusal why) noexcept {
  switch (why) {
    case memory_refusal::ended: return "a buffer names memory of a kind that has ended";
    case memory_refusal::foreign: return "a buffer names memory of a kind that another runtime has made";
    case memory_refusal::unaligned: return "the address of a buffer is not aligned as its kind of memory demands";
    case memory_refusal::unnamed:
      return "the bytes of a buffer are of a kind of memory, and the buffer does not name it";
    case memory_refusal::none: break;
  }
  return "a buffer";
}

void refuse_memory(const char* call, std::uint32_t peer, const refused_memory& why) {
  throw error{errc::invalid_argument,
              fmt::format("{} with rank {}: {} (kind: {})", call, peer, reason_of(why.why), why.kind)};
}

void refuse_memory_of_allocator(std::uint32_t id, const refused_memory& why) {
  throw error{errc::invalid_argument,
              fmt::format("register_completion with id {}: the allocator gives memory of a kind that {} (kind: {})", id,
                          why.why == memory_refusal::ended ? "has ended" : "another runtime has made", why.kind)};
}

void refuse_completion_id(const char* call, std::uint32_t peer, std::uint32_t id) {
  throw error{errc::invalid_argument,
              fmt::format("{} to rank {}: completion id {} is reserved for the library", call, peer, id)};
}

void refuse_open(const char* call, std::uint32_t engine) {
  throw error{errc::invalid_argument,
              fmt::format("{}: engine {} is receiver-first: a receive is announced to the rank that it names, so rank "
                          "and tag are never left open there, neither by .policy nor by any_rank or .any_tag",
                          call, engine)};
}

void refuse_policy(const char* call, const engine_state& engine, match_policy policy) {
  if (policy > match_policy::none) {
    throw error{errc::invalid_argument,
                fmt::format("{}: there is no match policy {}", call, static_cast<unsigned>(policy))};
  }
  if (engine.receiver_first) refuse_open(call, engine.id);
  throw error{errc::invalid_argument,
              fmt::format("{}: engine {} is ordered: receives leave rank or tag open there by any_rank and .any_tag, "
                          "not by .policy, and sends say nothing of it",
                          call, engine.id)};
}

void refuse_engine(const char* call, std::uint32_t rank, std::uint32_t id) {
  throw error{errc::invalid_argument,
              fmt::format("{}: rank {} has no matching engine {}: all ranks that use one make it", call, rank, id)};
}

void refuse_foreign_engine(const char* call, std::uint32_t id) {
  throw error{errc::invalid_argument,
              fmt::format("{}: the matching engine object (id {}) belongs to another runtime: name one that was made "
                          "from the runtime of the device that posts",
                          call, id)};
}

void refuse_region(std::uint64_t job, const char* call, std::uint32_t peer, const remote_buffer& target,
                   std::uint64_t bytes) {
  const remote_region& region = target.region;
  if (region.name == 0 || region.job != job) {
    throw error{errc::region_refused, fmt::format("{}: the handle is not of a region of this job{}", call,
                                                  region.name == 0 ? " (it is empty)" : "")};
  }
  if (region.rank != peer) {
    throw error{errc::region_refused,
                fmt::format("{}: the region belongs to rank {}, not to rank {}", call, region.rank, peer)};
  }
  throw error{errc::region_refused, fmt::format("{}: {} bytes at offset {} reach beyond the {} bytes of the region of "
                                                "rank {}",
                                                call, bytes, target.offset, region.bytes, peer)};
}

void refuse_withdrawn(const char* call, std::uint32_t rank) {
  throw error{errc::region_refused,
              fmt::format("{}: the region of rank {} has been withdrawn, or does not reach that far", call, rank)};
}

std::uint32_t checked_signal(const char* call, std::uint32_t peer, const std::optional<remote_completion>& signal) {
  if (!signal) return no_signal;
  if (signal->id >= remote_completion_ids_max) refuse_completion_id(call, peer, signal->id);
  return signal->id;
}

}  // namespace weft::core
