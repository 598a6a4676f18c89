// SPDX-License-Identifier: BSD-3-Clause
// The forms of a collective: it waits, gives a request, or is started several times.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "completion.hpp"
#include "scene.hpp"
#include "transfers.hpp"

namespace differential {

enum class call_form : std::uint8_t { blocking, nonblocking, persistent };

/// One call; all ranks draw one form.
class collective_call {
 public:
  explicit collective_call(scene& here)
      : here_{here}, form_{static_cast<call_form>(here.random.between(0, 2))}, starts_{here.random.between(1, 3)} {}

  [[nodiscard]] call_form form() const { return form_; }
  [[nodiscard]] MPI_Request* request() { return &request_; }
  void done(int result) { here_.must(result, "a collective"); }
  /// Starts it, if it is persistent, and completes it. `starts`: how often, or 0 for any number of times.
  void finish(int starts = 0) {
    MPI_Status status = unset_status();
    if (form_ == call_form::nonblocking) complete(here_, request_, status);
    if (form_ != call_form::persistent) return;
    for (int left = starts == 0 ? starts_ : starts; left > 0; --left) {
      here_.must(MPI_Start(&request_), "MPI_Start");
      complete(here_, request_, status, true);
    }
    here_.must(MPI_Request_free(&request_), "MPI_Request_free");
  }

 private:
  scene& here_;
  call_form form_;
  int starts_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace differential
