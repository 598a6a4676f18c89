// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/measure/team.hpp"

#include <cstring>
#include <thread>

#include "weft-perf/report/machine.hpp"

namespace weft::perf {
namespace {

constexpr std::uint32_t control_id = 1;

}  // namespace

team::team(weft::runtime& rt, bool is_placed) : rt_{rt}, inbox_{rt, {.unbounded = true}}, sent_{rt} {
  if (rt.size() < 2) {
    throw error{errc::invalid_argument, "two ranks are needed, or more, as in: weft-run -n 2 weft-perf latency"};
  }
  arrivals_ = rt.register_completion(inbox_, {.id = control_id});
  connect_line();
  if (is_placed) unite_processors();
}

void team::send(std::uint32_t to, std::span<const std::byte> bytes) {
  const std::uint64_t number = sent_to_[to]++;
  const std::uint64_t before = sent_.value();
  for (;;) {
    const auto answer = rt_.default_device().post_am(to, {control_id}, bytes, sent_, {.tag = number, .device = 0});
    if (answer.is_done()) return;
    if (answer.is_posted()) break;
    rt_.default_device().progress();
  }
  while (sent_.value() == before) {
    if (!rt_.default_device().progress()) std::this_thread::yield();
  }
}

std::vector<std::byte> team::receive(std::uint32_t from) {
  const auto wanted = std::pair{from, received_from_[from]++};
  for (;;) {
    if (const auto here = early_.find(wanted); here != early_.end()) {
      std::vector<std::byte> out = std::move(here->second);
      early_.erase(here);
      return out;
    }
    if (const auto message = inbox_.pop()) {
      early_[{message->source(), message->tag()}].assign(message->data().begin(), message->data().end());
    } else if (!rt_.default_device().progress()) {
      std::this_thread::yield();
    }
  }
}

std::vector<std::byte> team::swap_with_partner(std::span<const std::byte> mine) {
  send(partner(), mine);
  return receive(partner());
}

std::vector<double> team::gather(const std::vector<double>& mine) {
  if (rt_.rank() != 0) {
    send(0, std::as_bytes(std::span{mine}));
    return {};
  }
  std::vector<double> all = mine;
  for (std::uint32_t rank = 1; rank < rt_.size(); ++rank) {
    const std::vector<std::byte> bytes = receive(rank);
    const std::size_t old = all.size();
    all.resize(old + bytes.size() / sizeof(double));
    if (!bytes.empty()) std::memcpy(all.data() + old, bytes.data(), bytes.size());
  }
  return all;
}

// Rank 0 names its line, its partner says whether it has found it.
void team::connect_line() {
  if (rt_.rank() == 0) {
    line_ = std::make_unique<shared_lines>();
    const std::string path = line_->path();
    const std::vector<std::byte> answer = swap_with_partner(std::as_bytes(std::span{path}));
    if (line_->good() && answer.size() == 1 && answer[0] == std::byte{1}) side_.emplace(line_->lines(), true);
  } else if (rt_.rank() == pairs()) {
    const std::vector<std::byte> path = receive(0);
    line_ = std::make_unique<shared_lines>(std::string{reinterpret_cast<const char*>(path.data()), path.size()});
    const std::byte good{line_->good()};
    send(0, std::span{&good, 1});
    if (line_->good()) side_.emplace(line_->lines(), false);
  }
}

// Rank 0 unites the sets of each machine's ranks.
void team::unite_processors() {
  given_processors mine = processors_given();
  const auto bytes = [](given_processors& processors) { return std::as_writable_bytes(std::span{&processors, 1}); };
  if (rt_.rank() == 0) {
    std::vector<given_processors> all{mine};
    for (std::uint32_t rank = 1; rank < rt_.size(); ++rank) {
      std::memcpy(&all.emplace_back(), receive(rank).data(), sizeof mine);
    }
    for (std::uint32_t rank = 0; rank < rt_.size(); ++rank) {
      given_processors united = all[rank];
      for (const given_processors& each : all) united.unite(each);
      if (rank == 0) mine = united;
      if (rank != 0) send(rank, bytes(united));
    }
  } else {
    send(0, bytes(mine));
    std::memcpy(&mine, receive(0).data(), sizeof mine);
  }
  use_processors(mine);
}

template <class Measure>
double team::between_partners(const Measure& measure) {
  rt_.barrier();
  double out = 0;
  if (side_) {
    const pinned_here apart{rt_.rank() == 0 ? 0U : 1U};
    out = measure(*side_);
  }
  rt_.barrier();
  return rt_.rank() == 0 ? out : 0;
}

double team::handover() {
  return between_partners([](exchange_side& side) { return side.measure_handover(); });
}

double team::exchange_ns(exchange exchanged) {
  return between_partners([exchanged](exchange_side& side) { return side.measure(exchanged); });
}

}  // namespace weft::perf
