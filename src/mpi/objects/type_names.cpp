// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/type_names.hpp"

#include <string_view>

#include "mpi/datatype/fortran.hpp"
#include "mpi/error/error.hpp"
#include "mpi/handle/copy_name.hpp"

namespace weft::mpi {

int type_names::set(const datatype& type, const char* name) noexcept {
  return guarded([&] {
    const std::string_view kept = std::string_view{name}.substr(0, MPI_MAX_OBJECT_NAME - 1);
    const std::lock_guard locked{mutex_};
    if (type.is_predefined() || is_of_fortran(type)) {
      predefined_[&type] = kept;
    } else {
      type.set_name(kept);
    }
    return MPI_SUCCESS;
  });
}

int type_names::get(const datatype& type, char* name, int* length) noexcept {
  const std::lock_guard locked{mutex_};
  const auto found = predefined_.find(&type);
  const std::string& text = found != predefined_.end() ? found->second : type.name();
  return copy_name(text, name, length);
}

}  // namespace weft::mpi
