// SPDX-License-Identifier: BSD-3-Clause
// What is measured: one point of a figure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::perf {

enum class kind : std::uint8_t {
  latency,      ///< to and fro; ns one way
  rate,         ///< windows of messages, each answered by one; messages per second
  stream,       ///< messages without an answer until the end; messages per second
  bandwidth,    ///< like rate; bytes per second
  put,          ///< complete at the origin and at the target; ns each
  put_visible,  ///< to and fro, the target looks at its memory; ns one way
  put_rate,     ///< windows of puts, then a flush; bytes per second
  get,          ///< ns each
  ring,         ///< one message goes round all ranks; ns for each rank that it passes
  // Collectives; ns each. The bytes are those of a rank, of alltoall those to each other rank.
  barrier,
  broadcast,  ///< as `reduce`, by each rank in turn, so that each is waited for
  reduce,
  allreduce,
  allgather,
  alltoall,
  reduce_scatter,
};
enum class operation : std::uint8_t { am, sendrecv, receiver_first, ordered };
enum class mode : std::uint8_t { processes, threads_dedicated, threads_shared };
enum class memory : std::uint8_t { ordinary, weft };

/// How the bytes of a message lie: in blocks, a stride apart.
struct strided {
  enum class ends : std::uint8_t { both, sender, receiver };

  std::size_t block_bytes = 0;  ///< 0: side by side
  std::size_t stride_bytes = 0;
  ends packed_ends = ends::both;
  bool by_loops = false;  ///< without a layout: the program copies between the blocks and a buffer

  /// `8 B of 16 B`; ends and `by loops` are named where they are not as usual.
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] const char* name_of(strided::ends which) noexcept;
[[nodiscard]] const char* name_of(kind metric) noexcept;
[[nodiscard]] const char* name_of(operation which) noexcept;
[[nodiscard]] const char* name_of(mode which) noexcept;
[[nodiscard]] const char* name_of(memory which) noexcept;

/// The ranks that take part together.
struct group_of_ranks {
  std::uint32_t ranks = 2;            ///< of the job; its launcher is given it
  std::string algorithm{};            ///< of a collective; empty: as Weft chooses
  bool has_one_communicator = false;  ///< MPI's: all threads of a rank use it, with tags of their own
};

struct point {
  perf::kind kind = kind::latency;
  perf::operation operation = operation::am;
  perf::mode mode = mode::processes;
  perf::memory memory = memory::ordinary;
  std::size_t bytes = 8;
  std::uint32_t threads = 1;  ///< of each process; in mode `processes` always 1
  std::uint32_t window = 1;   ///< 0: as the kind has it
  double seconds = 0.1;       ///< of measuring; a quarter of it before that to warm up
  bool verify = false;
  bool touch = false;           ///< both sides touch the data each time
  std::size_t piece_bytes = 0;  ///< messages are lists of such pieces; 0: one buffer
  strided blocks{};             ///< how the bytes of messages lie
  bool uses_defaults = false;   ///< threads wait by `device::wait` with its defaults, wherever the system puts them
  group_of_ranks group{};       ///< of points in which all ranks take part together
  std::string claim_name{};     ///< the claim, where the rest does not tell it
  std::string provider{};       ///< of libfabric, for messages over a network; empty: through shared memory

  [[nodiscard]] bool over_network() const noexcept { return !provider.empty(); }
  /// The name that comparisons have for it, as in `am_latency`.
  [[nodiscard]] std::string claim() const;
  /// `ns`, `msg/s` or `B/s`.
  [[nodiscard]] const char* unit() const noexcept;
  [[nodiscard]] bool is_latency() const noexcept;
  /// Whether all ranks take part together, rather than in pairs.
  [[nodiscard]] bool takes_all_ranks() const noexcept { return kind == kind::ring || is_collective(); }
  [[nodiscard]] bool is_collective() const noexcept { return kind >= kind::barrier; }
  /// Of a collective, whether it reduces bytes, as doubles.
  [[nodiscard]] bool reduces() const noexcept;

  /// `kind:bytes:threads:window:milliseconds:operation:mode:memory`, then `:plain` where it uses defaults, and
  /// `:blocks-BLOCK-STRIDE-ENDS-layout`, or `-loops`, where there are blocks, and `:by-ALGORITHM`, as programs that
  /// measure peers read it.
  [[nodiscard]] std::string text() const;
  /// **Errors**: `invalid_argument`.
  [[nodiscard]] static point parse(const std::string& text);
};

/// Messages in flight that suit a size: 64, or as many as 16 MiB hold, at least 2.
[[nodiscard]] std::uint32_t window_for(std::size_t bytes) noexcept;

}  // namespace weft::perf
