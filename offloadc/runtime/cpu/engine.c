/* The CPU device's engine: compiled once, linked into every CPU image (x86-64, System V ABI).
 *
 * Kernels without barriers or warp operations are plain loops over the threads of a block. In the
 * others each thread of a block is a fiber with a stack of its own; all fibers of a block run on the
 * OS thread that runs the block, one at a time, so a wait is a switch of stacks.
 *
 * What kernels see of a thread is struct offloadc_cpu_context, whose layout is also in
 * device_pass/ir_edits/library.py. Everything but offloadc_cpu_image is hidden.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "offloadc/runtime.h"

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifdef ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#pragma GCC visibility push(hidden)

enum {
  WARP_LANES = 32,
  MAX_BLOCK_THREADS = 1024,
  MAX_WARPS = MAX_BLOCK_THREADS / WARP_LANES,
  DEFAULT_STACK_BYTES = 64 * 1024,
  MIN_STACK_BYTES = 16 * 1024,
  SHARED_ALIGN = 4096,
  CACHE_LINE = 64,
  MAX_IDLE_WORKERS = 64
};

struct offloadc_cpu_context {
  uint32_t thread_id[3], block_id[3], num_threads[3], num_blocks[3];
  void *static_shared;
  void *dynamic_shared;
};
_Static_assert(sizeof(struct offloadc_cpu_context) == 64, "known to ir_edits/library.py");
_Static_assert(offsetof(struct offloadc_cpu_context, static_shared) == 48, "known to ir_edits/library.py");

/* A pointer, not the struct: initial-exec storage of objects loaded at run time is scarce. */
_Thread_local struct offloadc_cpu_context *__offloadc_cpu_context
    __attribute__((tls_model("initial-exec")));

/* Bytes of the image's __shared__ variables, a multiple of 128; the kernels' object defines it. */
extern const uint64_t __offloadc_cpu_static_shared_bytes;

enum fiber_state { RUNNABLE, AT_BARRIER, AT_EXCHANGE, AT_BALLOT, AT_WARP_BARRIER, EXITED };

struct worker;

struct fiber {
  struct offloadc_cpu_context context; /* first: a context pointer is a fiber pointer */
  struct worker *worker;
  void *stack_pointer;
  enum fiber_state state;
  uint32_t source_lane; /* of an exchange */
  uint64_t mask;        /* lanes that meet in the warp operation */
  uint64_t value;       /* given to it, then got from it */
#ifdef ADDRESS_SANITIZER
  void *fake_stack;
#endif
} __attribute__((aligned(CACHE_LINE)));

/* What one OS thread needs to run blocks; kept for the next launch. */
struct worker {
  struct worker *next_idle;
  const offloadc_cpu_kernel *kernel;
  void *const *args;
  char *shared;
  size_t shared_capacity;

  struct fiber *fibers;
  uint32_t fiber_capacity;
  char *stacks;
  size_t stack_bytes, stack_stride;

  uint32_t threads; /* of the block that runs */
  uint32_t live, at_barrier;
  uint32_t queue_head, queue_length; /* runnable fibers, first come first served */
  uint16_t queue[MAX_BLOCK_THREADS];
  uint64_t live_lanes[MAX_WARPS];

  void *caller_stack_pointer;
  bool deadlock;
#ifdef ADDRESS_SANITIZER
  const void *caller_stack_bottom;
  size_t caller_stack_bytes;
  void *caller_fake_stack;
#endif
};

/* ------------------------------------------------------------------------------------ switching
 * offloadc_cpu_switch(save, to): push what the System V ABI has callees keep (rbp, rbx, r12-r15, the
 * control bits of mxcsr and the x87 control word), store the stack pointer in *save, take `to` for
 * it and pop the same. Both stacks have the same shape, so the CFI holds across the switch. Loading
 * control words costs more than all the rest, and they hardly ever differ. */
void offloadc_cpu_switch(void **save, void *to);
void offloadc_cpu_fiber_start(void);

