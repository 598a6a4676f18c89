// The runtime: who am I, how many are we, and what everything else is made from (yan2025-lci, 4.2.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "weft/completion.hpp"
#include "weft/device.hpp"
#include "weft/packet.hpp"

namespace weft {

namespace boot {
class bootstrap;
}
namespace test {
class local_job;
}

/// Options of `runtime`.
struct runtime_options {
  /// Whether ranks that a launcher has left on the same processors of one machine share the cores out among themselves,
  /// as `weft-run` does: whole cores next to each other, and nothing where ranks outnumber cores. It moves the calling
  /// thread and those that it starts from then on; ranks that are bound already stay where they are, and other jobs of
  /// the machine are not looked for. All ranks say the same. Unset: what `WEFT_BIND` says.
  std::optional<bool> bind;
};

/// Options of `runtime::register_completion`.
struct register_completion_options {
  /// The name that peers use; below `remote_completion_ids_max`, never used before in this runtime. Ids that were
  /// withdrawn take no memory where they follow one another.
  std::uint32_t id = 0;
  /// Where the bytes of messages longer than a packet are put; null: memory of the library's own.
  buffer_allocator* allocator = nullptr;
};

/// Keeps a completion object registered; peers' messages for its id are counted and dropped once it is gone.
class [[nodiscard]] registration {
 public:
  /// Of nothing.
  registration() noexcept = default;
  /// `other` is of nothing then.
  registration(registration&& other) noexcept;
  /// The same, after its own id has been withdrawn: **Blocking** as its end.
  registration& operator=(registration&& other) noexcept;
  registration(const registration&) = delete;
  registration& operator=(const registration&) = delete;

  /// Withdraws the id. **Blocking**: until no thread is signalling the object (not from inside a handler that another
  /// thread waits for).
  ~registration();

  /// The name that peers give it.
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }

 private:
  friend class runtime;
  registration(core::runtime_state* owner, completion* target, std::uint32_t id) noexcept
      : owner_{owner}, target_{target}, id_{id} {}
  void withdraw() noexcept;

  core::runtime_state* owner_ = nullptr;
  completion* target_ = nullptr;
  std::uint32_t id_ = 0;
};

/// What is fixed when a runtime is made; readable afterwards. Each is the variable `WEFT_…` of its name
/// (docs/configuration.md), unless something else is said.
struct runtime_attributes {
  std::uint32_t packet_count;             ///< packets in the pool
  std::uint32_t packet_bytes;             ///< payload of a packet: longer messages are fetched by their target
  std::uint32_t inject_bytes_max;         ///< messages up to this size ride in their descriptor; no variable
  std::uint32_t ring_cells;               ///< messages on the way from one device to another
  std::uint32_t operations_max;           ///< long operations under way at once
  std::uint32_t receives_max;             ///< receives posted at once
  std::uint32_t devices_max;              ///< devices at once: fewer than the variable says where ranks are many
  std::uint32_t matching_buckets;         ///< of the table in which sends and receives meet
  std::uint32_t queue_capacity;           ///< records in a lane of a completion queue that is given no capacity
  std::uint32_t unexpected_sends_max;     ///< messages that wait for their receives
  std::uint32_t unexpected_packets_max;   ///< packets that hold them, before senders keep the bytes
  std::uint32_t foreign_packets_max;      ///< packets of peers that are kept before delivery copies
  std::size_t unexpected_bytes_max;       ///< memory for messages whose id nobody has registered yet
  std::size_t shared_bytes;               ///< memory for regions that peers map
  weft::progress_policy progress_policy;  ///< of devices that are given none
};

/// What a runtime has counted since it was made. Statistics: each figure is exact, together they are no snapshot.
struct runtime_counters {
  std::uint64_t messages_dropped = 0;     ///< for a completion that had been withdrawn
  std::uint64_t messages_refused = 0;     ///< malformed headers
  std::uint64_t messages_unexpected = 0;  ///< waited for their id to be registered
  std::uint64_t receives_waiting = 0;     ///< now, for a message, in the engines that are not ordered
  std::uint64_t sends_waiting = 0;        ///< now, for a receive, in the engines that are not ordered
  std::uint64_t faults_delayed = 0;       ///< by a simulated network: messages held back
  std::uint64_t faults_reordered = 0;     ///< messages that overtook others
  std::uint64_t faults_refused = 0;       ///< posts refused though there was room
  std::uint64_t faults_denied = 0;        ///< direct copies and mappings denied
  std::uint64_t faults_failed = 0;        ///< operations that WEFT_SIM_FAIL chose
  std::uint64_t fabric_messages = 0;      ///< sent through libfabric
  std::uint64_t fabric_bytes = 0;         ///< of these messages, headers included
};

