// SPDX-License-Identifier: BSD-3-Clause
// How a collective that is wrong ends at this member.
#pragma once

#include <optional>
#include <string>

#include "support/waiting.hpp"
#include "weft/weft.hpp"

namespace weft::test {

struct outcome {
  errc code = errc::none;
  std::string text;
};

/// Of a call that throws.
template <class Call>
[[nodiscard]] outcome outcome_of(Call call) {
  try {
    call();
  } catch (const error& thrown) {
    return {thrown.code(), thrown.what()};
  } catch (const std::exception& thrown) {
    return {errc::user_exception, thrown.what()};
  }
  return {};
}

/// Posts the collective and waits for its end. Throws past the bound of waits.
[[nodiscard]] inline errc end_of(const collective& which, group& in, const collective_options& options = {}) {
  synchronizer end{in.device().runtime()};
  static_cast<void>(which.post(in, end, options));
  const bool has_ended = eventually(in.device(), [&] { return end.is_ready(); });
  if (!has_ended) throw error{errc::transport_failed, "a collective has not ended for minutes"};
  const std::optional<completion_record> record = end.take();
  return record ? record->error() : errc::none;
}

}  // namespace weft::test
