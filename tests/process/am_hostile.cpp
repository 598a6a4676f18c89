// SPDX-License-Identifier: BSD-3-Clause
// Rank 1 is no runtime but a program that sends impossible messages; rank 0 has to survive and to count them.
// ranks: 2
#include "base/config.hpp"
#include "core/message/peer_bounds.hpp"
#include "core/runtime/agreed_settings.hpp"
#include "core/runtime/regions.hpp"
#include "net/shm/shm_endpoint.hpp"
#include "process/am_load.hpp"
#include "support/boundaries.hpp"
#include "support/time_limit.hpp"

namespace {

using weft::core::wire;
using weft::test::eventually;
using weft::test::require;

constexpr std::uint32_t inbox_id = 1, done_id = 2, picky_id = 3;
constexpr std::uint64_t long_bytes = 20'000;

// A pool that never has anything: the wild rank names packets as it likes.
class no_packets final : public weft::net::packet_store, private weft::detail::payload_owner {
 public:
  std::uint32_t try_get() noexcept override { return none; }
  void put(std::uint32_t) noexcept override {}
  std::byte* data(std::uint32_t) const noexcept override { return nullptr; }
  weft::detail::payload_owner& owner() noexcept override { return *this; }
  void count_lent(std::int32_t) noexcept override {}

 private:
  void release(void*, std::size_t) noexcept override {}
};

// The sink of the faulty rank: it keeps the ticket under which rank 0 waits for chunks, and rank 0's good-bye.
struct ear {
  bool on_message(weft::net::arrival message) noexcept {
    weft::core::rtr_body body;
    if (weft::core::kind_of(message.header.kind) == wire::rtr && message.bytes == sizeof body) {
      std::memcpy(&body, message.payload, sizeof body);
      ticket = body.receiver_ticket;
    }
    good_bye |= message.header.kind == static_cast<std::uint32_t>(wire::active_message);
    return true;
  }
  std::uint64_t ticket = 0;
  bool good_bye = false;
};

// Publishes settings as a runtime does, waits for the answer of rank 0, and returns the name of the runtime.
std::string agreed_name(weft::boot::bootstrap& boot) {
  std::string name = fmt::format("runtime{}", boot.next_runtime());
  boot.put(name + ".settings", weft::core::published_settings(weft::base::process_settings()));
  boot.fence();
  boot.fence();
  return name;
}

class wild_rank {
 public:
  wild_rank()
      : boot_{weft::boot::process_bootstrap()},
        transport_{weft::net::transport_context{*boot_, weft::base::process_settings(), agreed_name(*boot_)}} {
    require(boot_->size() == 2, "not two ranks");
    transport_.use_packets(packets_);
    endpoint_ = transport_.open<ear>(0, true);
    other_ = transport_.open<ear>(5, true);
    for (const std::uint32_t slot : {0U, 5U}) transport_.go_live(slot, false);
    boot_->fence();  // as a runtime does when its device 0 is there
  }

  void run() {
    send_headers_that_can_not_be();
    send_sizes_that_can_not_be();
    send_chunks_that_can_not_be();
    // an RTS beyond all memory blocks the way that it came on, and no other.
    const weft::core::rts_body vast{8, std::uint64_t{1} << 62, 1, 0};
    inject(*other_, wire::rts, picky_id, 0, vast, sizeof vast);
    inject(*endpoint_, wire::active_message, done_id, refused_, refused_, 0);
    wait([&] { return ear_.good_bye; });
  }

 private:
  template <class Done>
  void wait(Done done) {
    weft::test::time_limit limit;
    while (!done()) {
      endpoint_->poll(ear_, 16);
      other_->poll(ear_, 16);
      require(!limit.is_over(), "rank 0 answers no more");
      std::this_thread::yield();
    }
  }

  template <class Body>
  void inject(weft::net::endpoint<ear>& through, wire kind, std::uint32_t id, std::uint64_t tag, const Body& body,
              std::uint32_t bytes, std::uint32_t sequence = 0) {
    std::array<std::byte, 40> payload{};
    std::memcpy(payload.data(), &body, sizeof body);
    const weft::net::header header{
        .kind = static_cast<std::uint32_t>(kind), .id = id, .sequence = sequence, .tag = tag};
    wait([&] { return through.try_send_inline(0, 0, header, payload.data(), bytes) == weft::net::post_result::ok; });
  }

  template <class Body>
  void inject_refused(wire kind, const Body& body, std::uint32_t bytes, std::uint64_t tag = 0,
                      std::uint32_t id = inbox_id, std::uint32_t sequence = 0) {
    inject(*endpoint_, kind, id, tag, body, bytes, sequence);
    ++refused_;
  }

