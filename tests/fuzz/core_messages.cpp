// SPDX-License-Identifier: BSD-3-Clause
// Messages with any header and any body, as a faulty peer could send them: delivered, kept, or refused and counted.
//
// There is something of everything that they may name: completions of all kinds, a region, matching engines with and
// without receives, operations of every set under way, and of each some that come later or have gone.
//
// Long messages get their memory from the default allocator, for one object, and from one of the user's for the others.
//
// The peer is the runtime itself, over a simulated network that denies all direct copies: an RTS then leads to a
// request for packets instead of a read of any address.
#include <array>
#include <cstdlib>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "fuzz/input.hpp"
#include "fuzz/wild_peer.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft;

constexpr std::uint32_t inbox_id = 1, count_id = 2, handler_id = 3, late_id = 4, withdrawn_id = 5;
constexpr std::uint32_t ordered_id = 1, unordered_id = 2, keyed_id = 3, late_engine_id = 4, gone_engine_id = 5;
constexpr std::uint32_t first_id = 6;
constexpr std::size_t allocation_bytes_max = 1 << 16;

void configure() {
  const std::pair<const char*, const char*> variables[] = {{"WEFT_BOOT", "single"},
                                                           {"WEFT_TRANSPORT", "sim:self"},
                                                           {"WEFT_SIM_SEED", "1"},
                                                           {"WEFT_SIM_DELAY_PERCENT", "0"},
                                                           {"WEFT_SIM_REFUSE_PERCENT", "0"},
                                                           {"WEFT_SIM_DENY_PERCENT", "100"},
                                                           {"WEFT_PACKET_COUNT", "64"},
                                                           {"WEFT_PACKET_BYTES", "512"},
                                                           {"WEFT_OPERATIONS_MAX", "4"},
                                                           {"WEFT_RECEIVES_MAX", "4"},
                                                           {"WEFT_UNEXPECTED_SENDS_MAX", "8"},
                                                           {"WEFT_UNEXPECTED_PACKETS_MAX", "2"},
                                                           {"WEFT_MATCHING_BUCKETS", "16"},
                                                           {"WEFT_RING_CELLS", "64"},
                                                           {"WEFT_UNEXPECTED_BYTES_MAX", "4096"},
                                                           {"WEFT_DEVICES_MAX", "2"},
                                                           {"WEFT_LOG", "error"}};
  for (const auto& [name, value] : variables) ::setenv(name, value, 1);
}

// Refuses sizes beyond all reason, and counts the blocks that are out.
class allocator final : public buffer_allocator {
 public:
  void* allocate(std::size_t bytes, std::uint32_t, std::uint64_t) noexcept override {
    return bytes > allocation_bytes_max ? nullptr : std::malloc(bytes);
  }
  void deallocate(void* data, std::size_t) noexcept override { std::free(data); }
};

// Operations that a faulty peer has begun and will never end do not keep the object from going.
void forget_operations(completion& object) {
  while (object.outstanding() != 0) core::promise::cancel(object);
}

void read_all(completion_queue& queue) {
  volatile unsigned sum = 0;
  while (const auto got = queue.pop()) {
    for (const std::byte each : got->data()) sum = sum + std::to_integer<unsigned>(each);
  }
}

// Matching engines, and receives in them. All that it makes is gone before the objects that it signals.
class receiver {
 public:
  explicit receiver(runtime& rt, completion& local) : rt_{rt}, dev_{rt.default_device()}, local_{local} {
    const matching_engine gone{rt, {.id = gone_engine_id}};
  }

  void make_late_engine() {
    if (!late_) late_.emplace(rt_, matching_engine_options{.id = late_engine_id, .ordered = true});
  }

  void post(fuzz::input& in) {
    const match_pattern by{in, late_.has_value()};
    const status posted = dev_.post_recv(
        by.peer, buffer(in), local_,
        {.tag = by.tag, .engine = by.engine, .policy = by.policy, .any_tag = by.any_tag, .allow_retry = true});
    if (posted.is_posted()) tickets_.push_back(posted.ticket());
  }

  // Announced to the wild peer.
  void post_first(fuzz::input& in) {
    const std::uint64_t tag = in.take<std::uint8_t>() % 4;
    const status posted = dev_.post_recv(0, buffer(in), local_, {.tag = tag, .engine = first_id});
    if (posted.is_posted()) tickets_.push_back(posted.ticket());
  }

  void cancel(fuzz::input& in) {
    if (!tickets_.empty()) static_cast<void>(dev_.cancel(tickets_[in.take<std::uint8_t>() % tickets_.size()]));
  }

  // Receives the message that it finds, or gives it up.
  void probe(fuzz::input& in, fuzz::wild_peer& peer) {
    const match_pattern by{in, late_.has_value()};
    static_cast<void>(
        dev_.peek(by.peer, {.tag = by.tag, .engine = by.engine, .policy = by.policy, .any_tag = by.any_tag}));
    auto found = dev_.probe(by.peer, {.tag = by.tag, .engine = by.engine, .policy = by.policy, .any_tag = by.any_tag});
    if (!found) return;
    const bool wanted = in.take<std::uint8_t>() % 2 == 0;
    if (wanted && found->receive(buffer(in), local_).is_posted()) return;
    peer.forget_what_waits_for_packets();  // to give a long one up takes an operation
  }

  void cancel_all() {
    for (const std::uint64_t ticket : tickets_) static_cast<void>(dev_.cancel(ticket));
  }

