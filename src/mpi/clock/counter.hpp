// SPDX-License-Identifier: BSD-3-Clause
// The processor's counter, and the kernel's clock.
//
// Cost: on x86 a read takes some 40 cycles, and 40 more where it waits for the loads before it.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::mpi {

struct processor_counter {
  /// The counter may be read before loads that stand in front of it have ended.
  [[nodiscard]] static std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    std::uint64_t read = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(read));
    return read;
#else
    return 0;
#endif
  }
  /// The counter is read after these loads, so a thread that has seen another one's store sees no earlier count.
  [[nodiscard]] static std::uint64_t ticks_in_order() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    std::uint64_t read = 0;
    asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(read) : : "memory");
    return read;
#else
    return 0;
#endif
  }
  /// CLOCK_MONOTONIC. Its vDSO makes no system call where it counts by the processor's counter.
  [[nodiscard]] static std::int64_t nanoseconds() noexcept;

  /// Whether the kernel's clock counts by this counter, the processor lets programs read it, and it has one rate in all
  /// states of power. Asks the system.
  [[nodiscard]] static bool is_trusted() noexcept;
};

/// Whether the kernel's name of its clock source is that of the counter. Others that are made of it, such as those of
/// virtual machines, have an offset or a scale that may change.
[[nodiscard]] bool is_of_processor(std::string_view clock_source) noexcept;

}  // namespace weft::mpi
