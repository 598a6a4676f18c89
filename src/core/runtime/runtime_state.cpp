#include "core/runtime/runtime_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/assertion.hpp"
#include "base/backoff.hpp"
#include "base/callback_scope.hpp"
#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/log.hpp"
#include "base/long_wait.hpp"
#include "base/misuse.hpp"
#include "base/random.hpp"
#include "base/this_suspender.hpp"
#include "core/runtime/unwinding.hpp"
#include "net/packet_stride.hpp"
#include "net/transports.hpp"

namespace weft::core {

namespace {

// The receives that may be posted, plus the receives that devices of one thread's own keep (not the default device).
std::uint32_t receives_in_all(const base::settings& settings) noexcept {
  return settings.receives_max + (settings.devices_max - 1) * spare_receives_of(settings.receives_max);
}

// How long another thread's handler may take where a handler destroys its object.
constexpr std::chrono::seconds own_signal_max{5};

// A signal that a thread has seen is about to end. Inside a callback it may be the one that the callback is part of:
// then the wait would have no end.
void wait_for_signals(const completion& gone) noexcept {
  const auto until = base::clock::now() + own_signal_max;
  base::slow_wait listed{"the destructor of a completion object, for the end of a signal"};
  for (base::backoff waiting; gone.outstanding() != 0;) {
    base::yield_or_pause(waiting);
    listed.note(waiting);
    if (base::callback_scope::is_inside() && base::clock::now() > until) {
      base::misuse(
          "a completion object is destroyed inside its own handler, perhaps as a static object by an exit() there");
    }
  }
}

// What rank 0 publishes, and all ranks take or compare.
struct job_proposal {
  std::uint64_t job;
  std::uint64_t regions_max;
};

}  // namespace

runtime_state::runtime_state(runtime& interface, std::shared_ptr<boot::bootstrap> bootstrap,
                             const runtime_options& options)
    : interface_{&interface},
      bootstrap_{std::move(bootstrap)},
      rank_{bootstrap_->rank()},
      size_{bootstrap_->size()},
      queue_capacity_{base::process_settings().queue_capacity},
      print_counters_{base::process_settings().print_counters},
      own_packet_memory_{nullptr, nullptr},
      operations_{base::process_settings().operations_max, receives_in_all(base::process_settings())},
      peers_{size_},
      matching_{base::matching_bucket_count(base::process_settings())},
      unexpected_sends_{base::process_settings().unexpected_sends_max, base::process_settings().unexpected_packets_max,
                        size_},
      engines_{size_},
      kept_{base::process_settings().unexpected_bytes_max} {
  const base::settings& settings = base::process_settings();
  prepare_fences();
  const net::transport_context context{*bootstrap_, settings, fmt::format("runtime{}", bootstrap_->next_runtime())};
  transports_ = net::make_transports(context);
  peer_ends_.expect(size_);
  make_packets(settings);
  choose_sleep_words();
  neighbours_.find(transports_, rank_, size_);
  if (options.bind.value_or(settings.bind == base::bind_kind::automatic)) neighbours_.divide_cores();
  parking_.expect_company(neighbours_.has_company());
  regions_ = std::make_unique<region_table>(rank_, size_, transports_, settings.regions_max);
  copy_states_ = std::make_unique<core::copy_states>(*regions_, rank_);
  propose_job(context.name);
  std::uint32_t devices_max = settings.devices_max;
  for (const auto& transport : transports_) devices_max = std::min(devices_max, transport->devices_max());
  attributes_ = {.packet_count = settings.packet_count,
                 .packet_bytes = static_cast<std::uint32_t>(settings.packet_bytes),
                 .inject_bytes_max = detail::inline_bytes_max,
                 .ring_cells = settings.ring_cells,
                 .operations_max = settings.operations_max,
                 .receives_max = settings.receives_max,
                 .devices_max = devices_max,
                 .matching_buckets = base::matching_bucket_count(settings),
                 .queue_capacity = settings.queue_capacity,
                 .unexpected_sends_max = settings.unexpected_sends_max,
                 .unexpected_packets_max = settings.unexpected_packets_max,
                 .foreign_packets_max = settings.foreign_packets_max,
                 .unexpected_bytes_max = settings.unexpected_bytes_max,
                 .regions_max = settings.regions_max,
                 .shared_bytes = settings.shared_bytes,
                 .progress_policy = settings.policy};
  devices_.set_room(devices_max);
}

void runtime_state::start() {
  default_device_ = std::make_unique<device>(*interface_);
  barrier_ = std::make_unique<core::barrier>(*interface_);
  replies_ = std::make_unique<core::replies>(*interface_, attributes_);
  registrations_.add_internal(*barrier_, barrier::id);
  kept_.registered(barrier::id);
  bootstrap_->fence();  // every rank's device 0 takes messages from here on
  if (size_ > 1) learn_job();
  witness_ = std::make_unique<runtime_witness>(*this);
}

runtime_state::~runtime_state() {
  witness_.reset();
  descriptor_.reset();
  if (replies_ && !is_copy() && replies_->has_unfetched()) {
    base::misuse(
        "a runtime is destroyed while a peer has yet to fetch a long reply: call flush() before its end, as a barrier "
        "does "
        "not wait for that");
  }
  barrier_.reset();
  default_device_.reset();
  replies_.reset();  // the device's end has tried to send what was kept
  if (!devices_.is_empty()) base::misuse("a runtime is destroyed before a device that was made from it");
  if (objects_.load(std::memory_order_relaxed) != 0) {  // [own] the runtime is destroyed after its objects
    base::misuse("a runtime is destroyed before a completion object that was made from it");
  }
  if (engines_.count() != 0) base::misuse("a runtime is destroyed before a matching engine that was made from it");
  if (packets_->taken() != 0) base::misuse("a runtime is destroyed before a packet that was taken from it");
  if (has_payloads_out()) {
    base::misuse("a runtime is destroyed before a record, or a message that a probe has found, whose bytes lie in it");
  }
  if (regions_ && !regions_->is_empty())
    base::misuse("a runtime is destroyed before a memory region that was made from it");
  assert_consistent();
}

// Conditions that hold at the end, whatever the user and the peers have done.
void runtime_state::assert_consistent() noexcept {
  WEFT_ASSERT(parking_.is_empty());
  WEFT_ASSERT(kept_.is_consistent());
  WEFT_ASSERT(unexpected_sends_.budget().is_consistent());
  WEFT_ASSERT_CHECKED(operations_.are_consistent());
  WEFT_ASSERT_CHECKED(packets_->is_consistent());
  WEFT_ASSERT_CHECKED(matching_.count().unseen_buckets == 0);  // no thread has left one locked
}

// Whether the user still has memory of arrived messages: of long messages, packets or receive buffers. Unexpected
// messages do not count. They are not given back: the transport that owns their memory may be destroyed.
bool runtime_state::has_payloads_out() noexcept {
  if (registrations_.have_memory_out()) return true;
  auto out = static_cast<std::int64_t>(packets_->lent());
  for (const auto& transport : transports_) out += transport->counted().payloads_out;
  if (out == 0) return false;  // the table is large
  static_cast<void>(matching_.for_each([&](const match_node& node) {
    if (node.side != match_side::send) return;
    const auto& message = static_cast<const unexpected_message&>(static_cast<const ordered_message&>(node));
    if (message.arrival.owner != nullptr) --out;
  }));
  return out != 0;
}

// A number that tells this runtime's job from all others; remote handles are checked against it.
void runtime_state::propose_job(const std::string& name) {
  job_key_ = name + ".job";
  job_ = base::random_word();
  const job_proposal mine{job_, base::process_settings().regions_max};
  if (rank_ == 0 && size_ > 1) bootstrap_->put(job_key_, {reinterpret_cast<const char*>(&mine), sizeof mine});
}

// Called after a fence of the bootstrap.
void runtime_state::learn_job() {
  const std::string agreed = bootstrap_->get(0, job_key_);
  job_proposal theirs{};
  if (agreed.size() != sizeof theirs) {
    throw error{errc::boot_failed, "rank 0 published no name of the job: do all ranks use the same version of Weft?"};
  }
  std::memcpy(&theirs, agreed.data(), sizeof theirs);
  job_ = theirs.job;
  const std::uint32_t mine = base::process_settings().regions_max;
  if (theirs.regions_max != mine) {  // a peer finds a region by its place in a table of that size
    throw error{errc::configuration,
                fmt::format("rank {} has WEFT_REGIONS_MAX={} and rank 0 has {}: give all ranks the same", rank_, mine,
                            theirs.regions_max)};
  }
}

engine_state& runtime_state::make_engine(const matching_engine_options& options) {
  refuse_copies();
  engine_state& made = engines_.make(options, rank_, size_);
  kept_.registered(made.id, true);
  parking_.wake_everybody();  // to deliver messages that have come for it already
  return made;
}

void runtime_state::register_completion(completion& target, std::uint32_t id, buffer_allocator* allocator) {
  refuse_copies();
  registrations_.add(target, id, allocator, rank_);
  kept_.registered(id);
  parking_.wake_everybody();
}

void runtime_state::wake_flushes() noexcept { signalled(barrier_.get()); }

void runtime_state::make_packets(const base::settings& settings) {
  std::byte* memory = nullptr;
  net::memory_sharing* lender = nullptr;
  for (const auto& transport : transports_) {
    if ((lender = transport->sharing()) != nullptr) break;
  }
  if (lender != nullptr) {
    memory = lender->packet_memory();
  } else {
    // Pages that are never used take no memory, so a rank alone in its job may allocate all packets.
    const std::size_t bytes = net::packet_stride(settings.packet_bytes) * settings.packet_count;
    memory = static_cast<std::byte*>(std::aligned_alloc(detail::cache_line_bytes, bytes));
    if (memory == nullptr) {
      throw error{errc::out_of_memory, fmt::format("no memory for {} packets of {} bytes; lower WEFT_PACKET_COUNT",
                                                   settings.packet_count, settings.packet_bytes)};
    }
    own_packet_memory_ = {memory, [](std::byte* mine) { std::free(mine); }};
  }
  packets_ =
      std::make_unique<packet_pool>(memory, settings.packet_count, static_cast<std::uint32_t>(settings.packet_bytes));
  if (lender != nullptr) packets_->reclaim_from(*lender);
  for (const auto& transport : transports_) transport->use_packets(*packets_);
}

void runtime_state::choose_sleep_words() noexcept {
  net::sleep_words* words = nullptr;
  bool wakes_for_all = true;
  for (const auto& transport : transports_) {
    net::memory_sharing* const sharing = transport->sharing();
    if (words == nullptr && sharing != nullptr) words = &sharing->shared_sleep_words();
    wakes_for_all = wakes_for_all && transport->wakes_sleepers();
  }
  if (words == nullptr) words = &own_sleepers_;
  for (const auto& transport : transports_) transport->use_sleep_words(*words);
  parking_.use(*words, wakes_for_all);
}

std::string runtime_state::counters_text(std::uint32_t index, device_state& of) const {
  return fmt::format("rank {} counted on device {}: {}", rank_, index, to_text(of.counts().read()));
}

void runtime_state::print_counters(device_state& gone) const noexcept {
  if (!print_counters_) return;
  try {
    base::write_log_line(base::log_level::info, counters_text(gone.index(), gone));
  } catch (...) {  // no memory for a report: it is left out
  }
}

runtime_counters runtime_state::counters() noexcept {
  runtime_counters out;
  out.messages_dropped = dropped_.load(std::memory_order_relaxed);  // [stat]
  out.messages_refused = refused_.load(std::memory_order_relaxed);  // [stat]
  for (const auto& transport : transports_) {
    const net::transport_counts counted = transport->counted();
    const net::fault_counts& faults = counted.faults;
    out.messages_refused += counted.refused;
    out.faults_delayed += faults.delayed;
    out.faults_reordered += faults.reordered;
    out.faults_refused += faults.full + faults.busy;
    out.faults_denied += faults.unavailable + faults.unmapped;
    out.faults_failed += faults.failed_reads + faults.failed_writes + faults.gone_reads + faults.gone_writes;
    out.fabric_messages += counted.traffic.messages;
    out.fabric_bytes += counted.traffic.bytes;
  }
  out.messages_unexpected = kept_.count();
  const match_counts waiting = matching_.count();
  out.receives_waiting = waiting.receives;
  out.sends_waiting = waiting.sends;
  return out;
}

void runtime_state::refuse_object(const char* call) {
  throw error{errc::invalid_argument,
              fmt::format("{}: the completion object was made from another runtime than the device", call)};
}

void runtime_state::object_gone(const completion& object) noexcept {
  if (is_copy()) return;  // its signals are its parent's
  unwinding::cancel_signals(*this, object);
  if (promise::open(object) != 0) {
    base::misuse("a completion object is destroyed while operations that will signal it are under way");
  }
  if (object.outstanding() != 0) wait_for_signals(object);
  if (core::registrations::are_of(object)) {
    base::misuse("a completion object is destroyed before its registration: declare the registration after the object");
  }
  // [object.gone] relaxed: as [object.made] says.
  objects_.fetch_sub(1, std::memory_order_relaxed);
}

descriptor_state& runtime_state::descriptor() {
  refuse_copies();
  const std::scoped_lock lock{descriptor_mutex_};
  if (!descriptor_) descriptor_ = std::make_unique<descriptor_state>(*this, default_state());
  return *descriptor_;
}

}  // namespace weft::core
