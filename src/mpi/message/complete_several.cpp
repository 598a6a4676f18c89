// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <optional>

#include "mpi/error/error.hpp"
#include "mpi/error/error_classes.hpp"
#include "mpi/message/complete.hpp"
#include "mpi/message/complete_fast.hpp"
#include "mpi/message/describe.hpp"
#include "mpi/message/tests.hpp"
#include "mpi/message/wait_for.hpp"
#include "mpi/rank/progress.hpp"
#include "weft/detail/fiber_words.hpp"

namespace weft::mpi {
namespace {

request* find(MPI_Request handle) noexcept { return handle == MPI_REQUEST_NULL ? nullptr : find_request(handle); }

// Neither null nor inactive: one that functions for any or some requests are about.
request* find_active(MPI_Request handle) noexcept {
  request* const found = find(handle);
  return found != nullptr && found->is_active ? found : nullptr;
}

bool is_done(MPI_Request handle) noexcept {
  const request* const found = find(handle);
  return found == nullptr || found->is_done();
}

bool has_ended_badly(MPI_Request handle) noexcept {
  const request* const found = find(handle);
  return found != nullptr && found->is_done() && found->result.error != MPI_SUCCESS;
}

MPI_Status* status_at(MPI_Status* statuses, int index) noexcept {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + index;
}
void set_error(MPI_Status* statuses, int index, int error) noexcept {
  if (statuses != MPI_STATUSES_IGNORE) statuses[index].MPI_ERROR = error;
}

// Completes a request that is done, a null one also.
int complete_any(rank_state& rank, MPI_Request& handle, MPI_Status* status) noexcept {
  request* const req = find(handle);
  if (req != nullptr) return complete(rank, handle, *req, status);
  write_status(status, outcome{});
  return MPI_SUCCESS;
}

// The errors of several requests, in the order of their statuses. Only where one has failed are the fields MPI_ERROR
// written, and then all of them (3.2.5).
class errors_of_several {
 public:
  explicit errors_of_several(MPI_Status* statuses) noexcept : statuses_{statuses} {}
  void add(int index, int error) noexcept {
    if (error != MPI_SUCCESS && !has_failed_) {
      has_failed_ = true;
      // A handler that ends the job writes one line, with this text.
      if (error != MPI_ERR_TRUNCATE) fail(error, "operation %d of several: %s", index, text_of(error).meaning);
      for (int before = 0; before < index; ++before) set_error(statuses_, before, MPI_SUCCESS);
    }
    if (has_failed_) set_error(statuses_, index, error);
  }
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  [[nodiscard]] int result() const noexcept { return has_failed_ ? MPI_ERR_IN_STATUS : MPI_SUCCESS; }

 private:
  MPI_Status* statuses_;
  bool has_failed_ = false;
};

// The devices on which progress ends requests that are not done: of all; of the first where that is enough.
void add_devices(rank_state& rank, std::span<const MPI_Request> all, device_set& out) noexcept {
  for (const MPI_Request each : all) {
    if (is_done(each)) continue;
    out.add(device_of(rank, *find_request(each)));
    if (ends_everywhere(rank)) return;
  }
}

// Tells whether one of several requests has failed. It looks at all of them only at first, and after failures of any
// request of the rank.
class failure_watch {
 public:
  failure_watch(const request_signals& signals, const MPI_Request* all, int count) noexcept
      : signals_{signals}, all_{all}, count_{count} {}
  [[nodiscard]] bool has_failed() noexcept {
    const std::uint64_t failures = signals_.failures();
    if (failures == seen_) return false;
    seen_ = failures;
    return std::any_of(all_, all_ + count_, [](MPI_Request each) { return has_ended_badly(each); });
  }

 private:
  const request_signals& signals_;
  const MPI_Request* all_;
  int count_;
  std::uint64_t seen_ = ~std::uint64_t{0};
};

// Which signals wake a thread that waits for one of several requests; all of them after a failure.
struct wait_in_order {
  const request& req;
  const request_signals& signals;
  std::uint64_t failures;

