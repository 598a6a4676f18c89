// SPDX-License-Identifier: BSD-3-Clause
// The ring between two devices under the explorer: every cell arrives once, in order, with what was written into it.
#include "net/ring/cell_ring.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <new>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using cell = weft::net::basic_cell<model_atomics>;
using control = weft::net::basic_ring_control<model_atomics>;
using sender = weft::net::basic_ring_sender<model_atomics>;
using receiver = weft::net::basic_ring_receiver<model_atomics>;
using support = weft::detail::atomics_support<model_atomics>;

class model_cell_ring : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

// All zeros, as a fresh segment.
struct shared_ring {
  explicit shared_ring(std::uint32_t cell_count)
      : memory(support::allocate_zeroed(weft::net::ring_bytes(cell_count))), count(cell_count) {}
  control& counts() const { return *static_cast<control*>(memory); }
  cell* cells() const { return reinterpret_cast<cell*>(static_cast<control*>(memory) + 1); }

  void* memory;
  std::uint32_t count;
};

bool push(sender& out, std::uint64_t number) {
  const std::uint64_t payload[3] = {number, number * 3, number * 5};
  weft::net::header header;
  header.kind = static_cast<std::uint32_t>(number % 7);
  header.id = static_cast<std::uint32_t>(number + 1);
  header.tag = number * 11;
  return out.try_push(header, payload, sizeof payload, number % 2 == 1);
}

void receive(receiver& in, std::uint64_t number) {
  weft::net::cell_info info;
  while (!in.has_cell(info)) await_change();
  weft::net::header header;
  const std::byte* where = in.read(info, header);
  std::uint64_t payload[3] = {};
  model_atomics::read_inline(payload, where, sizeof payload);
  check(header.kind == number % 7 && header.id == number + 1 && header.tag == number * 11, "another header");
  check(info.bytes() == sizeof payload && info.carries_packet() == (number % 2 == 1), "another kind of payload");
  check(payload[0] == number && payload[1] == number * 3 && payload[2] == number * 5, "another payload");
  in.advance();
}

void pass(std::uint32_t cells, std::uint64_t count) {
  const shared_ring ring(cells);
  threads(
      [&] {
        sender out(ring.counts(), ring.cells(), ring.count);
        for (std::uint64_t i = 0; i < count; ++i) {
          while (!push(out, i)) await_change();
        }
      },
      [&] {
        receiver in(ring.counts(), ring.cells(), ring.count);
        for (std::uint64_t i = 0; i < count; ++i) receive(in, i);
        check(!in.has_cell(), "a cell too many");
      });
}

// The sender may fill the ring without the receiver, and no further; credits come back in batches.
void fill_then_go_on() {
  const shared_ring ring(8);
  sender out(ring.counts(), ring.cells(), ring.count);
  receiver in(ring.counts(), ring.cells(), ring.count);
  for (std::uint64_t i = 0; i < 8; ++i) check(push(out, i), "full before it is");
  check(!push(out, 8), "room where there is none");
  threads(
      [&] {
        for (std::uint64_t i = 8; i < 11; ++i) {
          while (!push(out, i)) await_change();
        }
      },
      [&] {
        for (std::uint64_t i = 0; i < 11; ++i) receive(in, i);
      });
}

const search brief{.executions_max = 20000, .random_executions_max = 10000, .deviations_max = 4};

TEST_F(model_cell_ring, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"two cells", [] { pass(2, 6); }, brief},
                                      {"one cell", [] { pass(1, 4); }, brief},
                                      {"fill then go on", fill_then_go_on, brief}};
  const auto next = [](std::uint64_t, std::uint64_t previous) { return previous + 1; };
  const planting_report report =
      plant_bugs(programs, {"/cell_ring.hpp"}, {}, {{"ring.poll", next}, {"ring.credit", next}});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
