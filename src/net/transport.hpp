// The contract between the core and the transports. README.md in this folder states it in words.
//
// Cost: one virtual call for a post and one for a poll.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/processors.hpp"
#include "boot/bootstrap.hpp"
#include "net/sleep_word.hpp"
#include "weft/detail/atomics.hpp"
#include "weft/detail/raw_record.hpp"

namespace weft::base {
struct settings;
}

namespace weft::net {

/// What a message carries besides its payload; transports pass it on unread.
struct header {
  std::uint32_t kind = 0;      // which protocol step this is (core/message/wire.hpp); 16 bits travel
  std::uint32_t id = 0;        // remote completion, later matching engine
  std::uint32_t sequence = 0;  // number within (source, engine) for ordered engines; 0 elsewhere
  std::uint32_t note = 0;      // the sender's own: does not travel, and comes back with a message that was lost
  std::uint64_t tag = 0;
};

enum class post_result : std::uint8_t {
  ok,    // the message is on its way; a packet now belongs to the transport
  full,  // no room on the way to that peer: nothing happened
  busy,  // another thread is posting there at this moment: nothing happened
};

/// A message as a transport hands it over; its payload belongs to the transport until the sink consumes it. A payload
/// without an owner is copied in whole words: what lies behind it up to a multiple of 8 bytes can be read, whatever
/// its value.
struct arrival {
  std::uint32_t source = 0;
  net::header header;
  const std::byte* payload = nullptr;
  std::uint32_t bytes = 0;
  detail::payload_owner* owner = nullptr;  // null: the payload is in the descriptor and valid during the call only
};

/// Where arrivals go: any class with
///   bool on_message(const arrival& message) noexcept;
/// True: consumed, and where there is an owner the payload is now the sink's to release. False: no room; the transport
/// keeps the message, and whatever came after it from the same device of that peer, for a later poll. The class is a
/// parameter of the endpoints, so that what an arrival does is compiled into the poll.
///
/// A sink that also has
///   bool take_at_once(std::uint32_t source, const header& what, const std::byte* payload, std::uint32_t bytes,
///                     bool& consumed) noexcept;
/// may be shown messages without an owner there first; false: they come to `on_message` then.
template <class Sink>
concept takes_at_once = requires(Sink& sink, const header& what, const std::byte* payload, bool& consumed) {
  { sink.take_at_once(std::uint32_t{}, what, payload, std::uint32_t{}, consumed) } -> std::same_as<bool>;
};

/// The most common message: it fits a register.
inline constexpr std::uint32_t word_bytes = 8;

/// A sink that has a shorter way still for messages of one word, one after the other in a loop that calls nothing:
///   static constexpr std::uint32_t word_kind;  // of such messages
///   const void* take_word(std::uint32_t source, std::uint32_t id, const std::byte* tag_and_payload) noexcept;
///   static constexpr std::uint32_t matched_word_kind;  // of such messages that meet a receive
///   const void* take_matched_word(...) noexcept;       // the same for them
///   bool is_awaited(const void* signalled) noexcept;
///   void wake_awaiting(const void* signalled) noexcept;
///   void took_words(unsigned count) noexcept;
/// Both answer what it has signalled; null: nothing has happened, and the message comes to the others. True
/// from `is_awaited`: `wake_awaiting` is to be called with it.
template <class Sink>
concept takes_words = takes_at_once<Sink> && requires(Sink& sink) {
  Sink::word_kind;
  Sink::matched_word_kind;
};

/// A sink that wants to know of messages that stay where they are because it had no room.
template <class Sink>
concept notes_refusals = requires(Sink& sink) {
  sink.note_refusal();
};

/// A sink that is told of messages that will never arrive:
///   void on_lost(std::uint32_t peer, const header& what, const char* cause) noexcept;
/// `what` as it was posted, and `cause`, for people, valid for ever. A message whose post answered `full` because its
/// peer can't be reached any more is told of without its note: nothing has happened to it.
template <class Sink>
concept hears_of_losses = requires(Sink& sink, const header& what, const char* cause) {
  sink.on_lost(std::uint32_t{}, what, cause);
};

/// The packet pool as transports see it: fixed-size buffers by index.
class packet_store {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// A packet, or `none` when there is none to be had.
  [[nodiscard]] virtual std::uint32_t try_get() noexcept = 0;
  virtual void put(std::uint32_t index) noexcept = 0;
  [[nodiscard]] virtual std::byte* data(std::uint32_t index) const noexcept = 0;
  /// Who takes a packet of this pool back by its address.
  [[nodiscard]] virtual detail::payload_owner& owner() noexcept = 0;
  /// So many packets more, or less, are lent to a sink, which gives them back to `owner()`: counted before it sees one,
  /// and taken back where it refuses. What comes back is counted by the owner.
  virtual void count_lent(std::int32_t change) noexcept = 0;

