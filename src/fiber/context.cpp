// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/context.hpp"

#include <cstdint>

#include "base/assertion.hpp"

#if defined(WEFT_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(WEFT_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

extern "C" {
// The begin of a new stack: calls what `prepare` has left in two of the registers.
[[gnu::visibility("hidden")]] void weft_fiber_begin() noexcept;
}

#if defined(__x86_64__)
asm(R"(
.macro weft_fiber_swap
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
.endm
.pushsection .text
.p2align 4
.globl weft_fiber_switch
.hidden weft_fiber_switch
.type weft_fiber_switch, @function
weft_fiber_switch:
  weft_fiber_swap
  ret
.size weft_fiber_switch, . - weft_fiber_switch
.p2align 4
.globl weft_fiber_switch_by_jump
.hidden weft_fiber_switch_by_jump
.type weft_fiber_switch_by_jump, @function
weft_fiber_switch_by_jump:
  weft_fiber_swap
  popq %rcx
  jmp *%rcx
.size weft_fiber_switch_by_jump, . - weft_fiber_switch_by_jump
.p2align 4
.globl weft_fiber_begin
.hidden weft_fiber_begin
.type weft_fiber_begin, @function
weft_fiber_begin:
  .cfi_startproc
  .cfi_undefined rip
  movq %r13, %rdi
  callq *%r12
  ud2
  .cfi_endproc
.size weft_fiber_begin, . - weft_fiber_begin
.popsection
.purgem weft_fiber_swap
)");
#elif defined(__aarch64__)
// `ret` takes the place of both: which is better there, nobody has measured.
asm(R"(
.pushsection .text
.p2align 4
.globl weft_fiber_switch_by_jump
.hidden weft_fiber_switch_by_jump
.type weft_fiber_switch_by_jump, %function
weft_fiber_switch_by_jump:
  b weft_fiber_switch
.size weft_fiber_switch_by_jump, . - weft_fiber_switch_by_jump
.p2align 4
.globl weft_fiber_switch
.hidden weft_fiber_switch
.type weft_fiber_switch, %function
weft_fiber_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size weft_fiber_switch, . - weft_fiber_switch
.p2align 4
.globl weft_fiber_begin
.hidden weft_fiber_begin
.type weft_fiber_begin, %function
weft_fiber_begin:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x20
  blr x19
  brk #1
  .cfi_endproc
.size weft_fiber_begin, . - weft_fiber_begin
.popsection
)");
#else
extern "C" void weft_fiber_switch(void**, void*) noexcept { WEFT_ASSERT(weft::fibers::has_switch); }
extern "C" void weft_fiber_switch_by_jump(void**, void*) noexcept { WEFT_ASSERT(weft::fibers::has_switch); }
extern "C" void weft_fiber_begin() noexcept { WEFT_ASSERT(weft::fibers::has_switch); }
#endif

namespace weft::fibers {
namespace {

// The registers of the first pop say which of them has the function and which its argument.
#if defined(__aarch64__)
constexpr std::size_t frame_words = 20, function_at = 0, argument_at = 1, begin_at = 11;
#else
constexpr std::size_t frame_words = 9, function_at = 3, argument_at = 2, begin_at = 6;
#endif

}  // namespace

context::context() noexcept = default;

context::~context() {
#if defined(WEFT_THREAD_SANITIZER)
  if (bytes_ != 0 && shadow_ != nullptr) __tsan_destroy_fiber(shadow_);
#endif
}

void context::prepare([[maybe_unused]] std::byte* bottom, std::byte* top, void (*entry)(void*),
                      void* argument) noexcept {
  auto* const end = reinterpret_cast<std::uintptr_t*>(reinterpret_cast<std::uintptr_t>(top) & ~std::uintptr_t{15});
  std::uintptr_t* const frame = end - frame_words;
  for (std::size_t i = 0; i < frame_words; ++i) frame[i] = 0;
  frame[function_at] = reinterpret_cast<std::uintptr_t>(entry);
  frame[argument_at] = reinterpret_cast<std::uintptr_t>(argument);
  frame[begin_at] = reinterpret_cast<std::uintptr_t>(&weft_fiber_begin);
  pointer_ = frame;
#if defined(WEFT_ADDRESS_SANITIZER) || defined(WEFT_THREAD_SANITIZER)
  bottom_ = bottom;
  bytes_ = static_cast<std::size_t>(top - bottom);
#if defined(WEFT_THREAD_SANITIZER)
  if (shadow_ != nullptr) __tsan_destroy_fiber(shadow_);
  shadow_ = __tsan_create_fiber(0);
#else
  shadow_ = nullptr;
#endif
#endif
}

#if defined(WEFT_ADDRESS_SANITIZER)
void forget_frames(std::byte* bottom, std::byte* top) noexcept {
  __asan_unpoison_memory_region(bottom, static_cast<std::size_t>(top - bottom));
}
void context::leave_for(context& to, void** shadow) noexcept {
  to.from_ = this;
  __sanitizer_start_switch_fiber(shadow, to.bottom_, to.bytes_);
}
void context::arrived() noexcept { __sanitizer_finish_switch_fiber(shadow_, &from_->bottom_, &from_->bytes_); }
#elif defined(WEFT_THREAD_SANITIZER)
void context::leave_for(context& to, void** /*shadow*/) noexcept {
  if (shadow_ == nullptr) shadow_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.shadow_, 0);
}
void context::arrived() noexcept {}
#endif

}  // namespace weft::fibers
