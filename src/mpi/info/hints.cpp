// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/info/hints.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "mpi/error/error.hpp"
#include "mpi/info/info.hpp"

namespace weft::mpi {
namespace {

struct known_hint {
  const char* key;
  bool communicator_hints::*value;
};
constexpr std::array known_hints{
    known_hint{"mpi_assert_allow_overtaking", &communicator_hints::allow_overtaking},
    known_hint{"mpi_assert_no_any_source", &communicator_hints::no_any_source},
    known_hint{"mpi_assert_no_any_tag", &communicator_hints::no_any_tag},
    known_hint{"mpi_assert_exact_length", &communicator_hints::exact_length},
    known_hint{"mpi_assert_strict_persistent_collective_ordering",
               &communicator_hints::strict_persistent_collective_ordering},
    known_hint{"weft_assert_any_source_by_tag", &communicator_hints::any_source_by_tag},
};

constexpr const char* vci_key = "weft_vci";

}  // namespace

communicator_hints read_hints(const info* from, communicator_hints before) {
  if (from == nullptr) return before;
  for (const known_hint& each : known_hints) {
    const std::optional<std::string> found = from->find(each.key);
    if (found == "true") before.*each.value = true;
    if (found == "false") before.*each.value = false;
  }
  if (const std::optional<std::string> found = from->find(vci_key)) {
    std::uint8_t number = 0;
    const char* const end = found->data() + found->size();
    const auto [rest, problem] = std::from_chars(found->data(), end, number);
    constexpr std::uint8_t number_max = std::numeric_limits<std::uint8_t>::max() - 1;
    if (problem == std::errc{} && rest == end && number <= number_max)
      before.vci = static_cast<std::uint8_t>(number + 1);
  }
  return before;
}

int report_hints(const communicator_hints& hints, MPI_Info* made) noexcept {
  return guarded([&] {
    auto out = std::make_unique<info>();
    for (const known_hint& each : known_hints) out->set(each.key, hints.*each.value ? "true" : "false");
    if (hints.vci != 0) out->set(vci_key, std::to_string(hints.vci - 1));
    *made = new_handle(std::move(out));
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
