// Work that makes more work, until no rank has any: a tree whose nodes lie on any ranks. A rank with nothing to do may
// still get a node that is on its way. So all ranks count nodes sent and nodes done, and rank 0 adds up, in rounds. If
// no more was sent by the end of a round than was done in the round before, nothing is left (Mattern's four counters).
#include <cstdio>
#include <cstring>

#include <weft/weft.hpp>

struct totals {
  std::uint64_t sent = 0, done = 0, reports = 0;
};
constexpr std::uint64_t depth = 12;  // every node above this one has two children
template <class Value>
Value value_of(const weft::completion_record& message) {
  Value out;
  std::memcpy(&out, message.data().data(), sizeof out);
  return out;
}

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  weft::counter local{rt};
  weft::completion_queue nodes{rt, {.unbounded = true}}, reports{rt}, verdicts{rt};
  const auto to_nodes = rt.register_completion(nodes, {.id = 1});
  const auto to_reports = rt.register_completion(reports, {.id = 2});
  const auto to_verdicts = rt.register_completion(verdicts, {.id = 3});
  const auto tell = [&](std::uint32_t rank, weft::remote_completion to, const auto& value) {
    dev.until_accepted([&] { return dev.post_am(rank, to, std::span{&value, 1}, local); });
  };
  totals mine, round, before;
  if (rt.rank() == 0) tell(0, {1}, std::uint64_t{0}), ++mine.sent;
  for (bool has_reported = false, is_over = false; !is_over;) {
    dev.progress();
    if (const auto node = nodes.pop()) {
      const auto level = value_of<std::uint64_t>(*node);
      for (std::uint32_t child = 1; level < depth && child <= 2; ++child, ++mine.sent)
        tell(static_cast<std::uint32_t>((mine.sent * 0x9e3779b97f4a7c15 >> 40) % rt.size()), {1}, level + 1);
      ++mine.done;  // after its children were counted
    } else if (!std::exchange(has_reported, true)) {
      tell(0, {2}, mine);  // idle: takes part in this round, and does what arrives meanwhile
    }
    if (const auto report = reports.pop()) {  // rank 0 alone gets these
      const auto other = value_of<totals>(*report);
      round.sent += other.sent, round.done += other.done;
      if (++round.reports == rt.size()) {
        const bool nothing_is_left = round.sent == before.done;
        for (std::uint32_t rank = 0; rank < rt.size(); ++rank) tell(rank, {3}, nothing_is_left);
        before = round, round = {};
      }
    }
    if (const auto verdict = verdicts.pop()) is_over = value_of<bool>(*verdict), has_reported = false;
  }
  dev.wait_all(local);
  std::printf("rank %u: has done %u nodes\n", rt.rank(), static_cast<unsigned>(mine.done));
  rt.barrier();
  return rt.rank() == 0 && before.done != (2U << depth) - 1 ? 1 : 0;
}
