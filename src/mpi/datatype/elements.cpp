// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/elements.hpp"

#include "mpi/datatype/checked.hpp"

namespace weft::mpi {

namespace {

// The sum of a number that each basic element has. A loop counts its body once.
template <class OfBlock>
checked sum_of(const part& of, const OfBlock& of_block) noexcept {
  if (of.bytes == 0) return 0;
  if (of.element != nullptr) return of_block(*of.element, of.bytes / of.element->bytes);
  const node& in = *of.blocks;
  if (in.is == node::kind::loop) return checked{in.count} * sum_of(in.parts[0], of_block);
  checked out = 0;
  for (const part& each : in.parts) out = out + sum_of(each, of_block);
  return out;
}

// `bytes` is less than the part has.
std::optional<std::int64_t> count_elements(const part& of, std::int64_t bytes) noexcept {
  std::int64_t out = 0;
  const part* at = &of;
  while (bytes != 0) {
    if (at->element != nullptr) {
      if (bytes % at->element->bytes != 0) return std::nullopt;
      return out + bytes / at->element->bytes;
    }
    const node& in = *at->blocks;
    at = in.parts.data();
    if (in.is == node::kind::loop) {
      out += bytes / at->bytes * at->elements;
      bytes %= at->bytes;
    } else {
      for (; bytes >= at->bytes; ++at) {
        out += at->elements;
        bytes -= at->bytes;
        if (bytes == 0) break;
      }
    }
  }
  return out;
}

// `elements` is less than the part has.
std::int64_t count_bytes(const part& of, std::int64_t elements) noexcept {
  std::int64_t out = 0;
  const part* at = &of;
  while (elements != 0) {
    if (at->element != nullptr) return out + elements * at->element->bytes;
    const node& in = *at->blocks;
    at = in.parts.data();
    if (in.is == node::kind::loop) {
      out += elements / at->elements * at->bytes;
      elements %= at->elements;
    } else {
      for (; elements >= at->elements; ++at) {
        out += at->bytes;
        elements -= at->elements;
        if (elements == 0) break;
      }
    }
  }
  return out;
}

}  // namespace

std::optional<std::int64_t> count_in(const datatype& type, std::int64_t bytes) noexcept {
  if (type.size() == 0) return bytes == 0 ? std::optional<std::int64_t>{0} : std::nullopt;
  if (bytes % type.size() != 0) return std::nullopt;
  return bytes / type.size();
}

std::optional<std::int64_t> elements_in(const datatype& type, std::int64_t bytes) noexcept {
  if (type.size() == 0) return count_in(type, bytes);
  const part& all = type.map().elements();
  const std::optional<std::int64_t> rest = count_elements(all, bytes % type.size());
  if (!rest) return std::nullopt;
  return bytes / type.size() * all.elements + *rest;
}

std::optional<std::int64_t> bytes_of_elements(const datatype& type, std::int64_t elements) noexcept {
  if (elements == 0) return 0;
  if (elements < 0 || type.size() == 0) return std::nullopt;
  const part& all = type.map().elements();
  const std::int64_t in_one = all.elements;
  const checked out = checked{elements / in_one} * type.size() + count_bytes(all, elements % in_one);
  return out.is_valid() ? std::optional{out.value()} : std::nullopt;
}

std::optional<std::int64_t> external_bytes_of(const datatype& type) noexcept {
  const checked out = sum_of(type.map().elements(), [](const basic& of, std::int64_t count) {
    return checked{count} * static_cast<std::int64_t>(of.external_bytes);
  });
  return out.is_valid() ? std::optional{out.value()} : std::nullopt;
}

}  // namespace weft::mpi
