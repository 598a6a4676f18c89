// SPDX-License-Identifier: BSD-3-Clause
// The values that the C++ memory model lets each thread see, during one execution.
//
// Each location keeps all values stored to it, in modification order, which here is the order of execution. A thread
// knows for each location the oldest value that it may still read: not older than one that it has read or written
// itself (coherence), nor than one that happened before by synchronization. A release store carries its thread's
// knowledge, an acquire load of it, or of a read-modify-write further down its release sequence, takes it over. Vector
// clocks, which travel with this knowledge, tell whether plain accesses race.
//
// seq_cst is acquire and release, and its loads see at least the last seq_cst store of the location: exact for the
// programs that use it throughout on the locations concerned, a little too strong for mixed ones.
//
// Not modelled: loads that see values stored later (load buffering; `confirm` covers the case that matters to us), and
// stores that enter the modification order before earlier executed ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::model {

inline constexpr unsigned threads_max = 6;

/// The knowledge of a thread, which a release passes on.
struct knowledge {
  std::array<std::uint32_t, threads_max> clock{};
  std::vector<std::uint32_t> seen;  // by location: the oldest store that may still be read

  void join(const knowledge& other);
  void clear();
  std::uint32_t& seen_at(unsigned location);
};

struct stored {
  std::uint64_t value;
  std::int32_t message;  // the knowledge that an acquire takes from it; -1: none
};

struct location {
  const void* address;
  std::vector<stored> history;
  std::uint32_t ordered_min;  // the last seq_cst store
  unsigned born_by;           // the thread that constructed or allocated it, and when
  std::uint32_t born_at;
  std::array<std::uint32_t, threads_max> accessed;   // each thread's last access
  std::array<std::uint32_t, threads_max> confirmed;  // each thread's last access that counts as a plain one
  bool gone;
};

/// From addresses to small numbers, emptied in no time.
class address_table {
 public:
  static constexpr unsigned none = ~0u;

  address_table() : cells_(slots) {}
  [[nodiscard]] unsigned find(const void* address) const;
  void set(const void* address, unsigned number);
  void clear() { ++generation_; }

 private:
  static constexpr std::size_t slots = 1 << 14;
  struct cell {
    const void* address = nullptr;
    unsigned number = 0;
    unsigned generation = 0;
  };
  [[nodiscard]] std::size_t slot_of(const void* address) const;

  std::vector<cell> cells_;
  unsigned generation_ = 1;
};

/// The memory of one execution. It reports a fault by `complaint`, empty if all is well.
class memory {
 public:
  ~memory() { clear(); }

  void clear();
  knowledge& of(unsigned thread) { return threads_[thread]; }
  std::uint32_t now(unsigned thread) const { return threads_[thread].clock[thread]; }
  void tick(unsigned thread) { ++threads_[thread].clock[thread]; }

  // Atomic locations.
  void construct(unsigned thread, const void* address, std::uint64_t value);
  unsigned find(unsigned thread, const void* address, std::uint64_t raw);
  location& at(unsigned index) { return locations_[index]; }
  std::uint32_t oldest(unsigned thread, unsigned index, bool ordered);
  std::uint32_t newest(unsigned index) const {
    return static_cast<std::uint32_t>(locations_[index].history.size() - 1);
  }
  std::uint64_t load(unsigned thread, unsigned index, std::uint32_t store, bool acquire);
  /// Adds the value of a store. `continues`: the store whose release sequence this one continues, or -1.
  void append(unsigned thread, unsigned index, std::uint64_t value, bool release, bool ordered, std::int64_t continues);
  void confirm(unsigned thread, const void* begin, std::size_t bytes);

  /// All that was stored reaches every thread, as it does in the end; nothing is synchronized by that.
  void settle();

  // Plain bytes, in units of eight.
  void read_nonatomic(unsigned thread, const void* begin, std::size_t bytes);
  void write_nonatomic(unsigned thread, const void* begin, std::size_t bytes);

  // Memory of this execution: kept until `clear`, so that use after release is noticed and harmless.
  void* allocate(unsigned thread, std::size_t bytes);
  void release(unsigned thread, void* begin);

  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  struct region {
    char* begin;
    std::size_t bytes;
    unsigned born_by;
    std::uint32_t born_at;
    bool gone;
  };
  struct unit_state {
    unsigned written_by;
    std::uint32_t written_at;
    std::array<std::uint32_t, threads_max> read;
  };

  bool covers(unsigned thread, unsigned other, std::uint32_t time) const {
    return other == thread || threads_[thread].clock[other] >= time;
  }
  const region* region_of(const void* address) const;
  unsigned make(const void* address, std::uint64_t value, unsigned born_by, std::uint32_t born_at);
  void touch(unsigned thread, location& touched);
  unit_state& unit_state_at(unsigned thread, const void* address);
  std::int32_t make_message();
  void complain(const char* description, unsigned thread, unsigned other, const void* address);

  std::array<knowledge, threads_max> threads_;
  std::vector<location> locations_;
  std::size_t location_count_ = 0;
  std::vector<knowledge> messages_;
  std::size_t message_count_ = 0;
  std::vector<unit_state> units_;
  std::vector<region> regions_;
  address_table by_address_;
  address_table by_unit_;
  std::string complaint_;
};

}  // namespace weft::model
