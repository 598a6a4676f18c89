// The implementation of a device: it posts, polls, and continues long messages.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/not_inherited.hpp"
#include "core/device/attention.hpp"
#include "core/device/backlog.hpp"
#include "core/device/device_counts.hpp"
#include "core/device/hook_list.hpp"
#include "core/device/own_receives.hpp"
#include "core/device/poll_gate.hpp"
#include "core/device/quiet_calls.hpp"
#include "core/device/retry_list.hpp"
#include "core/device/stopped_messages.hpp"
#include "core/matching/engine_state.hpp"
#include "core/matching/matching_table.hpp"
#include "core/message/peer_bounds.hpp"
#include "core/message/wire.hpp"
#include "net/ring/route.hpp"
#include "net/transport.hpp"
#include "weft/device.hpp"
#include "weft/region.hpp"

namespace weft::test {
class step_bench;
}

namespace weft::core {

class runtime_state;
struct remote_entry;
struct unexpected_message;

/// Whether a thread may sleep at a device, from no to yes.
enum class stillness : std::uint8_t {
  busy,     ///< something has moved or is left to do, or another thread polls: don't sleep
  waiting,  ///< a message or a graph's post has no room yet, and no signal comes when there is room: sleep shortly
  quiet,    ///< everything that comes wakes the sleeper
};

[[nodiscard]] constexpr shortage shortage_of(net::post_result result) noexcept {
  return result == net::post_result::busy ? shortage::lock : shortage::ring;
}

class device_state final {
 public:
  using endpoint = net::endpoint<device_state>;

  device_state(runtime_state& runtime, device& interface, std::uint32_t index, bool shared, progress_policy policy);
  ~device_state();

  [[nodiscard]] runtime_state& runtime() noexcept { return *runtime_; }
  /// What the program sees of it.
  [[nodiscard]] device& interface() noexcept { return *interface_; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] bool is_shared() const noexcept { return shared_; }
  [[nodiscard]] progress_policy policy() const noexcept { return policy_; }
  [[nodiscard]] poll_gate& gate() noexcept { return gate_; }
  [[nodiscard]] hook_list& hooks() noexcept { return hooks_; }
  [[nodiscard]] device_counts& counts() noexcept { return counts_; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return rank_count_; }
  [[nodiscard]] core::own_receives& own_receives() noexcept { return own_receives_; }
  /// The endpoint that reaches `peer`.
  [[nodiscard]] endpoint& endpoint_to(std::uint32_t peer) noexcept { return *endpoint_of_[peer]; }

  /// The ring to the target of a message, if there is one and it is known; else null.
  [[nodiscard]] [[gnu::always_inline]] net::outgoing* known_ring(detail::message_target to) const noexcept {
    // [device.route] relaxed <- [device.hold_back]: carries nothing; the route was made before the device.
    const net::route* const known = routes_[to.peer()].load(std::memory_order_relaxed);
    return known != nullptr ? known->known_ring(to.device()) : nullptr;
  }

  /// Posts an inline message, which is done or not posted at all (detail::goes_inline): into the peer's ring if that is
  /// known, else by the endpoint.
  [[nodiscard]] [[gnu::always_inline]] status post_inline(operation opcode, detail::message_target to,
                                                          const net::header& header, const_buffer_ref bytes) {
    const auto count = static_cast<std::uint32_t>(bytes.bytes());
    if (net::outgoing* const ring = known_ring(to); ring != nullptr) [[likely]] {
      const net::post_result result = ring->push(shared_, header, bytes.address(), count);
      if (result != net::post_result::ok) [[unlikely]]
        return refused_inline(opcode, to.peer(), result);
      counts_.posted(opcode, count);
      return status::done();
    }
    return post_inline_slow(to.peer(), to.device(), header.kind, header.id, header.tag, bytes);
  }
  /// The answer of a post of `bytes` bytes, which was sent if `result` is ok.
  [[nodiscard]] [[gnu::always_inline]] status posted_inline(operation opcode, std::uint32_t bytes,
                                                            net::post_result result) noexcept {
    if (result != net::post_result::ok) [[unlikely]]
      return counts_.retried(status::retry(shortage_of(result)));
    counts_.posted(opcode, bytes);
    return status::done();
  }

  /// Of so many calls of progress that move something, at least one polls all transports, however busy one of them is.
  static constexpr unsigned skips_max = 64;
  bool progress() noexcept;
  /// Puts an operation into the backlog; a call of progress does its next step. **Threads**: any.
  void defer(operation_state& operation) noexcept;
  void defer(operation_state& operation, step next) noexcept {
    operation.reach(next);
    defer(operation);
  }

