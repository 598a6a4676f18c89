// SPDX-License-Identifier: BSD-3-Clause
// The runtime: the rank, the number of ranks, and the resources from which all other objects are made (yan2025-lci,
// 4.2.2).
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

#include "weft/completion.hpp"
#include "weft/device.hpp"
#include "weft/packet.hpp"
#include "weft/progress_policy.hpp"
#include "weft/region.hpp"
#include "weft/runtime_options.hpp"
#include "weft/wait.hpp"

namespace weft {

class group;
namespace coll {
class group_state;
}

namespace boot {
class bootstrap;
}
namespace detail {
class report_names;
void use_report_names(runtime& owner, const report_names* names) noexcept;
bool checks_calls(const runtime& owner) noexcept;
}  // namespace detail
namespace test {
class local_job;
}

/// Options of `runtime::barrier`.
struct barrier_options {
  /// The longest time to wait. Zero or less: the call does not wait.
  std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
  /// A request to stop ends the wait, as the timeout does.
  std::stop_token stop = {};
};

/// Options of `runtime::post_barrier`.
struct post_barrier_options {
  void* context = nullptr;  ///< copied into the completion record
  bool allow_done = true;   ///< false: never `done`; `local` is signalled even if all ranks are there
};

/// Options of `runtime::register_completion`.
struct register_completion_options {
  /// The id that peers name; below `remote_completion_ids_max`, never used before in this runtime. Withdrawn ids take
  /// no memory if they are consecutive.
  std::uint32_t id = 0;
  /// Gives the memory of arriving messages that are longer than a packet; null: the library allocates it.
  buffer_allocator* allocator = nullptr;
};

/// Keeps a completion object registered. After its end messages for the id are counted and dropped.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any, one at a time for one registration.
/// **Errors**: none.
class [[nodiscard]] registration {
 public:
  /// Belongs to no object.
  registration() noexcept = default;
  /// Takes the registration over; `other` is of no object afterwards.
  registration(registration&& other) noexcept;
  /// Withdraws its own id, then takes the registration of `other` over. **Blocking**: as the destructor.
  registration& operator=(registration&& other) noexcept;
  registration(const registration&) = delete;
  registration& operator=(const registration&) = delete;

  /// Withdraws the id. **Blocking**: until calls of `progress()` return that other threads have begun on any device, as
  /// they may be signalling the object. Two handlers on different devices that do this may wait for each other for
  /// ever.
  ~registration();

  /// The id that peers name.
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }

 private:
  friend class runtime;
  friend class run_loop;
  registration(core::runtime_state* owner, completion* target, std::uint32_t id) noexcept
      : owner_{owner}, target_{target}, id_{id} {}
  void withdraw() noexcept;

  core::runtime_state* owner_ = nullptr;
  completion* target_ = nullptr;
  std::uint32_t id_ = 0;
};

/// Sizes and bounds of a runtime, fixed when it is made. Each is the member of `runtime_options` of its name, or else
/// the variable `WEFT_…` (docs/configuration.md), unless its line says otherwise. Where a number of operations,
/// receives or unexpected messages is not set, the number is the most that `state_bytes_max` allows, if there is
/// nothing else.
struct runtime_attributes {
  std::uint32_t packet_count;             ///< packets in the pool
  std::uint32_t packet_bytes;             ///< payload of a packet; longer messages go by rendezvous
  std::uint32_t inject_bytes_max;         ///< messages up to this size go inline, in a cell; no variable
  std::uint32_t ring_cells;               ///< cells of a ring: messages not yet received, from one device to another
  std::uint32_t operations_max;           ///< long operations under way at once
  std::uint32_t receives_max;             ///< receives posted at once
  std::uint32_t devices_max;              ///< devices at once; fewer than the variable if the job has many ranks
  std::uint32_t matching_buckets;         ///< buckets, at most, of the table in which sends and receives match
  std::uint32_t queue_capacity;           ///< records in a lane of a completion queue that is given no capacity
  std::uint32_t unexpected_sends_max;     ///< unexpected messages at once: they wait for their receives
  std::uint32_t unexpected_packets_max;   ///< packets of unexpected messages; beyond it they are copied
  std::uint32_t foreign_packets_max;      ///< packets of a peer in records; beyond it delivery copies
  std::size_t unexpected_bytes_max;       ///< memory for messages of ids to come; as much for copies of unexpected ones
  std::size_t state_bytes_max;            ///< memory for operations, receives and unexpected messages together
  std::uint32_t regions_max;              ///< memory regions at once
  std::size_t shared_bytes;               ///< memory for regions that peers map
  weft::progress_policy progress_policy;  ///< policy of devices that name none
};