__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl offloadc_cpu_switch\n"
    ".hidden offloadc_cpu_switch\n"
    ".type offloadc_cpu_switch,@function\n"
    "offloadc_cpu_switch:\n"
    "  .cfi_startproc\n"
    "  endbr64\n"
    "  pushq %rbp\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  .cfi_rel_offset %rbp, 0\n"
    "  pushq %rbx\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  .cfi_rel_offset %rbx, 0\n"
    "  pushq %r12\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  .cfi_rel_offset %r12, 0\n"
    "  pushq %r13\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  .cfi_rel_offset %r13, 0\n"
    "  pushq %r14\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  .cfi_rel_offset %r14, 0\n"
    "  pushq %r15\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  .cfi_rel_offset %r15, 0\n"
    "  subq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  stmxcsr (%rsp)\n"
    "  fnstcw 4(%rsp)\n"
    "  movl (%rsp), %eax\n"
    "  movzwl 4(%rsp), %ecx\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  xorl (%rsp), %eax\n"
    "  testl $-64, %eax\n" /* bits 0-5 are status, not control */
    "  je 1f\n"
    "  ldmxcsr (%rsp)\n"
    "1:\n"
    "  cmpw 4(%rsp), %cx\n"
    "  je 2f\n"
    "  fldcw 4(%rsp)\n"
    "2:\n"
    "  addq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  popq %r15\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  .cfi_restore %r15\n"
    "  popq %r14\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  .cfi_restore %r14\n"
    "  popq %r13\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  .cfi_restore %r13\n"
    "  popq %r12\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  .cfi_restore %r12\n"
    "  popq %rbx\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  .cfi_restore %rbx\n"
    "  popq %rbp\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  .cfi_restore %rbp\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".size offloadc_cpu_switch, .-offloadc_cpu_switch\n"
    /* The first frame of a fiber. An undefined return address ends every backtrace here. */
    ".p2align 4\n"
    ".globl offloadc_cpu_fiber_start\n"
    ".hidden offloadc_cpu_fiber_start\n"
    ".type offloadc_cpu_fiber_start,@function\n"
    "offloadc_cpu_fiber_start:\n"
    "  .cfi_startproc\n"
    "  .cfi_undefined %rip\n"
    "  endbr64\n"
    "  xorl %ebp, %ebp\n"
    "  call offloadc_cpu_fiber_main\n"
    "  ud2\n"
    "  .cfi_endproc\n"
    ".size offloadc_cpu_fiber_start, .-offloadc_cpu_fiber_start\n"
    ".previous\n");

struct saved_registers {
  uint32_t mxcsr;
  uint32_t x87_control;
  uint64_t r15, r14, r13, r12, rbx, rbp;
  uint64_t return_address;
};

#ifdef ADDRESS_SANITIZER
static void before_switch(void **fake_stack, const void *bottom, size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
}
static void after_switch(void *fake_stack, const void **old_bottom, size_t *old_bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, old_bottom, old_bytes);
}
#endif

static struct fiber *current_fiber(void) { return (struct fiber *)(void *)__offloadc_cpu_context; }

static uint32_t index_of(const struct worker *w, const struct fiber *f) { return (uint32_t)(f - w->fibers); }

static char *stack_of(const struct worker *w, uint32_t index) {
  return w->stacks + (size_t)index * w->stack_stride + (w->stack_stride - w->stack_bytes);
}

/* Stacks that start at the same place of a page would share a few sets of the first-level cache. */
static size_t stack_colour(uint32_t index) { return (size_t)(index % 64) * CACHE_LINE; }

static void prepare_fiber(struct worker *w, uint32_t index) {
  struct fiber *f = &w->fibers[index];
  char *top = stack_of(w, index) + w->stack_bytes - stack_colour(index) - CACHE_LINE;
  struct saved_registers *saved = (struct saved_registers *)(void *)(top - sizeof *saved);
  *saved = (struct saved_registers){.return_address = (uint64_t)(uintptr_t)offloadc_cpu_fiber_start};
  uint16_t control;
  __asm__ volatile("stmxcsr %0" : "=m"(saved->mxcsr));
  __asm__ volatile("fnstcw %0" : "=m"(control));
  saved->x87_control = control;
  f->stack_pointer = saved;
  f->state = RUNNABLE;
#ifdef ADDRESS_SANITIZER
  f->fake_stack = NULL;
  ASAN_UNPOISON_MEMORY_REGION(stack_of(w, index), w->stack_bytes); /* frames of a fiber that never returned */
#endif
}

