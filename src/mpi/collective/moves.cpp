// SPDX-License-Identifier: BSD-3-Clause
// Collectives that move blocks: broadcast, gather, scatter, allgather, alltoall; and the barrier.
#include "mpi/collective/check.hpp"
#include "mpi/collective/collectives.hpp"

namespace weft::mpi {
namespace {

bool is_inplace(const program_block& block) noexcept { return block.address == MPI_IN_PLACE; }
bool is_inplace(const program_blocks& described) noexcept { return described.address == MPI_IN_PLACE; }

}  // namespace

int barrier(const collective_call& call) noexcept {
  if (call.request == nullptr) [[likely]]
    return run_directly(call.comm, [] { return collective::barrier(); });
  return carry_out(call, [](collective_parts& /*parts*/) { return collective::barrier(); });
}

int broadcast(const collective_call& call, const typed_buffer& buffer, int root) noexcept {
  std::size_t bytes = 0;
  if (call.request == nullptr && try_bytes_of_piece(buffer.address, buffer.count, buffer.type, bytes)) [[likely]] {
    return run_directly(call.comm, [&] {
      return collective::broadcast({buffer.address, bytes}, static_cast<std::uint32_t>(root));
    });
  }
  return carry_out(call, [&](collective_parts& parts) {
    return collective::broadcast(parts.elements(buffer.address, buffer.count, buffer.type),
                                 static_cast<std::uint32_t>(root));
  });
}

int gather(const collective_call& call, const program_block& sent, const program_block& received, int root) noexcept {
  return carry_out(call, [&](collective_parts& parts) {
    const auto root_rank = static_cast<std::uint32_t>(root);
    if (call.comm.rank != root_rank) return collective::gather(parts.elements(sent), {}, root_rank);
    const buffer_ref all = parts.elements(received, call.comm.size);
    if (is_inplace(sent)) return collective::gather(collective_input::inplace(), all, root_rank);
    const const_buffer_ref own = parts.elements(sent);
    require(check::equal_bytes(own.bytes(), all.bytes() / call.comm.size));
    return collective::gather(own, all, root_rank);
  });
}

int gather(const collective_call& call, const program_block& sent, const program_blocks& received, int root) noexcept {
  return carry_out(call, [&](collective_parts& parts) {
    const auto root_rank = static_cast<std::uint32_t>(root);
    if (call.comm.rank != root_rank) return collective::gather(parts.elements(sent), {}, root_rank, {});
    const block_buffer& all = parts.blocks(call, received);
    if (is_inplace(sent)) return collective::gather(collective_input::inplace(), all.whole(), root_rank, all.lists());
    const const_buffer_ref own = parts.elements(sent);
    require(check::equal_bytes(own.bytes(), all.bytes_of(root_rank)));
    return collective::gather(own, all.whole(), root_rank, all.lists());
  });
}

int scatter(const collective_call& call, const program_block& sent, const program_block& received, int root) noexcept {
  return carry_out(call, [&](collective_parts& parts) {
    const auto root_rank = static_cast<std::uint32_t>(root);
    if (call.comm.rank != root_rank) return collective::scatter({}, parts.elements(received), root_rank);
    const const_buffer_ref all = parts.elements(sent, call.comm.size);
    if (is_inplace(received)) return collective::scatter(all, collective_output::inplace(), root_rank);
    const buffer_ref own = parts.elements(received);
    require(check::equal_bytes(all.bytes() / call.comm.size, own.bytes()));
    return collective::scatter(all, own, root_rank);
  });
}

int scatter(const collective_call& call, const program_blocks& sent, const program_block& received, int root) noexcept {
  return carry_out(call, [&](collective_parts& parts) {
    const auto root_rank = static_cast<std::uint32_t>(root);
    if (call.comm.rank != root_rank) return collective::scatter({}, parts.elements(received), root_rank, {});
    const block_buffer& all = parts.blocks(call, sent);
    if (is_inplace(received))
      return collective::scatter(all.whole(), collective_output::inplace(), root_rank, all.lists());
    const buffer_ref own = parts.elements(received);
    require(check::equal_bytes(all.bytes_of(root_rank), own.bytes()));
    return collective::scatter(all.whole(), own, root_rank, all.lists());
  });
}

int all_gather(const collective_call& call, const program_block& sent, const program_block& received) noexcept {
  return carry_out(call, [&](collective_parts& parts) {
    const buffer_ref all = parts.elements(received, call.comm.size);
    if (is_inplace(sent)) return collective::allgather(collective_input::inplace(), all);
    const const_buffer_ref own = parts.elements(sent);
    require(check::equal_bytes(own.bytes(), all.bytes() / call.comm.size));
    return collective::allgather(own, all);
  });
}

int all_gather(const collective_call& call, const program_block& sent, const program_blocks& received) noexcept {
  return carry_out(call, [&](collective_parts& parts) {
    const block_buffer& all = parts.blocks(call, received);
    if (is_inplace(sent)) return collective::allgather(collective_input::inplace(), all.whole(), all.lists());
    const const_buffer_ref own = parts.elements(sent);
    require(check::equal_bytes(own.bytes(), all.bytes_of(call.comm.rank)));
    return collective::allgather(own, all.whole(), all.lists());
  });
}

int all_to_all(const collective_call& call, const program_block& sent, const program_block& received) noexcept {
  return carry_out(call, [&](collective_parts& parts) {
    const buffer_ref all = parts.elements(received, call.comm.size);
    if (is_inplace(sent)) return collective::alltoall(collective_input::inplace(), all);
    const const_buffer_ref own = parts.elements(sent, call.comm.size);
    require(check::equal_bytes(own.bytes(), all.bytes()));
    return collective::alltoall(own, all);
  });
}

int all_to_all(const collective_call& call, const program_blocks& sent, const program_blocks& received) noexcept {
  return carry_out(call, [&](collective_parts& parts) {
    const block_buffer& all = parts.blocks(call, received);
    if (is_inplace(sent)) return collective::alltoall(collective_input::inplace(), all.whole(), {}, all.lists());
    const block_buffer& own = parts.blocks(call, sent);
    require(check::equal_bytes(own.bytes_of(call.comm.rank), all.bytes_of(call.comm.rank)));
    return collective::alltoall(own.whole(), all.whole(), own.lists(), all.lists());
  });
}

}  // namespace weft::mpi
