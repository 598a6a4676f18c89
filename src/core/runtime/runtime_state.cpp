// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/runtime_state.hpp"

#include <fmt/format.h>

#include "base/assertion.hpp"
#include "base/config.hpp"
#include "base/misuse.hpp"
#include "weft/device.hpp"

namespace weft::core {

namespace {

runtime_attributes attributes_of(const base::settings& settings, const state_bounds& bounds, std::uint32_t devices_max,
                                 std::uint32_t regions_max) noexcept {
  return {.packet_count = settings.packet_count,
          .packet_bytes = static_cast<std::uint32_t>(settings.packet_bytes),
          .inject_bytes_max = detail::inline_bytes_max,
          .ring_cells = settings.ring_cells,
          .operations_max = bounds.posts.most,
          .receives_max = settings.receives_max.value_or(bounds.receives.most),
          .devices_max = devices_max,
          .matching_buckets = base::matching_bucket_count(settings),
          .queue_capacity = settings.queue_capacity,
          .unexpected_sends_max = bounds.unexpected.most,
          .unexpected_packets_max = settings.unexpected_packets_max,
          .foreign_packets_max = settings.foreign_packets_max,
          .unexpected_bytes_max = settings.unexpected_bytes_max,
          .state_bytes_max = bounds.bytes_max,
          .regions_max = regions_max,
          .shared_bytes = settings.shared_bytes,
          .progress_policy = settings.policy};
}

// Whether the user still has memory of arrived messages: of long messages, packets or receive buffers. Unexpected
// messages do not count. They are not given back: the transport that owns their memory may be destroyed.
bool has_payloads_out(runtime_state& runtime) noexcept {
  if (runtime.registrations().have_memory_out()) return true;
  const std::int64_t out = runtime.memory().packets().lent() + runtime.transports().payloads_out();
  return out != 0 && out != runtime.matching().payloads();  // the table is large
}

}  // namespace

runtime_state::runtime_state(runtime& interface, std::shared_ptr<boot::bootstrap> bootstrap,
                             const runtime_options& options)
    : job_{std::move(bootstrap), base::settings_of_runtime(base::process_settings(), options)},
      store_{job_.settings(), options.default_device.shared},
      peers_{job_.size()},
      matching_{job_.settings(), store_.bounds().unexpected, store_.budget(), job_.size()},
      objects_{interface} {
  const base::settings& settings = job_.settings();
  prepare_fences();
  const net::transport_context context{job_.bootstrap(), settings,
                                       fmt::format("runtime{}", job_.bootstrap().next_runtime())};
  job_.agree(context.name);
  transports_.make(context);
  peer_ends_.expect(job_.size());
  transports_.use_sleep_words_in(parking_);
  transports_.find_neighbours(job_.rank(), job_.size(), settings.bind == base::bind_kind::automatic);
  parking_.expect_company(transports_.neighbours().has_company());
  memory_ = std::make_unique<rank_memory>(transports_, job_, settings);
  job_.publish_node(context.name, transports_.all());
  attributes_ = attributes_of(settings, store_.bounds(), transports_.devices_max(settings.devices_max),
                              memory_->regions().regions_max());
  devices_.set_room(attributes_.devices_max);
}

void runtime_state::start(runtime& interface, const device_options& options) {
  own_.make(interface, options, job_.settings(), memory_->packets());
  registrations_.add_internal(own_.barrier(), barrier::id);
  matching_.kept().registered(barrier::id);
  job_.join();  // every rank's device 0 takes messages from here on
  own_.watch(*this);
}

runtime_state::~runtime_state() {
  own_.end(is_copy());
  if (!devices_.is_empty()) base::misuse("a runtime is destroyed before a device that was made from it");
  if (!objects_.are_gone()) base::misuse("a runtime is destroyed before a completion object that was made from it");
  if (matching_.engines().count() != 0)
    base::misuse("a runtime is destroyed before a matching engine that was made from it");
  if (memory_->packets().taken() != 0) base::misuse("a runtime is destroyed before a packet that was taken from it");
  if (has_payloads_out(*this)) {
    base::misuse("a runtime is destroyed before a record, or a message that a probe has found, whose bytes lie in it");
  }
  if (!memory_->regions().is_empty())
    base::misuse("a runtime is destroyed before a memory region that was made from it");
  // What holds at the end, whatever the user and the peers have done.
  WEFT_ASSERT(parking_.is_empty());
  matching_.assert_consistent();
  WEFT_ASSERT_CHECKED(store_.operations().are_consistent());
  WEFT_ASSERT_CHECKED(memory_->packets().is_consistent());
}

engine_state& runtime_state::make_engine(const matching_engine_options& options) {
  refuse_copies();
  engine_state& made = matching_.engines().make(options, rank(), size(), *this);
  matching_.kept().registered(made.id, true);
  parking_.wake_everybody();  // delivers messages that have come for it already
  return made;
}

void runtime_state::register_completion(completion& target, std::uint32_t id, buffer_allocator* allocator) {
  refuse_copies();
  registrations_.add(target, id, allocator, rank());
  matching_.kept().registered(id);
  parking_.wake_everybody();
}

runtime_counters runtime_state::counters() noexcept {
  runtime_counters out;
  counts_.add_to(out);
  transports_.add_to(out);
  matching_.add_to(out);
  return out;
}

}  // namespace weft::core
