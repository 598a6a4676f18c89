// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/exchange.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <numeric>
#include <sstream>
#include <thread>
#include <utility>

#include "kmer/input_error.hpp"
#include "kmer/processor_limits.hpp"

namespace weft_kmer {

namespace {

// The id of the first thread's inbox; the other threads' follow.
constexpr std::uint32_t first_inbox_id = 1;

template <typename T>
std::span<const std::byte> bytes_of(const T& value) noexcept {
  return std::as_bytes(std::span{&value, 1});
}

std::uint64_t number_in(std::span<const std::byte> data, std::size_t index = 0) noexcept {
  std::uint64_t number = 0;
  std::memcpy(&number, data.data() + index * sizeof number, sizeof number);
  return number;
}

// A statement on the wire: how many values, the values, the text.
std::vector<std::byte> pack(const statement& s) {
  const std::uint64_t count = s.values.size();
  const std::size_t text_bytes = std::min(s.failure.size(), failure_bytes_max);
  std::vector<std::byte> packed((count + 1) * sizeof count + text_bytes);
  std::memcpy(packed.data(), &count, sizeof count);
  if (count != 0) std::memcpy(packed.data() + sizeof count, s.values.data(), count * sizeof count);
  std::copy_n(reinterpret_cast<const std::byte*>(s.failure.data()), text_bytes,
              packed.data() + (count + 1) * sizeof count);
  return packed;
}

statement unpack(std::span<const std::byte> packed) {
  statement s;
  s.values.resize(number_in(packed));
  for (std::size_t i = 0; i < s.values.size(); ++i) s.values[i] = number_in(packed, i + 1);
  const auto text = packed.subspan((s.values.size() + 1) * sizeof(std::uint64_t));
  s.failure.assign(reinterpret_cast<const char*>(text.data()), text.size());
  return s;
}

}  // namespace

// The lowest byte of a tag; the rest is a detail, as which participant sent it.
enum class endpoint::kind : std::uint8_t { data, end, stating, concluding, stop, progress };

endpoint::endpoint(exchange& owner, unsigned thread)
    : owner_{&owner},
      self_{owner.rank() * owner.threads() + thread},
      device_{*owner.rt_, {.shared = false}},
      inbox_{*owner.rt_},
      unused_{*owner.rt_},
      registration_{owner.rt_->register_completion(inbox_, {.id = first_inbox_id + thread})},
      sent_to_(owner.ranks() * owner.threads()),
      statements_(sent_to_.size()) {}

void endpoint::post(unsigned participant, kind message_kind, std::uint64_t detail, std::span<const std::byte> data) {
  const unsigned threads = owner_->threads();
  const weft::remote_completion inbox{first_inbox_id + participant % threads};
  // All ranks make their devices in one order, so the peer thread's device has the number of this thread's
  // counterpart there. Only that thread then touches the message.
  const std::uint32_t first_device = device_.index() - self_ % threads;
  const weft::post_am_options options{.tag = detail << 8 | static_cast<std::uint64_t>(message_kind),
                                      .device = first_device + participant % threads};
  while (device_.post_am(participant / threads, inbox, {data.data(), data.size()}, unused_, options).is_retry()) {
    serve_or_rest();
  }
  ++messages_sent_;
  bytes_sent_ += data.size();
}

void endpoint::send(unsigned participant, std::span<const std::byte> data) {
  post(participant, kind::data, 0, data);
  ++sent_to_[participant];
}

bool endpoint::serve() {
  bool moved = device_.progress();
  while (const auto message = inbox_.pop()) {
    deliver(*message);
    moved = true;
  }
  return moved;
}

void endpoint::serve_or_rest() {
  if (serve()) {
    idle_rounds_ = 0;
  } else if (++idle_rounds_ < 200) {
    std::this_thread::yield();
  } else {
    // The participant that this thread waits for is reading or writing a file: better to leave the core to others.
    std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
}

void endpoint::deliver(const weft::completion_record& message) {
  const auto data = message.data();
  const std::uint64_t detail = message.tag() >> 8;
  switch (static_cast<kind>(message.tag() & 0xff)) {
    case kind::data:
      ++received_;
      deliver_(data);
      break;
    case kind::end:
      announced_ += number_in(data);
      ++ended_;
      break;
    case kind::stating: take_statement(static_cast<unsigned>(detail), data); break;
    case kind::concluding:
      conclusion_.failed = detail != 0;
      conclusion_.sums = unpack(data).values;
      concluded_ = true;
      break;
    case kind::stop: owner_->stop_.store(true, std::memory_order_relaxed); break;                             // [hint]
    case kind::progress: owner_->progress_[detail].store(number_in(data), std::memory_order_relaxed); break;  // [stat]
  }
}

void endpoint::finish_pass() {
  for (unsigned to = 0; to < participants(); ++to) {
    post(to, kind::end, 0, bytes_of(sent_to_[to]));
    sent_to_[to] = 0;
  }
  while (ended_ < participants() || received_ < announced_) serve_or_rest();
  ended_ = 0;
  received_ = announced_ = 0;
}

void endpoint::take_statement(unsigned participant, std::span<const std::byte> data) {
  statements_[participant] = unpack(data);
  ++stated_;
}

agreement endpoint::agree(const statement& mine) {
  post(0, kind::stating, self_, pack(mine));
  if (self_ == 0) {
    while (stated_ < participants()) serve_or_rest();
    return conclude();
  }
  while (!concluded_) serve_or_rest();
  concluded_ = false;
  return std::move(conclusion_);
}

agreement endpoint::conclude() {
  agreement result;
  for (const statement& s : statements_) {
    result.failed = result.failed || !s.failure.empty();
    result.sums.resize(std::max(result.sums.size(), s.values.size()));
    for (std::size_t i = 0; i < s.values.size(); ++i) result.sums[i] += s.values[i];
  }
  // Others may state something again as soon as they have the conclusion.
  result.statements = std::exchange(statements_, std::vector<statement>(participants()));
  stated_ = 0;
  const auto packed = pack({.values = result.sums, .failure = {}});
  for (unsigned to = 1; to < participants(); ++to) post(to, kind::concluding, result.failed, packed);
  return result;
}

void endpoint::sum(std::span<std::uint64_t> values) {
  while (!values.empty()) {
    const auto part = values.first(std::min(values.size(), agreement_values_max));
    const agreement all = agree({.values = {part.begin(), part.end()}, .failure = {}});
    std::copy(all.sums.begin(), all.sums.end(), part.begin());
    values = values.subspan(part.size());
  }
}

void endpoint::request_stop() {
  // [exchange.stop] relaxed: decides only which thread informs the others.
  if (owner_->stop_.exchange(true, std::memory_order_relaxed)) return;
  for (unsigned to = 0; to < participants(); to += owner_->threads()) post(to, kind::stop, 0, {});
}

void endpoint::report_progress(std::uint64_t bytes_done) {
  post(0, kind::progress, owner_->rank(), bytes_of(bytes_done));
}

std::vector<std::string> gather(weft::runtime& rt, std::string_view mine) {
  weft::group all = rt.world();
  const std::array<std::uint64_t, 1> own{mine.size()};
  std::vector<std::uint64_t> bytes(rt.size()), offsets(rt.size());
  weft::collective::allgather(own, bytes).run(all);
  std::exclusive_scan(bytes.begin(), bytes.end(), offsets.begin(), std::uint64_t{0});
  std::string text(offsets.back() + bytes.back(), ' ');
  weft::collective::allgather({mine.data(), mine.size()}, {text.data(), text.size()},
                              {.bytes = bytes, .offsets = offsets})
      .run(all);
  std::vector<std::string> out;
  for (std::uint32_t rank = 0; rank < rt.size(); ++rank) out.push_back(text.substr(offsets[rank], bytes[rank]));
  return out;
}

std::vector<rank_threads> threads_of_all(weft::runtime& rt, rank_threads own) {
  const std::string mine = std::to_string(own.wanted) + ' ' + std::to_string(own.possible) + ' ' +
                           std::to_string(rt.attributes().packet_bytes) + '\n' + to_text(find_processor_limits());
  std::vector<rank_threads> out;
  std::vector<processor_limits> limits;
  std::uint32_t threads = ~std::uint32_t{0};
  for (const std::string& said : gather(rt, mine)) {
    std::istringstream in{said};
    rank_threads& rank = out.emplace_back();
    std::size_t packet_bytes = 0;
    in >> rank.wanted >> rank.possible >> packet_bytes;
    // A longer message would be read after its buffer has been filled anew.
    if (packet_bytes < message_bytes_max) {
      throw job_error{"WEFT_PACKET_BYTES is " + std::to_string(packet_bytes) + " on rank " +
                      std::to_string(out.size() - 1) + ", and weft-kmer needs at least " +
                      std::to_string(message_bytes_max)};
    }
    limits.push_back(limits_in(said.substr(said.find('\n') + 1)));
    threads = std::min(threads, rank.possible);
  }
  threads = std::min(threads, threads_of_each(limits));
  for (rank_threads& rank : out) {
    if (rank.wanted == 0) rank.wanted = threads;
  }
  return out;
}

exchange::exchange(weft::runtime& rt, unsigned threads)
    : rt_{&rt}, threads_{threads}, progress_{new std::atomic<std::uint64_t>[rt.size()] {}} {
  for (unsigned thread = 0; thread < threads; ++thread) endpoints_.emplace_back(*this, thread);
  rt.barrier();
}

std::uint64_t exchange::progress() const noexcept {
  std::uint64_t bytes = 0;
  for (unsigned rank = 0; rank < ranks(); ++rank) bytes += progress_[rank].load(std::memory_order_relaxed);  // [stat]
  return bytes;
}

}  // namespace weft_kmer
