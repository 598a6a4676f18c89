// A device as the library sees it: what posts, polls, and continues long messages.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/not_inherited.hpp"
#include "core/device/attention.hpp"
#include "core/device/backlog.hpp"
#include "core/device/device_counts.hpp"
#include "core/device/hook_list.hpp"
#include "core/device/poll_gate.hpp"
#include "core/matching/engine_state.hpp"
#include "core/matching/matching_table.hpp"
#include "core/message/peer_bounds.hpp"
#include "core/message/wire.hpp"
#include "net/cell_way.hpp"
#include "net/transport.hpp"
#include "weft/device.hpp"
#include "weft/region.hpp"

namespace weft::core {

class runtime_state;
struct remote_entry;
struct unexpected_message;

/// For posts that may not answer retry. **Errors**: backlog_full, always.
[[noreturn]] void throw_backlog_full(operation what, std::uint32_t peer, std::uint32_t count);

/// The header of an active message whose payload comes with it.
[[nodiscard]] constexpr net::header active_message_to(std::uint32_t id, std::uint64_t tag) noexcept {
  return {.kind = static_cast<std::uint32_t>(wire::active_message), .id = id, .sequence = 0, .tag = tag};
}

/// A message to post, whatever its kind.
struct message_request {
  wire eager;
  wire rts;
  operation what;
  std::uint32_t peer;
  std::uint32_t id;  // of the completion or engine
  std::uint64_t tag;
  source_payload bytes;
  completion* local;
  void* context;
  std::uint32_t device;
  std::uint32_t policy;  // of a send, in the high byte of the kind
  bool delivered;
  bool allow_done;
  bool allow_retry;
  std::uint32_t sequence = 0;
};

/// A put, get or atomic to post.
struct transfer_request {
  operation what;
  std::uint32_t peer;
  remote_buffer at;
  std::uint64_t bytes;
  completion* local;
  void* context;
  std::uint32_t device;
  std::uint32_t signal;
  std::uint64_t tag;
  bool delivered;
  bool allow_done;
  bool allow_retry;
  source_payload source = {};
  target_payload into = {};
  std::uint32_t word = 0;  // of an atomic: operation and size
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
};

/// A receive to post; the arguments have been checked.
struct receive_request {
  engine_state* engine;
  std::uint32_t peer;
  std::uint64_t tag;
  match_policy policy;
  bool any_tag;
  target_payload into;
  completion* local;
  void* context;
  bool allow_retry;
};

/// A put or get of memory that is mapped here is no more than a copy, as long as that takes no longer than a post may.
inline constexpr std::size_t copied_at_once_max = std::size_t{64} << 10;

/// What a device is like to somebody who is about to sleep, the worst first.
enum class stillness : std::uint8_t {
  busy,     ///< something has moved or is left to do, or another thread is at it: don't sleep
  waiting,  ///< a message has no room yet, and nobody tells when it has: sleep shortly
  quiet,    ///< whatever comes wakes who sleeps
};

/// Receives that a device of one thread's own may keep at hand. They come on top of `WEFT_RECEIVES_MAX`, so that
/// nobody goes short of what others keep for nothing.
inline constexpr std::uint32_t spare_receives_max = 32;
[[nodiscard]] constexpr std::uint32_t spare_receives_of(std::uint32_t receives_max) noexcept {
  return std::min(spare_receives_max, receives_max / 128);
}

class device_state final {
 public:
  using endpoint = net::endpoint<device_state>;

  device_state(runtime_state& runtime, std::uint32_t index, bool shared, progress_policy policy);
  ~device_state();

  [[nodiscard]] runtime_state& runtime() noexcept { return *runtime_; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] bool is_shared() const noexcept { return shared_; }
  [[nodiscard]] progress_policy policy() const noexcept { return policy_; }
  [[nodiscard]] poll_gate& gate() noexcept { return gate_; }
  [[nodiscard]] hook_list& hooks() noexcept { return hooks_; }
  [[nodiscard]] device_counts& counts() noexcept { return counts_; }

  /// The ring to the target of a message, where there is one and the way is known.
  [[nodiscard]] [[gnu::always_inline]] net::outgoing* known_way(detail::message_target to) const noexcept {
    const net::route* const known = routes_[to.peer()];
    return known != nullptr ? known->known_way(to.device()) : nullptr;
  }

