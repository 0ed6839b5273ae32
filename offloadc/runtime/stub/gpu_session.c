#define _GNU_SOURCE
#include "gpu_session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends.h"
#include "error.h"
#include "liboffload.h"
#include "library_alias.h"

struct offload_api offloadc_api;

enum state { RUNNING, FORKED, ENDED };
static _Atomic int state = RUNNING;
static pid_t owner;

static void after_fork(void) { atomic_store(&state, FORKED); }

/* A child of fork has no GPU context: liboffload must not be shut down there. Kernels must be done before their memory
 * is unmapped, or they fault. Errors have nobody left to hear them; with PTX images olShutDown always answers one,
 * since LLVM 22 reads every image as ELF. */
static void at_exit(void) {
  int running = RUNNING;
  if (getpid() != owner || !atomic_compare_exchange_strong(&state, &running, ENDED))
    return;
  offloadc_drain_queues();
  offloadc_api.olShutDown();
}

bool offloadc_session_usable(void) { return atomic_load_explicit(&state, memory_order_relaxed) == RUNNING; }

int offloadc_refuse(const char *device_label) {
  if (atomic_load(&state) == ENDED)
    return offloadc_fail(OFFLOADC_ERROR_DEVICE, "%s was closed when the program began to exit", device_label);
  return offloadc_fail(OFFLOADC_ERROR_DEVICE,
                       "%s was opened before fork(), and a GPU cannot be used in the child process; fork before the "
                       "first use of the device, or exec a program",
                       device_label);
}

const char *offloadc_api_details(api_result result) {
  return result->details && *result->details ? result->details : "no details";
}

int offloadc_start_session(void) {
  int status = offloadc_liboffload_load(&offloadc_api);
  if (status)
    return status;
  for (size_t i = 0; i < BACKEND_COUNT; i++)
    offloadc_alias_library(offloadc_backends[i]->library, offloadc_backends[i]->versioned_library);
  api_result result = offloadc_api.olInit();
  if (result)
    return offloadc_fail(OFFLOADC_ERROR_DEVICE, "liboffload could not start: %s (error %d)",
                         offloadc_api_details(result), result->code);
  /* Registered after olInit, so it runs before what liboffload and the drivers registered. */
  owner = getpid();
  if (atexit(at_exit) || pthread_atfork(NULL, NULL, after_fork))
    return offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY, "out of memory while starting liboffload");
  return OFFLOADC_SUCCESS;
}
