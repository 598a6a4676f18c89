// SPDX-License-Identifier: BSD-3-Clause
// Names for reports of a rank in which nothing moves (`WEFT_STUCK_AFTER`): a library over Weft names its communicators
// there, and its functions that wait.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "weft/detail/signal_filter.hpp"
#include "weft/wait.hpp"

namespace weft {
class completion;
class device;
class runtime;
enum class collective_operation : std::uint8_t;
}  // namespace weft

namespace weft::detail {

/// The names of one library. A thread of Weft calls the functions, while it writes a report: **Blocking**: they may
/// wait for a lock that is held briefly. **Errors**: std::bad_alloc.
class report_names {
 public:
  report_names() = default;
  report_names(const report_names&) = delete;
  report_names& operator=(const report_names&) = delete;

  /// The library's own name, as in "a function of MPI".
  [[nodiscard]] virtual const char* library() const noexcept = 0;
  /// The name of the communicator whose engine has this id, and whose group was given this name. Empty: the library has
  /// none of that id.
  [[nodiscard]] virtual std::string communicator(std::uint32_t id) const = 0;
  /// The id of the communicator of all ranks of the job, whose group is `runtime::world()`.
  [[nodiscard]] virtual std::uint32_t id_of_world() const noexcept = 0;
  /// The number of a rank of the job in that communicator.
  [[nodiscard]] virtual std::uint32_t member(std::uint32_t id, std::uint32_t rank) const = 0;
  /// The function that carries out such a collective; of static storage. **Threads**: any.
  [[nodiscard]] virtual const char* function(collective_operation which) const noexcept = 0;

 protected:
  ~report_names() = default;
};

/// Reports of this runtime use these names from now on; null: its own. **Blocking**: until a report that uses the last
/// ones has been made. **Threads**: any.
void use_report_names(weft::runtime& owner, const report_names* names) noexcept;

/// What waits: a function, of static storage, and for what. `describe` adds ` for ...` to a report, or nothing, while
/// the wait lasts; a thread of Weft calls it. `signals` says which signals wake the thread.
struct waiting_function {
  constexpr waiting_function(const char* function) noexcept : name{function} {}
  constexpr waiting_function(const char* function, void (*describes)(const void*, std::string&), const void* described,
                             signal_filter filter = {}) noexcept
      : name{function}, describe{describes}, subject{described}, signals{filter} {}

  const char* name;
  void (*describe)(const void* subject, std::string& text) = nullptr;
  const void* subject = nullptr;
  signal_filter signals{};
};

/// Waits as `device::wait` does, for that function.
bool wait_as(const waiting_function& function, device& dev, std::span<const completion* const> objects,
             bool (*is_done)(void*), void* condition, const wait_options& options);
/// Waits as `runtime::wait` does. `devices`: one at least, none twice.
bool wait_as(const waiting_function& function, std::span<device* const> devices,
             std::span<const completion* const> objects, bool (*is_done)(void*), void* condition,
             const wait_options& options);
template <std::predicate Condition>
bool wait_as(const waiting_function& function, device& dev, std::span<const completion* const> objects,
             Condition is_done) {
  return wait_as(function, dev, objects,
                 [](void* condition) { return static_cast<bool>((*static_cast<Condition*>(condition))()); }, &is_done,
                 {});
}
template <std::predicate Condition>
bool wait_as(const waiting_function& function, device& dev, const completion& object, Condition is_done) {
  const completion* const only = &object;
  return wait_as(function, dev, std::span{&only, 1}, std::move(is_done));
}

/// While one lives, reports name this function, of static storage, for other waits of the calling thread, and take them
/// for parts of one wait; in a fiber it does nothing.
class wait_name {
 public:
  explicit wait_name(const char* function) noexcept;
  ~wait_name();
  wait_name(const wait_name&) = delete;
  wait_name& operator=(const wait_name&) = delete;

 private:
  bool is_fiber_;
};

}  // namespace weft::detail
