// SPDX-License-Identifier: BSD-3-Clause
// While one exists, the process gets no further memory from the system.
#pragma once

#include <sys/resource.h>

namespace weft::test {

class no_new_memory {
 public:
  no_new_memory() noexcept {
    getrlimit(RLIMIT_DATA, &before_);
    const rlimit least{4096, before_.rlim_max};  // the kernel takes 0 for no limit
    setrlimit(RLIMIT_DATA, &least);
  }
  ~no_new_memory() { setrlimit(RLIMIT_DATA, &before_); }
  no_new_memory(const no_new_memory&) = delete;
  no_new_memory& operator=(const no_new_memory&) = delete;

 private:
  rlimit before_{};
};

}  // namespace weft::test
