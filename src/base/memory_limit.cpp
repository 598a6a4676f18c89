#include "base/memory_limit.hpp"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>

namespace weft::base {

std::uint64_t memory_limit() noexcept {
  std::uint64_t out = ~std::uint64_t{0};
  struct sysinfo machine {};
  if (sysinfo(&machine) == 0) out = (std::uint64_t{machine.totalram} + machine.totalswap) * machine.mem_unit;
  for (const auto which : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
      out = std::min(out, std::uint64_t{limit.rlim_cur});
    }
  }
  return out;
}

}  // namespace weft::base
