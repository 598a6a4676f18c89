// SPDX-License-Identifier: BSD-3-Clause
// `device::wait`, for every kind of completion object, and `runtime::wait`, for several devices.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "base/callback_scope.hpp"
#include "base/clock.hpp"
#include "base/this_wait.hpp"
#include "base/waiter.hpp"
#include "core/runtime/describe.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/completion_queue.hpp"
#include "weft/counter.hpp"
#include "weft/detail/fiber_wait.hpp"
#include "weft/detail/report_names.hpp"
#include "weft/runtime.hpp"
#include "weft/synchronizer.hpp"

namespace weft {

namespace {

// What the thread waits for: the objects live as long as the wait.
struct awaited {
  std::span<device* const> devices;
  std::span<const completion* const> objects;

  static void describe(const void* subject, std::string& into) {
    const auto& mine = *static_cast<const awaited*>(subject);
    const char* between = mine.devices.size() == 1 ? " on device " : " on devices ";
    for (const device* each : mine.devices) {
      into += fmt::format("{}{}", between, each->index());
      between = ", ";
    }
    between = " for ";
    for (const completion* each : mine.objects.first(std::min<std::size_t>(mine.objects.size(), 4))) {
      into += between + core::to_text(*each);
      between = " or ";
    }
  }
};

void check_objects(const char* function, const runtime& owner, std::span<const completion* const> objects) {
  for (const completion* each : objects) {
    if (each == nullptr || &each->runtime() != &owner) [[unlikely]] {
      throw error{errc::invalid_argument,
                  fmt::format("{}: the completion object was made from another runtime", function)};
    }
  }
}

[[noreturn]] void refuse_devices(const std::string& why) {
  throw error{errc::invalid_argument, "runtime::wait: " + why};
}
void check_devices(const runtime& owner, std::span<device* const> devices) {
  if (devices.empty()) refuse_devices("there is no device through which to wait");
  std::uint64_t seen = 0;
  for (const device* each : devices) {
    if (each == nullptr) refuse_devices("a device is null");
    if (&each->runtime() != &owner) refuse_devices("a device was made from another runtime");
    const std::uint64_t bit = std::uint64_t{1} << each->index();
    if ((seen & bit) != 0) refuse_devices(fmt::format("device {} is there twice", each->index()));
    seen |= bit;
  }
}

// The states of several devices; none is there twice.
class device_states {
 public:
  device_states(std::span<device* const> devices, const auto& state_of) noexcept : count_{devices.size()} {
    std::ranges::transform(devices, all_.begin(), state_of);
  }
  [[nodiscard]] core::waited_devices waited(core::runtime_state& runtime) const noexcept {
    return {*all_.front(), {all_.data() + 1, count_ - 1}, runtime.devices().standard()};
  }