  static bool may_end(const void* wait) noexcept {
    const auto& mine = *static_cast<const wait_in_order*>(wait);
    return mine.req.is_done() || mine.signals.failures() != mine.failures;
  }
};

// Waits until `req` is done, or until one of all requests has failed. `devices`: filled by the first call where one
// device is not enough, which looks at the devices of all requests.
void wait_for_first(rank_state& rank, request& req, failure_watch& watch, device_set& devices,
                    std::span<const MPI_Request> all) {
  if (req.owned != nullptr) req.owned->wait(rank, req);
  const wait_in_order mine{req, rank.signals, rank.signals.failures()};
  if (watch.has_failed()) return;
  weft::device* const only = &device_of(rank, req);
  if (!ends_everywhere(rank) && devices.count() == 0) add_devices(rank, all, devices);
  const std::span<weft::device* const> polled = devices.count() == 0 ? std::span{&only, 1} : devices.devices();
  progress_on(polled);
  if (!req.is_done() && wait_as_fiber(rank, all, false, "MPI_Waitall")) return;
  wait_on(rank, {"MPI_Waitall", &describe_wait, &req, {&wait_in_order::may_end, &mine}}, polled,
          [&] { return req.is_done() || watch.has_failed(); });
}

// The first active request that is done. `has_active`: whether there is an active one at all.
std::optional<int> first_done(const MPI_Request* all, int count, bool& has_active) noexcept {
  has_active = false;
  for (int index = 0; index < count; ++index) {
    const request* const req = find_active(all[index]);
    if (req == nullptr) continue;
    has_active = true;
    if (req->is_done()) return index;
  }
  return {};
}

// Tests the continuation requests among several requests. Returns whether anything has moved.
bool advance_continuations(rank_state& rank, std::span<const MPI_Request> all) noexcept {
  if (!rank.requests.continuations().is_used()) return false;
  bool has_moved = false;
  for (const MPI_Request each : all) {
    request* const req = find_active(each);
    if (req != nullptr && req->kind == object_kind::continuation_request && !req->is_done())
      has_moved |= req->owned->advance(rank, *req);
  }
  return has_moved;
}

bool progress_on_open(rank_state& rank, std::span<const MPI_Request> all) noexcept {
  device_set devices;
  add_devices(rank, all, devices);
  const bool has_moved = progress_on(devices.devices());
  return advance_continuations(rank, all) || has_moved;
}

// Tests for a first request that is done, and makes progress if need be.
std::optional<int> test_first_done(rank_state& rank, const MPI_Request* all, int count, bool& has_active) noexcept {
  std::optional<int> found = first_done(all, count, has_active);
  bool has_moved = false;
  if (!found && has_active) {
    has_moved = progress_on_open(rank, {all, static_cast<std::size_t>(count)});
    found = first_done(all, count, has_active);
  }
  end_test(rank, found || !has_active, has_moved);
  return found;
}

// Which signals wake a thread that waits for any of several requests. Where there are many, each does: the thread that
// signals should not look at all of them.
struct wait_for_any {
  std::span<const MPI_Request> all;

