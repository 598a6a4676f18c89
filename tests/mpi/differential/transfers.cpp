// SPDX-License-Identifier: BSD-3-Clause
#include "transfers.hpp"

#include "basic_types.hpp"

namespace differential {

transfer random_transfer(scene& here, int depth, bool may_be_to_itself) {
  random_source& random = here.random;
  transfer out;
  out.from = random.between(0, here.size - 1);
  out.to = random.between(0, here.size - 1);
  if (out.from == out.to && !may_be_to_itself) out.to = (out.from + 1) % here.size;
  out.tag = random.chance(80) ? random.between(0, 3) : random.between(4, 29999);
  out.load = random_cargo(random, random.chance(50) ? 0 : random.between(0, depth));
  out.receive_tag = out.tag;
  out.room = out.load.units + (random.chance(60) ? 0 : random.between(0, 20));
  const int of = random.between(1, 10);
  if (of == 1) out.of = mode::synchronous;
  if (of == 2) out.of = mode::buffered;
  if (of == 3) out.of = mode::ready;
  out.is_absolute = depth > 0 && random.chance(10);
  out.sender_seed = random.next();
  out.receiver_seed = random.next();
  return out;
}

side sender_side(const transfer& of) {
  side out{random_source{of.sender_seed}, of.load.unit, of.load.units};
  if (of.is_absolute && of.load.units != 0) out.make_absolute();
  out.write(of.load.stream, of.load.elements());
  return out;
}

side receiver_side(const transfer& of) {
  side out{random_source{of.receiver_seed}, of.load.unit, of.room, true};
  if (of.is_absolute && of.room != 0) out.make_absolute();
  return out;
}

MPI_Status unset_status() {
  MPI_Status out;
  out.MPI_SOURCE = out.MPI_TAG = out.MPI_ERROR = -77;
  return out;
}

void log_status(scene& here, const char* name, const MPI_Status& status, MPI_Datatype type) {
  int count = -77, elements = -77, is_cancelled = -77;
  here.must(MPI_Get_count(&status, type, &count), "MPI_Get_count");
  if (!is_left_out("elements")) here.must(MPI_Get_elements(&status, type, &elements), "MPI_Get_elements");
  here.must(MPI_Test_cancelled(&status, &is_cancelled), "MPI_Test_cancelled");
  here.log("%s: source %d, tag %d, count %d, elements %d, cancelled %d", name, status.MPI_SOURCE, status.MPI_TAG,
           count == MPI_UNDEFINED ? -1 : count, elements == MPI_UNDEFINED ? -1 : elements, is_cancelled);
}

void check_received(scene& here, const char* name, const transfer& sent, side& into, const MPI_Status* status) {
  const std::size_t elements = sent.load.elements();
  into.clear_padding(elements);
  here.log("%s of %d: %zu elements, hash %016llx", name, sent.from, elements,
           static_cast<unsigned long long>(into.hash()));
  if (!into.is_right(sent.load.stream, elements)) {
    here.expect(false, "%s of %d: other bytes, in %d of %s, sent as %d of %s", name, sent.from, into.count(),
                into.map().text.c_str(), sender_side(sent).count(), sender_side(sent).map().text.c_str());
  }
  if (status == nullptr) return;
  log_status(here, name, *status, into.type());
  const std::size_t per_count = into.elements_per_count();
  int count = 0, has = 0;
  MPI_Get_count(status, into.type(), &count);
  if (!is_left_out("elements")) MPI_Get_elements(status, into.type(), &has);
  const int wanted = elements % per_count == 0 ? static_cast<int>(elements / per_count) : MPI_UNDEFINED;
  here.expect(status->MPI_SOURCE == sent.from && status->MPI_TAG == sent.tag, "%s: source %d and tag %d, not %d and %d",
              name, status->MPI_SOURCE, status->MPI_TAG, sent.from, sent.tag);
  here.expect(count == wanted, "%s: count %d, not %d", name, count, wanted);
  here.expect(is_left_out("elements") || has == static_cast<int>(elements), "%s: elements %d, not %zu", name, has,
              elements);
}

void end_of_wildcards(scene& here) { here.must(MPI_Barrier(here.comm), "MPI_Barrier"); }

std::size_t buffer_bytes(const std::vector<transfer>& all, int rank) {
  std::size_t out = 0;
  for (const transfer& each : all) {
    if (each.from == rank && each.of == mode::buffered) out += each.load.elements() * 32 + MPI_BSEND_OVERHEAD + 64;
  }
  return out;
}

attached_buffer::attached_buffer(scene& here, std::size_t bytes) : here_{here}, memory_(bytes) {
  if (bytes != 0) here.must(MPI_Buffer_attach(memory_.data(), static_cast<int>(bytes)), "MPI_Buffer_attach");
}

attached_buffer::~attached_buffer() {
  if (memory_.empty()) return;
  void* address = nullptr;
  int bytes = 0;
  here_.must(MPI_Buffer_detach(&address, &bytes), "MPI_Buffer_detach");
  here_.expect(address == memory_.data() && bytes == static_cast<int>(memory_.size()), "another buffer is detached");
}

}  // namespace differential
