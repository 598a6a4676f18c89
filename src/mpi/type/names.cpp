#include "mpi/type/names.hpp"

#include <cstring>
#include <string_view>

#include "mpi/datatype/fortran.hpp"
#include "mpi/objects/error.hpp"

namespace weft::mpi {

int type_names::set(const datatype& of, const char* name) noexcept {
  return guarded([&] {
    const std::string_view kept = std::string_view{name}.substr(0, MPI_MAX_OBJECT_NAME - 1);
    const std::lock_guard locked{mutex_};
    if (of.is_predefined() || is_of_fortran(of)) {
      of_predefined_[&of] = kept;
    } else {
      of.set_name(kept);
    }
    return MPI_SUCCESS;
  });
}

int type_names::get(const datatype& of, char* name, int* length) noexcept {
  const std::lock_guard locked{mutex_};
  const auto found = of_predefined_.find(&of);
  const std::string& text = found != of_predefined_.end() ? found->second : of.name();
  std::memcpy(name, text.c_str(), text.size() + 1);
  *length = static_cast<int>(text.size());
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
