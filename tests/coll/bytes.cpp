// SPDX-License-Identifier: BSD-3-Clause
#include "coll/bytes.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <tuple>

#include "coll/expected.hpp"
#include "coll/ordering.hpp"
#include "coll/schedule/counts.hpp"

namespace weft::coll::test {

namespace {

// An affine map x -> a x + b, of words modulo 2^32.
struct affine {
  std::uint32_t a;
  std::uint32_t b;
};

affine combine(affine first, affine second, operands rule) {
  if (rule == operands::commute) return {first.a + second.a, first.b ^ second.b};
  if (rule == operands::have_brackets) return {3 * first.a + (second.a ^ 0x9e37'79b9U), (first.b ^ 7) + 5 * second.b};
  const std::uint32_t a = first.a | 1;  // odd: no operand is multiplied away
  return {a * (second.a | 1), a * second.b + first.b};
}

// into = from op into, or into = into op from. Elements are maps, one or more, or single bytes that are added.
void reduce(const std::byte* from, std::byte* into, std::uint64_t bytes, std::uint64_t element_bytes, operands rule,
            bool is_into_lower) {
  const std::uint64_t unit = element_bytes % sizeof(affine) == 0 ? sizeof(affine) : 1;
  for (std::uint64_t at = 0; at + unit <= bytes; at += unit) {
    if (unit == sizeof(affine)) {
      affine first, second;
      std::memcpy(&first, from + at, sizeof first);
      std::memcpy(&second, into + at, sizeof second);
      const affine both = is_into_lower ? combine(second, first, rule) : combine(first, second, rule);
      std::memcpy(into + at, &both, sizeof both);
    } else {
      into[at] = static_cast<std::byte>(static_cast<unsigned>(into[at]) + static_cast<unsigned>(from[at]));
    }
  }
}

struct message {
  bool is_copied = false;
  std::vector<std::byte> bytes;
  std::uint32_t sent_by = 0;
};

struct carried_rank {
  const schedule* steps;
  rank_bytes* bytes;
  std::vector<std::byte> scratch;
  std::vector<std::uint32_t> left;
  std::vector<std::uint32_t> ready;

  // Null: it leaves its memory.
  std::byte* at(part where) {
    static std::byte none;
    if (where.bytes == 0) return &none;
    std::vector<std::byte>& all = where.location == location::input    ? bytes->in
                                  : where.location == location::output ? bytes->out
                                                                       : scratch;
    return where.offset + where.bytes <= all.size() ? all.data() + where.offset : nullptr;
  }
  void finish(std::uint32_t index) {
    for (std::uint32_t i = 0; i < left.size(); ++i) {
      for (const std::uint32_t before : steps->before(steps->steps()[i])) {
        if (before == index && --left[i] == 0) ready.push_back(i);
      }
    }
  }
};

}  // namespace

// Of the running check: how elements are reduced.
thread_local std::uint64_t element_bytes_now = 1;        // of the thread
thread_local operands operands_now = operands::commute;  // of the thread

std::string carry_out(std::span<const schedule> all, std::vector<rank_bytes>& bytes, std::mt19937& random) {
  std::vector<carried_rank> ranks;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    carried_rank made{&all[rank], &bytes[rank], {}, {}, {}};
    made.scratch.assign(all[rank].scratch_bytes(), std::byte{0x5a});
    for (const step& each : all[rank].steps()) {
      made.left.push_back(static_cast<std::uint32_t>(all[rank].before(each).size()));
      if (made.left.back() == 0) made.ready.push_back(static_cast<std::uint32_t>(made.left.size() - 1));
    }
    ranks.push_back(std::move(made));
  }
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, message> in_flight;
  // All steps that are ready, in a random order; receives whose message is not there wait.
  for (;;) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> able;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
      for (const std::uint32_t index : ranks[rank].ready) {
        const step& each = ranks[rank].steps->steps()[index];
        if (each.action != action::receive || in_flight.contains({each.peer, rank, each.label}))
          able.emplace_back(rank, index);
      }
    }
    if (able.empty()) break;
    const auto [rank, index] = able[random() % able.size()];
    carried_rank& mine = ranks[rank];
    std::erase(mine.ready, index);
    const step& each = mine.steps->steps()[index];
    std::byte* const from = mine.at(each.from);
    std::byte* const into = mine.at(each.into);
    if (from == nullptr || into == nullptr) return fmt::format("step {} of rank {} leaves its memory", index, rank);
    switch (each.action) {
      case action::send: {
        message sent{random() % 2 == 0, {}, index};
        if (sent.is_copied) sent.bytes.assign(from, from + each.from.bytes);
        if (!in_flight.try_emplace({rank, each.peer, each.label}, sent).second)
          return fmt::format("two messages of rank {} to {} with label {}", rank, each.peer, each.label);
        if (!sent.is_copied) continue;
        break;
      }
      case action::receive: {
        const auto found = in_flight.find({each.peer, rank, each.label});
        message& sent = found->second;
        carried_rank& sender = ranks[each.peer];
        if (!sent.is_copied) {
          const part where = sender.steps->steps()[sent.sent_by].from;
          sent.bytes.assign(sender.at(where), sender.at(where) + where.bytes);
        }
        if (sent.bytes.size() != each.into.bytes)
          return fmt::format("rank {} receives {} bytes of {}'s {}", rank, each.into.bytes, each.peer,
                             sent.bytes.size());
        std::ranges::copy(sent.bytes, into);
        if (!sent.is_copied) sender.finish(sent.sent_by);
        in_flight.erase(found);
        break;
      }
      case action::reduce:
        reduce(from, into, each.into.bytes, element_bytes_now, operands_now, each.is_into_lower);
        break;
      case action::copy: std::memmove(into, from, each.into.bytes); break;
    }
    mine.finish(index);
  }
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::uint32_t i = 0; i < ranks[rank].left.size(); ++i) {
      if (ranks[rank].left[i] != 0) return fmt::format("step {} of rank {} did not run", i, rank);
    }
    if (!ranks[rank].ready.empty()) return fmt::format("step {} of rank {} waits", ranks[rank].ready[0], rank);
  }
  return in_flight.empty() ? std::string{} : "a message is not received";
}