static void switch_to_fiber(struct worker *w, struct fiber *from, struct fiber *to) {
  __offloadc_cpu_context = &to->context;
  void **save = from == NULL ? &w->caller_stack_pointer : &from->stack_pointer;
#ifdef ADDRESS_SANITIZER
  void **fake = from == NULL ? &w->caller_fake_stack : from->state == EXITED ? NULL : &from->fake_stack;
  before_switch(fake, stack_of(w, index_of(w, to)), w->stack_bytes);
#endif
  offloadc_cpu_switch(save, to->stack_pointer);
#ifdef ADDRESS_SANITIZER
  after_switch(from == NULL ? w->caller_fake_stack : from->fake_stack, NULL, NULL);
#endif
}

static void switch_to_caller(struct worker *w, struct fiber *from) {
#ifdef ADDRESS_SANITIZER
  before_switch(from->state == EXITED ? NULL : &from->fake_stack, w->caller_stack_bottom, w->caller_stack_bytes);
#endif
  offloadc_cpu_switch(&from->stack_pointer, w->caller_stack_pointer);
  __builtin_unreachable();
}

/* ------------------------------------------------------------------------------------ scheduling */
static void enqueue(struct worker *w, uint32_t index) {
  uint32_t at = w->queue_head + w->queue_length++;
  w->queue[at % MAX_BLOCK_THREADS] = (uint16_t)index;
}

static void make_runnable(struct worker *w, uint32_t index) {
  w->fibers[index].state = RUNNABLE;
  enqueue(w, index);
}

/* A barrier opens when each thread that has not exited waits at it. */
static void open_barrier_if_full(struct worker *w) {
  if (w->live == 0 || w->at_barrier != w->live) return;
  w->at_barrier = 0;
  for (uint32_t i = 0; i < w->threads; i++)
    if (w->fibers[i].state == AT_BARRIER) make_runnable(w, i);
}

static bool is_warp_operation(enum fiber_state state) {
  return state == AT_EXCHANGE || state == AT_BALLOT || state == AT_WARP_BARRIER;
}

static void finish_ballot(struct fiber *lanes, uint64_t group) {
  uint64_t votes = 0;
  for (uint64_t rest = group; rest; rest &= rest - 1) {
    int lane = __builtin_ctzll(rest);
    votes |= (uint64_t)(lanes[lane].value != 0) << lane;
  }
  for (uint64_t rest = group; rest; rest &= rest - 1) lanes[__builtin_ctzll(rest)].value = votes;
}

/* A lane that asks one outside the group gets its own value back. */
static void finish_exchange(struct fiber *lanes, uint64_t group) {
  uint64_t given[WARP_LANES];
  for (uint64_t rest = group; rest; rest &= rest - 1) {
    int lane = __builtin_ctzll(rest);
    given[lane] = lanes[lane].value;
  }
  for (uint64_t rest = group; rest; rest &= rest - 1) {
    struct fiber *f = &lanes[__builtin_ctzll(rest)];
    uint32_t source = f->source_lane % WARP_LANES;
    if (group >> source & 1) f->value = given[source];
  }
}

/* A warp operation is done when each live lane of `mask` waits in the same one with the same mask. */
static bool finish_warp_operation(struct worker *w, uint32_t warp, uint64_t mask, enum fiber_state kind) {
  struct fiber *lanes = &w->fibers[warp * WARP_LANES];
  uint64_t group = mask & w->live_lanes[warp];
  if (group == 0) return false;
  for (uint64_t rest = group; rest;) { /* from the top: lanes tend to arrive from the bottom */
    int lane = 63 - __builtin_clzll(rest);
    if (lanes[lane].state != kind || lanes[lane].mask != mask) return false;
    rest &= ~(UINT64_C(1) << lane);
  }
  if (kind == AT_BALLOT) finish_ballot(lanes, group);
  if (kind == AT_EXCHANGE) finish_exchange(lanes, group);
  for (uint64_t rest = group; rest; rest &= rest - 1)
    make_runnable(w, warp * WARP_LANES + (uint32_t)__builtin_ctzll(rest));
  return true;
}

/* After a lane has exited, those that waited for nobody else go on. */
static void finish_pending_operations(struct worker *w, uint32_t warp) {
  for (uint64_t rest = w->live_lanes[warp]; rest; rest &= rest - 1) {
    const struct fiber *f = &w->fibers[warp * WARP_LANES + (uint32_t)__builtin_ctzll(rest)];
    if (is_warp_operation(f->state)) finish_warp_operation(w, warp, f->mask, f->state);
  }
}