/// Counters of a runtime since it was made. Each figure is exact; together they are no snapshot.
struct runtime_counters {
  std::uint64_t messages_dropped = 0;     ///< messages for an id that had been withdrawn
  std::uint64_t messages_refused = 0;     ///< messages with malformed headers
  std::uint64_t messages_unexpected = 0;  ///< messages that waited for their id to be registered
  std::uint64_t receives_waiting = 0;     ///< receives that wait now for a message, in engines that are not ordered
  std::uint64_t sends_waiting = 0;        ///< messages that wait now for a receive, in engines that are not ordered
  std::uint64_t faults_delayed = 0;       ///< messages that a simulated network has held back
  std::uint64_t faults_reordered = 0;     ///< messages that overtook older ones
  std::uint64_t faults_refused = 0;       ///< posts refused though there was room
  std::uint64_t faults_denied = 0;        ///< direct copies and mappings denied
  std::uint64_t faults_failed = 0;        ///< operations that WEFT_SIM_FAIL chose
  std::uint64_t fabric_messages = 0;      ///< sent through libfabric
  std::uint64_t fabric_bytes = 0;         ///< bytes of these messages, headers included
};

/// One rank of a job: a process, or a thread of a `test::local_job`. A process may have several runtimes; all ranks
/// must make them in one order.
///
/// It must outlive all objects that are made from it, and the records of messages that it received. Otherwise the
/// process ends with a message that names the rule.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any. **Errors**: none.
class runtime {
 public:
  /// Reads the launcher's environment; without a launcher it is rank 0 of 1. Collective over the ranks of the job.
  ///
  /// **Blocking**: until all ranks have called it; each step takes at most `WEFT_BOOT_TIMEOUT_S`. **Threads**: one at a
  /// time. **Errors**: `boot_failed`, `configuration`, `transport_failed`, `out_of_memory`; each text says what to do.
  runtime();
  /// Takes options: `weft::runtime rt{weft::runtime_options{.packet_bytes = 16384}};`. **Blocking** and **Threads**: as
  /// for `runtime()`. **Errors**: as for `runtime()`; `configuration` also for a member that is out of range.
  explicit runtime(const runtime_options& options);
  template <class WriteMembersInOrderOf = runtime_options>
  explicit runtime(...) = delete;  // write members of runtime_options in their order

  /// Ends communication. Not collective: afterwards other ranks can no longer communicate with this one. **Blocking**:
  /// up to a second, until the answers are sent that other ranks wait for; over libfabric up to two more, until its
  /// messages have left. **Threads**: none may be using it.
  ~runtime();

  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// The number of this rank, from 0 on.
  [[nodiscard]] std::uint32_t rank() const noexcept;
  /// The number of ranks in the job.
  [[nodiscard]] std::uint32_t size() const noexcept;

  /// The bytes from `remote` on as they lie in this process, so that it can load and store them itself: in a region of
  /// its own, and in a region that another rank of its node has allocated. Empty where they don't lie here: in memory
  /// of another rank's user, at ranks of other nodes, and at ranks that are known to have ended. A simulated network
  /// denies some of them.
  ///
  /// **Buffer**: valid until the region ends, or this runtime; if its rank has ended, until this runtime ends. Loads
  /// and stores there have no order: a rank sees a peer's stores after a message that the peer posted after them, as
  /// for puts. For 0 bytes the span is empty.
  /// **Errors**: `region_refused` if the handle is of another job, if the range reaches beyond the region, or if this
  /// rank knows that the region is withdrawn; `invalid_argument` if it names a rank that the job does not have.
  [[nodiscard]] std::span<std::byte> mapped(const remote_buffer& remote, std::size_t bytes) const;
  /// The number of the node of `rank`. Two ranks have one number exactly if they can share a segment of memory, and
  /// then a region that one of them allocates is mapped by the other, unless a simulated network denies it. All ranks
  /// get the same numbers: nodes are numbered from 0 on, in the order of their lowest ranks. They stay as they are when
  /// ranks end. If no transport shares memory (`WEFT_TRANSPORT`), each rank is a node of its own.
  /// **Errors**: `invalid_argument` for an unknown rank.
  [[nodiscard]] std::uint32_t node_of(std::uint32_t rank) const;

  /// Device 0, a shared one; it lives as long as the runtime.
  [[nodiscard]] device& default_device() noexcept;

  /// Takes a packet from the pool, to write a message into it and post it without a copy. Nothing while all packets are
  /// in use: make progress then. **Buffer**: the packet's memory is the caller's until the post.
  [[nodiscard]] std::optional<packet> try_take_packet() noexcept;

  /// Registers `target`: peers' messages to `options.id` signal it from now on. Progress delivers messages that came
  /// for that id before.
  ///
  /// **Blocking**: briefly, for a lock. **Errors**: `invalid_argument` for an id that is reserved, in use, or was used
  /// before, for an object of another runtime, and for an allocator whose kind of memory has ended or is of another
  /// runtime; `std::bad_alloc`. **Source**: yan2025-lci, 4.2.3.
  [[nodiscard]] registration register_completion(completion& target, const register_completion_options& options);

  /// Returns once every rank has called it, or has posted a barrier.
  ///
  /// **Blocking**: until then, or until a limit of `options`; makes progress on the default device. **Threads**: one
  /// thread of a rank at a time. **Returns**: true; false at a limit: then this rank is in the barrier, and its next
  /// barrier, by any function, continues this one. Other ranks may have to wait until then.
  /// **Errors**: `invalid_state` inside a handler, a hook or a node of a graph, and if another call of this rank is in
  /// the barrier or a posted one is under way; `peer_failed`, at every rank, if a rank has died, and at ranks to which
  /// it had to send if a rank has destroyed its runtime; `transport_failed` if nothing can be sent to a rank to which
  /// the barrier sends, or for whose message it waits.
  bool barrier(const barrier_options& options = {});