 protected:
  ~packet_store() = default;
};

/// What became of a direct copy from or to a peer's memory.
enum class copy_result : std::uint8_t {
  done,
  unavailable,  // not possible between these two: send the bytes as messages
  bad_address,  // the memory is not there
  peer_gone,
};

struct route;  // net/cell_way.hpp

/// No particular device of the peer: the one with the sender's own index, modulo how many there are.
inline constexpr std::uint32_t any_device = ~std::uint32_t{0};

/// One device's share of a transport. Posting is safe from several threads where the endpoint is shared; polling,
/// adopting and releasing are the device's to serialize.
template <class Sink>
class endpoint {
 public:
  virtual ~endpoint() = default;

  /// Sends at most `detail::inline_bytes_max` bytes, which may be overwritten on return.
  [[nodiscard]] virtual post_result try_inject(std::uint32_t peer, std::uint32_t device, const header& what,
                                               const void* payload, std::uint32_t bytes) noexcept = 0;

  /// Sends the first `bytes` bytes of packet `packet`, which belongs to the transport if the answer is ok.
  [[nodiscard]] virtual post_result try_send(std::uint32_t peer, std::uint32_t device, const header& what,
                                             std::uint32_t packet, std::uint32_t bytes) noexcept = 0;

  /// Hands arrivals to `sink`, at most about `budget` a peer; returns how many were consumed.
  virtual unsigned poll(Sink& sink, unsigned budget) noexcept = 0;

  /// Copies `bytes` bytes from `remote` in the memory of `peer`.
  [[nodiscard]] virtual copy_result read_remote(std::uint32_t peer, void* target, std::uint64_t remote,
                                                std::size_t bytes) noexcept = 0;

  /// Copies `bytes` bytes to `remote` in the memory of `peer`; they are there when this returns.
  [[nodiscard]] virtual copy_result write_remote(std::uint32_t peer, const void* source, std::uint64_t remote,
                                                 std::size_t bytes) noexcept = 0;

  /// The way of small messages to `peer` that name no device, where it is a ring that the poster may push into itself,
  /// without a virtual call; null elsewhere. Where the way is not known yet, `try_inject` finds it.
  [[nodiscard]] virtual const route* route_to(std::uint32_t /*peer*/) const noexcept { return nullptr; }

  /// Serves the arrivals of a device that is gone, from now until `release`.
  virtual void adopt(std::uint32_t slot) noexcept = 0;
  virtual void release(std::uint32_t slot) noexcept = 0;
};

/// Whether direct copies from and to a peer's memory are worth trying, and how they are done or why not, in words.
struct copy_way {
  bool possible = false;
  std::string_view how = "this transport copies nothing directly";
};

/// What a simulated network has done to its messages on purpose; all zero elsewhere.
struct fault_counts {
  std::uint64_t delayed = 0;      // arrivals held back
  std::uint64_t reordered = 0;    // arrivals that overtook an older one of the same peer's
  std::uint64_t full = 0;         // posts refused though there was room
  std::uint64_t busy = 0;         // posts refused though nobody else was posting
  std::uint64_t unavailable = 0;  // direct copies denied
  std::uint64_t unmapped = 0;     // peers' shared memory denied
  // Direct copies that WEFT_SIM_FAIL chose:
  std::uint64_t failed_reads = 0;   // answered bad_address
  std::uint64_t failed_writes = 0;  // the same
  std::uint64_t gone_reads = 0;     // answered peer_gone
  std::uint64_t gone_writes = 0;    // the same
};

/// What this rank has sent over a fabric, headers included; zero for what stays on the machine.
struct traffic_counts {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

/// One runtime's share of a transport: knows the peers it reaches, takes packets back, and makes endpoints by
///   template <class Sink> std::unique_ptr<endpoint<Sink>> open(std::uint32_t slot, bool shared);
/// For the table it also has
///   static constexpr std::string_view listed_name = ...;  // what WEFT_TRANSPORT calls it
///   static constexpr std::uint32_t ranks_min = ...;       // a job of fewer ranks has no use for it
/// and, where there is something to tell of this machine (weft-info does),
///   static std::vector<std::string> found_here();         // devices, providers: a line for each
class transport {
 public:
  virtual ~transport() = default;

