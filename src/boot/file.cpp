#include "boot/backends.hpp"
#include "weft/error.hpp"
namespace weft::boot {
std::shared_ptr<bootstrap> make_file(const file_options&) {
  throw error{errc::boot_failed, "the file boot is not there yet"};
}
}  // namespace weft::boot
