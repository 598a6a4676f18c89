// What a runtime is made of.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "base/log.hpp"
#include "boot/bootstrap.hpp"
#include "core/device/device_state.hpp"
#include "core/device/operation_state.hpp"
#include "core/device/shared_devices.hpp"
#include "core/matching/kept_messages.hpp"
#include "core/matching/matching_table.hpp"
#include "core/matching/unexpected_sends.hpp"
#include "core/memory/packet_pool.hpp"
#include "core/runtime/barrier.hpp"
#include "core/runtime/brief_readers.hpp"
#include "core/runtime/copy_shares.hpp"
#include "core/runtime/regions.hpp"
#include "core/wait/descriptor_state.hpp"
#include "core/wait/neighbours.hpp"
#include "core/wait/parking.hpp"
#include "net/transport.hpp"
#include "weft/completion_queue.hpp"
#include "weft/detail/id_table.hpp"
#include "weft/runtime.hpp"

namespace weft::core {

/// Gives memory of a user's allocator, or of the library's own, back through a record.
class allocator_owner final : public detail::payload_owner {
 public:
  explicit allocator_owner(buffer_allocator* allocator) noexcept : allocator_{allocator} {}
  /// The one way to memory whose size a peer says; null beyond `buffer_bytes_max`, for any allocator.
  [[nodiscard]] void* allocate(std::uint64_t bytes, std::uint32_t source, std::uint64_t tag) noexcept;
  void release(void* data, std::size_t bytes) noexcept override;
  /// Whether so many bytes will never be there. Of memory of the user's only the user knows.
  [[nodiscard]] bool is_beyond_all(std::uint64_t bytes) const noexcept;
  /// Whether all memory that it gave is back, and no thread is giving it back any more.
  [[nodiscard]] bool has_all_back() const noexcept {
    // [owner.all_back] acquire <- [owner.back]: the last access of the thread that gave the memory back.
    return given_.load(std::memory_order_acquire) == 0;
  }

 private:
  buffer_allocator* allocator_;
  std::atomic<std::uint64_t> given_{0};  // pieces of memory that are not back
};

/// A registered completion object. Records may outlive a registration: an entry lives until they have gone.
struct remote_entry {
  remote_entry(completion& object, detail::laned_queue<detail::raw_record>* slots, buffer_allocator* allocator) noexcept
      : target{&object}, queue{slots}, owner{allocator} {}

  completion* target;
  // The queue inside of `target`, where that is a bounded completion_queue: records are put together in its slots.
  detail::laned_queue<detail::raw_record>* queue;
  allocator_owner owner;
  base::said_once told_of_memory;
};

class runtime_state {
 public:
  runtime_state(runtime& interface, std::shared_ptr<boot::bootstrap> bootstrap, const runtime_options& options);
  ~runtime_state();

  /// Makes what needs the interface: the default device and the barrier. Collective; called once.
  void start();

  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] const runtime_attributes& attributes() const noexcept { return attributes_; }
  [[nodiscard]] runtime_counters counters() noexcept;
  [[nodiscard]] device& default_device() noexcept { return *default_device_; }
  [[nodiscard]] device_state& default_state() noexcept { return *devices_[0]; }
  [[nodiscard]] core::barrier& barrier() noexcept { return *barrier_; }
  /// Threads wait for it that wait for a barrier or a flush.
  [[nodiscard]] const completion& own_object() const noexcept { return *barrier_; }
  [[nodiscard]] std::uint32_t queue_capacity() const noexcept { return queue_capacity_; }

  // Registered completion objects.
  void register_completion(completion& target, std::uint32_t id, buffer_allocator* allocator);
  void register_internal(completion& target, std::uint32_t id);

  // Completion objects that live; checked when the runtime goes.
  // [object.made] relaxed: the thread that destroys the runtime has seen the ends of its objects.
  void object_made() noexcept { objects_.fetch_add(1, std::memory_order_relaxed); }
  void object_gone(const completion& object) noexcept;
  /// **Errors**: invalid_argument for an object of another runtime.
  void check_object(const char* call, const completion& local) const {
    if (&local.runtime() != interface_) [[unlikely]]
      refuse_object(call);
  }

  // Devices.
  [[nodiscard]] device_state& open_device(const device_options& options);

