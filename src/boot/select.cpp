#include <mutex>

#include "base/log.hpp"
#include "boot/backends.hpp"

namespace weft::boot {

std::shared_ptr<bootstrap> process_bootstrap() {
  static const std::shared_ptr<bootstrap> only = make_single();
  return only;
}

}  // namespace weft::boot