  /// Posts a message that rides in its descriptor and then is done or not posted at all (detail::is_plain): into the
  /// peer's ring where there is one and the way is known; by the endpoint otherwise.
  [[nodiscard]] [[gnu::always_inline]] status post_inline(operation op, detail::message_target to,
                                                          const net::header& what, const_buffer_ref bytes) {
    const auto count = static_cast<std::uint32_t>(bytes.bytes());
    if (net::outgoing* const ring = known_way(to); ring != nullptr) [[likely]]
      return posted_inline(op, count, ring->push(shared_, what, bytes.address(), count));
    return inject(to.peer(), to.device(), what.kind, what.id, what.tag, bytes);
  }
  /// What `device::post_am` promises, of messages that are no such ones; the arguments have been checked.
  /// **Errors**: invalid_argument for an object of another runtime, which a message that is done does not look at.
  [[nodiscard]] status post_long(std::uint32_t peer, std::uint32_t id, const source_payload& bytes, completion& local,
                                 const post_am_options& options);

  // What the functions of `device` of the same names promise; the arguments have been checked.
  [[nodiscard]] status post_message(const message_request& request);
  [[nodiscard]] status post_packet(std::uint32_t peer, std::uint32_t id, std::uint32_t packet, std::uint32_t bytes,
                                   const post_packet_options& options);
  [[nodiscard]] status post_send(const message_request& request, engine_state& engine);
  [[nodiscard]] status post_receive(const receive_request& request);
  /// The common receive: into one buffer, from the default engine, or retry. Every rank and tag will do.
  [[nodiscard]] [[gnu::always_inline]] status post_plain_receive(detail::message_source from, buffer_ref into,
                                                                 completion& local, std::uint64_t tag,
                                                                 void* context) noexcept;
  /// Any other: what `device::post_recv` promises (api_post.cpp).
  [[nodiscard]] status post_any_receive(std::uint32_t peer, const target_payload& into, completion& local,
                                        const post_recv_options& options);
  [[nodiscard]] cancel_result cancel(std::uint64_t ticket) noexcept;
  [[nodiscard]] unexpected_message* probe(const receive_request& what) noexcept;
  [[nodiscard]] status receive(unexpected_message& probed, const receive_request& request) noexcept;
  void discard(unexpected_message& probed) noexcept;
  [[nodiscard]] status post_transfer(const transfer_request& request);

  [[nodiscard]] std::uint32_t rank_count() const noexcept { return rank_count_; }
  bool progress() noexcept;

  // Other devices (look_elsewhere.cpp).
  /// Whether there are others that its quiet calls look after.
  [[nodiscard]] bool has_others() const noexcept { return policy_ != progress_policy::local && others() != 0; }
  /// Whether the calling thread polls a device for another one: it is inside its handlers.
  [[nodiscard]] static bool is_visiting() noexcept;
  /// Returns once the threads of this device that had found another one are inside its gate, or done with it.
  void wait_until_chosen() const noexcept;

  /// Looks for arrivals once more, for somebody who is about to sleep.
  [[nodiscard]] stillness look_before_sleep() noexcept;
  /// By endpoints: a message was answered with no room, and stays where it is.
  void note_refusal() noexcept {
    has_refused_ = true;
    counts_.refused();
  }

  /// By endpoints: `what` to `peer` will never arrive (lost_message.cpp).
  void on_lost(std::uint32_t peer, const net::header& what, const char* cause) noexcept;

  /// A small message of the library's own.
  template <class Body>
  [[nodiscard]] net::post_result inject(std::uint32_t peer, std::uint32_t device, const net::header& what,
                                        const Body& body) noexcept {
    static_assert(sizeof(Body) <= detail::inline_bytes_max);
    return ways_[peer]->try_inject(peer, device, what, &body, sizeof body);
  }

