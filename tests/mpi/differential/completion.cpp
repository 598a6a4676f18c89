// SPDX-License-Identifier: BSD-3-Clause
#include "completion.hpp"

#include <numeric>

#include "transfers.hpp"

namespace differential {
namespace {

using requests = std::vector<MPI_Request>;
using statuses = std::vector<MPI_Status>;

int count_of(const requests& all) { return static_cast<int>(all.size()); }

void wait_in_any_order(scene& here, requests& all, statuses& out) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  here.own.shuffle(order);
  for (const std::size_t each : order) here.must(MPI_Wait(&all[each], &out[each]), "MPI_Wait");
}

void test_each(scene& here, requests& all, statuses& out) {
  std::vector<int> is_done(all.size(), 0);
  for (std::size_t left = all.size(); left != 0;) {
    for (std::size_t each = 0; each < all.size(); ++each) {
      if (is_done[each] != 0) continue;
      here.must(MPI_Test(&all[each], &is_done[each], &out[each]), "MPI_Test");
      if (is_done[each] != 0) --left;
    }
  }
}

void test_all(scene& here, requests& all, statuses& out) {
  for (int is_done = 0; is_done == 0;) {
    here.must(MPI_Testall(count_of(all), all.data(), &is_done, out.data()), "MPI_Testall");
  }
}

void one_by_one(scene& here, requests& all, statuses& out, bool waits) {
  for (std::size_t left = all.size(); left != 0;) {
    int index = -77, is_done = 1;
    MPI_Status status = unset_status();
    if (waits) {
      here.must(MPI_Waitany(count_of(all), all.data(), &index, &status), "MPI_Waitany");
    } else {
      here.must(MPI_Testany(count_of(all), all.data(), &index, &is_done, &status), "MPI_Testany");
    }
    if (is_done == 0) continue;
    --left;
    here.expect(index >= 0 && index < count_of(all), "index %d of %d requests", index, count_of(all));
    if (index >= 0 && index < count_of(all)) out[static_cast<std::size_t>(index)] = status;
  }
}

void some_by_some(scene& here, requests& all, statuses& out, bool waits) {
  std::vector<int> indices(all.size());
  statuses found(all.size(), unset_status());
  for (int left = count_of(all); left > 0;) {
    int count = 0;
    if (waits) {
      here.must(MPI_Waitsome(count_of(all), all.data(), &count, indices.data(), found.data()), "MPI_Waitsome");
      here.expect(count > 0, "MPI_Waitsome completes %d", count);
    } else {
      here.must(MPI_Testsome(count_of(all), all.data(), &count, indices.data(), found.data()), "MPI_Testsome");
    }
    if (count == MPI_UNDEFINED) return here.expect(false, "MPI_Waitsome or MPI_Testsome sees no active request");
    left -= count;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      out[static_cast<std::size_t>(indices[i])] = found[i];
    }
  }
}

}  // namespace

void complete(scene& here, MPI_Request& request, MPI_Status& status, bool persistent) {
  int is_done = 0;
  if (here.own.chance(20)) {
    while (is_done == 0) here.must(MPI_Request_get_status(request, &is_done, &status), "MPI_Request_get_status");
    here.expect(request != MPI_REQUEST_NULL, "MPI_Request_get_status frees the request");
  }
  if (here.own.chance(50)) {
    here.must(MPI_Wait(&request, &status), "MPI_Wait");
  } else {
    for (is_done = 0; is_done == 0;) here.must(MPI_Test(&request, &is_done, &status), "MPI_Test");
  }
  here.expect((request == MPI_REQUEST_NULL) != persistent, "the request is %s after it completed",
              persistent ? "null" : "not null");
}

void complete_all(scene& here, requests& all, statuses& out, bool persistent) {
  out.assign(all.size(), unset_status());
  switch (here.own.between(0, 7)) {
    case 0: wait_in_any_order(here, all, out); break;
    case 1: here.must(MPI_Waitall(count_of(all), all.data(), out.data()), "MPI_Waitall"); break;
    case 2: one_by_one(here, all, out, true); break;
    case 3: some_by_some(here, all, out, true); break;
    case 4: test_each(here, all, out); break;
    case 5: test_all(here, all, out); break;
    case 6: one_by_one(here, all, out, false); break;
    default: some_by_some(here, all, out, false); break;
  }
  for (const MPI_Request& each : all) {
    here.expect((each == MPI_REQUEST_NULL) != persistent, "a request is %s after it completed",
                persistent ? "null" : "not null");
  }
}

}  // namespace differential