/* Runs others until `from` can go on; with `from` exited, never returns. */
static void run_next(struct worker *w, struct fiber *from) {
  if (w->queue_length == 0) {
    w->deadlock = w->live != 0;
    switch_to_caller(w, from);
  }
  uint32_t index = w->queue[w->queue_head];
  w->queue_head = (w->queue_head + 1) % MAX_BLOCK_THREADS;
  w->queue_length--;
  if (&w->fibers[index] != from) switch_to_fiber(w, from, &w->fibers[index]);
}

/* The first function on a fiber's stack. */
__attribute__((noreturn, used)) void offloadc_cpu_fiber_main(void) {
  struct fiber *f = current_fiber();
  struct worker *w = f->worker;
#ifdef ADDRESS_SANITIZER
  after_switch(NULL, w->caller_stack_bottom ? NULL : &w->caller_stack_bottom,
               w->caller_stack_bottom ? NULL : &w->caller_stack_bytes);
#endif
  w->kernel->thread(w->args);
  uint32_t index = index_of(w, f), warp = index / WARP_LANES;
  f->state = EXITED;
  w->live--;
  w->live_lanes[warp] &= ~(UINT64_C(1) << index % WARP_LANES);
  open_barrier_if_full(w);
  finish_pending_operations(w, warp);
  run_next(w, f);
  __builtin_unreachable();
}

/* ------------------------------------------------------------------------------------ waiting */
static void refuse_outside_fiber(const struct worker *w, const char *what) {
  if (w->threads != 0) return;
  fprintf(stderr, "offloadc: kernel %s waits in a %s but is not marked cooperative\n", w->kernel->name, what);
  abort();
}

void __offloadc_cpu_barrier(void) {
  struct fiber *f = current_fiber();
  struct worker *w = f->worker;
  refuse_outside_fiber(w, "barrier");
  f->state = AT_BARRIER;
  w->at_barrier++;
  open_barrier_if_full(w);
  run_next(w, f);
}

static uint64_t warp_operation(enum fiber_state kind, uint64_t mask, uint64_t value, uint32_t source_lane) {
  struct fiber *f = current_fiber();
  struct worker *w = f->worker;
  refuse_outside_fiber(w, "warp operation");
  uint32_t index = index_of(w, f);
  f->mask = (mask | UINT64_C(1) << index % WARP_LANES) & UINT32_MAX;
  f->value = value;
  f->source_lane = source_lane;
  f->state = kind;
  finish_warp_operation(w, index / WARP_LANES, f->mask, kind);
  run_next(w, f);
  return f->value;
}

uint32_t __offloadc_cpu_warp_exchange_u32(uint64_t mask, uint32_t value, uint32_t source_lane) {
  return (uint32_t)warp_operation(AT_EXCHANGE, mask, value, source_lane);
}

uint64_t __offloadc_cpu_warp_exchange_u64(uint64_t mask, uint64_t value, uint32_t source_lane) {
  return warp_operation(AT_EXCHANGE, mask, value, source_lane);
}

uint64_t __offloadc_cpu_warp_ballot(uint64_t mask, int predicate) {
  return warp_operation(AT_BALLOT, mask, predicate != 0, 0);
}

void __offloadc_cpu_warp_barrier(uint64_t mask) { warp_operation(AT_WARP_BARRIER, mask, 0, 0); }

/* ------------------------------------------------------------------------------------ blocks */
static void report_deadlock(const struct worker *w) {
  uint32_t count[EXITED + 1] = {0};
  for (uint32_t i = 0; i < w->threads; i++) count[w->fibers[i].state]++;
  const uint32_t *block = w->fibers[0].context.block_id;
  fprintf(stderr,
          "offloadc: deadlock in kernel %s, block (%u, %u, %u): of %u threads %u wait at a barrier, %u in a warp "
          "exchange, %u in a warp ballot, %u at a warp barrier, %u have exited\n",
          w->kernel->name, block[0], block[1], block[2], w->threads, count[AT_BARRIER], count[AT_EXCHANGE],
          count[AT_BALLOT], count[AT_WARP_BARRIER], count[EXITED]);
  fflush(NULL);
  _Exit(1);
}