  /// The next calls of progress try `entry` again. It may be destroyed before this returns. **Threads**: any.
  void defer(retry_entry& entry) noexcept;
  // Replies that wait for room at a rank go before new posts to it: else two ranks that flood each other would fill
  // each cell that the other one frees with a request, and never send a reply.
  void hold_posts_back(std::uint32_t peer) noexcept {
    waiting_replies_[peer].fetch_add(1, std::memory_order_relaxed);  // [hint]
    // [device.hold_back] relaxed -> [device.route]: a post that misses it is only early.
    routes_[peer].store(nullptr, std::memory_order_relaxed);
  }
  void let_posts_go(std::uint32_t peer) noexcept {
    if (waiting_replies_[peer].fetch_sub(1, std::memory_order_relaxed) == 1) find_route(peer);  // [hint]
  }
  [[nodiscard]] bool holds_posts_back(std::uint32_t peer) const noexcept {
    return waiting_replies_[peer].load(std::memory_order_relaxed) != 0;  // [hint]
  }

  [[nodiscard]] retry_list& retries() noexcept { return retries_; }

  // Other devices (look_elsewhere.cpp).
  /// Whether there are other devices that its quiet calls visit.
  [[nodiscard]] bool has_others() const noexcept { return policy_ != progress_policy::local && others() != 0; }
  /// Returns once each thread of this device that has chosen another device is inside that one's gate, or has left it.
  void wait_until_chosen() const noexcept;
  /// One call of progress here and on each other shared device, whatever the policy.
  bool progress_everywhere() noexcept;

  /// Looks for arrivals once more, for a thread that is about to sleep.
  [[nodiscard]] stillness look_before_sleep() noexcept;
  /// Called by endpoints: the target of a message, such as a full completion object, has no room for it. The message
  /// stays in its ring, which the endpoint leaves for the rest of this poll.
  void on_target_full() noexcept {
    was_full_ = true;
    counts_.refused();
  }

  /// Called by endpoints: the message with this header to `peer` will never arrive (lost_message.cpp).
  void on_lost(std::uint32_t peer, const net::header& header, const char* cause) noexcept;

  /// Sends a small message of the library's own.
  template <class Body>
  [[nodiscard]] net::post_result try_send_body(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                               const Body& body) noexcept {
    static_assert(sizeof(Body) <= detail::inline_bytes_max);
    return endpoint_of_[peer]->try_send_inline(peer, device, header, &body, sizeof body);
  }

  // The functions of a sink (net/sink.hpp): they handle arriving messages (protocol/dispatch.cpp).
  static constexpr std::array<net::word_kind, 2> word_kinds{
      {{static_cast<std::uint32_t>(wire::active_message), false},
       {kind_word(wire::send, static_cast<std::uint32_t>(match_policy::rank_tag)), true}}};
  template <std::size_t Kind>
  [[nodiscard]] [[gnu::always_inline]] const void* take_word(std::uint32_t source, std::uint32_t id,
                                                             const std::byte* tag_and_payload) noexcept {
    return Kind == 0 ? take_active_word(source, id, tag_and_payload) : take_sent_word(source, id, tag_and_payload);
  }
  /// Whether a thread waits for the object that was signalled; then `follow_up` wakes it.
  [[nodiscard]] bool must_follow_up(const void* signalled) const noexcept;
  void follow_up(const void* signalled) noexcept;
  void count_words(unsigned count) noexcept { counts_.took(std::uint64_t{count} * net::word_bytes); }
  [[nodiscard]] bool fast_take(std::uint32_t source, const net::header& header, const std::byte* payload,
                               std::uint32_t bytes, bool& consumed) noexcept;
  [[nodiscard]] bool on_message(const net::arrival& message) noexcept {
    const bool consumed = dispatch(message);
    if (consumed) [[likely]]
      counts_.took(message.bytes);
    else
      stopped_.note(message.source, message.header.kind, message.header.id);
    return consumed;
  }
  /// What had no room at its target lately.
  [[nodiscard]] stopped_messages& stopped() noexcept { return stopped_; }
  /// The same for a message that was kept before.
  [[nodiscard]] bool on_kept_message(const net::arrival& message) noexcept;
  [[nodiscard]] bool is_redelivering() const noexcept { return redelivering_; }

  /// Takes over the arrivals and the backlog of a destroyed device. Inside the gate.
  void adopt(device_state& gone) noexcept;
  /// At the end of the runtime: sends the answers that peers wait for, and gives up all else that waits in the backlog.
  /// **Blocking**: a second at most. **Returns** how many answers found no room.
  unsigned end_backlog() noexcept;
  /// Stops polling slot `index`, which is about to have a device again. Inside the gate.
  void release(std::uint32_t index) noexcept;

