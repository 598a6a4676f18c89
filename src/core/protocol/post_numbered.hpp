// Posts that are numbered: what arrives in an ordered engine, and receives that are announced.
#pragma once

#include <cstdint>

#include "base/backoff.hpp"
#include "core/matching/ordered_numbers.hpp"
#include "core/protocol/post_message.hpp"

namespace weft::core {

/// Tries to get the next number or a lock, for posts that may not answer retry: some seconds.
inline constexpr unsigned number_tries_max = 10'000;

/// Answers what `post` does, which is called with the next number for `request.peer`; retry does not consume it.
/// `operations`: how many there are of the set that `post` takes one from. **Errors**: `backlog_full` where another
/// thread has the number and the post may not answer retry; those of `post`.
template <class Request, class Post>
status post_numbered(ordered_numbers& numbers, const Request& request, operation opcode, std::uint32_t operations,
                     const Post& post) {
  std::uint32_t number = 0;
  base::backoff waiting;
  for (unsigned tries = 0; !numbers.try_begin(request.peer, number); ++tries) {
    if (request.allow_retry) return status::retry(shortage::lock);
    // A thread holds the number for one post only; unless it is this thread, in a handler that its own post runs.
    if (tries == number_tries_max) throw_backlog_full(opcode, request.peer, operations);
    waiting.pause();
  }
  try {
    const status result = post(number);
    numbers.end(request.peer, number, !result.is_retry());
    return result;
  } catch (...) {
    numbers.end(request.peer, number, false);
    throw;
  }
}

}  // namespace weft::core