static void set_thread_id(struct offloadc_cpu_context *c, uint32_t index, offloadc_dim3 block) {
  c->thread_id[0] = index % block.x;
  c->thread_id[1] = index / block.x % block.y;
  c->thread_id[2] = index / (block.x * block.y);
}

static void run_block_with_fibers(struct worker *w, const struct offloadc_cpu_context *block,
                                  offloadc_dim3 extent) {
  uint32_t threads = extent.x * extent.y * extent.z;
  w->threads = w->live = threads;
  w->at_barrier = w->queue_head = w->queue_length = 0;
  for (uint32_t warp = 0; warp * WARP_LANES < threads; warp++) {
    uint32_t lanes = threads - warp * WARP_LANES;
    w->live_lanes[warp] = lanes >= WARP_LANES ? UINT32_MAX : (UINT64_C(1) << lanes) - 1;
  }
  for (uint32_t i = 0; i < threads; i++) {
    w->fibers[i].context = *block;
    w->fibers[i].worker = w;
    set_thread_id(&w->fibers[i].context, i, extent);
    prepare_fiber(w, i);
    if (i > 0) enqueue(w, i);
  }
  w->deadlock = false;
  switch_to_fiber(w, NULL, &w->fibers[0]);
  if (w->deadlock) report_deadlock(w);
  w->threads = 0;
}

static void run_block_as_loop(struct worker *w, struct offloadc_cpu_context *block, offloadc_dim3 extent) {
  void (*thread)(void *const *) = w->kernel->thread;
  void *const *args = w->args;
  for (block->thread_id[2] = 0; block->thread_id[2] < extent.z; block->thread_id[2]++)
    for (block->thread_id[1] = 0; block->thread_id[1] < extent.y; block->thread_id[1]++)
      for (block->thread_id[0] = 0; block->thread_id[0] < extent.x; block->thread_id[0]++) thread(args);
}

/* Blocks [begin, end) of the grid, in the order x, y, z. */
static void run_blocks(struct worker *w, offloadc_dim3 grid, offloadc_dim3 block, uint64_t begin, uint64_t end) {
  struct fiber loop = {.worker = w};
  struct offloadc_cpu_context *c = &loop.context;
  *c = (struct offloadc_cpu_context){.num_threads = {block.x, block.y, block.z},
                                     .num_blocks = {grid.x, grid.y, grid.z},
                                     .static_shared = w->shared,
                                     .dynamic_shared = w->shared + __offloadc_cpu_static_shared_bytes};
  bool cooperative = w->kernel->flags & OFFLOADC_CPU_KERNEL_COOPERATIVE;
  struct offloadc_cpu_context *outer_context = __offloadc_cpu_context;
  __offloadc_cpu_context = c;
  for (uint64_t i = begin; i < end; i++) {
    c->block_id[0] = (uint32_t)(i % grid.x);
    c->block_id[1] = (uint32_t)(i / grid.x % grid.y);
    c->block_id[2] = (uint32_t)(i / grid.x / grid.y);
    if (cooperative)
      run_block_with_fibers(w, c, block);
    else
      run_block_as_loop(w, c, block);
  }
  __offloadc_cpu_context = outer_context;
}

/* ------------------------------------------------------------------------------------ memory */
static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

/* OFFLOADC_CPU_STACK: bytes of a thread's stack in kernels that meet barriers; K and M are known. */
static int stack_bytes_wanted(size_t *bytes) {
  const char *text = getenv("OFFLOADC_CPU_STACK");
  *bytes = DEFAULT_STACK_BYTES;
  if (text == NULL || *text == '\0') return 0;
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  unsigned shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : 0;
  end += shift != 0;
  if (errno != 0 || *end != '\0' || *text == '-' || value > (UINT64_C(1) << 32 >> shift)) {
    fprintf(stderr, "offloadc: OFFLOADC_CPU_STACK=%s is not a size of at most 4096M\n", text);
    return EINVAL;
  }
  size_t wanted = (size_t)value << shift;
  *bytes = round_up(wanted < MIN_STACK_BYTES ? MIN_STACK_BYTES : wanted, page_bytes());
  return 0;
}

static void free_fibers(struct worker *w) {
  if (w->stacks != NULL) munmap(w->stacks, w->fiber_capacity * w->stack_stride);
  free(w->fibers);
  w->stacks = NULL;
  w->fibers = NULL;
  w->fiber_capacity = 0;
}

