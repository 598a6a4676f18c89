// SPDX-License-Identifier: BSD-3-Clause
// All that the bodies of the extensions' tables call.
#pragma once

#include "mpi/api/bodies.hpp"
#include "mpi/check/extensions.hpp"
#include "mpi/extensions/continuations.hpp"
#include "mpi/extensions/hooks.hpp"
#include "mpi/extensions/stream_messages.hpp"
#include "mpi/extensions/streams.hpp"
#include "mpix.h"
