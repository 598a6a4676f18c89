// All of Weft's public interface. Each header below can also be included alone.
#pragma once

#include "weft/buffer.hpp"
#include "weft/completion.hpp"
#include "weft/completion_queue.hpp"
#include "weft/counter.hpp"
#include "weft/device.hpp"
#include "weft/error.hpp"
#include "weft/handler.hpp"
#include "weft/matched_message.hpp"
#include "weft/matching_engine.hpp"
#include "weft/post_options.hpp"
#include "weft/region.hpp"
#include "weft/runtime.hpp"
#include "weft/status.hpp"
#include "weft/synchronizer.hpp"
#include "weft/wait.hpp"