  // That so many bytes of a message are sent, and no more come.
  void inject_failed(std::uint64_t ticket, std::uint64_t sent, std::uint64_t bytes) {
    const weft::core::chunks_failed_body body{sent, bytes, 1};
    inject_refused(wire::chunks_failed, body, sizeof body, ticket);
  }

  void send_packet(wire kind, std::uint32_t bytes, std::uint64_t tag, std::uint32_t id) {
    const weft::net::header header{.kind = static_cast<std::uint32_t>(kind), .id = id, .tag = tag};
    wait([&] { return endpoint_->try_send(0, 0, header, next_packet_ % 64, bytes) == weft::net::post_result::ok; });
    ++next_packet_;
  }

  void send_headers_that_can_not_be() {
    for (const std::uint32_t kind : {0U, 15U, 0x7777U, 0xffffU, 0x906U})
      inject_refused(static_cast<wire>(kind), kind, 4);
    const weft::core::rts_body offer{8, long_bytes, 1, 0};
    for (const std::uint32_t bytes : {0U, 8U, 31U, 33U, 40U}) {
      inject_refused(wire::rts, offer, bytes);
      inject_refused(wire::send_rts, offer, bytes);
      inject_refused(wire::put_rts, offer, bytes);
      inject_refused(wire::get, offer, bytes);
    }
    for (const std::uint32_t bytes : {0U, 8U, 23U}) {
      inject_refused(wire::put, offer, bytes);
      inject_refused(wire::put_signal, offer, bytes);
      inject_refused(wire::get_signal, offer, bytes);
      inject_refused(wire::atomic, offer, bytes);
      inject_refused(wire::chunks_failed, offer, bytes);
    }
    const std::uint64_t tickets[] = {0, 1, std::uint64_t{1} << 32 | 1, ~std::uint64_t{0}, 0xffff'ffff};
    for (const std::uint64_t ticket : tickets) {
      inject_refused(wire::fin, weft::core::fin_body{ticket, 0}, sizeof(weft::core::fin_body));
      inject_refused(wire::atomic_result, weft::core::atomic_result_body{ticket, 1, 0},
                     sizeof(weft::core::atomic_result_body));
      inject_refused(wire::rtr, weft::core::rtr_body{ticket, ticket}, sizeof(weft::core::rtr_body));
      inject_refused(wire::chunk, ticket, 8, ticket);
      inject_refused(wire::last_chunk, ticket, 8, ticket);
      inject_refused(wire::written, weft::core::written_body{ticket, 0, ticket, 0}, sizeof(weft::core::written_body));
      inject_failed(ticket, 0, long_bytes);
    }
    inject_refused(wire::written, tickets, 31);
    inject_refused(wire::ready_to_receive, tickets, 25, 0, weft::default_matching_engine);
    inject_refused(wire::withdraw_rtr, tickets, 8, 0, weft::default_matching_engine);
    for (const std::uint32_t bytes : {0U, 8U, 15U, 17U}) {
      inject_refused(wire::withdraw_rts, tickets, bytes, 0, weft::default_matching_engine);
      inject_refused(wire::withdraw_answer, tickets, bytes);
    }
    inject_refused(wire::fin, tickets, 15);
    inject_refused(wire::rtr, tickets, 17);
    for (const wire kind : {wire::rts, wire::fin, wire::rtr, wire::chunk, wire::last_chunk, wire::written,
                            wire::ready_to_receive, wire::withdraw_rts, wire::withdraw_answer, wire::chunks_failed}) {
      send_packet(kind, 24, 7, inbox_id);  // none of these arrives in a packet, except chunks, and rank 0 knows none
      ++refused_;
    }
  }

  // If rank 0 did not check their bound first, it would take less memory for them than they name.
  void send_sizes_that_can_not_be() {
    for (const std::uint64_t bytes : weft::test::boundary_words) {
      if (bytes <= weft::core::buffer_bytes_max) continue;
      const weft::core::rts_body offer{8, bytes, 1, 0};
      for (const std::uint32_t id : {inbox_id, picky_id}) inject_refused(wire::rts, offer, sizeof offer, 0, id);
      inject_refused(wire::send_rts, offer, sizeof offer, 0, weft::default_matching_engine);
      const weft::core::ready_body ready{8, bytes, 1};
      inject_refused(wire::ready_to_receive, ready, sizeof ready, 0, weft::default_matching_engine);
      inject_refused(wire::written, weft::core::written_body{1, bytes, 0, 0}, sizeof(weft::core::written_body));
      const weft::core::put_rts_body region{weft::base::settings{}.regions_max, 0, bytes, 1};
      inject_refused(wire::put_rts, region, sizeof region);
      inject_refused(wire::get, region, sizeof region);
      inject_refused(wire::put_signal, weft::core::signal_body{1, 0, bytes}, sizeof(weft::core::signal_body));
    }
  }

  // Rank 0 can't read our memory, so it asks for packets; the chunks that it gets would write past its buffer.
  void send_chunks_that_can_not_be() {
    const weft::core::rts_body offer{8, long_bytes, 1, 0};
    inject(*endpoint_, wire::rts, inbox_id, 5, offer, sizeof offer);
    wait([&] { return ear_.ticket != 0; });
    const std::uint64_t word = 1;
    const auto chunk_at = [&](std::uint64_t offset) {
      inject_refused(wire::chunk, word, 8, ear_.ticket, static_cast<std::uint32_t>(offset),
                     static_cast<std::uint32_t>(offset >> 32));
    };
    for (const std::uint64_t offset : {long_bytes - 7, long_bytes, long_bytes + 1, std::uint64_t{1} << 32,
                                       ~std::uint64_t{0}, ~std::uint64_t{0} - 6}) {
      chunk_at(offset);
    }
    inject_refused(wire::chunk, word, 8, ear_.ticket ^ 1, 0);
    inject_refused(wire::chunk, word, 8, ear_.ticket ^ std::uint64_t{1} << 40, 0);
    inject_failed(ear_.ticket ^ 1, 0, long_bytes);
    for (const std::uint64_t bytes : weft::test::boundary_words) {
      if (bytes != long_bytes) inject_failed(ear_.ticket, 0, bytes);
      if (bytes >= long_bytes) inject_failed(ear_.ticket, bytes, long_bytes);
    }
    // Then all that was promised, in packets.
    for (std::uint32_t offset = 0; offset < long_bytes; offset += 5000)
      send_packet(wire::chunk, 5000, ear_.ticket, offset);
    // It is whole now: more is too much.
    inject_refused(wire::chunk, word, 8, ear_.ticket, 0);
    inject_failed(ear_.ticket, 0, long_bytes);
  }

  std::shared_ptr<weft::boot::bootstrap> boot_;
  weft::net::shm::shm_transport transport_;
  no_packets packets_;
  std::unique_ptr<weft::net::endpoint<ear>> endpoint_, other_;
  ear ear_;
  std::uint64_t refused_ = 0;
  std::uint32_t next_packet_ = 0;
};

// Refuses sizes beyond all reason.
class picky_allocator final : public weft::buffer_allocator {
 public:
  void* allocate(std::size_t bytes, std::uint32_t, std::uint64_t) noexcept override {
    require(bytes == std::size_t{1} << 62, "another size");
    asked = true;
    return nullptr;
  }
  void deallocate(void*, std::size_t) noexcept override {}
  bool asked = false;
};

void stand_it() {
  weft::runtime rt;
  require(rt.size() == 2, "not two ranks");
  picky_allocator picky;
  weft::completion_queue inbox{rt}, done{rt};
  weft::counter never{rt}, sent{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = inbox_id});
  const auto ends = rt.register_completion(done, {.id = done_id});
  const auto none = rt.register_completion(never, {.id = picky_id, .allocator = &picky});
  std::optional<weft::completion_record> end;
  const auto has_come = [&] {
    if (!end) end = done.pop();
    return end && picky.asked;
  };
  require(eventually(rt.default_device(), has_come),
          fmt::format("no end came; {} messages refused", rt.counters().messages_refused));
  const std::uint64_t refused = rt.counters().messages_refused;
  require(refused == end->tag(), fmt::format("{} messages refused, {} sent", refused, end->tag()));
  const auto whole = inbox.pop();
  require(whole && whole->bytes() == long_bytes && whole->tag() == 5, "the one long message did not come");
  require(!inbox.pop() && never.value() == 0, "something came that nobody sent");
  static_cast<void>(weft::test::post_until_taken(rt.default_device(), 1, {1}, {}, sent));
  std::printf("%llu messages refused\n", static_cast<unsigned long long>(refused));
}

}  // namespace

int main() {
  weft::test::set("WEFT_SHM_CMA", "off");
  weft::test::set("WEFT_PACKET_COUNT", "64");
  try {
    if (weft::boot::process_bootstrap()->rank() == 0) {
      stand_it();
    } else {
      wild_rank{}.run();
    }
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "hostile: %s\n", problem.what());
    return 1;
  }
}
