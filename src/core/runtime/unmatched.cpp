// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/unmatched.hpp"

#include <fmt/format.h>

#include <set>

#include "base/counted.hpp"
#include "core/matching/engine_state.hpp"
#include "weft/detail/report_names.hpp"

namespace weft::core {
namespace {

constexpr std::size_t unmatched_kinds_max = 64;  // kinds of receives, and of messages
constexpr std::size_t unmatched_shown_max = 8;   // shown of each of the three lists

const char* name_of(match_policy policy) noexcept {
  switch (policy) {
    case match_policy::rank_tag: return "policy rank_tag";
    case match_policy::rank_only: return "policy rank_only";
    case match_policy::tag_only: return "policy tag_only";
    case match_policy::none: return "policy none";
  }
  return "a key of the program's";
}

std::string name_of_engine(std::uint32_t id) {
  return id == default_matching_engine ? "default engine" : fmt::format("engine {}", id);
}

bool compares_rank(match_policy policy) noexcept {
  return policy == match_policy::rank_tag || policy == match_policy::rank_only;
}
bool compares_tag(match_policy policy) noexcept {
  return policy == match_policy::rank_tag || policy == match_policy::tag_only || policy == user_policy;
}

// `MPI_COMM_WORLD, rank 1, tag 5`: of an engine that is a communicator of a library over Weft. Empty: it is none.
std::string text_in_communicator(const detail::report_names* names, std::uint32_t engine, match_policy policy,
                                 std::uint32_t rank, std::uint64_t tag) {
  if (names == nullptr) return {};
  std::string out = names->communicator(engine);
  if (out.empty()) return out;
  out += compares_rank(policy) ? fmt::format(", rank {}", names->member(engine, rank)) : ", any rank";
  return out + (compares_tag(policy) ? fmt::format(", tag {}", tag) : ", any tag");
}

}  // namespace

void unmatched::items::add(const item& added) {
  if (const auto found = all.find(added); found != all.end()) {
    ++found->second;
  } else if (all.size() < unmatched_kinds_max) {
    all.emplace(added, 1);
  } else {
    ++left_out;
  }
}

void unmatched::add_receive(const match_key& key) {
  receives_.add({key.engine(), key.policy(), false, false, key.rank(), key.tag});
}
void unmatched::add_message(const match_key& key, std::uint32_t source, std::uint64_t tag) {
  messages_.add({key.engine(), key.policy(), false, false, source, key.policy() == user_policy ? key.tag : tag});
}

void unmatched::add_waiting(const engine_state& engine, matched_messages& released) {
  const auto receive = [&](const match_node& each) {
    receives_.add({engine.id, each.key.policy(), true, engine.receiver_first, each.key.rank(), each.key.tag});
  };
  const auto message = [&](const ordered_message& each) {
    messages_.add({engine.id, match_policy::rank_tag, true, engine.receiver_first, each.key.rank(), each.key.tag});
  };
  ordered_counts counted;
  if (!engine.ordered->try_count(counted, released)) {
    ++busy_engines_;
  } else {
    early_ += counted.early;
    if (!engine.ordered->try_each(receive, message, released)) ++busy_engines_;
  }
}

// Null: they differ in more than one thing.
const char* unmatched::difference(const item& receive, const item& message) noexcept {
  if (receive.is_receiver_first != message.is_receiver_first) return nullptr;
  const char* only = nullptr;
  unsigned count = 0;
  const auto differ = [&](bool do_differ, const char* field) {
    if (!do_differ) return;
    ++count;
    only = field;
  };
  differ(receive.engine != message.engine, "the engine");
  differ(!receive.is_ordered && !message.is_ordered && receive.policy != message.policy, "the policy");
  differ(compares_rank(receive.policy) && receive.rank != message.rank, "the rank");
  differ(compares_tag(receive.policy) && receive.tag != message.tag, "the tag");
  return count == 1 ? only : nullptr;
}

std::string unmatched::receive_text(const item& wanted, std::size_t count, const detail::report_names* names) {
  if (const std::string text = text_in_communicator(names, wanted.engine, wanted.policy, wanted.rank, wanted.tag);
      !text.empty())
    return fmt::format("{} ({})", base::counted(count, "receive"), text);
  if (wanted.is_receiver_first) {
    return fmt::format("{} to rank {} ({}, receiver-first, tag {})", base::counted(count, "send"), wanted.rank,
                       name_of_engine(wanted.engine), wanted.tag);
  }
  std::string out = fmt::format("{} posted ({}, {}", base::counted(count, "receive"), name_of_engine(wanted.engine),
                                name_of(wanted.policy));
  if (compares_rank(wanted.policy)) out += fmt::format(", rank {}", wanted.rank);
  if (compares_tag(wanted.policy)) out += fmt::format(", tag {}", wanted.tag);
  return out + ")";
}
std::string unmatched::message_text(const item& wanted, std::size_t count, const detail::report_names* names) {
  if (const std::string text =
          text_in_communicator(names, wanted.engine, match_policy::rank_tag, wanted.rank, wanted.tag);
      !text.empty())
    return fmt::format("{} ({})", base::counted(count, "message"), text);
  if (wanted.is_receiver_first) {
    return fmt::format("{} of rank {} ({}, receiver-first, tag {})", base::counted(count, "receive"), wanted.rank,
                       name_of_engine(wanted.engine), wanted.tag);
  }
  std::string out =
      fmt::format("{} of rank {} ({}", base::counted(count, "message"), wanted.rank, name_of_engine(wanted.engine));
  if (!wanted.is_ordered) out += fmt::format(", {}", name_of(wanted.policy));
  return out + fmt::format(", tag {})", wanted.tag);
}

std::vector<unmatched_step> unmatched::steps_of_groups() const {
  std::vector<unmatched_step> out;
  for (const auto& [each, count] : receives_.all) {
    if (each.is_of_groups()) out.push_back({true, each.rank, each.tag, count});
  }
  for (const auto& [each, count] : messages_.all) {
    if (each.is_of_groups()) out.push_back({false, each.rank, each.tag, count});
  }
  return out;
}

void unmatched::describe(base::report& into, const detail::report_names* names) const {
  std::set<item> near_receives;
  std::set<item> near_messages;
  std::size_t pairs = 0;
  for (const auto& [receive, receive_count] : receives_.all) {
    for (const auto& [message, message_count] : messages_.all) {
      if (receive.is_of_groups() || message.is_of_groups()) continue;
      const char* const field = difference(receive, message);
      if (field == nullptr || ++pairs > unmatched_shown_max) continue;
      near_receives.insert(receive);
      near_messages.insert(message);
      const bool is_of_library = names != nullptr && !names->communicator(receive.engine).empty();
      const bool is_engine = receive.engine != message.engine;
      into.add("{} and {} differ only in {}", receive_text(receive, receive_count, names),
               message_text(message, message_count, names), is_of_library && is_engine ? "the communicator" : field);
    }
  }
  if (pairs > unmatched_shown_max) into.add("and {} more", base::counted(pairs - unmatched_shown_max, "such pair"));
  const auto add_rest = [&](const items& from, const std::set<item>& near, const char* how_near, auto&& text) {
    std::size_t kinds = 0;
    std::size_t rest = from.left_out;
    for (const auto& [each, count] : from.all) {
      if (each.is_of_groups() || near.contains(each)) continue;
      if (++kinds > unmatched_shown_max) {
        rest += count;
      } else {
        into.add("{} {}", text(each, count, names), each.is_receiver_first ? "that has found no match" : how_near);
      }
    }
    if (rest != 0) into.add("and {} more {}", rest, how_near);
  };
  add_rest(receives_, near_receives, "that no message has matched", receive_text);
  add_rest(messages_, near_messages, "that no receive has matched", message_text);
  if (early_ != 0) {
    into.add("{} in ordered engines {} for one that was sent before", base::counted(early_, "message"),
             base::form_for(early_, "waits", "wait"));
  }
  if (busy_engines_ != 0) {
    into.add("{} {} in use by another thread at the time", base::counted(busy_engines_, "engine"),
             base::form_for(busy_engines_, "was", "were"));
  }
}

}  // namespace weft::core
