/* The public launch functions. */
#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "kernels.h"
#include "queue.h"
#include "trace.h"

/* k<<<...>>>(...) does not say how many arguments it passes. */
enum { COUNT_UNKNOWN = -1 };

struct arguments {
  void *const *values;
  const uint32_t *sizes;
  int64_t count;
};

static int check_arguments(const struct resolved_kernel *kernel, const struct arguments *args) {
  const struct kernel *k = kernel->kernel;
  if (args->count != COUNT_UNKNOWN && args->count != k->param_count)
    return offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT, "kernel %s takes %u arguments, but %lld were passed",
                         kernel->name, k->param_count, (long long)args->count);
  if (k->param_count && !args->values)
    return offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT, "kernel %s takes %u arguments, but args is NULL",
                         kernel->name, k->param_count);
  for (uint32_t i = 0; i < k->param_count; i++) {
    if (!args->values[i])
      return offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT,
                           "argument %u of kernel %s is NULL: args[i] points at a value", i + 1, kernel->name);
    if (args->sizes && args->sizes[i] != k->params[i].size)
      return offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT,
                           "argument %u of kernel %s has %u bytes on the host but %u in the %s image; rebuild all of "
                           "the program's files",
                           i + 1, kernel->name, args->sizes[i], k->params[i].size, kernel->unit->image->arch);
  }
  return OFFLOADC_SUCCESS;
}

static bool exceeds(offloadc_dim3 a, offloadc_dim3 limit) { return a.x > limit.x || a.y > limit.y || a.z > limit.z; }

static int check_block(const struct device *device, const char *name, offloadc_dim3 block) {
  offloadc_dim3 limit = device->limits.block;
  /* Three factors of at most 32 bits can pass 64; two can not, and a zero one is refused first. */
  uint64_t plane = (uint64_t)block.x * block.y;
  bool many = plane > device->info.max_block_threads || plane * block.z > device->info.max_block_threads;
  if (!block.x || !block.y || !block.z)
    return offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT,
                         "kernel %s: block %u,%u,%u has a zero extent; every extent is at least 1", name, block.x,
                         block.y, block.z);
  if (many || exceeds(block, limit))
    return offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT,
                         "kernel %s: block %u,%u,%u is too large; %s (%s) takes %u threads a block and at most "
                         "%u,%u,%u",
                         name, block.x, block.y, block.z, device->label, device->info.name,
                         device->info.max_block_threads, limit.x, limit.y, limit.z);
  return OFFLOADC_SUCCESS;
}

static bool too_many_threads(uint32_t blocks, uint32_t threads, uint32_t limit) {
  return limit && (uint64_t)blocks * threads > limit;
}

static int check_grid(const struct device *device, const char *name, offloadc_dim3 grid, offloadc_dim3 block) {
  uint32_t threads = device->limits.grid_threads;
  offloadc_dim3 limit = device->limits.grid;
  if (exceeds(grid, limit))
    return offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT,
                         "kernel %s: grid %u,%u,%u is too large; %s (%s) takes at most %u,%u,%u blocks", name, grid.x,
                         grid.y, grid.z, device->label, device->info.name, limit.x, limit.y, limit.z);
  if (too_many_threads(grid.x, block.x, threads) || too_many_threads(grid.y, block.y, threads) ||
      too_many_threads(grid.z, block.z, threads))
    return offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT,
                         "kernel %s: grid %u,%u,%u with block %u,%u,%u is too large; %s (%s) takes at most %u threads "
                         "in each direction",
                         name, grid.x, grid.y, grid.z, block.x, block.y, block.z, device->label, device->info.name,
                         threads);
  return OFFLOADC_SUCCESS;
}

static int check_size(const struct device *device, const char *name, const struct launch *launch) {
  int status = check_block(device, name, launch->block);
  if (!status)
    status = check_grid(device, name, launch->grid, launch->block);
  if (!status && launch->shared_bytes > device->limits.shared_bytes)
    status = offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT,
                           "kernel %s: %zu bytes of dynamic shared memory are too many; %s (%s) has %zu bytes for a "
                           "block",
                           name, launch->shared_bytes, device->label, device->info.name, device->limits.shared_bytes);
  return status;
}

static bool is_empty(offloadc_dim3 grid) { return !grid.x || !grid.y || !grid.z; }

static int launch_on(struct device *device, const struct resolved_kernel *kernel, const struct launch *launch,
                     const struct arguments *args, offloadc_queue queue) {
  int status = check_arguments(kernel, args);
  if (!status)
    status = check_size(device, kernel->name, launch);
  if (status || is_empty(launch->grid))
    return status;
  return device->operations->launch(device, kernel, launch, args->values, queue);
}

static int launch_stub(const void *stub, const struct launch *launch, const struct arguments *args,
                       offloadc_queue queue) {
  struct device *device;
  const struct resolved_kernel *kernel;
  int status = offloadc_device(&device);
  if (status)
    return status;
  if (queue && !offloadc_queue_is_live(queue))
    return offloadc_fail(OFFLOADC_ERROR_INVALID_ARGUMENT, "%p is no queue, or was destroyed", (void *)queue);
  status = offloadc_find_kernel(device, stub, &kernel);
  if (status)
    return offloadc_trace(device, status, "launch %p", stub);
  status = launch_on(device, kernel, launch, args, queue ? queue : device->default_queue);
  return offloadc_trace_launch(device, status, kernel, launch);
}

int offloadc_launch(const void *stub, offloadc_dim3 grid, offloadc_dim3 block, void *const *args,
                    const uint32_t *sizes, uint32_t arg_count, size_t shared_bytes, offloadc_queue queue) {
  const struct launch launch = {grid, block, shared_bytes};
  return launch_stub(stub, &launch, &(struct arguments){args, sizes, arg_count}, queue);
}

static void end_program(void) {
  fprintf(stderr, "offloadc: error: %s\n", offloadc_last_error());
  exit(1);
}

int __offloadc_launch_kernel(const void *stub, offloadc_dim3 grid, offloadc_dim3 block, void **args,
                             size_t shared_bytes, void *queue) {
  const struct launch launch = {grid, block, shared_bytes};
  if (launch_stub(stub, &launch, &(struct arguments){args, NULL, COUNT_UNKNOWN}, queue))
    end_program();
  return OFFLOADC_SUCCESS;
}

/* ---- k<<<grid, block, shared, queue>>>(...) ---------------------------------------------------------
 * clang pushes, evaluates the arguments (which may launch kernels too), then calls the stub, which
 * pops. An argument that throws leaves its configuration behind; such are overwritten in time. */
enum { CONFIGURATIONS = 64 };

static _Thread_local struct {
  struct launch launch;
  void *queue;
} configurations[CONFIGURATIONS];
static _Thread_local unsigned pushed;

unsigned __offloadc_push_call_configuration(offloadc_dim3 grid, offloadc_dim3 block, size_t shared_bytes,
                                            void *queue) {
  unsigned slot = pushed++ % CONFIGURATIONS;
  configurations[slot].launch = (struct launch){grid, block, shared_bytes};
  configurations[slot].queue = queue;
  return 0;
}

int __offloadc_pop_call_configuration(offloadc_dim3 *grid, offloadc_dim3 *block, size_t *shared_bytes, void *queue) {
  unsigned slot = --pushed % CONFIGURATIONS;
  *grid = configurations[slot].launch.grid;
  *block = configurations[slot].launch.block;
  *shared_bytes = configurations[slot].launch.shared_bytes;
  *(void **)queue = configurations[slot].queue;
  return OFFLOADC_SUCCESS;
}
