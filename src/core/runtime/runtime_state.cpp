#include "core/runtime/runtime_state.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/assertion.hpp"
#include "base/backoff.hpp"
#include "base/config.hpp"
#include "base/last_error.hpp"
#include "base/log.hpp"
#include "base/memory_limit.hpp"
#include "base/random.hpp"
#include "base/this_suspender.hpp"
#include "core/device/inside_node.hpp"
#include "net/packet_stride.hpp"
#include "net/transports.hpp"

namespace weft::core {

namespace {

// What may be posted, and what devices of one thread's own keep at hand, which all but the default device may be.
std::uint32_t receives_in_all(const base::settings& settings) noexcept {
  return settings.receives_max + (settings.devices_max - 1) * spare_receives_of(settings.receives_max);
}

// Receives that are through as soon as their message is copied, and for which there was no other place.
constexpr std::uint32_t late_receives_max = 64;

// Makes an object and gives it the name `id`; null where that is or was another one's.
template <class Object, class... Arguments>
Object* add_named(std::map<std::uint32_t, Object>& objects, detail::id_table<>& names, std::uint32_t id,
                  Arguments&&... of) {
  const auto [made, is_new] = objects.try_emplace(id, std::forward<Arguments>(of)...);
  if (!is_new) return nullptr;
  try {
    if (names.insert(id, &made->second)) return &made->second;
  } catch (...) {
    objects.erase(made);
    throw;
  }
  objects.erase(made);
  return nullptr;
}

}  // namespace

void misuse(const char* what) noexcept {
  // What is wrong now may be the consequence: scopes are left with operations under way.
  if (const char* const text = base::error_on_its_way(); text != nullptr) {
    base::log_error("an exception is leaving the scope; this thread's last error of Weft's: {}",
                    *text != '\0' ? text : "none, so it is another's: catch it where operations are under way");
  }
  base::log_error("wrong use: {}", what);
  std::abort();
}

void* allocator_owner::allocate(std::uint64_t bytes, std::uint32_t source, std::uint64_t tag) noexcept {
  // libstdc++ rounds the size up to the alignment: 2^64 - 1 becomes 0, and a block of 24 bytes is the answer. What
  // users write on top of malloc may well do the same.
  if (bytes > buffer_bytes_max) return nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  void* const out = allocator_ != nullptr
                        ? allocator_->allocate(size, source, tag)
                        : ::operator new (size, std::align_val_t{detail::cache_line_bytes}, std::nothrow);
  // [owner.give] relaxed: it comes back after it was given, so [owner.back] comes after this.
  if (out != nullptr) given_.fetch_add(1, std::memory_order_relaxed);
  return out;
}

bool allocator_owner::is_beyond_all(std::uint64_t bytes) const noexcept {
  constexpr std::uint64_t asked_from = std::uint64_t{64} << 20;  // the system is not asked for each message
  return bytes >= asked_from && allocator_ == nullptr && bytes > base::memory_limit();
}

void allocator_owner::release(void* data, std::size_t bytes) noexcept {
  if (allocator_ != nullptr) {
    allocator_->deallocate(data, bytes);
  } else {
    ::operator delete (data, std::align_val_t{detail::cache_line_bytes});
  }
  // [owner.back] release -> [owner.all_back]: the last access; a thread that sees it may destroy the owner.
  given_.fetch_sub(1, std::memory_order_release);
}

runtime_state::runtime_state(runtime& interface, std::shared_ptr<boot::bootstrap> bootstrap,
                             const runtime_options& options)
    : interface_{&interface},
      bootstrap_{std::move(bootstrap)},
      rank_{bootstrap_->rank()},
      size_{bootstrap_->size()},
      queue_capacity_{base::process_settings().queue_capacity},
      print_counters_{base::process_settings().print_counters},
      own_packet_memory_{nullptr, nullptr},
      sets_{operation_pool{operation_set::posts, base::process_settings().operations_max},
            operation_pool{operation_set::arrivals, base::process_settings().operations_max},
            operation_pool{operation_set::receives, receives_in_all(base::process_settings())},
            operation_pool{operation_set::late_receives, late_receives_max}},
      awaited_{std::make_unique<std::atomic<std::uint32_t>[]>(size_)},
      failed_{std::make_unique<std::atomic<std::uint32_t>[]>(size_)},
      cut_off_{std::make_unique<std::atomic<const char*>[]>(size_)},
      matching_{base::matching_bucket_count(base::process_settings())},
      unexpected_sends_{base::process_settings().unexpected_sends_max, base::process_settings().unexpected_packets_max,
                        size_},
      default_engine_{default_matching_engine, {}, size_},
      kept_{base::process_settings().unexpected_bytes_max} {
  const base::settings& settings = base::process_settings();
  prepare_fences();
  const net::transport_context context{*bootstrap_, settings, fmt::format("runtime{}", bootstrap_->next_runtime())};
  transports_ = net::make_transports(context);
  make_packets(settings);
  share_sleep_words();
  neighbours_.find(transports_, rank_, size_);
  if (options.bind.value_or(settings.bind == base::bind_kind::shares)) neighbours_.share_out();
  parking_.expect_company(neighbours_.has_company());
  regions_ = std::make_unique<region_table>(rank_, size_, transports_);
  shares_ = std::make_unique<copy_shares>(*regions_, rank_);
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
                 .shared_bytes = settings.shared_bytes,
                 .progress_policy = settings.policy};
  devices_.resize(devices_max);
  adopted_.resize(devices_max);
}

