#include "core/fast/take_send.hpp"

#include "base/callback_scope.hpp"
#include "core/operation/awaited_call.hpp"
#include "core/runtime/matching_store.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::fast {

[[gnu::noinline]] const completion* end_call(device_state& dev, operation_state& receive, std::uint32_t source,
                                             std::uint64_t tag, std::uint32_t bytes) noexcept {
  completion& object = *receive.owed.target;
  if (!promise::is_of_calls(object)) return nullptr;
  auto& call = *static_cast<awaited_call*>(receive.owed.context);
  detail::raw_record& raw = call.record.raw();
  raw.peer = source;
  raw.opcode = operation::receive;
  raw.location = detail::payload_location::borrowed;
  raw.tag = tag;
  raw.refer({receive.receiving.into.address(), bytes, nullptr, &call, bytes});
  const base::callback_scope resumes_fiber;  // by a scheduler of another library, perhaps
  promise::begin(object);
  dev.own_receives().put(receive);
  call.end.come();
  promise::end(object);
  return &object;
}

// Copies a short send to the default engine straight into the buffer of its receive. A separate function with scalar
// arguments, so that the poll of active messages needs no more registers.
[[gnu::noinline]] bool take_send(device_state& dev, std::uint32_t source, match_policy policy, std::uint64_t tag,
                                 const std::byte* payload, std::uint32_t bytes) noexcept {
  const match_key key = make_match_key(default_matching_engine, policy, source, tag);
  match_node* found = nullptr;
  if (dev.matching().table().take(key, match_side::receive, found) != match_result::matched) [[unlikely]]
    return arrive_send::on_send(
        dev, {source,
              {kind_word(wire::send, static_cast<std::uint32_t>(policy)), default_matching_engine, 0, 0, tag},
              payload,
              bytes,
              nullptr});
  auto& receive = static_cast<operation_state&>(*found);
  if (bytes <= receive.receiving.into.bytes() && !receive.receiving.into.is_list()) [[likely]] {
    detail::copy_inline(receive.receiving.into.address(), payload, bytes);
    if (const completion* const object = signal_receive(dev, receive, source, tag, bytes)) [[likely]] {
      dev.runtime().signalled(object);
      return true;
    }
  }
  arrive_send::deliver_slow(dev, receive, source, tag, payload, bytes);
  return true;
}

}  // namespace weft::core::fast
