// The state of a runtime.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "base/misuse.hpp"
#include "boot/bootstrap.hpp"
#include "core/device/device_state.hpp"
#include "core/matching/kept_messages.hpp"
#include "core/matching/matching_table.hpp"
#include "core/matching/unexpected_sends.hpp"
#include "core/memory/packet_pool.hpp"
#include "core/operation/operation_state.hpp"
#include "core/operation/operations.hpp"
#include "core/runtime/barrier.hpp"
#include "core/runtime/copy_states.hpp"
#include "core/runtime/devices.hpp"
#include "core/runtime/engines.hpp"
#include "core/runtime/peer_ends.hpp"
#include "core/runtime/peers.hpp"
#include "core/runtime/regions.hpp"
#include "core/runtime/registrations.hpp"
#include "core/runtime/replies.hpp"
#include "core/runtime/runtime_witness.hpp"
#include "core/wait/descriptor_state.hpp"
#include "core/wait/neighbours.hpp"
#include "core/wait/parking.hpp"
#include "net/transport.hpp"
#include "weft/completion.hpp"
#include "weft/detail/copy_mark.hpp"
#include "weft/runtime.hpp"

namespace weft::core {

class runtime_state {
 public:
  runtime_state(runtime& interface, std::shared_ptr<boot::bootstrap> bootstrap, const runtime_options& options);
  ~runtime_state();

  /// Makes the members that need the interface: the default device and the barrier. Collective; called once.
  void start();

  /// Whether this is the copy in a child of fork(), whose parent has the runtime still. Destructors of what was made
  /// from it do nothing in the child (docs/decisions/forks.md).
  [[nodiscard]] bool is_copy() const noexcept { return copy_.is_copy(); }
  /// Called first by functions that take a lock, which a thread of the parent may have held at the fork.
  void refuse_copies() const noexcept {
    if (is_copy()) [[unlikely]]
      base::refuse_to_child("a runtime");
  }
  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] const runtime_attributes& attributes() const noexcept { return attributes_; }
  [[nodiscard]] runtime_counters counters() noexcept;
  /// What a device has counted, for people.
  [[nodiscard]] std::string counters_text(std::uint32_t index, device_state& of) const;
  /// Writes the counters of a device that is being destroyed to the log, if the settings ask for it.
  void print_counters(device_state& gone) const noexcept;
  [[nodiscard]] device& default_device() noexcept { return *default_device_; }
  [[nodiscard]] core::barrier& barrier() noexcept { return *barrier_; }
  [[nodiscard]] core::replies& replies() noexcept { return *replies_; }
  /// The object on which threads wait for a barrier or a flush.
  [[nodiscard]] const completion& own_object() const noexcept { return *barrier_; }
  [[nodiscard]] std::uint32_t queue_capacity() const noexcept { return queue_capacity_; }

  /// **Errors**: those of `registrations::add`.
  void register_completion(completion& target, std::uint32_t id, buffer_allocator* allocator);

  // The number of completion objects; checked when the runtime is destroyed.
  // [object.made] relaxed: the thread that destroys the runtime has seen the ends of its objects.
  void object_made() noexcept { objects_.fetch_add(1, std::memory_order_relaxed); }
  void object_gone(const completion& object) noexcept;
  /// **Errors**: invalid_argument for an object of another runtime.
  void check_object(const char* call, const completion& local) const {
    if (&local.runtime() != interface_) [[unlikely]]
      refuse_object(call);
  }

  // Registries.
  [[nodiscard]] core::devices& devices() noexcept { return devices_; }
  [[nodiscard]] device_state& default_state() noexcept { return devices_.standard(); }
  [[nodiscard]] core::registrations& registrations() noexcept { return registrations_; }
  [[nodiscard]] core::engines& engines() noexcept { return engines_; }
  [[nodiscard]] engine_state& make_engine(const matching_engine_options& options);
  [[nodiscard]] core::peers& peers() noexcept { return peers_; }
  [[nodiscard]] core::peer_ends& peer_ends() noexcept { return peer_ends_; }
  [[nodiscard]] region_table& regions() noexcept { return *regions_; }
  [[nodiscard]] packet_pool& packets() noexcept { return *packets_; }
  [[nodiscard]] core::operations& operations() noexcept { return operations_; }
  void put_back(operation_state& done) noexcept {
    forget(done);
    operations_.put(done);
  }

  // Operations that a flush waits for.
  void await(operation_state& operation) noexcept {
    if (!std::exchange(operation.sending.is_awaited, true)) peers_.await(operation.peer);
  }
  void forget(operation_state& operation) noexcept {
    if (std::exchange(operation.sending.is_awaited, false) && peers_.forget(operation.peer)) wake_flushes();
  }
  /// Wakes threads that wait for a barrier or a flush.
  void wake_flushes() noexcept;

  // Waiting.
  [[nodiscard]] descriptor_state& descriptor();
  [[nodiscard]] const core::neighbours& neighbours() const noexcept { return neighbours_; }
  [[nodiscard]] core::parking& parking() noexcept { return parking_; }
  /// Called after each signal of a completion object, which may have been destroyed by now.
  [[gnu::always_inline]] void signalled(const completion* object) noexcept { parking_.signalled(object); }

  // Matching.
  [[nodiscard]] matching_table& matching() noexcept { return matching_; }
  [[nodiscard]] core::unexpected_sends& unexpected_sends() noexcept { return unexpected_sends_; }
  /// Messages for ids that are not registered yet.
  [[nodiscard]] kept_messages& kept() noexcept { return kept_; }

  /// Copy states of long messages that both sides copy.
  [[nodiscard]] core::copy_states& copy_states() noexcept { return *copy_states_; }
  /// The job's number, which remote handles carry.
  [[nodiscard]] std::uint64_t job() const noexcept { return job_; }
  [[nodiscard]] std::vector<std::unique_ptr<net::transport>>& transports() noexcept { return transports_; }
  void count_refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }  // [stat]
  void count_dropped() noexcept { dropped_.fetch_add(1, std::memory_order_relaxed); }  // [stat]

 private:
  [[noreturn]] static void refuse_object(const char* call);
  [[nodiscard]] bool has_payloads_out() noexcept;
  void assert_consistent() noexcept;
  void make_packets(const base::settings& settings);
  void choose_sleep_words() noexcept;
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
  net::sleep_words own_sleepers_;  // used if no transport has sleep words
  core::neighbours neighbours_;
  core::parking parking_;
  std::unique_ptr<packet_pool> packets_;
  core::operations operations_;
  core::peers peers_;
  core::peer_ends peer_ends_{*this};
  matching_table matching_;
  core::unexpected_sends unexpected_sends_;
  core::engines engines_;
  core::registrations registrations_;
  std::unique_ptr<region_table> regions_;
  std::unique_ptr<core::copy_states> copy_states_;
  std::uint64_t job_ = 0;
  std::string job_key_;
  kept_messages kept_;

  core::devices devices_;

  std::atomic<std::uint32_t> objects_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> dropped_{0};

  std::unique_ptr<device> default_device_;
  std::mutex descriptor_mutex_;
  std::unique_ptr<descriptor_state> descriptor_;  // made when it is first asked for
  std::unique_ptr<core::barrier> barrier_;
  std::unique_ptr<core::replies> replies_;
  detail::copy_mark copy_;
  std::unique_ptr<runtime_witness> witness_;  // from the start on
};

}  // namespace weft::core
