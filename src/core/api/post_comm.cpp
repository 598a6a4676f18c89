// SPDX-License-Identifier: BSD-3-Clause
// The one call that all posts are cases of (yan2025-lci, Table 1).
#include "weft/device.hpp"
#include "weft/runtime.hpp"

namespace weft {
namespace {

template <class Out, class In>
Out options_from(const In& given) {
  Out out;
  out.tag = given.tag;
  out.context = given.context;
  out.allow_retry = given.allow_retry;
  return out;
}

}  // namespace

status device::post_comm(direction data_direction, std::uint32_t peer, const_buffer_ref bytes, completion& local,
                         const post_comm_options& options) {
  if (data_direction == direction::incoming) {
    throw error{errc::invalid_argument, "post_comm: what comes in needs memory that can be written"};
  }
  if (options.remote) {
    auto out = options_from<post_put_options>(options);
    out.signal = options.notify;
    out.complete_at = options.complete_at;
    out.device = options.device;
    out.allow_done = options.allow_done;
    return post_put(peer, bytes, *options.remote, local, out);
  }
  if (options.notify) {
    auto out = options_from<post_am_options>(options);
    out.complete_at = options.complete_at;
    out.device = options.device;
    out.allow_done = options.allow_done;
    return post_am(peer, *options.notify, bytes, local, out);
  }
  if (options.any_tag) {
    throw error{errc::invalid_argument, "post_comm: a send has a tag; .any_tag is of a receive in an ordered engine"};
  }
  auto out = options_from<post_send_options>(options);
  out.engine = options.engine;
  out.policy = options.policy;
  out.complete_at = options.complete_at;
  out.device = options.device;
  out.allow_done = options.allow_done;
  return post_send(peer, bytes, local, out);
}

status device::post_comm(direction data_direction, std::uint32_t peer, buffer_ref buffer, completion& local,
                         const post_comm_options& options) {
  if (data_direction == direction::outgoing)
    return post_comm(data_direction, peer, const_buffer_ref{buffer}, local, options);
  if (options.remote) {
    auto out = options_from<post_get_options>(options);
    out.signal = options.notify;
    out.device = options.device;
    out.allow_done = options.allow_done;
    return post_get(peer, buffer, *options.remote, local, out);
  }
  if (options.notify) {
    throw error{errc::invalid_argument,
                "post_comm: a receive with a remote completion means nothing; name a remote buffer to get from"};
  }
  auto out = options_from<post_recv_options>(options);
  out.engine = options.engine;
  out.policy = options.policy;
  out.any_tag = options.any_tag;
  return post_recv(peer, buffer, local, out);
}

}  // namespace weft