  [[nodiscard]] virtual const char* name() const noexcept = 0;
  [[nodiscard]] virtual bool reaches(std::uint32_t peer) const noexcept = 0;

  /// Whether every rank reaches every other by this transport. The same answer at all ranks: those that come after it
  /// in the list are then not made at all, which is collective.
  [[nodiscard]] virtual bool reaches_all() const noexcept { return false; }

  /// Memory for `packet_count` packets that peers of this transport can read, or null where any memory will do.
  [[nodiscard]] virtual std::byte* packet_memory() noexcept { return nullptr; }

  /// The pool to send from and to copy into; called once, before any endpoint is made.
  virtual void use_packets(packet_store& packets) noexcept = 0;

  /// Puts packets that peers are done with back into the pool; returns how many. Threads: any.
  virtual unsigned reclaim_packets() noexcept { return 0; }

  /// Memory that `rank`, this one included, shares with its peers, as it is mapped here: `shared_bytes` zeroes at
  /// first; null where it can't be mapped.
  [[nodiscard]] virtual std::byte* shared_memory(std::uint32_t /*rank*/) noexcept { return nullptr; }
  [[nodiscard]] virtual std::size_t shared_bytes() const noexcept { return 0; }

  /// For people: what `read_remote` and `write_remote` do with that peer.
  [[nodiscard]] virtual copy_way copies(std::uint32_t /*peer*/) const noexcept { return {}; }

  /// This rank's sleep words, where its peers see them; null where the transport has none of its own.
  [[nodiscard]] virtual sleep_words* shared_sleep_words() noexcept { return nullptr; }
  /// The words to look at after a message of this rank to itself; called once, before any endpoint is made.
  virtual void use_sleep_words(sleep_words& /*words*/) noexcept {}
  /// Whether every message that arrives wakes who sleeps at its device's word. Who sleeps at others looks in between.
  [[nodiscard]] virtual bool wakes_sleepers() const noexcept { return false; }

  /// The processors that `rank`, this one included, says it may run on; none where it runs on another machine, or the
  /// transport doesn't know.
  [[nodiscard]] virtual base::processor_set processors_of(std::uint32_t /*rank*/) const noexcept { return {}; }

  /// Devices that a rank may have at a time with this transport.
  [[nodiscard]] virtual std::uint32_t devices_max() const noexcept { return ~std::uint32_t{0}; }

  /// Messages dropped because what a peer wrote could not be.
  [[nodiscard]] virtual std::uint64_t messages_refused() const noexcept { return 0; }

  [[nodiscard]] virtual fault_counts faults() const noexcept { return {}; }

  [[nodiscard]] virtual traffic_counts traffic() const noexcept { return {}; }

  /// Payloads with an owner of this transport's own that a sink has and has not given back, less those, whosever they
  /// are, that it holds as the sink of another transport. Together with the packets that are lent: what the core has.
  [[nodiscard]] virtual std::int64_t payloads_out() const noexcept { return 0; }

  /// Device `slot` is gone: peers choose another one from now on.
  virtual void close(std::uint32_t slot) noexcept = 0;
};

/// What a transport is made from. `name` tells the runtimes of one process apart in the bootstrap.
struct transport_context {
  boot::bootstrap& boot;
  const base::settings& settings;
  std::string name;
};

/// The distance from one packet to the next: an odd number of cache lines, so that packets don't share cache sets.
[[nodiscard]] constexpr std::size_t packet_stride(std::size_t packet_bytes) noexcept {
  const std::size_t lines = (packet_bytes + detail::cache_line_bytes - 1) / detail::cache_line_bytes;
  return (lines | 1) * detail::cache_line_bytes;
}

}  // namespace weft::net
