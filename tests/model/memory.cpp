// SPDX-License-Identifier: BSD-3-Clause
#include "model/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace weft::model {

void knowledge::join(const knowledge& other) {
  for (unsigned i = 0; i < threads_max; ++i) clock[i] = std::max(clock[i], other.clock[i]);
  if (seen.size() < other.seen.size()) seen.resize(other.seen.size(), 0);
  for (std::size_t i = 0; i < other.seen.size(); ++i) seen[i] = std::max(seen[i], other.seen[i]);
}

void knowledge::clear() {
  clock.fill(0);
  seen.clear();
}

std::uint32_t& knowledge::seen_at(unsigned location) {
  if (location >= seen.size()) seen.resize(location + 1, 0);
  return seen[location];
}

std::size_t address_table::slot_of(const void* address) const {
  std::size_t i = (reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15u) >> 50;
  while (cells_[i].generation == generation_ && cells_[i].address != address) i = (i + 1) % slots;
  return i;
}

unsigned address_table::find(const void* address) const {
  const cell& found = cells_[slot_of(address)];
  return found.generation == generation_ ? found.number : none;
}

void address_table::set(const void* address, unsigned number) {
  cells_[slot_of(address)] = {address, number, generation_};
}

void memory::clear() {
  for (knowledge& each : threads_) each.clear();
  location_count_ = 0;
  message_count_ = 0;
  units_.clear();
  for (const region& each : regions_) std::free(each.begin);
  regions_.clear();
  by_address_.clear();
  by_unit_.clear();
  complaint_.clear();
}

void memory::complain(const char* description, unsigned thread, unsigned other, const void* address) {
  if (complaint_.empty()) complaint_ = fmt::format("{}: threads {} and {} at {}", description, thread, other, address);
}

unsigned memory::make(const void* address, std::uint64_t value, unsigned born_by, std::uint32_t born_at) {
  if (location_count_ == locations_.size()) locations_.emplace_back();
  location& made = locations_[location_count_];
  made.address = address;
  made.history.clear();
  made.history.push_back({value, -1});
  made.ordered_min = 0;
  made.born_by = born_by;
  made.born_at = born_at;
  made.accessed.fill(0);
  made.confirmed.fill(0);
  made.gone = false;
  by_address_.set(address, static_cast<unsigned>(location_count_));
  return static_cast<unsigned>(location_count_++);
}

void memory::construct(unsigned thread, const void* address, std::uint64_t value) {
  tick(thread);
  make(address, value, thread, now(thread));
}

const memory::region* memory::region_of(const void* address) const {
  for (const region& each : regions_) {
    if (address >= each.begin && address < each.begin + each.bytes) return &each;
  }
  return nullptr;
}

unsigned memory::find(unsigned thread, const void* address, std::uint64_t raw) {
  tick(thread);
  unsigned index = by_address_.find(address);
  if (index == address_table::none) {
    const region* home = region_of(address);
    index = make(address, raw, home != nullptr ? home->born_by : 0, home != nullptr ? home->born_at : 0);
    locations_[index].gone = home != nullptr && home->gone;
  }
  touch(thread, locations_[index]);
  return index;
}

void memory::touch(unsigned thread, location& touched) {
  if (touched.gone) complain("use after release", thread, touched.born_by, touched.address);
  if (!covers(thread, touched.born_by, touched.born_at)) {
    complain("use before the making is visible", thread, touched.born_by, touched.address);
  }
  touched.accessed[thread] = now(thread);
}

std::uint32_t memory::oldest(unsigned thread, unsigned index, bool ordered) {
  const std::uint32_t seen = threads_[thread].seen_at(index);
  return ordered ? std::max(seen, locations_[index].ordered_min) : seen;
}

std::uint64_t memory::load(unsigned thread, unsigned index, std::uint32_t store, bool acquire) {
  location& touched = locations_[index];
  const stored& found = touched.history[store];
  if (acquire && found.message >= 0) threads_[thread].join(messages_[static_cast<std::size_t>(found.message)]);
  std::uint32_t& seen = threads_[thread].seen_at(index);
  seen = std::max(seen, store);
  return found.value;
}

std::int32_t memory::make_message() {
  if (message_count_ == messages_.size()) messages_.emplace_back();
  return static_cast<std::int32_t>(message_count_++);
}

