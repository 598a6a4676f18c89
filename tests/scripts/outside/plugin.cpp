// SPDX-License-Identifier: BSD-3-Clause
// A plugin that uses Weft.
#include <weft/error.hpp>

extern "C" const char* name_by_plugin() { return weft::name_of(weft::errc::boot_failed); }
