// SPDX-License-Identifier: BSD-3-Clause
// Where threads run, and what this program was built from.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/processors.hpp"

namespace weft::perf {

/// Cores that this process may use; at least 1.
[[nodiscard]] std::uint32_t core_count();

/// Whether so many threads are more than cores.
[[nodiscard]] inline bool is_crowded(std::uint64_t threads) { return threads > core_count(); }

/// Where two partners are that answer each other, thread after thread: side by side, on one core only where there is no
/// other, as neither would hear from the other there while it looks. Where the cores are used up, one core further:
/// threads of both processes on each. Of an odd number of cores the last one is left out: partners are on an even and
/// an odd one (spin_phase.hpp).
[[nodiscard]] std::uint32_t core_of_partner(std::uint32_t pair, bool begins);

/// One processor of each core, as in `0,2`.
[[nodiscard]] std::string processors();

/// What a process may run on, and on which machine.
struct given_processors {
  std::uint64_t machine = 0;
  std::array<std::uint64_t, base::processor_set::size / 64> set{};  // all zero: not known

  /// Adds those of `other` if it is on the same machine, and both are known.
  void unite(const given_processors& other) noexcept;
};
[[nodiscard]] given_processors processors_given();
/// Lets the calling thread run on all of these, where the system allows it, and counts them as the process's own.
/// Before anything is pinned.
void use_processors(const given_processors& all);

/// Pins the calling thread to core `index`, modulo their number, of the cores that the process may use. False where the
/// system refuses.
bool pin_thread(std::uint32_t index);

/// Pins the calling thread for as long as it lives, then puts back what was there.
class pinned_here {
 public:
  explicit pinned_here(std::uint32_t core);
  ~pinned_here();
  pinned_here(const pinned_here&) = delete;
  pinned_here& operator=(const pinned_here&) = delete;

 private:
  void* before_;
};

/// The processors of the calling thread, as in `0` or `0-1`.
[[nodiscard]] std::string pinning_of_thread();

/// Commit of the sources, with `-dirty` behind it where they were changed; compiler and flags.
[[nodiscard]] std::string build_commit();
[[nodiscard]] std::string build_flags();

/// The processors of the machine, as in `AMD EPYC, 2 processors`, whichever of them this process may use.
[[nodiscard]] std::string host();

/// The folder of the running executable, and a program beside it.
[[nodiscard]] std::string program_folder();

}  // namespace weft::perf
