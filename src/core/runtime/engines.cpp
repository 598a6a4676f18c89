// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/engines.hpp"

#include <fmt/format.h>

#include "base/assertion.hpp"
#include "core/runtime/named_objects.hpp"
#include "weft/error.hpp"

namespace weft::core {

engine_state& engines::make(const matching_engine_options& options, std::uint32_t rank, std::uint32_t rank_count,
                            const runtime_state& home) {
  if (options.ordered && options.make_key != nullptr) {
    throw error{errc::invalid_argument,
                "matching_engine: an ordered engine matches by rank and tag, not by a key of "
                "the user's"};
  }
  if (options.receiver_first && (options.ordered || options.make_key != nullptr)) {
    throw error{errc::invalid_argument,
                "matching_engine: a receiver-first engine matches by rank and tag, which its receives name: it is not "
                "`.ordered` and has no key of the user's"};
  }
  const std::scoped_lock lock{mutex_};
  const std::uint32_t id = options.id ? *options.id : next_id_++;
  if (options.id && id >= matching_engine_ids_max) {
    throw error{errc::invalid_argument,
                fmt::format("matching_engine: id {} is reserved for the library; ids are below {}", id,
                            matching_engine_ids_max)};
  }
  const bool is_numbered = options.ordered || options.receiver_first;
  const bool counts_in_steps = is_numbered && engines_with_steps_ < order_steps_max;
  engine_state* const made =
      add_named(made_, ids_, id, id, options, rank_count, &home, counts_in_steps ? order_step_of(rank_count) : 1);
  if (made != nullptr) {
    engines_with_steps_ += made->counts_in_steps() ? 1 : 0;
    return *made;
  }
  throw error{errc::invalid_argument, fmt::format("matching_engine: id {} {} on rank {}; ids are never used twice", id,
                                                  taken_because(ids_, id), rank)};
}

engine_state& engines::of_groups(std::uint32_t rank_count, const runtime_state& home) {
  const std::scoped_lock lock{mutex_};
  if (const auto found = made_.find(std::uint32_t{group_matching_engine}); found != made_.end()) return found->second;
  engine_state* const made =
      add_named(made_, ids_, std::uint32_t{group_matching_engine}, std::uint32_t{group_matching_engine},
                matching_engine_options{}, rank_count, &home);
  WEFT_ASSERT(made != nullptr);
  return *made;
}

base::id_table<>::outdated engines::withdraw(std::uint32_t id) noexcept {
  const std::scoped_lock lock{mutex_};
  ids_.withdraw(id);
  return ids_.compact();
}

void engines::remove(std::uint32_t id) noexcept {
  const std::scoped_lock lock{mutex_};
  const auto gone = made_.find(id);
  WEFT_ASSERT(gone != made_.end());
  engines_with_steps_ -= gone->second.counts_in_steps() ? 1 : 0;
  made_.erase(gone);
}

}  // namespace weft::core
