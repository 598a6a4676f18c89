// SPDX-License-Identifier: BSD-3-Clause
// What reports of a rank in which nothing moves call communicators and functions (WEFT_STUCK_AFTER).
#pragma once

#include <cstdint>
#include <string>

#include "weft/detail/report_names.hpp"

namespace weft::mpi {

struct rank_state;

class names_in_reports final : public weft::detail::report_names {
 public:
  explicit names_in_reports(rank_state& rank);
  ~names_in_reports();

  [[nodiscard]] const char* library() const noexcept override { return "MPI"; }
  [[nodiscard]] std::string communicator(std::uint32_t id) const override;
  [[nodiscard]] std::uint32_t id_of_world() const noexcept override;
  [[nodiscard]] std::uint32_t member(std::uint32_t id, std::uint32_t rank) const override;
  [[nodiscard]] const char* function(collective_operation which) const noexcept override;

 private:
  rank_state& rank_;
};

}  // namespace weft::mpi
