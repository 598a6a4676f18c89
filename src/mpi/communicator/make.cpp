// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/communicator/make.hpp"

#include <utility>

#include "mpi/objects/context_ids.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/error.hpp"

namespace weft::mpi {

namespace {

// What is in the memory meanwhile.
struct pending_communicator {
  object_kind kind = object_kind::pending_communicator;
  error_handler_slot* handler;
};

}  // namespace

static_assert(sizeof(pending_communicator) <= sizeof(communicator));
static_assert(alignof(communicator) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

communicator_memory::communicator_memory() : memory_{::operator new(sizeof(communicator))} {
  // A handle that is used too early is none.
  ::new (memory_.get()) object_kind{object_kind::freed};
}

void communicator_memory::set_pending(error_handler_slot& handler) noexcept {
  ::new (memory_.get()) pending_communicator{.handler = &handler};
}

error_handler_slot* find_pending(MPI_Comm handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  const auto* const found = reinterpret_cast<const pending_communicator*>(handle);
  return found->kind == object_kind::pending_communicator ? found->handler : nullptr;
}

std::unique_ptr<communicator> communicator_memory::make(weft::runtime& runtime, vci& interface,
                                                        communicator_parts parts) {
  std::unique_ptr<communicator> out{::new (memory_.get()) communicator{runtime, interface, std::move(parts)}};
  static_cast<void>(memory_.release());
  return out;
}

communicator& make_communicator(rank_state& rank, communicator& parent, agreed_communicator agreed,
                                communicator_memory memory) {
  if (agreed.context == no_context)
    throw error{errc::invalid_state, "the first member has been that of so many communicators that no id is left"};
  vci& interface = agreed.stream != nullptr ? *agreed.stream : rank.vcis.find(agreed.context, agreed.vci);
  // Groups take shared devices only.
  const group_options options{.device = agreed.streams != nullptr ? &rank.device : &interface.device,
                              .name = agreed.context};
  weft::group members = agreed.local == parent.local
                            ? parent.members.dup(options)
                            : make_group(rank.runtime, agreed.local->world_ranks(), 0, options);
  std::unique_ptr<communicator> made = memory.make(rank.runtime, interface,
                                                   {.context = agreed.context,
                                                    .members = std::move(members),
                                                    .local = std::move(agreed.local),
                                                    .matching = agreed.matching,
                                                    .streams = std::move(agreed.streams)});
  const MPI_Errhandler inherited = parent.error_handler.acquire();
  made->error_handler.set(inherited);
  release_error_handler(inherited);
  return rank.communicators.add(std::move(made));
}

}  // namespace weft::mpi
