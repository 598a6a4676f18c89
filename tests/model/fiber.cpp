// SPDX-License-Identifier: BSD-3-Clause
#include "model/fiber.hpp"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <new>

#include "base/sanitizer.hpp"

#if defined(WEFT_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace weft::model {
namespace {

namespace context = boost::context::detail;

constexpr std::size_t stack_bytes = std::size_t{256} << 10;

// The sanitizer keeps a stack of its own beside each real one; it must be told of every switch.
void leave_stack([[maybe_unused]] void** saved, [[maybe_unused]] const void* bottom,
                 [[maybe_unused]] std::size_t bytes) {
#if defined(WEFT_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(saved, bottom, bytes);
#endif
}

void enter_stack([[maybe_unused]] void* saved, [[maybe_unused]] const void** bottom,
                 [[maybe_unused]] std::size_t* bytes) {
#if defined(WEFT_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(saved, bottom, bytes);
#endif
}

}  // namespace

struct fiber::entry_point {
  static void run(context::transfer_t from) {
    fiber& self = *static_cast<fiber*>(from.data);
    self.context_ = from.fctx;
    enter_stack(nullptr, &self.outside_bottom_, &self.outside_bytes_);
    self.entry_(self.argument_);
    __builtin_trap();
  }
};

fiber::fiber() : stack_(::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  if (stack_ == MAP_FAILED) throw std::bad_alloc();
}

fiber::~fiber() { ::munmap(stack_, stack_bytes); }

void fiber::prepare(void (*entry)(void*), void* argument) {
#if defined(WEFT_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(stack_, stack_bytes);
#endif
  entry_ = entry;
  argument_ = argument;
  inside_ = nullptr;
  context_ = context::make_fcontext(static_cast<char*>(stack_) + stack_bytes, stack_bytes, &entry_point::run);
}

void fiber::resume() {
  leave_stack(&outside_, stack_, stack_bytes);
  const context::transfer_t back = context::jump_fcontext(context_, this);
  enter_stack(outside_, nullptr, nullptr);
  context_ = back.fctx;
}

void fiber::suspend() {
  leave_stack(&inside_, outside_bottom_, outside_bytes_);
  const context::transfer_t back = context::jump_fcontext(context_, this);
  enter_stack(inside_, &outside_bottom_, &outside_bytes_);
  context_ = back.fctx;
}

}  // namespace weft::model
