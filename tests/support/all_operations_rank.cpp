// SPDX-License-Identifier: BSD-3-Clause
#include "support/all_operations_rank.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/waiting.hpp"

namespace weft::test::all_operations {

void* moody_allocator::allocate(std::size_t bytes, std::uint32_t, std::uint64_t) noexcept {
  if (calls_.add() % 8 == 3) return nullptr;
  void* const out = std::malloc(bytes);
  if (out != nullptr) bytes_.add(bytes);
  return out;
}

void moody_allocator::deallocate(void* memory, std::size_t bytes) noexcept {
  bytes_.subtract(bytes);
  std::free(memory);
}

rank_state::rank_state(runtime& rt, const script& all)
    : rt_{rt},
      script_{all},
      counted_before_{rt.counters()},
      unordered_{rt, {.id = id_of(id::unordered)}},
      ordered_{rt, {.id = id_of(id::ordered), .ordered = true}},
      receiver_first_{rt, {.id = id_of(id::receiver_first), .receiver_first = true}},
      users_memory_(all.region_bytes() + 8),
      librarys_region_{rt, all.region_bytes()},
      users_region_{rt, std::span{users_memory_}.first(all.region_bytes())},
      handles_(std::size_t{rt.size()} * 2),
      unseen_{std::make_unique<flag[]>(std::size_t{all.workload().threads()} * rt.size() * 2 * script::slots)},
      here_{std::make_unique<flag[]>(all.all().size())},
      called_{rt, {this}},
      seen_{rt, {this}},
      queued_{rt, {.unbounded = true}},
      signals_{rt, {.unbounded = true}} {
  for (std::uint32_t thread = 0; thread < all.workload().threads(); ++thread) {
    const matching_engine_options options{.id = id_of(id::ordered_of_thread + thread), .ordered = true};
    ordered_of_threads_.push_back(std::make_unique<matching_engine>(rt, options));
  }
  for (const plan& each : all.all()) {
    const bool arrives_by_itself =
        each.kind == action::am || each.kind == action::put_signal || each.kind == action::get_signal;
    expected_ += each.peer == rt.rank() && arrives_by_itself;
  }
  registrations_.push_back(rt.register_completion(called_, {.id = id_of(id::called), .allocator = &allocator_}));
  registrations_.push_back(rt.register_completion(queued_, {.id = id_of(id::queued)}));
  registrations_.push_back(rt.register_completion(signals_, {.id = id_of(id::signals)}));
  registrations_.push_back(rt.register_completion(seen_, {.id = id_of(id::seen)}));
  exchange_handles();
}

std::uint32_t rank_state::engine_of(const plan& planned) const noexcept {
  if (planned.is_receiver_first()) return id_of(id::receiver_first);
  if (planned.kind == action::send) return planned.number % 2 == 0 ? id_of(id::unordered) : default_matching_engine;
  return id_of(planned.thread % 2 == 0 ? id::ordered : id::ordered_of_thread + planned.thread);
}

void rank_state::exchange_handles() {
  completion_queue inbox{rt_};
  counter sent{rt_};
  const auto arrivals = rt_.register_completion(inbox, {.id = id_of(id::handles)});
  device& dev = rt_.default_device();
  for (std::uint32_t rank = 0; rank < rt_.size(); ++rank) {
    for (const std::uint64_t region : {0U, 1U}) {
      const remote_region& mine = (region == 0 ? librarys_region_ : users_region_).handle();
      static_cast<void>(post_until_taken(dev, rank, {id_of(id::handles)}, std::span{&mine, 1}, sent, {.tag = region}));
    }
  }
  for (std::size_t i = 0; i < handles_.size(); ++i) {
    std::optional<completion_record> got;
    if (!eventually(dev, [&] { return (got = inbox.pop()).has_value(); })) fail(nullptr, "a handle has not come");
    std::memcpy(&handles_[std::size_t{got->source()} * 2 + got->tag()], got->data().data(), sizeof(remote_region));
  }
  rt_.barrier();
}

void rank_state::fail(const plan* planned, const std::string& description) const {
  std::string where =
      fmt::format("all operations, seed {}, rank {} of {}", script_.workload().seed, rt_.rank(), rt_.size());
  if (planned != nullptr) {
    where +=
        fmt::format(": rank {}, thread {}, operation {} (action {}, {} bytes, to rank {})", planned->source,
                    planned->thread, planned->number, static_cast<int>(planned->kind), planned->bytes, planned->peer);
  }
  std::fprintf(stderr, "%s: %s\n", where.c_str(), description.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

const plan& rank_state::expect(std::uint32_t source, std::uint64_t tag) const {
  const plan* const found = script_.find(tag);
  if (found == nullptr) fail(nullptr, fmt::format("rank {} sent a tag that nobody has: {:#x}", source, tag));
  require(found->source == source, found, "came from another rank");
  require(found->peer == rt_.rank(), found, "came to the wrong rank");
  return *found;
}

void rank_state::arrived(const plan& planned) {
  require(here_[script_.index_of(planned)].try_raise(), &planned, "arrived twice");
  if (planned.kind != action::send && planned.kind != action::ordered_send) arrived_.add();
}

void rank_state::check_content(const plan& planned, std::span<const std::byte> bytes) const {
  if (bytes.size() != planned.bytes) fail(&planned, fmt::format("has {} bytes", bytes.size()));
  if (const auto wrong = first_wrong(bytes, planned.key)) fail(&planned, fmt::format("byte {} is wrong", *wrong));
}

void rank_state::check_message(const completion_record& record) const {
  const plan& planned = expect(record.source(), record.tag());
  require(record.operation() == operation::message && planned.kind == action::am, &planned, "is no active message");
  require(record.error() == errc::none, &planned, "arrived with an error");
  check_content(planned, record.data());
}

const plan& rank_state::check_signal(const completion_record& record) const {
  const plan& planned = expect(record.source(), record.tag());
  require(record.error() == errc::none, &planned, "a signal with an error");
  const auto memory = (planned.region == 0 ? librarys_region_ : users_region_).memory();
  if (record.operation() == operation::put_signal) {
    require(planned.kind == action::put_signal, &planned, "is no put with a signal");
    require(record.data().data() == memory.data() + script_.offset_of(planned), &planned, "is another place");
    check_content(planned, record.data());
  } else {
    require(record.operation() == operation::get_signal && planned.kind == action::get_signal, &planned,
            "is no signal");
    const std::byte* const slot = memory.data() + script_.offset_of(planned) - planned.offset;
    require(record.data().data() >= slot && record.data().data() < slot + script_.slot_at(1), &planned, "is elsewhere");
    require(record.bytes() <= script_.usual_bytes_max(), &planned, "has too many bytes");
  }
  return planned;
}

// Inside progress. Answers full now and then.
completion::answer rank_state::take_called(completion_record&& record) noexcept {
  if (moods_.add() % 16 == 5) return completion::answer::full;
  const completion_record consumed{std::move(record)};
  check_message(consumed);
  arrived(expect(consumed.source(), consumed.tag()));
  return completion::answer::taken;
}

void rank_state::take_seen(const completion_record& record) noexcept {
  const plan* const planned = script_.find(record.tag());
  require(planned != nullptr && planned->kind == action::put_signal && planned->peer == record.source(), planned,
          "was seen, but not sent");
  require(planned->source == rt_.rank(), planned, "was seen, but is not of this rank");
  require(unseen(planned->thread, planned->peer, planned->region, planned->slot).try_lower(), planned,
          "was seen twice");
}

void rank_state::check_regions() const {
  for (const std::uint32_t region : {0U, 1U}) {
    const auto memory = (region == 0 ? librarys_region_ : users_region_).memory();
    const auto expected = script_.final_region(rt_.rank(), region);
    if (std::memcmp(memory.data(), expected.data(), expected.size()) == 0) continue;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (memory[i] == expected[i]) continue;
      fail(nullptr,
           fmt::format("in the end, byte {} of {} of region {} is {:#x} instead of {:#x}; its areas have {} "
                       "bytes, its words begin at {}",
                       i, expected.size(), region, std::to_integer<unsigned>(memory[i]),
                       std::to_integer<unsigned>(expected[i]), script_.area_bytes(), script_.own_word_at(0, 0, true)));
    }
  }
  for (std::size_t i = script_.region_bytes(); i < users_memory_.size(); ++i) {
    require(users_memory_[i] == std::byte{}, nullptr, "something was written behind the region");
  }
}

void rank_state::check_counters() const {
  const runtime_counters now = rt_.counters();
  require(now.messages_refused == counted_before_.messages_refused, nullptr, "messages were refused");
  require(now.messages_dropped == counted_before_.messages_dropped, nullptr, "messages were dropped");
  require(allocator_.allocated_bytes() == 0, nullptr, "the allocator has not got everything back");
}

}  // namespace weft::test::all_operations
