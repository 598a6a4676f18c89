// Messages with any header and any body, as a peer gone wild could send them: delivered, kept, or refused and counted.
//
// The peer is the runtime itself, over a simulated network that denies all direct copies: an offer then leads to a
// request for packets instead of a read of any address.
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "core/runtime_state.hpp"
#include "fuzz/input.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

using namespace weft;

constexpr std::uint32_t inbox_id = 1, count_id = 2, handler_id = 3, late_id = 4, withdrawn_id = 5;
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
                                                           {"WEFT_RING_CELLS", "64"},
                                                           {"WEFT_UNEXPECTED_BYTES_MAX", "4096"},
                                                           {"WEFT_DEVICES_MAX", "2"},
                                                           {"WEFT_LOG", "error"}};
  for (const auto& [name, value] : variables) ::setenv(name, value, 1);
}

// Refuses what is beyond all reason, and counts what is out.
class allocator final : public buffer_allocator {
 public:
  void* allocate(std::size_t bytes, std::uint32_t, std::uint64_t) noexcept override {
    return bytes > allocation_bytes_max ? nullptr : std::malloc(bytes);
  }
  void deallocate(void* data, std::size_t) noexcept override { std::free(data); }
};

class wild_peer {
 public:
  explicit wild_peer(runtime& rt) : state_{test::local_job::state_of(rt)} {}

  // A kind, an id, a sequence number, a tag, a size, and the words of the body. Tags and words are mostly small or
  // name operations by tickets that there are.
  void send_one(fuzz::input& in) {
    const auto how = in.take<std::uint8_t>();
    net::header what;
    what.kind = how % 32;
    what.id = in.take<std::uint8_t>();
    if (what.id >= 0xf0) what.id = 0xffff'ff00 + what.id;
    what.sequence = in.take<std::uint8_t>();
    if (what.sequence >= 0x80) what.kind |= (what.sequence >> 4 & 7) << 8;
    what.tag = word(in);
    const std::size_t bytes = in.take<std::uint8_t>() * (how >= 224 ? 2U : 1U);
    std::array<std::uint64_t, 64> body{};
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes / 8, 5); ++i) body[i] = word(in);
    const auto* const start = reinterpret_cast<const std::byte*>(body.data());
    if (how >= 192) {
      hand_over_packet(what, start, static_cast<std::uint32_t>(std::min(bytes, sizeof body)));
    } else {
      inject(what, start, bytes % (detail::inline_bytes_max + 1),
             std::make_index_sequence<detail::inline_bytes_max + 1>{});
    }
  }

 private:
  [[nodiscard]] static std::uint64_t word(fuzz::input& in) {
    const auto kind = in.take<std::uint8_t>();
    if (kind >= 0xf0) return in.take<std::uint64_t>();
    if (kind >= 0x80) return kind - 0x80U;
    return std::uint64_t{kind / 8U} << 32 | kind % 8U;  // a ticket: generation and index
  }

  template <std::size_t... Sizes>
  void inject(const net::header& what, const std::byte* body, std::size_t bytes, std::index_sequence<Sizes...>) {
    (inject_if<Sizes>(what, body, bytes), ...);
  }
  template <std::size_t Bytes>
  void inject_if(const net::header& what, const std::byte* body, std::size_t bytes) {
    if (Bytes != bytes || Bytes == 0) return;
    std::array<std::byte, std::max<std::size_t>(Bytes, 1)> exact;
    std::memcpy(exact.data(), body, exact.size());
    static_cast<void>(state_.default_state().inject(0, net::any_device, what, exact));
  }

  void hand_over_packet(const net::header& what, const std::byte* body, std::uint32_t bytes) {
    core::packet_pool& packets = state_.packets();
    const std::uint32_t packet = packets.try_get();
    if (packet == core::packet_pool::none) return;
    std::memcpy(packets.data(packet), body, bytes);
    const net::arrival message{0, what, packets.data(packet), bytes, &packets.owner()};
    if (!state_.default_state().on_kept_message(message)) packets.put(packet);
  }

  core::runtime_state& state_;
};

// What a wild peer has begun and will never end does not keep the object from going.
void forget_operations(completion& object) {
  while (object.outstanding() != 0) core::operation_state{}.signalled(object);
}

void read_all(completion_queue& queue) {
  volatile unsigned sum = 0;
  while (const auto got = queue.pop()) {
    for (const std::byte each : got->data()) sum = sum + std::to_integer<unsigned>(each);
  }
}

void run(fuzz::input in) {
  runtime rt;
  device& dev = rt.default_device();
  allocator memory;
  completion_queue inbox{rt, {.capacity = 8}}, late{rt};
  counter count{rt}, sent{rt};
  volatile std::uint64_t heard = 0;
  handler ear{rt, [&](completion_record&& record) { heard = heard + record.bytes(); }};
  const auto first = rt.register_completion(inbox, {.id = inbox_id, .allocator = &memory});
  const auto second = rt.register_completion(count, {.id = count_id, .allocator = &memory});
  const auto third = rt.register_completion(ear, {.id = handler_id, .allocator = &memory});
  static_cast<void>(rt.register_completion(count, {.id = withdrawn_id}));
  std::optional<registration> fourth;
  const std::vector<std::byte> large(3000, std::byte{1});

  wild_peer peer{rt};
  while (!in.is_empty()) {
    switch (const auto what = in.take<std::uint8_t>(); what % 16) {
      case 0: static_cast<void>(dev.post_am(0, {in.take<std::uint8_t>() % 8U}, large, sent)); break;
      case 1: read_all(inbox); break;
      case 2:
        if (!fourth) fourth.emplace(rt.register_completion(late, {.id = late_id, .allocator = &memory}));
        break;
      case 3:
      case 4:
      case 5: dev.progress(); break;
      default: peer.send_one(in); break;
    }
  }
  for (int i = 0; i < 20; ++i) dev.progress();
  read_all(inbox);
  for (completion* each : std::initializer_list<completion*>{&inbox, &late, &count, &sent, &ear})
    forget_operations(*each);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool configured = (configure(), true);
  static_cast<void>(configured);
  run(fuzz::input{data, size});
  return 0;
}

// Buffers of operations that the wild peer never ends are lost with them.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
