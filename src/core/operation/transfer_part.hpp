// Only of puts, gets and atomics, at their origin.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::core {

struct transfer_part {
  std::byte* mapped = nullptr;      // the target's memory, if it is mapped here
  std::uint64_t region = 0;         // the name of that region
  std::uint64_t region_offset = 0;  // of that memory in the region
  std::uint32_t word = 0;           // of an atomic: operation and size
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
};

}  // namespace weft::core