  /// What an arriving message does; answers as transports want it (arrive.cpp, net/transport.hpp).
  static constexpr auto word_kind = static_cast<std::uint32_t>(wire::active_message);
  [[nodiscard]] const void* take_word(std::uint32_t source, std::uint32_t id,
                                      const std::byte* tag_and_payload) noexcept;
  static constexpr std::uint32_t matched_word_kind =
      kind_word(wire::send, static_cast<std::uint32_t>(match_policy::rank_and_tag));
  [[nodiscard]] const void* take_matched_word(std::uint32_t source, std::uint32_t id,
                                              const std::byte* tag_and_payload) noexcept;
  [[nodiscard]] bool is_awaited(const void* signalled) const noexcept;
  void wake_awaiting(const void* signalled) noexcept;
  void took_words(unsigned count) noexcept { counts_.took(std::uint64_t{count} * net::word_bytes); }
  [[nodiscard]] bool take_at_once(std::uint32_t source, const net::header& what, const std::byte* payload,
                                  std::uint32_t bytes, bool& consumed) noexcept;
  [[nodiscard]] bool on_message(const net::arrival& message) noexcept {
    const bool consumed = take(message);
    if (consumed) counts_.took(message.bytes);
    return consumed;
  }
  /// The same for a message that was copied aside before.
  [[nodiscard]] bool on_kept_message(const net::arrival& message) noexcept;

  /// Serves what arrives for a device that is gone, and finishes what it had under way. Inside of the gate.
  void adopt(device_state& gone) noexcept;
  /// Stops serving slot `index`, which is about to have a device again. Inside of the gate.
  void release(std::uint32_t index) noexcept;

 private:
  // Posting messages (post_message.cpp).
  [[nodiscard]] static shortage shortage_of(net::post_result result) noexcept {
    return result == net::post_result::busy ? shortage::lock : shortage::ring;
  }
  [[nodiscard]] [[gnu::always_inline]] status posted_inline(operation op, std::uint32_t bytes,
                                                            net::post_result result) noexcept {
    if (result != net::post_result::ok) [[unlikely]]
      return counts_.retried(status::retry(shortage_of(result)));
    counts_.posted(op, bytes);
    return status::done();
  }
  // By values: the header of the common case need not lie in memory.
  [[nodiscard]] status inject(std::uint32_t peer, std::uint32_t device, std::uint32_t kind, std::uint32_t id,
                              std::uint64_t tag, const_buffer_ref bytes);
  // The answer of a post. **Errors**: transport_failed where it is retry and always will be.
  [[nodiscard]] status unless_cut_off(operation what, std::uint32_t peer, status answer);
  // Whether what an operation in the backlog has still to send can't be sent: it ends with the error then.
  [[nodiscard]] bool end_if_cut_off(operation_state& operation) noexcept;
  [[nodiscard]] bool goes_at_once(const message_request& request) noexcept;
  [[nodiscard]] status try_post_message(const message_request& request);
  [[nodiscard]] status try_post_send(const message_request& request, engine_state& engine);
  [[nodiscard]] status try_post_receive(const receive_request& request);
  [[nodiscard]] status try_post_transfer(const transfer_request& request);
  [[nodiscard]] status try_post(const message_request& request, bool at_once) noexcept;
  [[nodiscard]] status post_rts(const message_request& request) noexcept;
  [[nodiscard]] status post_and_signal(const message_request& request);
  [[nodiscard]] status post_later(const message_request& request, bool at_once);
  [[nodiscard]] net::post_result post_eager(std::uint32_t peer, std::uint32_t device, const net::header& what,
                                            const source_payload& bytes, shortage& reason) noexcept;

