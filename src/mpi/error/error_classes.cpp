// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error/error_classes.hpp"

#include <algorithm>
#include <array>

#include "mpi.h"

namespace weft::mpi {
namespace {

struct entry {
  int error_class;
  class_text text;
};

// Entries stand in the order of their values.
constexpr std::array entries{
    entry{MPI_SUCCESS, {"MPI_SUCCESS", "no error"}},
    entry{MPI_ERR_BUFFER, {"MPI_ERR_BUFFER", "the buffer is not valid"}},
    entry{MPI_ERR_COUNT, {"MPI_ERR_COUNT", "the count is not valid"}},
    entry{MPI_ERR_TYPE, {"MPI_ERR_TYPE", "the datatype is not valid"}},
    entry{MPI_ERR_TAG, {"MPI_ERR_TAG", "the tag is not valid"}},
    entry{MPI_ERR_COMM, {"MPI_ERR_COMM", "the communicator is not valid"}},
    entry{MPI_ERR_RANK, {"MPI_ERR_RANK", "the rank is not valid"}},
    entry{MPI_ERR_REQUEST, {"MPI_ERR_REQUEST", "the request is not valid"}},
    entry{MPI_ERR_ROOT, {"MPI_ERR_ROOT", "the root is not valid"}},
    entry{MPI_ERR_GROUP, {"MPI_ERR_GROUP", "the group is not valid"}},
    entry{MPI_ERR_OP, {"MPI_ERR_OP", "the operation is not valid"}},
    entry{MPI_ERR_TOPOLOGY, {"MPI_ERR_TOPOLOGY", "the topology is not valid"}},
    entry{MPI_ERR_DIMS, {"MPI_ERR_DIMS", "the dimensions are not valid"}},
    entry{MPI_ERR_ARG, {"MPI_ERR_ARG", "an argument is not valid"}},
    entry{MPI_ERR_UNKNOWN, {"MPI_ERR_UNKNOWN", "unknown error"}},
    entry{MPI_ERR_TRUNCATE, {"MPI_ERR_TRUNCATE", "the message is longer than the receive buffer"}},
    entry{MPI_ERR_OTHER, {"MPI_ERR_OTHER", "an error of no class of its own"}},
    entry{MPI_ERR_INTERN, {"MPI_ERR_INTERN", "an error inside the library"}},
    entry{MPI_ERR_PENDING, {"MPI_ERR_PENDING", "the request is not complete"}},
    entry{MPI_ERR_IN_STATUS, {"MPI_ERR_IN_STATUS", "the statuses have the errors"}},
    entry{MPI_ERR_ACCESS, {"MPI_ERR_ACCESS", "permission denied"}},
    entry{MPI_ERR_AMODE, {"MPI_ERR_AMODE", "the mode of access is not valid"}},
    entry{MPI_ERR_ASSERT, {"MPI_ERR_ASSERT", "the assertion is not valid"}},
    entry{MPI_ERR_BAD_FILE, {"MPI_ERR_BAD_FILE", "the name of the file is not valid"}},
    entry{MPI_ERR_BASE, {"MPI_ERR_BASE", "the address of memory is not valid"}},
    entry{MPI_ERR_CONVERSION, {"MPI_ERR_CONVERSION", "a conversion of data has failed"}},
    entry{MPI_ERR_DISP, {"MPI_ERR_DISP", "the displacement is not valid"}},
    entry{MPI_ERR_DUP_DATAREP, {"MPI_ERR_DUP_DATAREP", "the data representation is defined already"}},
    entry{MPI_ERR_FILE_EXISTS, {"MPI_ERR_FILE_EXISTS", "the file exists"}},
    entry{MPI_ERR_FILE_IN_USE, {"MPI_ERR_FILE_IN_USE", "the file is in use"}},
    entry{MPI_ERR_FILE, {"MPI_ERR_FILE", "the file handle is not valid"}},
    entry{MPI_ERR_INFO_KEY, {"MPI_ERR_INFO_KEY", "the key is too long"}},
    entry{MPI_ERR_INFO_NOKEY, {"MPI_ERR_INFO_NOKEY", "the info object does not have the key"}},
    entry{MPI_ERR_INFO_VALUE, {"MPI_ERR_INFO_VALUE", "the value is too long"}},
    entry{MPI_ERR_INFO, {"MPI_ERR_INFO", "the info object is not valid"}},
    entry{MPI_ERR_IO, {"MPI_ERR_IO", "an error of input or output"}},
    entry{MPI_ERR_KEYVAL, {"MPI_ERR_KEYVAL", "the key of the attribute is not valid"}},
    entry{MPI_ERR_LOCKTYPE, {"MPI_ERR_LOCKTYPE", "the type of lock is not valid"}},
    entry{MPI_ERR_NAME, {"MPI_ERR_NAME", "the service name is not published"}},
    entry{MPI_ERR_NO_MEM, {"MPI_ERR_NO_MEM", "memory is exhausted"}},
    entry{MPI_ERR_NOT_SAME, {"MPI_ERR_NOT_SAME", "members have given different arguments"}},
    entry{MPI_ERR_NO_SPACE, {"MPI_ERR_NO_SPACE", "the file system is full"}},
    entry{MPI_ERR_NO_SUCH_FILE, {"MPI_ERR_NO_SUCH_FILE", "the file does not exist"}},
    entry{MPI_ERR_PORT, {"MPI_ERR_PORT", "the port is not valid"}},
    entry{MPI_ERR_QUOTA, {"MPI_ERR_QUOTA", "the quota is exceeded"}},
    entry{MPI_ERR_READ_ONLY, {"MPI_ERR_READ_ONLY", "the file can only be read"}},
    entry{MPI_ERR_RMA_ATTACH, {"MPI_ERR_RMA_ATTACH", "the memory cannot be attached"}},
    entry{MPI_ERR_RMA_CONFLICT, {"MPI_ERR_RMA_CONFLICT", "accesses of the window conflict"}},
    entry{MPI_ERR_RMA_RANGE, {"MPI_ERR_RMA_RANGE", "the target is not memory of the window"}},
    entry{MPI_ERR_RMA_SHARED, {"MPI_ERR_RMA_SHARED", "the memory cannot be shared"}},
    entry{MPI_ERR_RMA_SYNC, {"MPI_ERR_RMA_SYNC", "the window is not synchronized so"}},
    entry{MPI_ERR_SERVICE, {"MPI_ERR_SERVICE", "the service name is not valid"}},
    entry{MPI_ERR_SIZE, {"MPI_ERR_SIZE", "the size is not valid"}},
    entry{MPI_ERR_SPAWN, {"MPI_ERR_SPAWN", "the processes cannot be started"}},
    entry{MPI_ERR_UNSUPPORTED_DATAREP, {"MPI_ERR_UNSUPPORTED_DATAREP", "the data representation is not supported"}},
    entry{MPI_ERR_UNSUPPORTED_OPERATION, {"MPI_ERR_UNSUPPORTED_OPERATION", "the operation is not supported"}},
    entry{MPI_ERR_WIN, {"MPI_ERR_WIN", "the window is not valid"}},
    entry{MPI_ERR_RMA_FLAVOR, {"MPI_ERR_RMA_FLAVOR", "the window is of another flavor"}},
    entry{MPI_ERR_PROC_ABORTED, {"MPI_ERR_PROC_ABORTED", "a process has ended"}},
    entry{MPI_ERR_VALUE_TOO_LARGE, {"MPI_ERR_VALUE_TOO_LARGE", "the value is too large for the argument"}},
    entry{MPI_ERR_SESSION, {"MPI_ERR_SESSION", "the session is not valid"}},
    entry{MPI_ERR_ERRHANDLER, {"MPI_ERR_ERRHANDLER", "the error handler is not valid"}},
    entry{MPI_ERR_ABI, {"MPI_ERR_ABI", "the ABI does not allow it"}},
    entry{MPI_T_ERR_CANNOT_INIT, {"MPI_T_ERR_CANNOT_INIT", "the tool interface cannot be initialized"}},
    entry{MPI_T_ERR_NOT_ACCESSIBLE, {"MPI_T_ERR_NOT_ACCESSIBLE", "the tool interface cannot be used here"}},
    entry{MPI_T_ERR_NOT_INITIALIZED, {"MPI_T_ERR_NOT_INITIALIZED", "the tool interface is not initialized"}},
    entry{MPI_T_ERR_NOT_SUPPORTED, {"MPI_T_ERR_NOT_SUPPORTED", "the request is not supported"}},
    entry{MPI_T_ERR_MEMORY, {"MPI_T_ERR_MEMORY", "memory is exhausted"}},
    entry{MPI_T_ERR_INVALID, {"MPI_T_ERR_INVALID", "an argument is not valid"}},
    entry{MPI_T_ERR_INVALID_INDEX, {"MPI_T_ERR_INVALID_INDEX", "nothing has this index"}},
    entry{MPI_T_ERR_INVALID_ITEM, {"MPI_T_ERR_INVALID_ITEM", "no item has this index"}},
    entry{MPI_T_ERR_INVALID_SESSION, {"MPI_T_ERR_INVALID_SESSION", "the session is not valid"}},
    entry{MPI_T_ERR_INVALID_HANDLE, {"MPI_T_ERR_INVALID_HANDLE", "the handle is not valid"}},
    entry{MPI_T_ERR_INVALID_NAME, {"MPI_T_ERR_INVALID_NAME", "nothing has this name"}},
    entry{MPI_T_ERR_OUT_OF_HANDLES, {"MPI_T_ERR_OUT_OF_HANDLES", "there are no more handles"}},
    entry{MPI_T_ERR_OUT_OF_SESSIONS, {"MPI_T_ERR_OUT_OF_SESSIONS", "there are no more sessions"}},
    entry{MPI_T_ERR_CVAR_SET_NOT_NOW, {"MPI_T_ERR_CVAR_SET_NOT_NOW", "the variable cannot be set now"}},
    entry{MPI_T_ERR_CVAR_SET_NEVER, {"MPI_T_ERR_CVAR_SET_NEVER", "the variable cannot be set"}},
    entry{MPI_T_ERR_PVAR_NO_WRITE, {"MPI_T_ERR_PVAR_NO_WRITE", "the variable cannot be written"}},
    entry{MPI_T_ERR_PVAR_NO_STARTSTOP, {"MPI_T_ERR_PVAR_NO_STARTSTOP", "the variable cannot be started or stopped"}},
    entry{MPI_T_ERR_PVAR_NO_ATOMIC, {"MPI_T_ERR_PVAR_NO_ATOMIC", "the variable cannot be read and written at once"}},
    entry{MPI_ERR_LASTCODE, {"MPI_ERR_LASTCODE", "the last predefined error code"}},
};
static_assert(std::ranges::is_sorted(entries, {}, &entry::error_class));

const entry* find_text(int error_class) noexcept {
  const auto found = std::ranges::lower_bound(entries, error_class, {}, &entry::error_class);
  return found != entries.end() && found->error_class == error_class ? &*found : nullptr;
}

}  // namespace

int class_of(weft::errc code) noexcept {
  switch (code) {
    case errc::none: return MPI_SUCCESS;
    case errc::truncated: return MPI_ERR_TRUNCATE;
    case errc::peer_failed: return MPI_ERR_PROC_ABORTED;
    case errc::out_of_memory: return MPI_ERR_NO_MEM;
    case errc::invalid_argument: return MPI_ERR_ARG;
    default: return MPI_ERR_OTHER;
  }
}

class_text text_of(int error_class) noexcept {
  const entry* const found = find_text(error_class);
  return found != nullptr ? found->text : class_text{"an unknown class", "unknown error"};
}

bool is_predefined_class(int error_class) noexcept { return find_text(error_class) != nullptr; }

}  // namespace weft::mpi