std::vector<std::byte> reduced(const all_bytes& in, std::uint32_t count, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<std::byte> out(in[count - 1].begin() + static_cast<std::ptrdiff_t>(offset),
                             in[count - 1].begin() + static_cast<std::ptrdiff_t>(offset + bytes));
  for (std::uint32_t rank = count - 1; rank-- > 0;)
    reduce(in[rank].data() + offset, out.data(), bytes, element_bytes_now, operands_now, false);
  return out;
}

namespace {

expected expect(std::span<const collective_args> members, std::mt19937& random) {
  switch (members[0].operation) {
    case operation::broadcast: return expect_broadcast(members, random);
    case operation::reduce:
    case operation::allreduce:
    case operation::reduce_scatter: return expect_reduction(members, random);
    case operation::barrier:
    case operation::gather:
    case operation::scatter:
    case operation::allgather:
    case operation::alltoall:
    case operation::scan:
    case operation::exscan: break;
  }
  return expect_blocks(members, random);
}

// Of operations that have elements.
std::string find_cut_element(std::span<const schedule> all, const collective_args& args) {
  switch (args.operation) {
    case operation::broadcast:
    case operation::reduce:
    case operation::allreduce:
    case operation::reduce_scatter:
    case operation::scan:
    case operation::exscan: break;
    default: return {};
  }
  for (const schedule& each : all) {
    for (const step& now : each.steps()) {
      if (now.from.bytes % args.element_bytes != 0 || now.into.bytes % args.element_bytes != 0)
        return fmt::format("a step has {} and {} bytes: an element is cut", now.from.bytes, now.into.bytes);
    }
  }
  return {};
}

}  // namespace

std::string check(const algorithm& which, std::span<const collective_args> members, std::mt19937& random) {
  return check(which, members, random, members[0].is_commutative ? operands::commute : operands::are_in_order);
}

std::string check(const algorithm& which, std::span<const collective_args> members, std::mt19937& random,
                  operands rule) {
  element_bytes_now = members[0].element_bytes;
  operands_now = rule;
  const expected all = expect(members, random);
  std::vector<schedule> schedules(members.size());
  std::vector<rank_bytes> bytes(members.size());
  for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
    which.function(schedules[rank], members[rank]);
    bytes[rank] = {all.in[rank], all.before[rank]};
  }
  if (const counts counted = count(schedules); !counted.wrong.empty()) return counted.wrong;
  if (std::string wrong = find_cut_element(schedules, members[0]); !wrong.empty()) return wrong;
  if (std::string wrong = find_race(schedules); !wrong.empty()) return wrong;
  if (std::string wrong = members[0].operation == operation::barrier ? find_early_end(schedules) : ""; !wrong.empty())
    return wrong;
  if (std::string wrong = carry_out(schedules, bytes, random); !wrong.empty()) return wrong;
  for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
    if (bytes[rank].in != all.in[rank]) return fmt::format("rank {}: the input was written", rank);
    if (members[0].operation == operation::reduce_scatter) bytes[rank].out.resize(all.after[rank].size());
    if (rule == operands::have_brackets) {
      if (bytes[rank].out != bytes[0].out) return fmt::format("rank {} has another output than rank 0", rank);
      continue;
    }
    if (bytes[rank].out != all.after[rank]) return fmt::format("rank {}: the output is wrong", rank);
  }
  return {};
}

std::string check(const algorithm& which, const collective_args& args, std::mt19937& random) {
  std::vector<collective_args> all(args.size, args);
  for (std::uint32_t rank = 0; rank < args.size; ++rank) all[rank].rank = rank;
  return check(which, all, random);
}

}  // namespace weft::coll::test
