// SPDX-License-Identifier: BSD-3-Clause
// Reductions of all predefined types by all operations that take them, and by operations of the program.
#include <cstring>
#include <vector>

#include "basic_types.hpp"
#include "cases.hpp"
#include "collective_call.hpp"
#include "reduction_values.hpp"

namespace differential {
namespace {

enum class kind : std::uint8_t { reduce, allreduce, reduce_scatter_block, reduce_scatter, scan, exscan };

// Of one call. Ranks have `length` elements each.
struct reduction {
  kind of;
  int root;
  int length;
  std::vector<int> counts;  // of each rank's part of the result
  bool in_place;
  MPI_Datatype type;
  MPI_Op op;
};

reduction draw(scene& here, MPI_Datatype type, MPI_Op op) {
  random_source& random = here.random;
  reduction out{
      static_cast<kind>(random.between(0, 5)), random.between(0, here.size - 1), 0, {}, random.chance(30), type, op};
  const int most = random.chance(10) ? 2000 : 9;
  for (int i = 0; i < here.size; ++i) out.counts.push_back(random.between(0, most));
  if (out.of == kind::reduce_scatter_block) out.counts.assign(out.counts.size(), out.counts.front());
  for (const int each : out.counts) out.length += each;
  return out;
}

void call(scene& here, const reduction& of, const void* from, void* into) {
  collective_call each{here};
  MPI_Request* const to = each.request();
  const MPI_Comm comm = here.comm;
  const void* const out = of.in_place && (of.of != kind::reduce || here.rank == of.root) ? MPI_IN_PLACE : from;
  const int n = of.length, block = of.counts.front(), root = of.root, *counts = of.counts.data();
  const MPI_Datatype type = of.type;
  const MPI_Op op = of.op;
  const MPI_Info info = MPI_INFO_NULL;
  const auto choose = [&](int waits, int asks, int keeps) {
    each.done(each.form() == call_form::blocking ? waits : each.form() == call_form::nonblocking ? asks : keeps);
  };
  const auto is = [&](call_form form) { return each.form() == form; };
  const bool b = is(call_form::blocking), i = is(call_form::nonblocking), p = is(call_form::persistent);
  constexpr int none = MPI_SUCCESS;
  switch (of.of) {
    case kind::reduce:
      choose(b ? MPI_Reduce(out, into, n, type, op, root, comm) : none,
             i ? MPI_Ireduce(out, into, n, type, op, root, comm, to) : none,
             p ? MPI_Reduce_init(out, into, n, type, op, root, comm, info, to) : none);
      break;
    case kind::allreduce:
      choose(b ? MPI_Allreduce(out, into, n, type, op, comm) : none,
             i ? MPI_Iallreduce(out, into, n, type, op, comm, to) : none,
             p ? MPI_Allreduce_init(out, into, n, type, op, comm, info, to) : none);
      break;
    case kind::reduce_scatter_block:
      choose(b ? MPI_Reduce_scatter_block(out, into, block, type, op, comm) : none,
             i ? MPI_Ireduce_scatter_block(out, into, block, type, op, comm, to) : none,
             p ? MPI_Reduce_scatter_block_init(out, into, block, type, op, comm, info, to) : none);
      break;
    case kind::reduce_scatter:
      choose(b ? MPI_Reduce_scatter(out, into, counts, type, op, comm) : none,
             i ? MPI_Ireduce_scatter(out, into, counts, type, op, comm, to) : none,
             p ? MPI_Reduce_scatter_init(out, into, counts, type, op, comm, info, to) : none);
      break;
    case kind::scan:
      choose(b ? MPI_Scan(out, into, n, type, op, comm) : none, i ? MPI_Iscan(out, into, n, type, op, comm, to) : none,
             p ? MPI_Scan_init(out, into, n, type, op, comm, info, to) : none);
      break;
    case kind::exscan:
      choose(b ? MPI_Exscan(out, into, n, type, op, comm) : none,
             i ? MPI_Iexscan(out, into, n, type, op, comm, to) : none,
             p ? MPI_Exscan_init(out, into, n, type, op, comm, info, to) : none);
      break;
  }
  each.finish(of.in_place ? 1 : 0);
}

// The elements of all ranks' data that this rank's result has, and the ranks whose data are in it.
struct result_part {
  int first = 0, count = 0, ranks = 0;
};

result_part find_part(const scene& here, const reduction& of) {
  result_part out{0, of.length, here.size};
  if (of.of == kind::reduce && here.rank != of.root) out.count = 0;
  if (of.of == kind::scan) out.ranks = here.rank + 1;
  if (of.of == kind::exscan) {
    out.ranks = here.rank;
    if (here.rank == 0) out.count = 0;
  }
  if (of.of == kind::reduce_scatter_block || of.of == kind::reduce_scatter) {
    out.count = of.counts[static_cast<std::size_t>(here.rank)];
    for (int i = 0; i < here.rank; ++i) out.first += of.counts[static_cast<std::size_t>(i)];
  }
  return out;
}

// x -> scale * x + shift, with gaps. Maps are applied one after the other: the order matters.
struct affine {
  std::uint32_t scale, gap, shift, other_gap;
};

affine then(const affine& first, const affine& second) {
  return {first.scale * second.scale, 0, first.scale * second.shift + first.shift, 0};
}

void combine(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    const affine made = then(static_cast<affine*>(in)[i], static_cast<affine*>(inout)[i]);
    static_cast<affine*>(inout)[i].scale = made.scale;
    static_cast<affine*>(inout)[i].shift = made.shift;
  }
}

affine affine_of(std::uint64_t stream, int rank, int index) {
  const std::uint64_t bits =
      mix(stream + static_cast<std::uint64_t>(rank) * 100000 + static_cast<std::uint64_t>(index));
  return {static_cast<std::uint32_t>(bits) | 1, 0, static_cast<std::uint32_t>(bits >> 32), 0};
}

}  // namespace

