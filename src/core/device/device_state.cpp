// SPDX-License-Identifier: BSD-3-Clause
#include "core/device/device_state.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/assertion.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/error.hpp"

namespace weft::core {

device_state::device_state(runtime_state& runtime, device& interface, std::uint32_t index, bool shared,
                           progress_policy policy, std::uint32_t ring_cells)
    : runtime_{&runtime},
      index_{index},
      marks_{shared, runtime.size()},
      routes_{runtime.rank(), runtime.size()},
      interface_{&interface},
      operations_{&runtime.operations()},
      matching_{&runtime.matching()},
      memory_{&runtime.memory()},
      gate_{shared},
      counts_{shared},
      others_{*this, runtime.devices().shared(), policy},
      own_receives_{runtime.operations().receives(),
                    shared ? 0 : spare_receives_of(runtime.attributes().receives_max)} {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // its base has fields, too: both compilers lay that out alike
  static_assert(offsetof(device_state, runtime_) / detail::cache_line_bytes ==
                    (offsetof(device_state, routes_) + routes::hot_bytes - 1) / detail::cache_line_bytes,
                "a post reads one line of the device");
#pragma GCC diagnostic pop
  open_endpoints(*this, ring_cells);
  for (std::uint32_t rank = 0; rank < runtime.size(); ++rank) {
    if (!routes_.has(rank)) {
      throw error{
          errc::transport_failed,
          fmt::format("rank {} has no way to rank {}: they can't share memory, and no network transport is there; "
                      "ranks of one machine share memory in one network namespace (containers: "
                      "--network=host), those of several need libfabric (WEFT_TRANSPORT=shm,ofi)",
                      runtime.rank(), rank)};
    }
  }
}

device_state::~device_state() {
  WEFT_ASSERT(backlog_.is_empty());  // handed over, or dropped
  WEFT_ASSERT(gate_.is_free());
  for (retry_entry* entry = backlog_.take_entries(); entry != nullptr;) std::exchange(entry, entry->behind)->drop();
}

void device_state::defer(operation_state& operation) noexcept {
  counts_.put_off();
  backlog_.add(operation);
  runtime_->parking().wake_device(index_);  // a thread that sleeps at this device has to continue it
}

// The operation that stands for the entries is in one backlog at a time.
void device_state::defer(retry_entry& entry) noexcept {
  runtime_state& runtime = *runtime_;
  const std::uint32_t index = index_;
  if (!backlog_.add(entry)) return;
  counts_.put_off();
  backlog_.add(backlog_.for_entries());
  runtime.parking().wake_device(index);
}

void device_state::adopt(device_state& gone) noexcept {
  WEFT_ASSERT_CHECKED(&gone != this && (gate_.is_inside() || gate_.is_closed()));
  endpoints_.adopt(gone.index_);
  operation_state* operation = gone.backlog_.take_all();
  while (operation != nullptr) {
    operation_state* const behind = operation->behind;
    if (operation != &gone.backlog_.for_entries()) {
      backlog_.add(*operation);
      counts_.put_off();
    }
    operation = behind;
  }
  if (gate_.is_closed()) return;
  for (retry_entry* entry = gone.backlog_.take_entries(); entry != nullptr;) {
    retry_entry& each = *std::exchange(entry, entry->behind);
    each.adopted_by(*this);
    defer(each);
  }
}

}  // namespace weft::core
