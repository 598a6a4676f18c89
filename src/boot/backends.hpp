// The kinds of bootstrap, each with what it must be told; `process_bootstrap` chooses and fills these in.
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

// What all kinds check alike. **Errors** invalid_argument.
void check_key(std::string_view key);
void check_value(std::string_view key, std::string_view bytes);
void check_rank(std::uint32_t rank, std::uint32_t size);
[[noreturn]] void throw_no_value(const bootstrap& from, std::uint32_t rank, std::string_view key);

/// `0, 3, 5-9 and 12 more`: which ranks, readable even if they are many.
[[nodiscard]] std::string list_of_ranks(const std::vector<std::uint32_t>& sorted);

}  // namespace weft::boot
