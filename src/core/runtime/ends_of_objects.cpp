// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/ends_of_objects.hpp"

#include <utility>

#include "base/assertion.hpp"
#include "base/leave_to_parent.hpp"
#include "base/log.hpp"
#include "base/long_wait.hpp"
#include "base/misuse.hpp"
#include "core/protocol/receive.hpp"
#include "core/runtime/describe.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {
namespace {

constexpr const char* destroyed_with_receives =
    "a matching engine is destroyed while receives are posted in it: cancel them first";
constexpr const char* destroyed_with_sends =
    "a receiver-first matching engine is destroyed while sends wait in it for their receives";

// Writes the counters of a device that is being destroyed to the log, if the settings ask for it.
void log_counters(runtime_state& runtime, device_state& gone) noexcept {
  if (!runtime.job().settings().print_counters) return;
  try {
    base::write_log_line(base::log_level::info, counters_text(runtime.rank(), gone.index(), gone.counts().read()));
  } catch (...) {  // no memory for a report: it is left out
  }
}

}  // namespace

std::size_t drop_messages(runtime_state& runtime, engine_state& engine) noexcept {
  if (engine.receiver_first) return 0;
  device_state& dev = runtime.devices().standard();
  std::size_t out = 0;
  if (engine.is_ordered()) {
    const receive_request any{.engine = &engine,
                              .peer = any_rank,
                              .tag = 0,
                              .policy = match_policy::rank_tag,
                              .any_tag = true,
                              .into = {},
                              .local = nullptr,
                              .context = nullptr,
                              .allow_retry = true};
    bool is_busy = false;  // then the next call finds the others
    while (unexpected_message* const found = receive::probe(dev, any, is_busy)) {
      receive::discard(dev, *found);
      ++out;
    }
    return out;
  }
  match_node* some = nullptr;
  const auto is_message = [&](const match_node& node) {
    return node.locked_side() == match_side::send && node.locked_key().engine() == engine.id;
  };
  static_cast<void>(runtime.matching().table().extract(is_message, some));  // the next call finds what is left out
  for (; some != nullptr; ++out) {
    match_node& ended = *std::exchange(some, some->behind.get());
    receive::discard(dev, static_cast<unexpected_message&>(static_cast<ordered_message&>(ended)));
  }
  return out;
}

// A poller that has found what is withdrawn is still inside its gate, or has left it: after the fence we see which.
pending_polls::pending_polls(runtime_state& runtime) noexcept : runtime_{&runtime} {
  fence_all_threads();
  runtime_->devices().visit([&](std::uint32_t index, device_state* device) {
    if (device == nullptr) return;
    before_[index] = device->gate().passes();
    inside_ |= std::uint64_t{1} << index;
  });
}

// The lock isn't kept between the calls: a handler may be waiting for it. If a new device takes the index of a
// destroyed one meanwhile, the wait lasts for one more pass. Not inlined into loops: a fiber of another scheduler may
// be in another thread the next time, and the gates know threads by their addresses.
[[gnu::noinline]] bool pending_polls::have_ended() noexcept {
  if (inside_ == 0) return true;
  runtime_->devices().visit([&](std::uint32_t index, device_state* device) {
    if (device == nullptr || device->gate().has_left_since(before_[index])) inside_ &= ~(std::uint64_t{1} << index);
  });
  return inside_ == 0;
}

end_of_name::end_of_name(runtime_state& runtime, base::id_table<>::outdated old_names) noexcept
    : runtime_{&runtime}, old_names_{std::move(old_names)}, polls_{runtime} {}

end_of_name::~end_of_name() {
  if (old_names_ == nullptr) return;  // mostly
  if (runtime_->is_copy()) {
    base::leave_to_parent(old_names_);
    return;
  }
  for (base::backoff waiting; !polls_.have_ended();) base::yield_or_pause(waiting);
  runtime_->matching().engines().readers().wait();
}

end_of_registration::end_of_registration(runtime_state*& handle, completion& target, std::uint32_t id) noexcept
    : end_of_name{*handle, handle->registrations().withdraw(id)}, handle_{&handle}, target_{&target}, id_{id} {}

bool end_of_registration::go_on() noexcept {
  if (!is_unseen()) return false;
  std::exchange(*handle_, nullptr)->registrations().remove(*target_, id_);
  return true;
}

end_of_engine::end_of_engine(runtime_state& runtime, engine_state*& handle) noexcept
    : end_of_name{runtime, runtime.matching().engines().withdraw(handle->id)}, handle_{&handle} {}

