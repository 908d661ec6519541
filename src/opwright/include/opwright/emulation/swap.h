/* From one CUDA thread to another, inside the function that waits: the compiler keeps only what it still needs.
 *
 * No `call` and no `ret`: the processor's prediction of returns stays in order, and since the threads of a block mostly wait
 * at the same place, the jump is predicted too.
 */
#ifndef OPWRIGHT_EMULATION_SWAP_H
#define OPWRIGHT_EMULATION_SWAP_H

#include "context.h"

#if !defined(OPWRIGHT_EMULATION_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define OPWRIGHT_EMULATION_UCONTEXT
#endif

namespace opwright {
namespace emulation {

/* The same by the C library's contexts, for other processors. */
OPWRIGHT_EMULATION_API void swap_contexts(Slot *from, Slot *to);

#if defined(OPWRIGHT_EMULATION_UCONTEXT)
OPWRIGHT_EMULATION_INLINE void swap(Slot *from, Slot *to) { swap_contexts(from, to); }
#elif defined(__x86_64__)
#if defined(__AVX512F__)
#define OPWRIGHT_EMULATION_MORE_REGISTERS                                                                       \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", \
      "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define OPWRIGHT_EMULATION_MORE_REGISTERS
#endif
OPWRIGHT_EMULATION_INLINE void swap(Slot *from, Slot *to) {
  __asm__ volatile(
      "leaq 1f(%%rip), %%rax\n\t"
      "movq %%rax, (%0)\n\t"
      "movq %%rsp, 8(%0)\n\t"
      "movq %%rbp, 16(%0)\n\t"
      "movq 8(%1), %%rsp\n\t"
      "movq 16(%1), %%rbp\n\t"
      "jmpq *(%1)\n"
      "1:\n\t"
      ".byte 0xf3, 0x0f, 0x1e, 0xfa" /* endbr64: where jumps may land */
      : "+D"(from), "+S"(to)
      :
      : "memory", "cc", "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
        "xmm14", "xmm15" OPWRIGHT_EMULATION_MORE_REGISTERS);
}
#else
OPWRIGHT_EMULATION_INLINE void swap(Slot *from, Slot *to) {
  register Slot *leave __asm__("x0") = from;
  register Slot *enter __asm__("x1") = to;
  __asm__ volatile(
      "adr x9, 1f\n\t"
      "mov x10, sp\n\t"
      "stp x9, x10, [%0]\n\t"
      "str x29, [%0, #16]\n\t"
      "ldp x9, x10, [%1]\n\t"
      "ldr x29, [%1, #16]\n\t"
      "mov sp, x10\n\t"
      "br x9\n"
      "1:\n\t"
      "hint #36" /* bti j: where jumps may land */
      : "+r"(leave), "+r"(enter)
      :
      : "memory", "cc", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
        "x17", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3",
        "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20",
        "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}
#endif

/* Makes `next` the thread that runs, and runs it until somebody swaps back. */
OPWRIGHT_EMULATION_INLINE void run_instead(Context &c, Slot *me, Slot *next) {
  c.current = next;
  c.thread = next->thread;
  c.linear = next->linear;
  __builtin_prefetch(next[2].stack);
  swap(me, next);
}

}  // namespace emulation
}  // namespace opwright
#endif