/* A stack that grows out of its room faults instead of writing into its neighbour's. Since Linux 6.13
 * that needs no mapping of its own a guard (MADV_GUARD_INSTALL is 102; mman.h may not know it). */
static int install_guard(void *page, size_t bytes) {
  if (madvise(page, bytes, 102) == 0) return 0;
  return mprotect(page, bytes, PROT_NONE) == 0 ? 0 : errno;
}

static int map_stacks(struct worker *w, uint32_t count, size_t stack_bytes) {
  size_t guard = page_bytes();
  w->stack_bytes = stack_bytes + page_bytes(); /* a page for the colours */
  w->stack_stride = w->stack_bytes + guard;
  size_t total = count * w->stack_stride;
  void *stacks = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
                      -1, 0);
  if (stacks == MAP_FAILED) return ENOMEM;
  madvise(stacks, total, MADV_NOHUGEPAGE); /* a thread touches a page or two; refusal does no harm */
  w->stacks = stacks;
  w->fiber_capacity = count;
  for (uint32_t i = 0; i < count; i++) {
    int error = install_guard(w->stacks + i * w->stack_stride, guard);
    if (error != 0) return error;
  }
  return 0;
}

static int reserve_fibers(struct worker *w, uint32_t threads) {
  size_t stack_bytes;
  int error = stack_bytes_wanted(&stack_bytes);
  if (error != 0) return error;
  if (w->fiber_capacity >= threads && w->stack_bytes == stack_bytes + page_bytes()) return 0;
  free_fibers(w);
  uint32_t count = (uint32_t)round_up(threads, WARP_LANES);
  w->fibers = aligned_alloc(CACHE_LINE, count * sizeof *w->fibers);
  if (w->fibers == NULL) return ENOMEM;
  error = map_stacks(w, count, stack_bytes);
  if (error != 0) free_fibers(w);
  return error;
}

static int reserve_shared(struct worker *w, size_t dynamic_bytes) {
  size_t fixed = __offloadc_cpu_static_shared_bytes;
  if (dynamic_bytes > SIZE_MAX - fixed - SHARED_ALIGN) return ENOMEM;
  size_t wanted = round_up(fixed + dynamic_bytes + 1, SHARED_ALIGN);
  if (w->shared_capacity >= wanted) return 0;
  free(w->shared);
  w->shared = aligned_alloc(SHARED_ALIGN, wanted);
  w->shared_capacity = w->shared == NULL ? 0 : wanted;
  return w->shared == NULL ? ENOMEM : 0;
}

static void free_worker(struct worker *w) {
  free_fibers(w);
  free(w->shared);
  free(w);
}

/* Workers belong to no OS thread: a launch takes an idle one and gives it back, so memory follows the
 * number of launches at a time and none is left behind by threads that end. */
static struct {
  pthread_mutex_t lock;
  struct worker *first;
  uint32_t count;
} idle = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct worker *take_worker(void) {
  pthread_mutex_lock(&idle.lock);
  struct worker *w = idle.first;
  if (w != NULL) {
    idle.first = w->next_idle;
    idle.count--;
  }
  pthread_mutex_unlock(&idle.lock);
  return w != NULL ? w : calloc(1, sizeof *w);
}

static void give_back(struct worker *w) {
  pthread_mutex_lock(&idle.lock);
  bool keep = idle.count < MAX_IDLE_WORKERS;
  if (keep) {
    w->next_idle = idle.first;
    idle.first = w;
    idle.count++;
  }
  pthread_mutex_unlock(&idle.lock);
  if (!keep) free_worker(w);
}

__attribute__((destructor)) static void free_idle_workers(void) {
  while (idle.first != NULL) {
    struct worker *w = idle.first;
    idle.first = w->next_idle;
    free_worker(w);
  }
}

/* ------------------------------------------------------------------------------------ launch */
static uint64_t volume(offloadc_dim3 extent) { return (uint64_t)extent.x * extent.y * extent.z; }

static bool fits_grid(offloadc_dim3 grid) {
  /* CUDA's and HIP's limits; they keep the product below 2^63. */
  return grid.x <= INT32_MAX && grid.y <= 65535 && grid.z <= 65535;
}

