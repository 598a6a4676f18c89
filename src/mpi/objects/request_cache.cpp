// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/request_cache.hpp"

namespace weft::mpi::detail {
namespace {

// The thread makes it after it has got its slot, so that it ends before the slot is free for another thread.
// Destructors of other variables of the thread, which may call MPI later, find no cache.
struct end_of_thread {
  ~end_of_thread() { request_cache_offset = no_request_cache; }
};

}  // namespace

// Variable of the thread.
[[gnu::tls_model("initial-exec")]] constinit thread_local std::size_t request_cache_offset = unknown_request_cache;

std::size_t find_request_cache() noexcept {
  if (request_cache_offset == unknown_request_cache) {
    request_cache_offset = weft::detail::find_thread_slot() * sizeof(request_cache);
    thread_local const end_of_thread end;  // variable of the thread
    static_cast<void>(end);
  }
  return request_cache_offset;
}

}  // namespace weft::mpi::detail
