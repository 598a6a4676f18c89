// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/elements.hpp"

#include "mpi/datatype/checked.hpp"

namespace weft::mpi {

namespace {

// The sum of a number that each basic element has. A loop counts its body once.
template <class BlockValue>
checked sum_of(const part& data, const BlockValue& block_value) noexcept {
  if (data.bytes == 0) return 0;
  if (data.element != nullptr) return block_value(*data.element, data.bytes / data.element->bytes);
  const node& node = *data.blocks;
  if (node.is == node::kind::loop) return checked{node.count} * sum_of(node.parts[0], block_value);
  checked out = 0;
  for (const part& each : node.parts) out = out + sum_of(each, block_value);
  return out;
}

// `bytes` is less than the part has.
std::optional<std::int64_t> count_elements(const part& data, std::int64_t bytes) noexcept {
  std::int64_t out = 0;
  const part* entry = &data;
  while (bytes != 0) {
    if (entry->element != nullptr) {
      if (bytes % entry->element->bytes != 0) return std::nullopt;
      return out + bytes / entry->element->bytes;
    }
    const node& node = *entry->blocks;
    entry = node.parts.data();
    if (node.is == node::kind::loop) {
      out += bytes / entry->bytes * entry->elements;
      bytes %= entry->bytes;
    } else {
      for (; bytes >= entry->bytes; ++entry) {
        out += entry->elements;
        bytes -= entry->bytes;
        if (bytes == 0) break;
      }
    }
  }
  return out;
}

// `elements` is less than the part has.
std::int64_t count_bytes(const part& data, std::int64_t elements) noexcept {
  std::int64_t out = 0;
  const part* entry = &data;
  while (elements != 0) {
    if (entry->element != nullptr) return out + elements * entry->element->bytes;
    const node& node = *entry->blocks;
    entry = node.parts.data();
    if (node.is == node::kind::loop) {
      out += elements / entry->elements * entry->bytes;
      elements %= entry->elements;
    } else {
      for (; elements >= entry->elements; ++entry) {
        out += entry->bytes;
        elements -= entry->elements;
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
  const std::int64_t elements_of_type = all.elements;
  const checked out =
      checked{elements / elements_of_type} * type.size() + count_bytes(all, elements % elements_of_type);
  return out.is_valid() ? std::optional{out.value()} : std::nullopt;
}

std::optional<std::int64_t> external_bytes_of(const datatype& type) noexcept {
  const checked out = sum_of(type.map().elements(), [](const basic& basic_type, std::int64_t count) {
    return checked{count} * static_cast<std::int64_t>(basic_type.external_bytes);
  });
  return out.is_valid() ? std::optional{out.value()} : std::nullopt;
}

}  // namespace weft::mpi