void runtime_state::start() {
  default_device_ = std::make_unique<device>(*interface_);
  barrier_ = std::make_unique<core::barrier>(*interface_);
  register_internal(*barrier_, barrier::id);
  bootstrap_->fence();  // every rank's device 0 takes messages from here on
  if (size_ > 1) learn_job();
}

runtime_state::~runtime_state() {
  descriptor_.reset();
  barrier_.reset();
  default_device_.reset();
  for (const auto& left : devices_) {
    if (left) misuse("a runtime is destroyed before a device that was made from it");
  }
  if (objects_.load(std::memory_order_relaxed) != 0) {  // [own] the runtime is destroyed after its objects
    misuse("a runtime is destroyed before a completion object that was made from it");
  }
  if (!engine_states_.empty()) misuse("a runtime is destroyed before a matching engine that was made from it");
  if (packets_->taken() != 0) misuse("a runtime is destroyed before a packet that was taken from it");
  if (has_payloads_out()) {
    misuse("a runtime is destroyed before a record, or a message that a probe has found, whose bytes lie in it");
  }
  if (regions_ && !regions_->is_empty()) misuse("a runtime is destroyed before a memory region that was made from it");
}

// Memory of messages that came, in the hands of the user: of long ones, and in packets and receive buffers, but for
// those of messages that nobody has asked for. These are not given back: whose they are may be gone.
bool runtime_state::has_payloads_out() noexcept {
  const auto has_all_back = [](const auto& named) { return named.second.owner.has_all_back(); };
  if (!std::ranges::all_of(entries_, has_all_back) || !std::ranges::all_of(leaving_, has_all_back)) return true;
  auto out = static_cast<std::int64_t>(packets_->lent());
  for (const auto& transport : transports_) out += transport->counted().payloads_out;
  if (out == 0) return false;  // the table is large
  static_cast<void>(matching_.for_each([&](const match_node& node) {
    if (node.side != match_side::send) return;
    const auto& message = static_cast<const unexpected_message&>(static_cast<const ordered_message&>(node));
    if (message.what.owner != nullptr) --out;
  }));
  return out != 0;
}

// A number that tells this runtime's job from all others: what remote handles are checked against.
void runtime_state::propose_job(const std::string& name) {
  job_key_ = name + ".job";
  job_ = base::random_word();
  if (rank_ == 0 && size_ > 1) bootstrap_->put(job_key_, {reinterpret_cast<const char*>(&job_), sizeof job_});
}