  static bool may_end(const void* wait) noexcept {
    constexpr std::size_t looks_max = 64;
    const auto& mine = *static_cast<const wait_for_any*>(wait);
    bool has_active = false;
    return mine.all.size() > looks_max ||
           first_done(mine.all.data(), static_cast<int>(mine.all.size()), has_active).has_value();
  }
};

// Waits for a first request that is done; nothing if none is active.
std::optional<int> wait_first_done(rank_state& rank, const MPI_Request* all, int count, const char* function) {
  bool has_active = false;
  std::optional<int> found = first_done(all, count, has_active);
  if (found || !has_active) return found;
  device_set devices;
  add_devices(rank, {all, static_cast<std::size_t>(count)}, devices);
  progress_on(devices.devices());
  const wait_for_any mine{{all, static_cast<std::size_t>(count)}};
  const bool has_waited = wait_as_fiber(rank, mine.all, true, function);
  if (has_waited) found = first_done(all, count, has_active);
  if (found) return found;
  wait_on(rank, {function, nullptr, nullptr, {&wait_for_any::may_end, &mine}}, devices.devices(), [&] {
    static_cast<void>(advance_continuations(rank, mine.all));
    found = first_done(all, count, has_active);
    return found.has_value();
  });
  return found;
}

// Whether all are done, by a test.
bool test_all_done(rank_state& rank, const MPI_Request* all, int count) noexcept {
  const auto is_open = [](MPI_Request each) { return !is_done(each); };
  const MPI_Request* open = std::find_if(all, all + count, is_open);
  bool has_moved = false;
  if (open != all + count) {
    has_moved = progress_on_open(rank, {open, all + count});
    open = std::find_if(open, all + count, is_open);
  }
  const bool are_done = open == all + count;
  end_test(rank, are_done, has_moved);
  return are_done;
}

// Completes all active requests that are done from `first` on, which is the first one.
int complete_some(rank_state& rank, int first, int count, MPI_Request* all, int* done_count, int* indices,
                  MPI_Status* statuses) noexcept {
  errors_of_several errors{statuses};
  int found = 0;
  for (int index = first; index < count; ++index) {
    request* const req = find_active(all[index]);
    if (req == nullptr || !req->is_done()) continue;
    errors.add(found, complete(rank, all[index], *req, status_at(statuses, found)));
    indices[found++] = index;
  }
  *done_count = found;
  return errors.result();
}

void show(const request* req, MPI_Status* status) noexcept {
  outcome result{};
  if (req != nullptr && req->is_active) {
    result = req->result;
    if (req->owned != nullptr) req->owned->describe(result);
  }
  write_status(status, result);
}

}  // namespace

int wait_all(rank_state& rank, int count, MPI_Request* all, MPI_Status* statuses) noexcept {
  if (weft::detail::is_in_callback() && !std::all_of(all, all + count, is_done)) return fail_in_callback();
  return guarded([&] {
    errors_of_several errors{statuses};
    failure_watch watch{rank.signals, all, count};
    device_set devices;
    for (int index = 0; index < count; ++index) {
      request* const req = find(all[index]);
      if (req != nullptr && !errors.has_failed()) [[likely]] {
        if (!req->is_done()) wait_for_first(rank, *req, watch, devices, {all, static_cast<std::size_t>(count)});
        if (req->is_done() && try_complete(rank, all[index], *req, status_at(statuses, index))) continue;
      }
      // Still not done: another one has failed.
      const bool is_open = req != nullptr && !req->is_done();
      errors.add(index, is_open ? MPI_ERR_PENDING : complete_any(rank, all[index], status_at(statuses, index)));
    }
    return errors.result();
  });
}

int wait_any(rank_state& rank, int count, MPI_Request* all, int* index, MPI_Status* status) noexcept {
  return guarded([&] {
    const std::optional<int> found = wait_first_done(rank, all, count, "MPI_Waitany");
    *index = found.value_or(MPI_UNDEFINED);
    if (found) return complete_any(rank, all[*found], status);
    write_status(status, outcome{});
    return MPI_SUCCESS;
  });
}

int wait_some(rank_state& rank, int count, MPI_Request* all, int* done_count, int* indices,
              MPI_Status* statuses) noexcept {
  return guarded([&] {
    const std::optional<int> found = wait_first_done(rank, all, count, "MPI_Waitsome");
    if (found) return complete_some(rank, *found, count, all, done_count, indices, statuses);
    *done_count = MPI_UNDEFINED;
    return MPI_SUCCESS;
  });
}

int test_all(rank_state& rank, int count, MPI_Request* all, int* flag, MPI_Status* statuses) noexcept {
  *flag = test_all_done(rank, all, count) ? 1 : 0;
  if (*flag == 0) return MPI_SUCCESS;
  errors_of_several errors{statuses};
  for (int index = 0; index < count; ++index)
    errors.add(index, complete_any(rank, all[index], status_at(statuses, index)));
  return errors.result();
}

int test_any(rank_state& rank, int count, MPI_Request* all, int* index, int* flag, MPI_Status* status) noexcept {
  bool has_active = false;
  const std::optional<int> found = test_first_done(rank, all, count, has_active);
  *index = found.value_or(MPI_UNDEFINED);
  *flag = found || !has_active ? 1 : 0;
  if (found) return complete_any(rank, all[*found], status);
  if (!has_active) write_status(status, outcome{});
  return MPI_SUCCESS;
}

int test_some(rank_state& rank, int count, MPI_Request* all, int* done_count, int* indices,
              MPI_Status* statuses) noexcept {
  bool has_active = false;
  const std::optional<int> found = test_first_done(rank, all, count, has_active);
  if (found) return complete_some(rank, *found, count, all, done_count, indices, statuses);
  *done_count = has_active ? 0 : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int get_status_all(rank_state& rank, int count, const MPI_Request* all, int* flag, MPI_Status* statuses) noexcept {
  *flag = test_all_done(rank, all, count) ? 1 : 0;
  if (*flag == 0) return MPI_SUCCESS;
  for (int index = 0; index < count; ++index) show(find(all[index]), status_at(statuses, index));
  return MPI_SUCCESS;
}

int get_status_any(rank_state& rank, int count, const MPI_Request* all, int* index, int* flag,
                   MPI_Status* status) noexcept {
  bool has_active = false;
  const std::optional<int> found = test_first_done(rank, all, count, has_active);
  *index = found.value_or(MPI_UNDEFINED);
  *flag = found || !has_active ? 1 : 0;
  if (*flag != 0) show(found ? find(all[*found]) : nullptr, status);
  return MPI_SUCCESS;
}

int get_status_some(rank_state& rank, int count, const MPI_Request* all, int* done_count, int* indices,
                    MPI_Status* statuses) noexcept {
  bool has_active = false;
  const std::optional<int> found = test_first_done(rank, all, count, has_active);
  *done_count = found || has_active ? 0 : MPI_UNDEFINED;
  for (int index = found.value_or(count); index < count; ++index) {
    const request* const req = find_active(all[index]);
    if (req == nullptr || !req->is_done()) continue;
    show(req, status_at(statuses, *done_count));
    indices[(*done_count)++] = index;
  }
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