  // For devices.
  [[nodiscard]] core::shared_devices& shared_devices() noexcept { return shared_devices_; }
  [[nodiscard]] packet_pool& packets() noexcept { return *packets_; }
  [[nodiscard]] operation_pool& posts() noexcept { return sets_[static_cast<std::size_t>(operation_set::posts)]; }
  [[nodiscard]] operation_pool& arrivals() noexcept { return sets_[static_cast<std::size_t>(operation_set::arrivals)]; }
  [[nodiscard]] operation_pool& receives() noexcept { return sets_[static_cast<std::size_t>(operation_set::receives)]; }
  [[nodiscard]] operation_pool& late_receives() noexcept {
    return sets_[static_cast<std::size_t>(operation_set::late_receives)];
  }
  void put_back(operation_state& done) noexcept {
    forget(done);
    sets_[static_cast<std::size_t>(done.set)].put(done);
  }
  /// The operation, of whatever set, that `peer` names by `ticket`, if it is at step `expected`.
  [[nodiscard]] operation_state* find_operation(std::uint64_t ticket, std::uint32_t peer, step expected) noexcept {
    const std::size_t set = operation_pool::set_of(ticket);
    return set < operation_sets ? sets_[set].find(ticket, peer, expected) : nullptr;
  }

  /// The operation that `note` was made of, if it waits for an answer of `peer`'s; once, and the caller's from then on.
  [[nodiscard]] operation_state* claim(std::uint32_t note, std::uint32_t peer) noexcept;

  // What a flush waits for (flush.cpp).
  void await(operation_state& operation) noexcept {
    if (std::exchange(operation.awaited, true)) return;
    // [flush.await] relaxed: the same thread may flush; another one that does has been told of the post.
    awaited_[operation.peer].fetch_add(1, std::memory_order_relaxed);
  }
  void forget(operation_state& operation) noexcept {
    if (!std::exchange(operation.awaited, false)) return;
    // [flush.through] release -> [flush.wait]: what the operation's answer told.
    if (awaited_[operation.peer].fetch_sub(1, std::memory_order_release) == 1) wake_flushes();
  }
  /// Whether all operations that a flush of `peer` waits for are complete. **Errors**: those of `device::flush`.
  [[nodiscard]] bool try_flush(std::uint32_t peer);
  [[nodiscard]] bool is_flushed(std::uint32_t peer) const noexcept {
    // [flush.wait] acquire <- [flush.through]: all that was awaited is through.
    return awaited_[peer].load(std::memory_order_acquire) == 0;
  }
  // [flush.failure] relaxed: before [flush.through], which a flush sees first.
  void note_failure(std::uint32_t peer) noexcept { failed_[peer].fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t take_failures(std::uint32_t peer) noexcept {
    // [flush.failures] relaxed: after [flush.wait], which shows what comes before the end of each operation.
    return failed_[peer].exchange(0, std::memory_order_relaxed);
  }

  // Ranks that nothing more can be sent to (lost_message.cpp).
  /// The first cause stays; it is logged. **Threads**: any.
  void cut_off(std::uint32_t peer, const char* cause, base::log_level level) noexcept;
  [[nodiscard]] bool is_cut_off(std::uint32_t peer) const noexcept {
    // [peer.is_cut_off] acquire <- [peer.cut_off]: the text of the cause.
    return cut_off_[peer].load(std::memory_order_acquire) != nullptr;
  }
  /// **Errors**: transport_failed with rank and cause, if that rank is cut off; nothing otherwise.
  void refuse_if_cut_off(std::string_view call, std::uint32_t peer) const;

  // Waiting.
  /// **Errors**: invalid_state, where the calling thread is inside a handler or hook of this runtime, or in a node.
  void refuse_inside_handler(const char* call, device_state& through) const;
  [[nodiscard]] descriptor_state& descriptor();
  [[nodiscard]] const core::neighbours& neighbours() const noexcept { return neighbours_; }
  [[nodiscard]] core::parking& parking() noexcept { return parking_; }
  /// After each signal of a completion object, which may be gone by now.
  [[gnu::always_inline]] void signalled(const completion* object) noexcept { parking_.signalled(object); }

  // Matching.
  [[nodiscard]] matching_table& matching() noexcept { return matching_; }
  [[nodiscard]] core::unexpected_sends& unexpected_sends() noexcept { return unexpected_sends_; }
  [[nodiscard]] const detail::id_table<>& engines() const noexcept { return engines_; }
  [[nodiscard]] detail::id_entry find_engine(std::uint32_t id) noexcept {
    if (id == default_matching_engine) [[likely]]
      return {detail::presence::present, &default_engine_};
    return engines_.look_up(id);
  }
  /// The same for threads that are in no poll.
  [[nodiscard]] detail::id_entry find_engine_outside(std::uint32_t id) noexcept {
    if (id == default_matching_engine) [[likely]]
      return {detail::presence::present, &default_engine_};
    return engine_readers_.read([&] { return engines_.look_up(id); });
  }
  /// For other looks at engines of threads that are in no poll.
  [[nodiscard]] brief_readers& engine_readers() noexcept { return engine_readers_; }
  /// Engines that are there, and entries of completion objects that are there or still needed. For tests.
  [[nodiscard]] std::size_t named_objects() {
    const std::scoped_lock lock{registering_};
    return engine_states_.size() + entries_.size() + leaving_.size();
  }
  [[nodiscard]] engine_state& default_engine() noexcept { return default_engine_; }
  [[nodiscard]] engine_state& make_engine(const matching_engine_options& options);

  // Long copies.
  [[nodiscard]] copy_shares& shares() noexcept { return *shares_; }

  // Regions.
  [[nodiscard]] region_table& regions() noexcept { return *regions_; }
  [[nodiscard]] std::uint64_t job() const noexcept { return job_; }
  [[nodiscard]] kept_messages& kept() noexcept { return kept_; }
  [[nodiscard]] const detail::id_table<>& remote_completions() const noexcept { return remote_completions_; }
  [[nodiscard]] std::vector<std::unique_ptr<net::transport>>& transports() noexcept { return transports_; }
  void count_refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }  // [stat]
  void count_dropped() noexcept { dropped_.fetch_add(1, std::memory_order_relaxed); }  // [stat]

