// SPDX-License-Identifier: BSD-3-Clause
// Collectives that move blocks: broadcast, gather, scatter, allgather, alltoall; and the barrier.
#include "mpi/collective/check.hpp"
#include "mpi/collective/collectives.hpp"

namespace weft::mpi {
namespace {

bool is_inplace(const program_block& of) noexcept { return of.address == MPI_IN_PLACE; }
bool is_inplace(const program_blocks& of) noexcept { return of.address == MPI_IN_PLACE; }

}  // namespace

int barrier(const collective_call& as) noexcept {
  if (as.request == nullptr) [[likely]]
    return run_directly(as.in, [] { return collective::barrier(); });
  return carry_out(as, [](collective_parts& /*parts*/) { return collective::barrier(); });
}

int broadcast(const collective_call& as, const typed_buffer& of, int root) noexcept {
  std::size_t bytes = 0;
  if (as.request == nullptr && try_bytes_of_piece(of.address, of.count, of.type, bytes)) [[likely]] {
    return run_directly(as.in, [&] {
      return collective::broadcast({of.address, bytes}, static_cast<std::uint32_t>(root));
    });
  }
  return carry_out(as, [&](collective_parts& parts) {
    return collective::broadcast(parts.elements(of.address, of.count, of.type), static_cast<std::uint32_t>(root));
  });
}

int gather(const collective_call& as, const program_block& sent, const program_block& received, int root) noexcept {
  return carry_out(as, [&](collective_parts& parts) {
    const auto at = static_cast<std::uint32_t>(root);
    if (as.in.rank != at) return collective::gather(parts.elements(sent), {}, at);
    const buffer_ref all = parts.elements(received, as.in.size);
    if (is_inplace(sent)) return collective::gather(collective_input::inplace(), all, at);
    const const_buffer_ref own = parts.elements(sent);
    require(check::is_same_size(own.bytes(), all.bytes() / as.in.size));
    return collective::gather(own, all, at);
  });
}

int gather(const collective_call& as, const program_block& sent, const program_blocks& received, int root) noexcept {
  return carry_out(as, [&](collective_parts& parts) {
    const auto at = static_cast<std::uint32_t>(root);
    if (as.in.rank != at) return collective::gather(parts.elements(sent), {}, at, {});
    const block_buffer& all = parts.blocks(as, received);
    if (is_inplace(sent)) return collective::gather(collective_input::inplace(), all.whole(), at, all.lists());
    const const_buffer_ref own = parts.elements(sent);
    require(check::is_same_size(own.bytes(), all.bytes_of(at)));
    return collective::gather(own, all.whole(), at, all.lists());
  });
}

int scatter(const collective_call& as, const program_block& sent, const program_block& received, int root) noexcept {
  return carry_out(as, [&](collective_parts& parts) {
    const auto at = static_cast<std::uint32_t>(root);
    if (as.in.rank != at) return collective::scatter({}, parts.elements(received), at);
    const const_buffer_ref all = parts.elements(sent, as.in.size);
    if (is_inplace(received)) return collective::scatter(all, collective_output::inplace(), at);
    const buffer_ref own = parts.elements(received);
    require(check::is_same_size(all.bytes() / as.in.size, own.bytes()));
    return collective::scatter(all, own, at);
  });
}

int scatter(const collective_call& as, const program_blocks& sent, const program_block& received, int root) noexcept {
  return carry_out(as, [&](collective_parts& parts) {
    const auto at = static_cast<std::uint32_t>(root);
    if (as.in.rank != at) return collective::scatter({}, parts.elements(received), at, {});
    const block_buffer& all = parts.blocks(as, sent);
    if (is_inplace(received)) return collective::scatter(all.whole(), collective_output::inplace(), at, all.lists());
    const buffer_ref own = parts.elements(received);
    require(check::is_same_size(all.bytes_of(at), own.bytes()));
    return collective::scatter(all.whole(), own, at, all.lists());
  });
}

int all_gather(const collective_call& as, const program_block& sent, const program_block& received) noexcept {
  return carry_out(as, [&](collective_parts& parts) {
    const buffer_ref all = parts.elements(received, as.in.size);
    if (is_inplace(sent)) return collective::allgather(collective_input::inplace(), all);
    const const_buffer_ref own = parts.elements(sent);
    require(check::is_same_size(own.bytes(), all.bytes() / as.in.size));
    return collective::allgather(own, all);
  });
}

int all_gather(const collective_call& as, const program_block& sent, const program_blocks& received) noexcept {
  return carry_out(as, [&](collective_parts& parts) {
    const block_buffer& all = parts.blocks(as, received);
    if (is_inplace(sent)) return collective::allgather(collective_input::inplace(), all.whole(), all.lists());
    const const_buffer_ref own = parts.elements(sent);
    require(check::is_same_size(own.bytes(), all.bytes_of(as.in.rank)));
    return collective::allgather(own, all.whole(), all.lists());
  });
}

int all_to_all(const collective_call& as, const program_block& sent, const program_block& received) noexcept {
  return carry_out(as, [&](collective_parts& parts) {
    const buffer_ref all = parts.elements(received, as.in.size);
    if (is_inplace(sent)) return collective::alltoall(collective_input::inplace(), all);
    const const_buffer_ref own = parts.elements(sent, as.in.size);
    require(check::is_same_size(own.bytes(), all.bytes()));
    return collective::alltoall(own, all);
  });
}

int all_to_all(const collective_call& as, const program_blocks& sent, const program_blocks& received) noexcept {
  return carry_out(as, [&](collective_parts& parts) {
    const block_buffer& all = parts.blocks(as, received);
    if (is_inplace(sent)) return collective::alltoall(collective_input::inplace(), all.whole(), {}, all.lists());
    const block_buffer& own = parts.blocks(as, sent);
    require(check::is_same_size(own.bytes_of(as.in.rank), all.bytes_of(as.in.rank)));
    return collective::alltoall(own.whole(), all.whole(), own.lists(), all.lists());
  });
}

}  // namespace weft::mpi