 private:
  std::array<core::device_state*, net::slots_max> all_{};
  std::size_t count_;
};

}  // namespace

bool device::wait_until(std::span<const completion* const> objects, bool (*is_done)(void*), void* condition,
                        const wait_options& options) {
  check_objects("device::wait", *runtime_, objects);
  core::runtime_state& runtime = *runtime_->state_;
  base::refuse_in_callback("device::wait");
  device* const only = this;
  const awaited mine{{&only, 1}, objects};
  return runtime.parking().wait({*state_, runtime.devices().standard()}, {objects}, is_done, condition, options,
                                {&awaited::describe, &mine});
}

bool runtime::wait_until(std::span<device* const> devices, std::span<const completion* const> objects,
                         bool (*is_done)(void*), void* condition, const wait_options& options) {
  check_devices(*this, devices);
  check_objects("runtime::wait", *this, objects);
  base::refuse_in_callback("runtime::wait");
  const device_states all{devices, [](const device* each) { return each->state_; }};
  const awaited mine{devices, objects};
  return state_->parking().wait(all.waited(*state_), {objects}, is_done, condition, options,
                                {&awaited::describe, &mine}, "runtime::wait");
}

std::optional<completion_record> device::wait(completion_queue& from, const wait_options& options) {
  std::optional<completion_record> out;
  wait(
      from,
      [&] {
        out = from.pop();
        return out.has_value();
      },
      options);
  return out;
}

bool device::wait(const synchronizer& object, const wait_options& options) {
  return wait(
      object, [&] { return object.is_ready(); }, options);
}

bool device::wait_all(const completion& object, const wait_options& options) { return wait_all({&object}, options); }

bool device::wait_all(std::initializer_list<const completion*> objects, const wait_options& options) {
  return wait(
      objects,
      [&] { return std::ranges::all_of(objects, [](const completion* each) { return each->outstanding() == 0; }); },
      options);
}

bool detail::wait_as(const waiting_function& function, device& dev, std::span<const completion* const> objects,
                     bool (*is_done)(void*), void* condition, const wait_options& options) {
  core::runtime_state& runtime = dev.state_->runtime();
  base::refuse_in_callback(function.name);
  return runtime.parking().wait({*dev.state_, runtime.devices().standard()}, {objects, function.signals}, is_done,
                                condition, options, {function.describe, function.subject}, function.name);
}

bool detail::wait_as(const waiting_function& function, std::span<device* const> devices,
                     std::span<const completion* const> objects, bool (*is_done)(void*), void* condition,
                     const wait_options& options) {
  core::runtime_state& runtime = devices.front()->state_->runtime();
  base::refuse_in_callback(function.name);
  const device_states all{devices, [](const device* each) { return each->state_; }};
  return runtime.parking().wait(all.waited(runtime), {objects, function.signals}, is_done, condition, options,
                                {function.describe, function.subject}, function.name);
}

detail::wait_name::wait_name(const char* function) noexcept : is_fiber_{base::waiter{}.is_fiber()} {
  if (!is_fiber_) base::this_thread_waits() = {.call = function, .since = base::clock::now()};
}
detail::wait_name::~wait_name() {
  if (!is_fiber_) base::this_thread_waits() = {};
}

namespace {

base::waiter& waiter_in(std::byte* storage) noexcept { return *std::launder(reinterpret_cast<base::waiter*>(storage)); }

}  // namespace

static_assert(sizeof(base::waiter) == sizeof(detail::fiber_wait) &&
              alignof(base::waiter) == alignof(detail::fiber_wait));

detail::fiber_wait::fiber_wait() noexcept { std::construct_at(reinterpret_cast<base::waiter*>(storage_)); }
detail::fiber_wait::~fiber_wait() { waiter_in(storage_).~waiter(); }

bool detail::fiber_wait::can_suspend(const device& dev) const noexcept {
  const auto& mine = *std::launder(reinterpret_cast<const base::waiter*>(storage_));
  return mine.is_fiber() && dev.state_->runtime().parking().is_served(dev.state_->index());
}
void detail::fiber_wait::wait(const char* function, device& dev) noexcept {
  waiter_in(storage_).wait({.call = function, .device = &dev});
}
void detail::fiber_wait::set() noexcept { waiter_in(storage_).come(); }

void detail::use_report_names(weft::runtime& owner, const report_names* names) noexcept {
  owner.state_->own().witness().use(names);
}

void detail::begin_posting() { base::refuse_in_callback("device::until_accepted"); }

void detail::make_room(device& dev) {
  base::waiter here;
  const bool has_moved = dev.progress();
  if (here.is_fiber()) {
    here.yield("what it lacks to post (it is answered retry)");
  } else if (!has_moved) {
    sched_yield();
  }
}

void detail::rest_between_tests(device& dev, test_loop& tests) noexcept {
  dev.state_->runtime().parking().rest_between_tests(tests);
}

bool device::wait(const counter& object, std::uint64_t value, const wait_options& options) {
  return wait(
      object, [&] { return object.value() >= value; }, options);
}

}  // namespace weft