int __offloadc_cpu_launch(const offloadc_cpu_kernel *kernel, void *const *args, offloadc_dim3 grid,
                          offloadc_dim3 block, size_t shared_bytes) {
  if (!fits_grid(grid) || block.x > MAX_BLOCK_THREADS || block.y > MAX_BLOCK_THREADS ||
      block.z > MAX_BLOCK_THREADS || volume(block) == 0 || volume(block) > MAX_BLOCK_THREADS)
    return EINVAL;
  if (volume(grid) == 0) return 0;
  struct worker *w = take_worker();
  if (w == NULL) return ENOMEM;
  int error = reserve_shared(w, shared_bytes);
  if (error == 0 && kernel->flags & OFFLOADC_CPU_KERNEL_COOPERATIVE)
    error = reserve_fibers(w, (uint32_t)volume(block));
  if (error == 0) {
    w->kernel = kernel;
    w->args = args;
#ifdef ADDRESS_SANITIZER
    w->caller_stack_bottom = NULL;
#endif
    run_blocks(w, grid, block, 0, volume(grid));
  }
  give_back(w);
  return error;
}

/* ------------------------------------------------------------------------------------ printf
 * clang turns printf in a kernel into vprintf(format, buffer), the buffer holding the promoted
 * arguments in natural C layout. (CUDA C++ Programming Guide, "Formatted Output".) */
struct packed_arguments {
  const char *base;
  size_t offset;
};

static const void *take(struct packed_arguments *from, size_t bytes) {
  from->offset = round_up(from->offset, bytes);
  const void *at = from->base + from->offset;
  from->offset += bytes;
  return at;
}

enum { LONGEST_CONVERSION = 32 };

static int take_int(struct packed_arguments *from) {
  int value;
  memcpy(&value, take(from, sizeof value), sizeof value);
  return value;
}

static int print_integer(const char *conversion, bool is_long, struct packed_arguments *from) {
  if (!is_long) return printf(conversion, take_int(from));
  long long value;
  memcpy(&value, take(from, sizeof value), sizeof value);
  return printf(conversion, value);
}

static int print_double(const char *conversion, struct packed_arguments *from) {
  double value;
  memcpy(&value, take(from, sizeof value), sizeof value);
  return printf(conversion, value);
}

static int print_pointer(const char *conversion, struct packed_arguments *from) {
  void *value;
  memcpy(&value, take(from, sizeof value), sizeof value);
  return printf(conversion, value);
}

/* Copies one conversion, its stars replaced by their arguments; *length gets its size in `format`. */
static bool read_conversion(const char *format, char *conversion, size_t *length, struct packed_arguments *from) {
  size_t n = 0, i = 1;
  conversion[n++] = '%';
  for (; format[i] != '\0' && strchr("-+ #0123456789.*hlLqjzt", format[i]) != NULL; i++) {
    if (n + 14 > LONGEST_CONVERSION) return false;
    if (format[i] == '*')
      n += (size_t)snprintf(conversion + n, 13, "%d", take_int(from));
    else
      conversion[n++] = format[i];
  }
  if (format[i] == '\0') return false;
  conversion[n++] = format[i];
  conversion[n] = '\0';
  *length = i + 1;
  return true;
}

static int print_conversion(const char *conversion, struct packed_arguments *from) {
  char kind = conversion[strlen(conversion) - 1];
  if (kind == '%') return printf("%%");
  if (strchr("diouxXc", kind) != NULL) return print_integer(conversion, strpbrk(conversion, "lqjzt") != NULL, from);
  if (strchr("fFeEgGaA", kind) != NULL) return print_double(conversion, from);
  if (kind == 's' || kind == 'p') return print_pointer(conversion, from);
  return -1; /* %n and what C does not know */
}

int __offloadc_cpu_vprintf(const char *format, const void *arguments) {
  struct packed_arguments from = {.base = arguments};
  int count = 0;
  while (*format != '\0') {
    size_t plain = strcspn(format, "%");
    if (plain > 0) fwrite(format, 1, plain, stdout);
    format += plain;
    if (*format == '\0') break;
    char conversion[LONGEST_CONVERSION];
    size_t length;
    if (!read_conversion(format, conversion, &length, &from)) return -1;
    if (print_conversion(conversion, &from) < 0) return -1;
    format += length;
    count++;
  }
  return count;
}

#pragma GCC visibility pop
