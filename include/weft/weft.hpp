// All of Weft's public interface. Each header below can also be included alone.
#pragma once

#include "weft/await.hpp"
#include "weft/blocking_device.hpp"
#include "weft/buffer.hpp"
#include "weft/completion.hpp"
#include "weft/completion_queue.hpp"
#include "weft/counter.hpp"
#include "weft/counters.hpp"
#include "weft/device.hpp"
#include "weft/error.hpp"
#include "weft/event.hpp"
#include "weft/fiber.hpp"
#include "weft/fiber_local.hpp"
#include "weft/fiber_sync.hpp"
#include "weft/graph.hpp"
#include "weft/handler.hpp"
#include "weft/hook.hpp"
#include "weft/matched_message.hpp"
#include "weft/matching_engine.hpp"
#include "weft/packet.hpp"
#include "weft/post_options.hpp"
#include "weft/progress_policy.hpp"
#include "weft/progress_thread.hpp"
#include "weft/region.hpp"
#include "weft/run_loop.hpp"
#include "weft/runtime.hpp"
#include "weft/status.hpp"
#include "weft/suspender.hpp"
#include "weft/synchronizer.hpp"
#include "weft/task.hpp"
#include "weft/wait.hpp"
#include "weft/wait_descriptor.hpp"
#include "weft/when_all.hpp"

/// Asynchronous communication between processes with many threads: any thread may send, serve and make progress, at any
/// time, and none waits for another. Start with `weft::runtime` and `weft::device`.
namespace weft {}