  // Arrivals (arrive.cpp).
  [[nodiscard]] bool take(const net::arrival& message) noexcept;
  // Counts a message that can't be, and gives its packet back. Always true.
  [[nodiscard]] bool refuse(const net::arrival& message) noexcept;
  // What a peer says became of an operation.
  [[nodiscard]] static errc error_of(std::uint64_t word) noexcept;
  void open_endpoints();
  [[nodiscard]] bool deliver(remote_entry& to, const net::arrival& message) noexcept;
  [[nodiscard]] bool on_active_message(const net::arrival& message) noexcept;
  [[nodiscard]] bool fail_for_memory(operation_state& operation, remote_entry& to,
                                     const net::arrival& message) noexcept;
  [[nodiscard]] bool wait_for_memory(operation_state& operation, remote_entry& to,
                                     const net::arrival& message) noexcept;
  [[nodiscard]] bool on_rts(const net::arrival& message) noexcept;
  template <class Body>
  [[nodiscard]] operation_state* answered(const net::arrival& message, Body& body) noexcept;
  [[nodiscard]] bool on_fin(const net::arrival& message) noexcept;
  // Whether a peer may ask for the bytes: of an atomic there are none, and the buffer of a put that is done here may
  // be gone.
  [[nodiscard]] static bool has_bytes_to_send(const operation_state& operation) noexcept {
    return operation.target != nullptr && operation.source.bytes() == operation.bytes;
  }
  [[nodiscard]] bool on_rtr(const net::arrival& message) noexcept;
  [[nodiscard]] operation_state* find_shared(std::uint64_t ticket, std::uint32_t peer, std::uint64_t bytes,
                                             bool& is_wrong) noexcept;
  [[nodiscard]] bool on_share(const net::arrival& message) noexcept;
  [[nodiscard]] bool on_chunk(const net::arrival& message) noexcept;
  enum class fate : std::uint8_t { deliver, kept, no_room, unwanted };
  struct target {
    fate what;
    remote_entry* entry;
  };
  // What is to become of `message`, by the id that it names. Kept: until somebody registers the id.
  [[nodiscard]] target target_of(const net::arrival& message) noexcept;
  struct engine_target {
    fate what;
    engine_state* engine;
  };
  [[nodiscard]] engine_target engine_of(const net::arrival& message) noexcept;

  // Sends and receives (receive.cpp, arrive_send.cpp). Those that complete a receive answer nothing: it is complete,
  // or the backlog goes on with it.
  [[nodiscard]] bool on_send(const net::arrival& message) noexcept;
  [[nodiscard]] bool take_send_at_once(std::uint32_t source, match_policy policy, std::uint64_t tag,
                                       const std::byte* payload, std::uint32_t bytes) noexcept;
  [[nodiscard]] const completion* signal_receive_at_once(operation_state& receive, std::uint32_t source,
                                                         std::uint64_t tag, std::uint32_t bytes) noexcept;
  void complete_short(operation_state& receive, std::uint32_t source, std::uint64_t tag, const std::byte* payload,
                      std::uint32_t bytes) noexcept;
  [[nodiscard]] bool match_send(engine_state& engine, const net::arrival& message) noexcept;
  void complete_all(matched_messages& released) noexcept;
  void meet(operation_state& waited, const net::arrival& message) noexcept;
  [[nodiscard]] bool match_in_order(engine_state& engine, const net::arrival& message) noexcept;
  [[nodiscard]] bool refuse_send(const net::arrival& message, fate why) noexcept;
  [[nodiscard]] status post_plain_receive_anew(detail::message_source from, buffer_ref into, completion& local,
                                               std::uint64_t tag, void* context) noexcept;
  [[nodiscard]] match_key describe_plain(operation_state& receive, detail::message_source from, buffer_ref into,
                                         std::uint64_t tag, void* context) noexcept;
  [[nodiscard]] status insert_plain_receive(operation_state& receive, matching_table::half_done rest) noexcept;
  [[nodiscard]] status end_plain_receive(operation_state& receive, matching_table::half_done rest) noexcept;
  [[nodiscard]] bool try_match(operation_state& receive) noexcept;
  [[nodiscard]] match_result take_out(std::uint64_t ticket, operation_state*& receive) noexcept;
  void tell_budget(std::uint32_t source) noexcept;
  [[nodiscard]] bool on_wants_rts(const net::arrival& message) noexcept;
  void pair_up(operation_state& receive, unexpected_message& with) noexcept;
  void let_go(unexpected_message& done) noexcept;
  [[nodiscard]] operation_state* operation_for_unwanted() noexcept;
  void answer_unwanted(operation_state& answer, unexpected_message& unwanted) noexcept;
  unsigned answer_all_unwanted() noexcept;
  void complete_receive(operation_state& receive, const net::arrival& message) noexcept;

  [[nodiscard]] status receive_late(const receive_request& request) noexcept;
  [[nodiscard]] status receive_probed(operation_state& receive, unexpected_message& probed,
                                      const receive_request& request) noexcept;

