// SPDX-License-Identifier: BSD-3-Clause
// The kinds of bootstrap, each with its parameters; `process_bootstrap` chooses and fills these in.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "boot/bootstrap.hpp"

namespace weft::boot {

/// Alone: rank 0 of 1.
[[nodiscard]] std::shared_ptr<bootstrap> make_single();

/// `make_local_job` with a bound on its fences.
[[nodiscard]] std::vector<std::shared_ptr<bootstrap>> make_local_job(std::uint32_t ranks,
                                                                     std::chrono::milliseconds timeout);

struct pmi1_options {
  int fd = -1;  ///< a connected stream socket; the bootstrap takes it over and closes it
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::chrono::milliseconds timeout{60000};
};
/// Speaks the PMI-1 wire protocol. **Errors** boot_failed: no such socket, a server that answers something else.
[[nodiscard]] std::shared_ptr<bootstrap> make_pmi1(const pmi1_options& options);

struct file_options {
  std::string directory;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::chrono::milliseconds timeout{60000};
  std::string key;  ///< ranks with another one belong to another job
};
/// Meets the others in a private directory; returns when all are there. **Errors** boot_failed.
[[nodiscard]] std::shared_ptr<bootstrap> make_file(const file_options& options);

// What all kinds check alike. **Errors** invalid_argument.
void check_key(std::string_view key);
void check_value(std::string_view key, std::string_view bytes);
void check_rank(std::uint32_t rank, std::uint32_t size);
[[noreturn]] void throw_no_value(const bootstrap& from, std::uint32_t rank, std::string_view key);
[[noreturn]] void throw_put_twice(const bootstrap& to, std::string_view key);

/// `0, 3, 5-9 and 12 more`: which ranks, readable even if they are many.
[[nodiscard]] std::string list_of_ranks(const std::vector<std::uint32_t>& sorted);

}  // namespace weft::boot
