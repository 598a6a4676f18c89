// SPDX-License-Identifier: BSD-3-Clause
// Puts, gets and atomics as users call them. The common cases are in fast/.
#include <fmt/format.h>

#include "core/api/checks.hpp"
#include "core/protocol/one_sided_origin.hpp"
#include "core/protocol/remote_atomic.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/device.hpp"
#include "weft/runtime.hpp"

namespace weft {
namespace {

using core::source_payload;
using core::target_payload;

status post_put_of(core::device_state& dev, core::runtime_state& state, std::uint32_t peer, const source_payload& bytes,
                   const remote_buffer& to, completion& local, const post_put_options& options) {
  core::check_buffer_and_rank("post_put", peer, state, bytes);
  core::check_region(state, "post_put", peer, to, bytes.bytes());
  return core::one_sided_origin::post_transfer(dev, {.opcode = operation::put,
                                                     .peer = peer,
                                                     .remote = to,
                                                     .bytes = bytes.bytes(),
                                                     .local = &local,
                                                     .context = options.context,
                                                     .device = options.device,
                                                     .signal = core::checked_signal("post_put", peer, options.signal),
                                                     .tag = options.tag,
                                                     .delivered = options.complete_at == completion_level::delivered,
                                                     .allow_done = options.allow_done,
                                                     .allow_retry = options.allow_retry,
                                                     .source = bytes});
}

status post_get_of(core::device_state& dev, core::runtime_state& state, std::uint32_t peer, const target_payload& into,
                   const remote_buffer& from, completion& local, const post_get_options& options) {
  core::check_buffer_and_rank("post_get", peer, state, into);
  core::check_region(state, "post_get", peer, from, into.bytes());
  return core::one_sided_origin::post_transfer(dev, {.opcode = operation::get,
                                                     .peer = peer,
                                                     .remote = from,
                                                     .bytes = into.bytes(),
                                                     .local = &local,
                                                     .context = options.context,
                                                     .device = options.device,
                                                     .signal = core::checked_signal("post_get", peer, options.signal),
                                                     .tag = options.tag,
                                                     .delivered = true,
                                                     .allow_done = options.allow_done,
                                                     .allow_retry = options.allow_retry,
                                                     .into = into});
}

}  // namespace

status device::post_put_slow(std::uint32_t peer, const_buffer_ref bytes, const remote_buffer& to, completion& local,
                             const post_put_options& options) {
  runtime_->state_->objects().check("post_put", local);
  return post_put_of(*state_, *runtime_->state_, peer, bytes, to, local, options);
}

status device::post_put(std::uint32_t peer, const_buffer_list bytes, const remote_buffer& to, completion& local,
                        const post_put_options& options) {
  runtime_->state_->objects().check("post_put", local);
  return post_put_of(*state_, *runtime_->state_, peer, source_payload{bytes}, to, local, options);
}

status detail::slow_post_get(core::device_state& dev, std::uint32_t peer, buffer_ref buffer, const remote_buffer& from,
                             completion& local, const post_get_options& options) {
  dev.runtime().objects().check("post_get", local);
  return post_get_of(dev, dev.runtime(), peer, buffer, from, local, options);
}

status device::post_get(std::uint32_t peer, buffer_list buffer, const remote_buffer& from, completion& local,
                        const post_get_options& options) {
  runtime_->state_->objects().check("post_get", local);
  return post_get_of(*state_, *runtime_->state_, peer, target_payload{buffer}, from, local, options);
}

status device::post_atomic_word(std::uint32_t peer, const detail::atomic_request& request, const remote_buffer& target,
                                completion& local, const detail::post_atomic_word_options& options) {
  runtime_->state_->objects().check("post_atomic", local);
  if (peer >= state_->rank_count()) core::refuse_rank("post_atomic", peer, state_->rank_count());
  if (!core::is_atomic_code(core::atomic_code(request.op, request.bytes))) [[unlikely]] {
    throw error{errc::invalid_argument, fmt::format("post_atomic to rank {}: there is no atomic operation {}", peer,
                                                    static_cast<unsigned>(request.op))};
  }
  core::check_region(*runtime_->state_, "post_atomic", peer, target, request.bytes);
  if (target.offset % request.bytes != 0) {
    throw error{errc::invalid_argument,
                fmt::format("post_atomic to rank {}: offset {} is not a multiple of the word's {} bytes", peer,
                            target.offset, request.bytes)};
  }
  const target_payload result =
      request.result != nullptr ? target_payload{buffer_ref{request.result, request.bytes}} : target_payload{};
  core::check_buffer("post_atomic", peer, *runtime_->state_, result);
  return core::one_sided_origin::post_transfer(*state_,
                                               {.opcode = operation::atomic,
                                                .peer = peer,
                                                .remote = target,
                                                .bytes = request.bytes,
                                                .local = &local,
                                                .context = options.context,
                                                .device = options.device,
                                                .signal = core::no_signal,
                                                .tag = 0,
                                                .delivered = options.complete_at == completion_level::delivered,
                                                .allow_done = options.allow_done,
                                                .allow_retry = options.allow_retry,
                                                .into = result,
                                                .atomic = {.code = core::atomic_code(request.op, request.bytes),
                                                           .operand = request.operand,
                                                           .compare = request.compare}});
}

}  // namespace weft