// After a fence.
void runtime_state::learn_job() {
  const std::string agreed = bootstrap_->get(0, job_key_);
  if (agreed.size() != sizeof job_) {
    throw error{errc::boot_failed, "rank 0 published no name of the job: do all ranks use the same version of Weft?"};
  }
  std::memcpy(&job_, agreed.data(), sizeof job_);
}

engine_state& runtime_state::make_engine(const matching_engine_options& options) {
  if (options.ordered && options.make_key != nullptr) {
    throw error{errc::invalid_argument,
                "matching_engine: an ordered engine matches by rank and tag, not by a key of "
                "the user's"};
  }
  if (options.receiver_first && (options.ordered || options.make_key != nullptr)) {
    throw error{errc::invalid_argument,
                "matching_engine: a receiver-first engine matches by rank and tag, which its receives name: it is not "
                "`.ordered` and has no key of the user's"};
  }
  engine_state* made = nullptr;
  {
    const std::scoped_lock lock{registering_};
    const std::uint32_t id = options.id ? *options.id : next_engine_++;
    if (options.id && id >= matching_engine_ids_max) {
      throw error{errc::invalid_argument,
                  fmt::format("matching_engine: id {} is reserved for the library; ids are below {}", id,
                              matching_engine_ids_max)};
    }
    made = add_named(engine_states_, engines_, id, id, options, size_);
    if (made == nullptr) {
      throw error{errc::invalid_argument,
                  fmt::format("matching_engine: id {} {} on rank {}; ids are never used twice", id,
                              engines_.state(id) == detail::presence::present ? "is in use" : "was withdrawn", rank_)};
    }
  }
  kept_.registered(made->id, true);
  parking_.wake_everybody();  // to deliver what has come for it already
  return *made;
}

