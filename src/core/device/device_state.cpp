#include "core/device/device_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assertion.hpp"
#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "base/config.hpp"
#include "core/protocol/advance.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/error.hpp"

namespace weft::core {

device_state::device_state(runtime_state& runtime, device& interface, std::uint32_t index, bool shared,
                           progress_policy policy)
    : runtime_{&runtime},
      interface_{&interface},
      index_{index},
      shared_{shared},
      policy_{policy},
      endpoint_of_(runtime.size()),
      routes_(runtime.size()),
      waiting_replies_(runtime.size()),
      rank_count_{runtime.size()},
      gate_{shared},
      counts_{shared},
      random_{(index + 1) * 0x9e3779b9},
      attention_{policy == progress_policy::adaptive ? std::make_unique<attention>() : nullptr},
      own_receives_{runtime.operations().receives(),
                    shared ? 0 : spare_receives_of(base::process_settings().receives_max)} {
  open_endpoints();
  for (const auto& each : endpoints_) idle_.push_back(each.get());
  busy_ = idle_.back();
  idle_.pop_back();
  for (std::uint32_t rank = 0; rank < runtime.size(); ++rank) {
    if (endpoint_of_[rank] == nullptr) {
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
  for (retry_entry* entry = retries_.take_all(); entry != nullptr;) std::exchange(entry, entry->behind)->drop();
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
  if (!retries_.add(entry)) return;
  counts_.put_off();
  backlog_.add(retries_.in_backlog());
  runtime.parking().wake_device(index);
}

void device_state::adopt(device_state& gone) noexcept {
  for (const auto& each : endpoints_) each->adopt(gone.index_);
  operation_state* operation = gone.backlog_.take_all();
  while (operation != nullptr) {
    operation_state* const behind = operation->behind;
    if (operation != &gone.retries_.in_backlog()) {
      backlog_.add(*operation);
      counts_.put_off();
    }
    operation = behind;
  }
  if (gate_.is_closed()) return;
  for (retry_entry* entry = gone.retries_.take_all(); entry != nullptr;) {
    retry_entry& each = *std::exchange(entry, entry->behind);
    each.adopted_by(*this);
    defer(each);
  }
}

// Returns how many entries that a peer waits for found no room.
unsigned device_state::send_last_retries(base::clock::time_point until) noexcept {
  unsigned unsent = 0;
  for (base::backoff waiting;; waiting.pause()) {
    unsent = 0;
    // Entries that are tried again add themselves to the list; the others are dropped with it.
    for (retry_entry* entry = retries_.take_all(); entry != nullptr;) {
      retry_entry& each = *std::exchange(entry, entry->behind);
      if (!each.is_answer()) {
        defer(each);
      } else if (!each.try_again()) {
        ++unsent;
      }
    }
    if (unsent == 0 || base::clock::now() >= until) return unsent;
  }
}

// The rings of a peer that does not read them may stay full, so this tries for a second at most.
unsigned device_state::end_backlog() noexcept {
  constexpr std::chrono::seconds patience{1};
  operation_state* answers = nullptr;
  for (operation_state* operation = backlog_.take_all(); operation != nullptr;) {
    operation_state* const behind = operation->behind;
    if (is_answer(operation->next.load(std::memory_order_relaxed))) {  // [own] out of the backlog
      operation->behind = answers;
      answers = operation;
    }
    operation = behind;
  }
  [[maybe_unused]] const bool is_inside = gate_.try_enter();
  WEFT_ASSERT(is_inside);  // no other thread uses the device any more
  const base::clock::time_point until = base::clock::now() + patience;
  for (base::backoff waiting; answers != nullptr && base::clock::now() < until; waiting.pause()) {
    operation_state* unsent = nullptr;
    while (answers != nullptr) {
      operation_state* const operation = std::exchange(answers, answers->behind);
      if (advance(*this, *operation)) continue;
      operation->behind = unsent;
      unsent = operation;
    }
    answers = unsent;
  }
  unsigned count = send_last_retries(until);
  gate_.leave();
  for (; answers != nullptr; answers = answers->behind) ++count;
  return count;
}

void device_state::release(std::uint32_t index) noexcept {
  for (const auto& each : endpoints_) each->release(index);
}

}  // namespace weft::core