  // Engines whose receivers begin (receiver_first.cpp).
  [[nodiscard]] status post_for_ready(const message_request& request, engine_state& engine);
  [[nodiscard]] status match_ready(operation_state& send, engine_state& engine, bool allow_done, bool allow_retry);
  [[nodiscard]] status begin_write(operation_state& send, unexpected_message& with, bool allow_done) noexcept;
  void meet_ready(operation_state& send, const ready_body& with) noexcept;
  [[nodiscard]] step step_with(operation_state& send, const ready_body& ready) const noexcept;
  [[nodiscard]] status announce_receive(operation_state& receive, const receive_request& request);
  [[nodiscard]] net::post_result inject_ready(operation_state& receive) noexcept;
  [[nodiscard]] bool ready(operation_state& receive) noexcept;
  [[nodiscard]] bool write(operation_state& send) noexcept;
  [[nodiscard]] bool write_piece(operation_state& send) noexcept;
  [[nodiscard]] bool send_written(operation_state& send) noexcept;
  [[nodiscard]] bool is_short(const operation_state& send) const noexcept;
  [[nodiscard]] bool on_ready(const net::arrival& message) noexcept;
  void say_kinds_differ(engine_state& engine, const net::arrival& message) noexcept;
  [[nodiscard]] bool on_written_chunk(const net::arrival& message, std::uint64_t offset) noexcept;
  [[nodiscard]] bool on_written(const net::arrival& message) noexcept;
  void count_written(operation_state& receive, std::uint64_t bytes) noexcept;
  [[nodiscard]] match_result ask_back(std::uint64_t ticket) noexcept;
  [[nodiscard]] bool on_take_back(const net::arrival& message) noexcept;
  void give_up(unexpected_message& ready, errc why) noexcept;

  // Puts, gets and atomics: at their origin (transfer.cpp) and at their target (arrive_transfer.cpp).
  enum class attempt : std::uint8_t { finished, waiting, stuck };
  [[nodiscard]] attempt begin_transfer(operation_state& operation, shortage& reason) noexcept;
  [[nodiscard]] attempt transfer(operation_state& operation, shortage& reason) noexcept;
  [[nodiscard]] attempt ask(operation_state& operation, shortage& reason) noexcept;
  [[nodiscard]] std::uint32_t pack_put(const operation_state& operation, std::uint64_t ticket) noexcept;
  [[nodiscard]] attempt notify(operation_state& operation) noexcept;
  [[nodiscard]] bool go_on(operation_state& operation, attempt answer) noexcept;
  [[nodiscard]] std::uint64_t put_bytes_max() const noexcept;
  [[nodiscard]] net::copy_result copy_piece(operation_state& operation, std::uint64_t done, std::size_t bytes) noexcept;
  [[nodiscard]] bool on_put(const net::arrival& message) noexcept;
  [[nodiscard]] bool on_get(const net::arrival& message) noexcept;
  [[nodiscard]] bool on_put_rts(const net::arrival& message) noexcept;
  [[nodiscard]] operation_state* begin_region(const net::arrival& message, const put_rts_body& body, operation what,
                                              bool& consumed) noexcept;
  [[nodiscard]] bool on_signal(const net::arrival& message) noexcept;
  [[nodiscard]] bool on_atomic(const net::arrival& message) noexcept;
  [[nodiscard]] bool on_atomic_result(const net::arrival& message) noexcept;
  [[nodiscard]] bool answer_atomic(operation_state& operation) noexcept;
  // An operation for a peer's message that has to be answered; null where there is none. `put_aside` then says what
  // to answer the transport.
  [[nodiscard]] operation_state* arrival_operation(const net::arrival& message) noexcept;
  [[nodiscard]] bool put_aside(const net::arrival& message) noexcept;

  // Long messages (rendezvous.cpp). True: done with the operation, or somebody else continues it.
  [[nodiscard]] bool advance(operation_state& operation) noexcept;
  [[nodiscard]] bool post_again(operation_state& operation) noexcept;
  [[nodiscard]] bool stream(operation_state& operation) noexcept;
  [[nodiscard]] bool send_rtr(operation_state& operation) noexcept;
  [[nodiscard]] bool fetch(operation_state& operation) noexcept;
  [[nodiscard]] bool begin_share(operation_state& operation) noexcept;
  [[nodiscard]] bool fetch_share(operation_state& operation) noexcept;
  [[nodiscard]] bool write_share(operation_state& help) noexcept;
  [[nodiscard]] bool send_fin(operation_state& operation) noexcept;
  [[nodiscard]] bool signal(operation_state& operation) noexcept;
  unsigned advance_backlog() noexcept;
  unsigned advance_kept() noexcept;
  bool work_off() noexcept;
  bool poll_others(unsigned arrived, unsigned moved) noexcept;
  bool poll_idle() noexcept;
  bool end_call(unsigned arrived, unsigned moved) noexcept;
  bool found_busy() noexcept;

