// SPDX-License-Identifier: BSD-3-Clause
// Coroutines: tasks that await operations and completion objects, the loop that runs them, and events among them.
#pragma once

#include "weft/event.hpp"
#include "weft/run_loop.hpp"
#include "weft/task.hpp"
#include "weft/when_all.hpp"