void reductions(scene& here) {
  const typed_operation chosen = draw_operation(here.random);
  const basic_type& basic = basic_types()[static_cast<std::size_t>(chosen.basic)];
  const reduction of = draw(here, basic.type, chosen.op);
  const std::uint64_t stream = here.random.next();
  std::vector<std::byte> from(basic.size * static_cast<std::size_t>(of.length + 1), std::byte{}), into = from;
  for (int i = 0; i < of.length; ++i) {
    store(from.data() + basic.size * static_cast<std::size_t>(i), basic, chosen.value(stream, here.rank, i));
  }
  if (of.in_place) into = from;
  call(here, of, from.data(), into.data());
  const result_part part = find_part(here, of);
  std::uint64_t hash = 0;
  for (int i = 0; i < part.count; ++i) {
    long wanted = chosen.value(stream, 0, part.first + i);
    for (int rank = 1; rank < part.ranks; ++rank)
      wanted = chosen.apply(wanted, chosen.value(stream, rank, part.first + i));
    const long is = load(into.data() + basic.size * static_cast<std::size_t>(i), basic);
    if (is != wanted) {
      here.expect(false, "%s of %s, form %d: element %d is %ld, not %ld", chosen.name, basic.name,
                  static_cast<int>(of.of), i, is, wanted);
      break;
    }
    hash = mix(hash + static_cast<std::uint64_t>(is));
  }
  here.log("%s of %s: %d elements, hash %016llx", chosen.name, basic.name, part.count,
           static_cast<unsigned long long>(hash));
}

// The result is that of ranks in their order, whatever the algorithm.
void ordered_reductions(scene& here) {
  MPI_Datatype words = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
  here.must(MPI_Type_vector(2, 1, 2, MPI_UINT32_T, &words), "MPI_Type_vector");
  here.must(MPI_Type_create_resized(words, 0, sizeof(affine), &type), "MPI_Type_create_resized");
  here.must(MPI_Type_commit(&type), "MPI_Type_commit");
  MPI_Op op = MPI_OP_NULL;
  here.must(MPI_Op_create(combine, 0, &op), "MPI_Op_create");
  const reduction of = draw(here, type, op);
  const std::uint64_t stream = here.random.next();
  std::vector<affine> from, into(static_cast<std::size_t>(of.length + 1), affine{7, 7, 7, 7});
  for (int i = 0; i < of.length; ++i) from.push_back(affine_of(stream, here.rank, i));
  from.push_back({});
  if (of.in_place) into = from;
  call(here, of, from.data(), into.data());
  const result_part part = find_part(here, of);
  std::uint64_t hash = 0;
  for (int i = 0; i < part.count; ++i) {
    affine wanted = affine_of(stream, 0, part.first + i);
    for (int rank = 1; rank < part.ranks; ++rank) wanted = then(wanted, affine_of(stream, rank, part.first + i));
    const affine& is = into[static_cast<std::size_t>(i)];
    if (is.scale != wanted.scale || is.shift != wanted.shift || is.gap != (of.in_place ? 0U : 7U)) {
      here.expect(false, "form %d: element %d is wrong", static_cast<int>(of.of), i);
      break;
    }
    hash = mix(hash + is.scale + is.shift);
  }
  here.log("%d elements, hash %016llx", part.count, static_cast<unsigned long long>(hash));
  here.must(MPI_Op_free(&op), "MPI_Op_free");
  here.must(MPI_Type_free(&type), "MPI_Type_free");
  here.must(MPI_Type_free(&words), "MPI_Type_free");
}

}  // namespace differential
