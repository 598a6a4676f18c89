// Work that makes more work, until no rank has any: a tree whose nodes lie on any ranks. A rank with nothing to do may
// still get a node that is on its way. So all ranks count nodes sent and nodes done, and rank 0 adds up, in rounds. If
// no more was sent by the end of a round than was done in the round before, nothing is left (Mattern's four counters).
#include <cstdio>
#include <cstring>

#include <weft/weft.hpp>

struct totals {
  std::uint64_t sent = 0, done = 0, reports = 0;  // reports: of all ranks, in one round
};
constexpr std::uint32_t nodes_id = 1, reports_id = 2, verdicts_id = 3, depth = 12;
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
  const auto to_nodes = rt.register_completion(nodes, {.id = nodes_id});
  const auto to_reports = rt.register_completion(reports, {.id = reports_id});
  const auto to_verdicts = rt.register_completion(verdicts, {.id = verdicts_id});
  const auto tell = [&](std::uint32_t rank, weft::remote_completion to, const auto& value) {
    dev.until_accepted([&] { return dev.post_am(rank, to, std::span{&value, 1}, local); });
  };
  totals mine, round, before;
  if (rt.rank() == 0) ++mine.sent, tell(0, {nodes_id}, std::uint32_t{0});
  for (bool has_reported = false, is_over = false; !is_over; dev.progress()) {
    if (const auto node = nodes.pop()) {
      const auto level = value_of<std::uint32_t>(*node);
      for (std::uint32_t child = 0; level < depth && child < 2; ++child) {
        const std::uint64_t number = mine.sent++;  // counted before it is posted
        tell(static_cast<std::uint32_t>((number * 0x9e3779b97f4a7c15 >> 40) % rt.size()), {nodes_id}, level + 1);
      }
      ++mine.done;  // counted after its children were
    } else if (!std::exchange(has_reported, true)) {
      tell(0, {reports_id}, mine);  // idle: takes part in this round, and does what arrives meanwhile
    }
    if (const auto report = reports.pop()) {  // rank 0 alone gets these
      const auto other = value_of<totals>(*report);
      round.sent += other.sent, round.done += other.done, ++round.reports;
      if (round.reports == rt.size()) {
        const bool nothing_is_left = round.sent == before.done;
        for (std::uint32_t rank = 0; rank < rt.size(); ++rank) tell(rank, {verdicts_id}, nothing_is_left);
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