// Threads outside of any poll may be reading the engine as well, for some instructions (brief readers).
bool end_of_engine::go_on() noexcept {
  if (!is_unseen()) return false;
  runtime_->matching().engines().readers().wait();
  refuse_posted();
  drop_all();
  runtime_->matching().engines().remove(std::exchange(*handle_, nullptr)->id);
  return true;
}

// Receives in a backlog would find their engine destroyed, and peers would still write into announced receives.
void end_of_engine::refuse_posted() const noexcept {
  runtime_->operations().receives().each([this](const operation_state& each) {
    // [receive.put_off] acquire <- [operation.reach]: the receive's engine.
    const step current = each.next.load(std::memory_order_acquire);
    const bool is_posted =
        current == step::try_match || current == step::send_ready || current == step::wait_for_sender;
    // [receive.of] relaxed: published by the step; any other engine's address is ignored.
    if (is_posted && each.receiving.engine.load(std::memory_order_relaxed) == *handle_)
      base::misuse(destroyed_with_receives);
  });
}

// Drops messages for the engine that have matched no receive.
void end_of_engine::drop_all() noexcept {
  engine_state& engine = **handle_;
  const match_node* posted = nullptr;
  base::backoff waiting;
  if (engine.is_ordered()) {
    matched_messages messages;
    match_node* receives = nullptr;
    const auto uncounted = [&](std::uint32_t rank, std::uint32_t count) {
      runtime_->matching().count_dropped(rank, count);
    };
    while (engine.ordered->take_all(messages, receives, uncounted) == match_result::busy) waiting.pause();
    runtime_->matching().end_numbers(engine, runtime_->size());
    posted = receives;
    for (ordered_message* each = messages.first; each != nullptr;) {
      ordered_message* const next = each->next;
      receive::discard(runtime_->devices().standard(), static_cast<unexpected_message&>(*each));
      each = next;
    }
    ordered_counts left;
    matched_messages released;
    WEFT_ASSERT(!engine.ordered->try_count(left, released) || left.early + left.messages + left.receives == 0);
  } else {
    const auto is_ours = [&](const match_node& node) { return node.key.engine() == engine.id; };
    for (bool is_whole = false; !is_whole; waiting.pause()) {
      match_node* some = nullptr;
      is_whole = runtime_->matching().table().extract(is_ours, some) == 0;
      while (some != nullptr) {
        match_node* const next = some->behind.get();
        if (some->side == match_side::receive) {
          posted = some;
        } else {
          receive::discard(runtime_->devices().standard(),
                           static_cast<unexpected_message&>(static_cast<ordered_message&>(*some)));
        }
        some = next;
      }
    }
  }
  if (posted != nullptr) base::misuse(engine.receiver_first ? destroyed_with_sends : destroyed_with_receives);
}

// No thread of another device begins to poll this device from here on.
end_of_device::end_of_device(runtime_state& runtime, device_state*& handle) noexcept
    : runtime_{&runtime}, handle_{&handle} {
  device_state& gone = **handle_;
  if (gone.gate().is_inside() || runtime.devices().is_inside_standard()) {
    base::misuse(
        "a device is destroyed inside a handler or hook of its own or of the default device, perhaps "
        "as a static object by an exit() there");
  }
  if (gone.marks().is_shared()) runtime.devices().hide(gone);
}

bool end_of_device::go_on() noexcept { return close(false); }

void end_of_device::wait_for_gate() noexcept {
  base::slow_wait listed{"the destructor of a device"};
  for (base::backoff waiting; !close(true); listed.note(waiting)) base::yield_or_pause(waiting);
}

// Never waits while it holds the lock: handlers may make devices.
bool end_of_device::close(bool may_block) noexcept {
  device_state& gone = **handle_;
  if (gone.marks().is_shared() && !gone.gate().is_free()) return false;
  gone.hooks().clear();  // done before the lock: hooks may own objects of this runtime
  const std::uint32_t index = gone.index();
  poll_gate::scoped_entry entry;
  if (index != 0 && may_block) {
    entry.take(runtime_->devices().standard().gate());
  } else if (index != 0 && !entry.try_take(runtime_->devices().standard().gate())) {
    return false;
  }
  log_counters(*runtime_, gone);
  runtime_->devices().close(gone, entry, runtime_->transports().all());
  *handle_ = nullptr;
  if (index != 0) runtime_->parking().wake_everybody();  // threads that sleep at device 0 have to poll its slot now
  return true;
}

}  // namespace weft::core