void memory::append(unsigned thread, unsigned index, std::uint64_t value, bool release, bool ordered,
                    std::int64_t continues) {
  location& touched = locations_[index];
  for (unsigned other = 0; other < threads_max; ++other) {
    if (!covers(thread, other, touched.confirmed[other])) {
      complain("a store that is not ordered after an access that counted", thread, other, touched.address);
    }
  }
  std::int32_t message = continues >= 0 ? touched.history[static_cast<std::size_t>(continues)].message : -1;
  threads_[thread].seen_at(index) = static_cast<std::uint32_t>(touched.history.size());
  if (release) {
    const std::int32_t earlier = message;
    message = make_message();
    messages_[static_cast<std::size_t>(message)] = threads_[thread];
    if (earlier >= 0) {
      messages_[static_cast<std::size_t>(message)].join(messages_[static_cast<std::size_t>(earlier)]);
    }
  }
  if (ordered) touched.ordered_min = static_cast<std::uint32_t>(touched.history.size());
  touched.history.push_back({value, message});
}

void memory::confirm(unsigned thread, const void* begin, std::size_t bytes) {
  const char* from = static_cast<const char*>(begin);
  for (std::size_t i = 0; i < bytes; ++i) {
    const unsigned index = by_address_.find(from + i);
    if (index != address_table::none) locations_[index].confirmed[thread] = locations_[index].accessed[thread];
  }
}

void memory::settle() {
  for (knowledge& each : threads_) {
    for (unsigned index = 0; index < location_count_; ++index) each.seen_at(index) = newest(index);
  }
}

memory::unit_state& memory::unit_state_at(unsigned thread, const void* address) {
  unsigned index = by_unit_.find(address);
  if (index == address_table::none) {
    const region* home = region_of(address);
    index = static_cast<unsigned>(units_.size());
    units_.push_back({home != nullptr ? home->born_by : 0, home != nullptr ? home->born_at : 0, {}});
    by_unit_.set(address, index);
    if (home != nullptr && home->gone) complain("use after release", thread, home->born_by, address);
  }
  return units_[index];
}

namespace {

const char* unit_of(const void* address, std::size_t offset) {
  const auto at = reinterpret_cast<std::uintptr_t>(address) + offset;
  return reinterpret_cast<const char*>(at & ~std::uintptr_t{7});
}

}  // namespace

void memory::read_nonatomic(unsigned thread, const void* begin, std::size_t bytes) {
  tick(thread);
  for (const char* unit = unit_of(begin, 0); bytes > 0 && unit <= unit_of(begin, bytes - 1); unit += 8) {
    unit_state& state = unit_state_at(thread, unit);
    if (!covers(thread, state.written_by, state.written_at)) {
      complain("a plain read races with a write", thread, state.written_by, unit);
    }
    state.read[thread] = now(thread);
  }
}

void memory::write_nonatomic(unsigned thread, const void* begin, std::size_t bytes) {
  tick(thread);
  for (const char* unit = unit_of(begin, 0); bytes > 0 && unit <= unit_of(begin, bytes - 1); unit += 8) {
    unit_state& state = unit_state_at(thread, unit);
    if (!covers(thread, state.written_by, state.written_at)) {
      complain("a plain write races with a write", thread, state.written_by, unit);
    }
    for (unsigned other = 0; other < threads_max; ++other) {
      if (!covers(thread, other, state.read[other])) complain("a plain write races with a read", thread, other, unit);
    }
    state.written_by = thread;
    state.written_at = now(thread);
  }
}

void* memory::allocate(unsigned thread, std::size_t bytes) {
  tick(thread);
  const std::size_t whole = (bytes + 63) / 64 * 64;
  void* begin = std::aligned_alloc(64, whole);
  if (begin == nullptr) throw std::bad_alloc();
  std::memset(begin, 0, whole);
  regions_.push_back({static_cast<char*>(begin), bytes, thread, now(thread), false});
  return begin;
}

void memory::release(unsigned thread, void* begin) {
  tick(thread);
  for (region& each : regions_) {
    if (each.begin != begin) continue;
    if (each.gone) complain("released twice", thread, each.born_by, begin);
    each.gone = true;
    for (std::size_t i = 0; i < location_count_; ++i) {
      location& within = locations_[i];
      if (within.address < each.begin || within.address >= each.begin + each.bytes) continue;
      within.gone = true;
      for (unsigned other = 0; other < threads_max; ++other) {
        if (!covers(thread, other, within.accessed[other])) {
          complain("a release that is not ordered after a use", thread, other, within.address);
        }
      }
    }
    return;
  }
  complain("released what was not allocated", thread, thread, begin);
}

}  // namespace weft::model
