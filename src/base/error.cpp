#include "weft/error.hpp"

namespace weft {

const char* name_of(errc code) noexcept {
  switch (code) {
    case errc::none: return "none";
    case errc::invalid_argument: return "invalid_argument";
    case errc::invalid_state: return "invalid_state";
    case errc::configuration: return "configuration";
    case errc::boot_failed: return "boot_failed";
    case errc::transport_failed: return "transport_failed";
    case errc::out_of_memory: return "out_of_memory";
    case errc::backlog_full: return "backlog_full";
    case errc::peer_failed: return "peer_failed";
    case errc::unknown_completion: return "unknown_completion";
    case errc::truncated: return "truncated";
    case errc::cancelled: return "cancelled";
    case errc::region_refused: return "region_refused";
  }
  return "unknown";
}

}  // namespace weft