 private:
  friend class polls_under_way;
  friend class end_of_name;
  friend class end_of_registration;
  friend class end_of_engine;
  friend class end_of_device;

  [[nodiscard]] remote_entry* add_entry(completion& target, std::uint32_t id, buffer_allocator* allocator);
  void remove_entry(completion& target, std::uint32_t id) noexcept;
  void wake_flushes() noexcept;
  [[noreturn]] static void refuse_object(const char* call);
  void print_counters(device_state& gone) const noexcept;
  [[nodiscard]] bool has_payloads_out() noexcept;
  void make_packets(const base::settings& settings);
  void share_sleep_words() noexcept;
  void propose_job(const std::string& name);
  void learn_job();

  runtime* interface_;
  std::shared_ptr<boot::bootstrap> bootstrap_;
  std::uint32_t rank_;
  std::uint32_t size_;
  runtime_attributes attributes_{};
  std::uint32_t queue_capacity_;
  bool print_counters_;

  std::vector<std::unique_ptr<net::transport>> transports_;
  std::unique_ptr<std::byte, void (*)(std::byte*)> own_packet_memory_;
  net::sleep_words own_sleepers_;  // where no transport has some
  core::neighbours neighbours_;
  core::parking parking_;
  std::unique_ptr<packet_pool> packets_;
  std::array<operation_pool, operation_sets> sets_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> awaited_;  // by rank: operations that a flush waits for
  std::unique_ptr<std::atomic<std::uint32_t>[]> failed_;   // by rank: those that failed after they were done here
  std::unique_ptr<std::atomic<const char*>[]> cut_off_;    // by rank: why nothing can be sent there; null where it can
  matching_table matching_;
  core::unexpected_sends unexpected_sends_;
  engine_state default_engine_;
  std::unique_ptr<region_table> regions_;
  std::unique_ptr<copy_shares> shares_;
  std::uint64_t job_ = 0;
  std::string job_key_;
  kept_messages kept_;

  std::mutex registering_;
  // By id, which serves once.
  std::map<std::uint32_t, remote_entry> entries_;
  std::map<std::uint32_t, remote_entry> leaving_;  // withdrawn, with memory in records
  std::size_t leaving_max_ = 16;                   // before the next look at them
  std::map<std::uint32_t, engine_state> engine_states_;
  brief_readers engine_readers_;
  std::uint32_t next_engine_ = matching_engine_ids_max;
  detail::id_table<> engines_;
  detail::id_table<> remote_completions_;

  std::mutex devices_mutex_;
  std::vector<std::unique_ptr<device_state>> devices_;  // by index; null where there is none
  std::vector<bool> adopted_;                           // by index; served by device 0
  core::shared_devices shared_devices_;

  std::atomic<std::uint32_t> objects_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> dropped_{0};

  std::unique_ptr<device> default_device_;
  std::mutex descriptor_mutex_;
  std::unique_ptr<descriptor_state> descriptor_;  // made when it is first asked for
  std::unique_ptr<core::barrier> barrier_;
};

/// Ends the process with a line that says which rule of use was broken. For what can't be an exception.
[[noreturn]] void misuse(const char* what) noexcept;

}  // namespace weft::core