void runtime_state::make_packets(const base::settings& settings) {
  std::byte* memory = nullptr;
  net::memory_sharing* lender = nullptr;
  for (const auto& transport : transports_) {
    if ((lender = transport->sharing()) != nullptr) break;
  }
  if (lender != nullptr) {
    memory = lender->packet_memory();
  } else {
    // Untouched pages cost nothing: a rank that is alone has room for packets that it may never need.
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

void runtime_state::share_sleep_words() noexcept {
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

void runtime_state::print_counters(device_state& gone) const noexcept {
  try {
    base::write_log_line(base::log_level::info, fmt::format("rank {} counted on device {}: {}", rank_, gone.index(),
                                                            to_text(gone.counts().read())));
  } catch (...) {  // no memory for a report: there is none
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

// Null: the id is there, or was used before.
remote_entry* runtime_state::add_entry(completion& target, std::uint32_t id, buffer_allocator* allocator) {
  if (leaving_.size() >= leaving_max_) {
    std::erase_if(leaving_, [](const auto& each) { return each.second.owner.has_all_back(); });
    leaving_max_ = 2 * leaving_.size() + 16;  // so that looking at those that stay costs little per registration
  }
  auto* queue = dynamic_cast<completion_queue*>(&target);
  auto* slots = queue != nullptr && queue->bounded_ ? &*queue->bounded_ : nullptr;
  return add_named(entries_, remote_completions_, id, target, slots, allocator);
}

// Once no poller can find it any more. What has memory in records stays until that is back.
void runtime_state::remove_entry(completion& target, std::uint32_t id) noexcept {
  const std::scoped_lock lock{registering_};
  const auto gone = entries_.find(id);
  if (gone->second.owner.has_all_back()) {
    entries_.erase(gone);
  } else {
    leaving_.insert(entries_.extract(gone));
  }
  // [registration.gone] relaxed: as [registration.made] says.
  target.registrations_.fetch_sub(1, std::memory_order_relaxed);
}

void runtime_state::register_completion(completion& target, std::uint32_t id, buffer_allocator* allocator) {
  if (id >= remote_completion_ids_max) {
    throw error{errc::invalid_argument,
                fmt::format("register_completion: id {} is reserved for the library; ids are below {}", id,
                            remote_completion_ids_max)};
  }
  {
    const std::scoped_lock lock{registering_};
    if (add_entry(target, id, allocator) == nullptr) {
      throw error{
          errc::invalid_argument,
          fmt::format("register_completion: id {} {} on rank {}; ids are never used twice", id,
                      remote_completions_.state(id) == detail::presence::present ? "is in use" : "was withdrawn",
                      rank_)};
    }
    // [registration.made] relaxed: the thread that destroys the object has seen the end of its registrations.
    target.registrations_.fetch_add(1, std::memory_order_relaxed);
  }
  kept_.registered(id);
  parking_.wake_everybody();  // to deliver what has come for it already
}

void runtime_state::register_internal(completion& target, std::uint32_t id) {
  const std::scoped_lock lock{registering_};
  static_cast<void>(add_entry(target, id, nullptr));
  kept_.registered(id);
}

void runtime_state::refuse_object(const char* call) {
  throw error{errc::invalid_argument,
              fmt::format("{}: the completion object was made from another runtime than the device", call)};
}

void runtime_state::object_gone(const completion& object) noexcept {
  if (operation_state::signals_to_come(object) != 0) {
    misuse("a completion object is destroyed while operations that will signal it are under way");
  }
  // One that has been seen is at its end.
  for (base::backoff waiting; object.outstanding() != 0;) base::give_way(waiting);
  if (object.registrations_.load(std::memory_order_relaxed) != 0) {  // [own] see [registration.made]
    misuse("a completion object is destroyed before its registration: declare the registration after the object");
  }
  // [object.gone] relaxed: as [object.made] says.
  objects_.fetch_sub(1, std::memory_order_relaxed);
}

void runtime_state::refuse_inside_handler(const char* call, device_state& through) const {
  if (!through.gate().is_inside() && !devices_[0]->gate().is_inside() && !device_state::is_visiting() &&
      !is_inside_node()) [[likely]] {
    return;
  }
  throw error{
      errc::invalid_state,
      fmt::format("{}: called inside a handler, a hook or a node of a graph, which others wait for: let it note "
                  "what is to be done, and wait outside of it",
                  call)};
}

descriptor_state& runtime_state::descriptor() {
  const std::scoped_lock lock{descriptor_mutex_};
  if (!descriptor_) descriptor_ = std::make_unique<descriptor_state>(*this, default_state());
  return *descriptor_;
}

// Where a handler of device 0 runs, its rings are being gone through, and stay as they are.
device_state& runtime_state::open_device(const device_options& options) {
  if (!devices_.empty() && devices_[0] && devices_[0]->gate().is_inside()) {
    throw error{errc::invalid_state,
                "a device is made inside a handler or hook of the default device: make it outside"};
  }
  const progress_policy policy = options.policy.value_or(base::process_settings().policy);
  for (bool is_adopted = false;;) {
    // Before the lock: a handler of device 0 may be waiting for that.
    std::optional<poll_gate::turn> turn;
    if (is_adopted) turn.emplace(devices_[0]->gate());
    const std::scoped_lock lock{devices_mutex_};
    const auto place = std::ranges::find_if(devices_, [](const auto& device) { return device == nullptr; });
    if (place == devices_.end()) break;
    const auto index = static_cast<std::uint32_t>(place - devices_.begin());
    is_adopted = adopted_[index];
    if (is_adopted && !turn) continue;
    if (is_adopted) devices_[0]->release(index);
    turn.reset();
    adopted_[index] = false;
    *place = std::make_unique<device_state>(*this, index, options.shared, policy);
    if (options.shared) shared_devices_.add(index, **place);
    return **place;
  }
  throw error{errc::invalid_state,
              fmt::format("rank {} has {} devices already, as many as WEFT_DEVICES_MAX and the number of ranks allow",
                          rank_, devices_.size())};
}

}  // namespace weft::core
