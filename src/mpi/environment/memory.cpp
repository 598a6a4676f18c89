// SPDX-License-Identifier: BSD-3-Clause
// Memory that a program asks MPI for.
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "mpi/environment/environment.hpp"
#include "mpi/error/error.hpp"
#include "mpi/info/info.hpp"

namespace weft::mpi {
namespace {

constexpr std::size_t line_bytes = 64;

// That of the key mpi_minimum_memory_alignment; a line where there is none, or it is no power of two.
std::size_t alignment_of(const info* hints) {
  if (hints == nullptr) return line_bytes;
  const std::string text = hints->find("mpi_minimum_memory_alignment").value_or("");
  std::size_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out > line_bytes && (out & (out - 1)) == 0 ? out : line_bytes;
}

}  // namespace

int allocate(MPI_Aint bytes, const info* hints, void* address) noexcept {
  if (bytes < 0) return fail(MPI_ERR_ARG, "a size of %lld", static_cast<long long>(bytes));
  return guarded([&] {
    const std::size_t alignment = alignment_of(hints);
    void* found = nullptr;
    // Memory of no bytes has an address, too: so one byte is taken.
    if (posix_memalign(&found, alignment, std::max<std::size_t>(static_cast<std::size_t>(bytes), 1)) != 0)
      return fail(MPI_ERR_NO_MEM, "no memory for %lld bytes", static_cast<long long>(bytes));
    *static_cast<void**>(address) = found;
    return MPI_SUCCESS;
  });
}

int release(void* address) noexcept {
  std::free(address);
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