  // Other devices (look_elsewhere.cpp).
  struct visit_answer {
    unsigned moved;
    std::uint32_t calls;
  };
  [[nodiscard]] std::uint64_t others() const noexcept;
  bool look_elsewhere() noexcept;
  // After so many quiet calls in a row, a device looks after device 0 once: messages for a device that is not there
  // yet, or no longer, go there, and a program that polls only devices of its own would never see them.
  static constexpr unsigned quiet_calls_max = 64;
  [[nodiscard]] bool look_by_policy(unsigned& moved) noexcept;
  [[nodiscard]] bool visit(std::uint32_t index, unsigned& moved) noexcept;
  [[nodiscard]] bool visit_neglected(std::uint64_t among, unsigned& moved) noexcept;
  [[nodiscard]] bool visit_if_neglected(std::uint32_t index, std::int64_t now, unsigned count,
                                        unsigned& moved) noexcept;
  template <class Wants>
  [[nodiscard]] device_state* enter_other(std::uint32_t index, Wants&& wants) noexcept;
  [[nodiscard]] visit_answer be_visited() noexcept;

  void take_up(operation_state& operation, step next) noexcept;
  void put_off(operation_state& operation) noexcept;

  // Most receives are posted and completed by the same device: one that is not shared keeps some at hand, and takes
  // and gives back half of them at once, so that there is no exchange for each.
  [[nodiscard]] [[gnu::always_inline]] operation_state* get_receive() noexcept {
    if (spare_count_ == 0) [[unlikely]]
      return get_receive_anew();
    return &receives_->name(spare_receives_[--spare_count_]);
  }
  [[gnu::always_inline]] void put_receive(operation_state& done) noexcept {
    if (spare_count_ == spare_room_) [[unlikely]]
      return put_receive_back(done);
    spare_receives_[spare_count_++] = receives_->unname(done);
  }
  [[nodiscard]] operation_state* get_receive_anew() noexcept;
  void put_receive_back(operation_state& done) noexcept;

  [[nodiscard]] endpoint& way(std::uint32_t peer) noexcept { return *ways_[peer]; }

  // Messages taken from one peer before the next one has its turn.
  static constexpr unsigned arrivals_per_peer = 16;

  runtime_state* runtime_;
  std::uint32_t index_;
  bool shared_;
  progress_policy policy_;
  std::vector<std::unique_ptr<endpoint>> endpoints_;  // in the order in which they are polled
  std::vector<endpoint*> ways_;                       // for each rank
  std::vector<const net::route*> routes_;             // for each rank; null where there is none to use
  std::uint32_t rank_count_;
  poll_gate gate_;
  device_counts counts_;
  // Inside the gate.
  unsigned quiet_calls_ = 0;           // in a row
  endpoint* busy_ = nullptr;           // the one that moved something last
  std::vector<endpoint*> idle_;        // the others
  std::atomic<bool> choosing_{false};  // another device to poll
  std::uint32_t random_;
  std::unique_ptr<attention> attention_;  // where the policy is adaptive
  bool has_refused_ = false;              // a message, since the last look before a sleep
  bool redelivering_ = false;
  backlog backlog_;
  hook_list hooks_{gate_};
  // The device's one thread's; no room where it is shared.
  operation_pool* receives_;
  std::uint32_t spare_room_ = 0;
  std::uint32_t spare_count_ = 0;
  std::array<std::uint32_t, spare_receives_max> spare_receives_{};  // by index

  class inheritance final : private base::not_inherited {
   public:
    explicit inheritance(device_state& of) noexcept : of_{&of} {}

   private:
    void become_copy() noexcept override;
    device_state* of_;
  } inheritance_{*this};
};

}  // namespace weft::core