  /// Enters the barrier, and signals `local` once every rank has called `barrier` or this. Calls of `progress()` on the
  /// default device continue it: every rank has to make them until it is signalled.
  ///
  /// **Blocking**: never; allocates. **Threads**: one barrier of a rank at a time; also inside handlers and hooks.
  /// **Returns**: *posted*, and the record's `operation()` is `barrier`, its `peer()` this rank, and its `error()` the
  /// one that `barrier` would have thrown; or *done*. It can't be cancelled. **Errors**: those of `barrier`, but for
  /// the first; `invalid_argument` for a `local` of another runtime; `std::bad_alloc`.
  status post_barrier(completion& local, const post_barrier_options& options = {});

  /// Waits as `device::wait` does, through several devices: until `is_done()` is true. The calling thread makes
  /// progress on each of them, and calls `is_done` after that, and after a signal of any of `objects` by any thread. If
  /// `options.mode` is `park`, it sleeps after `options.spins` rounds in which no device had anything to do, until an
  /// object is signalled, or a message for any of the devices wakes a thread that waits through it.
  ///
  /// **Blocking**: until then, or until a limit of `options`. **Threads**: as for posting on each of the devices;
  /// several threads may wait through devices that they share, also for one object. **Order**: devices are polled in
  /// the order in which they stand in `devices`, and none is polled less often than another. **Returns**: whether it is
  /// done; false at a limit (`.timeout`, `.stop`). **Errors**: `invalid_argument` if `devices` is empty, has a device
  /// twice, or has a null one or one of another runtime, and for such an object; `invalid_state` inside a handler, a
  /// hook or a node of a graph. Then no progress has been made.
  template <std::predicate Condition>
  bool wait(std::initializer_list<device*> devices, std::initializer_list<const completion*> objects, Condition is_done,
            const wait_options& options = {}) {
    return wait(std::span{devices.begin(), devices.size()}, objects, std::move(is_done), options);
  }
  /// Through as many devices as the program finds at run time.
  template <std::predicate Condition>
  bool wait(std::span<device* const> devices, std::initializer_list<const completion*> objects, Condition is_done,
            const wait_options& options = {}) {
    return wait_until(
        devices, {objects.begin(), objects.size()},
        [](void* condition) { return static_cast<bool>((*static_cast<Condition*>(condition))()); }, &is_done, options);
  }
  template <class WriteDevicesObjectsConditionAndMembersInOrderOf = wait_options>
  bool wait(...) = delete;  // arguments that do not fit

  /// The group of all ranks, in which collectives run (weft/group.hpp). Each call names one group: other threads `dup`
  /// it.
  /// **Blocking**: briefly the first time, for memory and a lock. **Errors**: `std::bad_alloc`.
  [[nodiscard]] group world();

  /// The sizes and bounds of this runtime.
  [[nodiscard]] const runtime_attributes& attributes() const noexcept;
  /// Its counters up to now; devices have counters of their own. A call reads the whole matching table, which takes
  /// some microseconds, and leaves out buckets that another thread has locked.
  [[nodiscard]] runtime_counters counters() const noexcept;

  /// The descriptor of a `wait_descriptor` for the default device, which the first call of this or `arm` makes.
  /// **Blocking**: briefly the first time, for a thread. **Errors**: those of `wait_descriptor`'s constructor.
  [[nodiscard]] int wait_fd();
  /// Arms that descriptor, as `wait_descriptor::arm` does. **Blocking**: as `wait_fd`. **Threads**: one at a time.
  /// **Returns** and **Errors**: as `wait_descriptor::arm` and `wait_fd`.
  [[nodiscard]] bool arm();

  /// Some lines of text for people that say by which transport and protocol a message of `bytes` bytes goes to rank
  /// `peer`, and why not by another. **Blocking**: never; allocates. **Errors**: `invalid_argument` for an unknown
  /// rank; `std::bad_alloc`.
  [[nodiscard]] std::string explain(std::uint32_t peer, std::size_t bytes) const;

 private:
  friend void detail::use_report_names(runtime& owner, const detail::report_names* names) noexcept;
  friend bool detail::checks_calls(const runtime& owner) noexcept;
  friend class completion;
  friend class device;
  friend class test::local_job;
  friend class completion_queue;
  friend class matching_engine;
  friend class coll::group_state;
  friend class memory_kind;
  friend class memory_region;
  friend class blocking_device;
  friend class run_loop;
  friend class wait_descriptor;
  explicit runtime(std::shared_ptr<boot::bootstrap> bootstrap, const runtime_options& options = {});

  bool wait_until(std::span<device* const> devices, std::span<const completion* const> objects, bool (*is_done)(void*),
                  void* condition, const wait_options& options);

  std::unique_ptr<core::runtime_state> state_;
};

}  // namespace weft
