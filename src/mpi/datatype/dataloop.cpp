// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/dataloop.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace weft::mpi {

namespace {

// A list that a parent has several times is copied into it while it stays so short; longer ones are shared.
constexpr std::size_t copied_entries_max = 1024;

// The bytes and elements of `all`, in these blocks.
part part_of_blocks(part all, node&& blocks) {
  all.blocks = std::make_shared<const node>(std::move(blocks));
  return all;
}

bool is_list(const part& data) noexcept {
  return data.blocks != nullptr && data.blocks->is != node::kind::strided && data.blocks->is != node::kind::loop;
}

std::size_t entries_of(const node& node) noexcept {
  return node.is == node::kind::list ? node.parts.size() : node.displacements.size();
}

// Appends the entries of a list, each as a part.
void append_entries(const part& data, std::vector<part>& out) {
  const node& node = *data.blocks;
  for (std::size_t i = 0; i < entries_of(node); ++i) {
    if (node.is == node::kind::list) {
      out.push_back(node.parts[i]);
      out.back().displacement = moved(out.back().displacement, data.displacement);
      continue;
    }
    const std::int64_t begin = i == 0 ? 0 : node.is == node::kind::various ? node.ends[i - 1] : 0;
    const std::int64_t bytes = node.is == node::kind::various ? node.ends[i] - begin : node.block_bytes;
    const std::int64_t elements = data.element != nullptr ? bytes / data.element->bytes : 0;
    out.push_back({moved(data.displacement, node.displacements[i]), bytes, elements, data.element});
  }
}

// Copies lists into their parent, unless that would copy a long one more than once.
std::vector<part> without_lists(std::vector<part> parts) {
  if (std::ranges::none_of(parts, is_list)) return parts;
  std::map<const node*, std::size_t> uses;
  for (const part& each : parts) {
    if (is_list(each)) ++uses[each.blocks.get()];
  }
  std::vector<part> out;
  for (part& each : parts) {
    const std::size_t used = is_list(each) ? uses[each.blocks.get()] : 0;
    if (used == 1 || (used > 1 && used * entries_of(*each.blocks) <= copied_entries_max)) {
      append_entries(each, out);
    } else {
      out.push_back(std::move(each));
    }
  }
  return out;
}

// Makes blocks that lie one behind the other one block; leaves out what is empty.
void merge_neighbours(std::vector<part>& parts, bool keeps_elements) {
  std::size_t kept = 0;
  for (part& each : parts) {
    if (each.bytes == 0) continue;
    if (kept != 0) {
      part& last = parts[kept - 1];
      const bool is_next =
          last.blocks == nullptr && each.blocks == nullptr && last.displacement + last.bytes == each.displacement;
      if (is_next && (last.element == each.element || !keeps_elements)) {
        if (last.element != each.element) last.element = nullptr;
        last.bytes += each.bytes;
        last.elements += each.elements;
        continue;
      }
    }
    if (&parts[kept] != &each) parts[kept] = std::move(each);
    ++kept;
  }
  parts.resize(kept);
}

// Whether all parts differ in their displacements alone, which grow by one stride.
bool is_regular(const std::vector<part>& parts) noexcept {
  const auto distance = [&](std::size_t i) {
    return static_cast<std::uint64_t>(parts[i].displacement) - static_cast<std::uint64_t>(parts[i - 1].displacement);
  };
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].bytes != parts[0].bytes || parts[i].blocks != parts[0].blocks) return false;
    if (parts[i].element != parts[0].element) return false;
    if (distance(i) != distance(1)) return false;
  }
  return true;
}

// Makes a list of parts that are blocks.
part list_of_blocks(const std::vector<part>& parts, part all) {
  const bool are_equal = std::ranges::all_of(parts, [&](const part& each) { return each.bytes == parts[0].bytes; });
  node out{.is = are_equal ? node::kind::scattered : node::kind::various};
  if (are_equal) out.block_bytes = parts[0].bytes;
  out.displacements.reserve(parts.size());
  for (const part& each : parts) out.displacements.push_back(each.displacement);
  if (!are_equal) {
    out.ends.reserve(parts.size());
    for (const part& each : parts) out.ends.push_back((out.ends.empty() ? 0 : out.ends.back()) + each.bytes);
  }
  return part_of_blocks(std::move(all), std::move(out));
}

}  // namespace

part repeat(const part& data, std::int64_t count, std::int64_t stride) {
  if (count == 0 || data.bytes == 0) return {};
  if (count == 1) return data;
  part all{data.displacement, data.bytes * count, data.elements * count, data.element};
  if (data.blocks == nullptr) {
    if (stride == data.bytes) return all;
    return part_of_blocks(std::move(all),
                          {.is = node::kind::strided, .block_bytes = data.bytes, .count = count, .stride = stride});
  }
  const node& blocks = *data.blocks;
  std::int64_t length = 0;
  const bool is_loop = blocks.is == node::kind::strided || blocks.is == node::kind::loop;
  if (is_loop && !__builtin_mul_overflow(blocks.count, blocks.stride, &length) && stride == length) {
    node out = blocks;
    out.count *= count;
    return part_of_blocks(std::move(all), std::move(out));
  }
  part inner = data;
  inner.displacement = 0;
  node out{.is = node::kind::loop, .count = count, .stride = stride};
  out.parts.push_back(std::move(inner));
  return part_of_blocks(std::move(all), std::move(out));
}

part join(std::vector<part> parts, bool keeps_elements) {
  merge_neighbours(parts, keeps_elements);
  parts = without_lists(std::move(parts));
  merge_neighbours(parts, keeps_elements);
  if (parts.empty()) return {};
  if (parts.size() == 1) return parts[0];
  const bool has_one_element =
      std::ranges::all_of(parts, [&](const part& each) { return each.element == parts[0].element; });
  if (!has_one_element && !keeps_elements) {
    for (part& each : parts) each.element = nullptr;
  }
  if (is_regular(parts)) {
    const auto stride =
        static_cast<std::uint64_t>(parts[1].displacement) - static_cast<std::uint64_t>(parts[0].displacement);
    return repeat(parts[0], static_cast<std::int64_t>(parts.size()), static_cast<std::int64_t>(stride));
  }
  part all{.element = has_one_element ? parts[0].element : nullptr};
  bool has_blocks_alone = true;
  for (const part& each : parts) {
    all.bytes += each.bytes;
    all.elements += each.elements;
    has_blocks_alone &= each.blocks == nullptr;
  }
  if (has_blocks_alone && (has_one_element || !keeps_elements)) return list_of_blocks(parts, std::move(all));
  node out{.is = node::kind::list};
  out.ends.reserve(parts.size());
  for (const part& each : parts) out.ends.push_back((out.ends.empty() ? 0 : out.ends.back()) + each.bytes);
  out.parts = std::move(parts);
  return part_of_blocks(std::move(all), std::move(out));
}

std::size_t entry_count(const part& data) noexcept {
  if (data.blocks == nullptr) return 1;
  std::size_t out = std::max<std::size_t>(1, data.blocks->displacements.size());
  for (const part& each : data.blocks->parts) out += entry_count(each);
  return out;
}

}  // namespace weft::mpi
