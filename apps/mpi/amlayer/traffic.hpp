// SPDX-License-Identifier: BSD-3-Clause
// Active messages between each thread and the thread of the same number at the neighbour: rank r and rank r ^ 1.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "layer.hpp"

namespace mpi_amlayer {

inline constexpr int threads_max = 64;
inline constexpr std::uint32_t bytes_min = 8;
inline constexpr std::uint32_t bytes_max = 65'536;

/// What a thread has of its own.
enum class layer_form : std::uint8_t {
  one,  ///< nothing: one device for all threads
  vci,  ///< a device with a communicator
  tag,  ///< a device with a tag, in a communicator whose receives take any source and name the tag
};

enum class traffic_kind : std::uint8_t { ping_pong, flood };

struct traffic_options {
  layer_form form;
  completion_kind completion;
  traffic_kind traffic;
  int threads;
  std::uint32_t bytes;     // the size of a payload
  std::uint32_t messages;  // each thread that sends first sends so many
  std::uint32_t window;
  int vcis;  // 0: the communicator's info names no VCI of MPICH, and one of Weft for each thread
  int yield_after;
};

struct traffic_result {
  double seconds = 0;       // the rank that took longest took so long
  std::uint64_t wrong = 0;  // messages of all ranks that were doubled or changed
  bool is_by_tag = false;   // the library says that it uses the hint of the form `tag`
  int vcis = 0;             // how many the library says that the communicators use; 0: it says nothing
};

/// The largest tag that a run needs.
[[nodiscard]] std::int64_t largest_tag(const traffic_options& options, int ranks) noexcept;

/// Collective: all ranks, an even number, have the same options. A tenth of the messages are sent before the time
/// begins. **Errors**: `std::bad_alloc`, `std::system_error` for threads.
[[nodiscard]] traffic_result run_traffic(const traffic_options& options);

}  // namespace mpi_amlayer
