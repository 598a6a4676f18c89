// SPDX-License-Identifier: BSD-3-Clause
// The rank and size of this process, exchange of small values, and a barrier: a job needs them before it has a network.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::boot {

/// The longest value that every bootstrap carries.
inline constexpr std::size_t value_bytes_max = 4096;

/// One rank's end of a bootstrap. It is process-wide; several runtimes share it under names of their own (a prefix of
/// their keys). Keys are made of [a-z0-9._-], at most 48 characters; all ranks may use one key, and each puts it once.
class bootstrap {
 public:
  bootstrap() = default;
  bootstrap(const bootstrap&) = delete;
  bootstrap& operator=(const bootstrap&) = delete;
  virtual ~bootstrap() = default;

  [[nodiscard]] virtual std::uint32_t rank() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t size() const noexcept = 0;
  /// Which kind: "single", "file", "pmi1" or "local".
  [[nodiscard]] virtual const char* name() const noexcept = 0;

  /// Publishes up to `value_bytes_max` arbitrary bytes, to be seen by everybody after the next fence.
  /// **Threads** any. **Errors** invalid_argument (key or length), boot_failed.
  virtual void put(std::string_view key, std::string_view bytes) = 0;

  /// The bytes that `rank` put under `key` before a fence in which both have taken part since.
  /// **Threads** any. **Errors** invalid_argument, boot_failed if there is no such value.
  [[nodiscard]] virtual std::string get(std::uint32_t rank, std::string_view key) = 0;

  /// Collective: returns when all ranks have called it as often as this one.
  /// **Blocking** at most WEFT_BOOT_TIMEOUT_S. **Threads** one at a time.
  /// **Errors** boot_failed, naming the missing things and, where they are known, the missing ranks.
  virtual void fence() = 0;

  /// How many runtimes have been made over this bootstrap before; all ranks make theirs in one order.
  [[nodiscard]] std::uint32_t next_runtime() noexcept {
    // [boot.runtimes] relaxed: only tells the runtimes of one rank apart.
    return runtimes_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> runtimes_{0};
};

/// This process's bootstrap, found from the environment by the first call and left at the end of the process.
/// **Threads** any. **Errors** configuration, boot_failed: a launcher that promised ranks and did not start them.
[[nodiscard]] std::shared_ptr<bootstrap> process_bootstrap();

/// A job whose ranks are threads of this process: element i is rank i's. **Blocking** fences wait for each other, at
/// most WEFT_BOOT_TIMEOUT_S.
[[nodiscard]] std::vector<std::shared_ptr<bootstrap>> make_local_job(std::uint32_t ranks);

}  // namespace weft::boot