/// One of the processes (or threads of a `test::local_job`) that communicate. Several runtimes may live in one
/// process; all ranks make theirs in the same order.
///
/// It outlives every object made from it, and the records of messages that came to it: destroying it earlier ends the
/// process with a message that says so.
class runtime {
 public:
  /// Reads the launcher's environment; alone it is rank 0 of 1. Collective over the ranks of the job.
  ///
  /// **Blocking**: until all ranks have come; each step takes at most `WEFT_BOOT_TIMEOUT_S`. **Threads**: one
  /// at a time.
  /// **Errors**: `boot_failed`, `configuration`, `transport_failed`, `out_of_memory`, each with what to do about it.
  runtime();
  /// The same, with what is to be otherwise: `weft::runtime rt{weft::runtime_options{.bind = true}};`.
  explicit runtime(const runtime_options& options);

  /// Not collective: a rank that goes is no longer there for what others want of it. **Blocking**: over libfabric for
  /// up to two seconds, until what it has sent has left. **Threads**: none may be using it.
  ~runtime();

  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// This one's number among the ranks, from 0 on. For this and what follows up to `try_take_packet`: **Blocking**:
  /// never. **Threads**: any.
  [[nodiscard]] std::uint32_t rank() const noexcept;
  /// How many ranks there are.
  [[nodiscard]] std::uint32_t size() const noexcept;

  /// Device 0, shared by all threads; it lives as long as the runtime.
  [[nodiscard]] device& default_device() noexcept;

  /// A packet to write a message into, and to post without a copy; nothing while all are in use, which progress
  /// changes. **Buffer**: the caller's until it is posted.
  [[nodiscard]] std::optional<packet> try_take_packet() noexcept;

  /// Lets peers name `target` by `options.id`. Messages that came for that id before are delivered by progress.
  ///
  /// **Blocking**: briefly. **Threads**: any. **Errors**: `invalid_argument` for an id that is reserved, in use, or
  /// was used before, and for an object of another runtime. **Source**: yan2025-lci, 4.2.3.
  [[nodiscard]] registration register_completion(completion& target, const register_completion_options& options);

  /// Returns once every rank has called it; makes progress on the default device meanwhile.
  ///
  /// **Blocking**: until all ranks have come. **Threads**: one thread of a rank at a time, not inside a handler.
  /// **Errors**: `invalid_state` inside a handler, a hook or a node of a graph; `transport_failed` where nothing can be
  /// sent to a rank that this one meets on the way.
  void barrier();

  /// What this runtime was made with. For this and the next: **Blocking**: never. **Threads**: any.
  [[nodiscard]] const runtime_attributes& attributes() const noexcept;
  /// What it has counted up to now; devices have counters of their own. Looks through the matching table, which takes
  /// some microseconds, and leaves out what another thread is at there.
  [[nodiscard]] runtime_counters counters() const noexcept;

  /// The descriptor of a `wait_descriptor` (wait_descriptor.hpp) of the default device, which the first call of either
  /// makes; and its `arm()`. **Threads**: any for `wait_fd`. What else is said there holds here.
  [[nodiscard]] int wait_fd();
  /// Arms it: `wait_descriptor::arm`.
  [[nodiscard]] bool arm();

  /// For people: which way a message of `bytes` bytes to rank `peer` goes here and now, and why not another; some
  /// lines of text. **Blocking**: never; allocates. **Threads**: any. **Errors**: `invalid_argument` for an unknown
  /// rank.
  [[nodiscard]] std::string explain(std::uint32_t peer, std::size_t bytes) const;

 private:
  friend class completion;
  friend class device;
  friend class test::local_job;
  friend class completion_queue;
  friend class matching_engine;
  friend class memory_region;
  friend class blocking_device;
  friend class run_loop;
  friend class wait_descriptor;
  explicit runtime(std::shared_ptr<boot::bootstrap> bootstrap, const runtime_options& options = {});

  std::unique_ptr<core::runtime_state> state_;
};

}  // namespace weft