 private:
  [[nodiscard]] [[gnu::cold, gnu::noinline]] status refused_inline(operation opcode, std::uint32_t peer,
                                                                   net::post_result result);
  // Takes the header's fields as arguments: in the common case the header then need not lie in memory.
  [[nodiscard]] status post_inline_slow(std::uint32_t peer, std::uint32_t device, std::uint32_t kind, std::uint32_t id,
                                        std::uint64_t tag, const_buffer_ref bytes);
  [[nodiscard]] bool dispatch(const net::arrival& message) noexcept;
  [[nodiscard]] bool continue_operation(const net::arrival& message) noexcept;
  // An active message to a queue, and a send that matches a posted receive (core/fast/take_send.hpp).
  [[nodiscard]] const void* take_active_word(std::uint32_t source, std::uint32_t id,
                                             const std::byte* tag_and_payload) noexcept;
  [[nodiscard]] const void* take_sent_word(std::uint32_t source, std::uint32_t id,
                                           const std::byte* tag_and_payload) noexcept;
  void open_endpoints();
  void find_route(std::uint32_t peer) noexcept {
    // [device.hold_back] relaxed -> [device.route]: the route was made before the device.
    routes_[peer].store(endpoint_of_[peer]->route_to(peer), std::memory_order_relaxed);
  }
  [[nodiscard]] unsigned send_last_retries(base::clock::time_point until) noexcept;

  // What a call of progress does (core/progress).
  unsigned poll_all() noexcept;
  unsigned advance_backlog() noexcept;
  unsigned advance_kept() noexcept;
  bool found_busy() noexcept;
  bool pass() noexcept;
  unsigned poll_others() noexcept;
  bool end_moved(unsigned arrived) noexcept;
  // Its shortcut (core/fast/short_pass.cpp).
  bool poll_idle() noexcept;
  bool end_short(unsigned arrived) noexcept;

  // Other devices (look_elsewhere.cpp).
  struct visit_answer {
    unsigned moved;
    std::uint32_t calls;
  };
  [[nodiscard]] std::uint64_t others() const noexcept;
  bool look_elsewhere() noexcept;
  [[nodiscard]] bool look_by_policy(unsigned& moved) noexcept;
  [[nodiscard]] bool visit(std::uint32_t index, unsigned& moved) noexcept;
  [[nodiscard]] bool visit_neglected(std::uint64_t among, unsigned& moved) noexcept;
  [[nodiscard]] bool visit_if_neglected(std::uint32_t index, std::int64_t now, unsigned count,
                                        unsigned& moved) noexcept;
  template <class Wants>
  [[nodiscard]] device_state* enter_other(std::uint32_t index, Wants&& wants) noexcept;
  [[nodiscard]] visit_answer be_visited() noexcept;

  friend class test::step_bench;  // puts a scripted endpoint in the place of one

  // Messages taken from one peer before the next peer is polled.
  static constexpr unsigned arrivals_per_peer = 16;

  runtime_state* runtime_;
  device* interface_;
  std::uint32_t index_;
  bool shared_;
  progress_policy policy_;
  std::vector<std::unique_ptr<endpoint>> endpoints_;  // in the order in which they are polled
  std::vector<endpoint*> endpoint_of_;                // for each rank
  // For each rank; null where there is none to use, and while replies to that rank wait.
  std::vector<std::atomic<const net::route*>> routes_;
  std::vector<std::atomic<std::uint32_t>> waiting_replies_;  // for each rank
  std::uint32_t rank_count_;
  poll_gate gate_;
  device_counts counts_;
  // Inside the gate.
  quiet_calls quiet_;
  endpoint* busy_ = nullptr;           // the endpoint that moved something last
  std::vector<endpoint*> idle_;        // the other endpoints
  std::atomic<bool> choosing_{false};  // a thread is choosing another device to poll
  std::uint32_t random_;
  std::unique_ptr<attention> attention_;  // where the policy is adaptive
  bool was_full_ = false;                 // a message, since the last look before a sleep
  bool redelivering_ = false;
  backlog backlog_;
  hook_list hooks_{gate_};
  core::own_receives own_receives_;
  retry_list retries_;
  stopped_messages stopped_;

  class inheritance final : private base::not_inherited {
   public:
    explicit inheritance(device_state& of) noexcept : of_{&of} {}

   private:
    void become_copy() noexcept override;
    device_state* of_;
    base::fork_entry at_forks_{*this};
  } inheritance_{*this};
};

}  // namespace weft::core
