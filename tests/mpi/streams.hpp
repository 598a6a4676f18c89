// SPDX-License-Identifier: BSD-3-Clause
// Streams and stream communicators of tests.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "mpi/ranks.hpp"
#include "mpix.h"

namespace weft::test {

/// Runs `body` at each rank, with the thread level that streams need.
inline void run_stream_ranks(std::uint32_t ranks, const std::function<void(numbers_of_rank)>& body) {
  run_ranks(ranks, body, {}, MPI_THREAD_MULTIPLE);
}

/// A stream, which is free at its end.
class own_stream {
 public:
  own_stream() { EXPECT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &handle_), MPI_SUCCESS); }
  ~own_stream() {
    EXPECT_EQ(MPIX_Stream_free(&handle_), MPI_SUCCESS);
    EXPECT_EQ(handle_, MPIX_STREAM_NULL);
  }
  own_stream(const own_stream&) = delete;
  own_stream& operator=(const own_stream&) = delete;
  [[nodiscard]] MPIX_Stream handle() const { return handle_; }
  void make_progress(int calls = 1) const {
    for (int call = 0; call < calls; ++call) EXPECT_EQ(MPIX_Stream_progress(handle_), MPI_SUCCESS);
  }

 private:
  MPIX_Stream handle_ = MPIX_STREAM_NULL;
};

/// How many messages have arrived at the device of a stream.
inline std::uint64_t arrivals_at(MPIX_Stream stream) {
  return mpi::find_stream(stream)->device.counters().arrivals.messages;
}

/// A stream communicator of all ranks.
class stream_comm {
 public:
  explicit stream_comm(MPIX_Stream stream) {
    EXPECT_EQ(MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &handle_), MPI_SUCCESS);
  }
  ~stream_comm() { EXPECT_EQ(MPI_Comm_free(&handle_), MPI_SUCCESS); }
  stream_comm(const stream_comm&) = delete;
  stream_comm& operator=(const stream_comm&) = delete;
  [[nodiscard]] MPI_Comm handle() const { return handle_; }

 private:
  MPI_Comm handle_ = MPI_COMM_NULL;
};

/// Streams that a rank has before others, so that numbers of devices differ. No thread makes progress on them.
inline std::vector<own_stream> idle_streams(int rank) {
  return std::vector<own_stream>(static_cast<std::size_t>(rank));
}

/// The function of a hook: whether it is done.
using hook_body = std::function<bool(MPIX_Async_thing)>;

inline int call_body(MPIX_Async_thing thing) {
  return (*static_cast<hook_body*>(MPIX_Async_get_state(thing)))(thing) ? MPIX_ASYNC_DONE : MPIX_ASYNC_NOPROGRESS;
}

inline void start_hook(hook_body& body, MPIX_Stream stream) {
  EXPECT_EQ(MPIX_Async_start(&call_body, &body, stream), MPI_SUCCESS);
}

}  // namespace weft::test