 private:
  // The engine and the pattern: ordered engines take wildcards, the others have policies.
  struct match_pattern {
    match_pattern(fuzz::input& in, bool is_late_there) {
      const auto how = in.take<std::uint8_t>();
      const std::uint32_t engines[] = {ordered_id, unordered_id, keyed_id, is_late_there ? late_engine_id : ordered_id,
                                       default_matching_engine};
      engine = engines[how % 5];
      const bool is_ordered = engine == ordered_id || engine == late_engine_id;
      any_tag = is_ordered && how >= 128;
      peer = is_ordered && how / 64 % 2 == 1 ? any_rank : 0;
      policy = is_ordered ? match_policy::rank_tag : static_cast<match_policy>(how / 5 % 4);
      tag = in.take<std::uint8_t>() % 4;
    }
    std::uint32_t engine;
    std::uint32_t peer;
    match_policy policy;
    bool any_tag;
    std::uint64_t tag;
  };

  [[nodiscard]] buffer_ref buffer(fuzz::input& in) {
    constexpr std::size_t sizes[] = {0, 8, 40, 600, 3000};
    return buffers_.emplace_back(sizes[in.take<std::uint8_t>() % std::size(sizes)]);
  }

  runtime& rt_;
  device& dev_;
  completion& local_;
  std::deque<std::vector<std::byte>> buffers_;  // the library's until the end: whatever still writes there
  std::vector<std::uint64_t> tickets_;
  matching_engine ordered_{rt_, {.id = ordered_id, .ordered = true}};
  matching_engine unordered_{rt_, {.id = unordered_id}};
  matching_engine keyed_{
      rt_, {.id = keyed_id, .make_key = [](std::uint32_t, std::uint64_t tag) noexcept { return tag / 2; }}};
  matching_engine first_{rt_, {.id = first_id, .receiver_first = true}};
  std::optional<matching_engine> late_;
};

// This rank's own send, put or get, so that operations are under way that a peer can answer.
void post_one(device& dev, fuzz::input& in, const memory_region& region, std::vector<std::byte>& large,
              completion& sent) {
  const auto how = in.take<std::uint8_t>();
  const buffer_ref bytes{large.data(), how % 2 == 0 ? large.size() : how};
  const auto level = how % 4 < 2 ? completion_level::local : completion_level::delivered;
  const std::uint64_t tag = how / 8 % 4;
  switch (how / 32) {
    case 0: static_cast<void>(dev.post_am(0, {how / 4 % 8U}, bytes, sent, {.complete_at = level})); break;
    case 1:
      static_cast<void>(dev.post_send(0, bytes, sent, {.tag = tag, .engine = ordered_id, .complete_at = level}));
      break;
    case 2:
      static_cast<void>(dev.post_send(0, bytes, sent, {.tag = tag, .engine = unordered_id, .complete_at = level}));
      break;
    case 3: {
      const std::uint32_t engine = how % 32 >= 24 ? first_id : default_matching_engine;
      static_cast<void>(dev.post_send(0, bytes, sent, {.tag = tag, .engine = engine, .complete_at = level}));
      break;
    }
    case 4: static_cast<void>(dev.post_put(0, {large.data(), 16}, region.at(how % 32), sent)); break;
    case 5:
      static_cast<void>(dev.post_put(0, {large.data(), 16}, region.at(how % 32), sent,
                                     {.signal = remote_completion{how % 8U}, .complete_at = level}));
      break;
    case 6: static_cast<void>(dev.post_get(0, buffer_ref{large.data(), 16}, region.at(how % 32), sent)); break;
    default: static_cast<void>(dev.post_atomic(0, atomic_op::swap, std::uint64_t{how}, region.at(8), sent)); break;
  }
}

void run(fuzz::input in) {
  runtime rt;
  device& dev = rt.default_device();
  allocator memory;
  std::vector<std::byte> open(200), large(3000, std::byte{1});
  const memory_region region{rt, open};
  { const memory_region gone{rt, open}; }
  completion_queue inbox{rt, {.capacity = 2}}, late{rt}, received{rt};
  counter count{rt}, sent{rt};
  volatile std::uint64_t heard = 0;
  handler ear{rt, [&](completion_record&& record) { heard = heard + record.bytes(); }};
  const auto first = rt.register_completion(inbox, {.id = inbox_id});
  const auto second = rt.register_completion(count, {.id = count_id, .allocator = &memory});
  const auto third = rt.register_completion(ear, {.id = handler_id, .allocator = &memory});
  static_cast<void>(rt.register_completion(count, {.id = withdrawn_id}));
  std::optional<registration> fourth;
  std::optional<receiver> receives;
  receives.emplace(rt, received);

  fuzz::wild_peer peer{rt};
  while (!in.is_empty()) {
    switch (const auto action = in.take<std::uint8_t>(); action % 16) {
      case 0: post_one(dev, in, region, large, sent); break;
      case 1:
        read_all(inbox);
        read_all(received);
        break;
      case 2:
        if (!fourth) fourth.emplace(rt.register_completion(late, {.id = late_id, .allocator = &memory}));
        if (action >= 128) receives->make_late_engine();
        break;
      case 3: dev.progress(); break;
      case 4: action < 192 ? receives->post(in) : receives->post_first(in); break;
      case 5: action < 128 ? receives->cancel(in) : receives->probe(in, peer); break;
      case 6: dev.progress(); break;
      default: peer.send_one(in); break;
    }
  }
  for (int i = 0; i < 20; ++i) dev.progress();
  read_all(inbox);
  read_all(received);
  receives->cancel_all();
  peer.forget_what_waits_for_packets();
  peer.forget_what_waits_for_receives();
  receives.reset();
  for (completion* each : std::initializer_list<completion*>{&inbox, &late, &count, &sent, &ear, &received})
    forget_operations(*each);
  peer.forget_memory();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool configured = (configure(), true);
  static_cast<void>(configured);
  run(fuzz::input{data, size});
  return 0;
}

// Buffers of operations that the wild peer never ends are lost with them.
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=64";
}
