/* liboffload's life in this process: started once, closed at exit, of no use in a forked child. */
#ifndef OFFLOADC_STUB_GPU_SESSION_H
#define OFFLOADC_STUB_GPU_SESSION_H

#include "offload_api.h"

#pragma GCC visibility push(hidden)

extern struct offload_api offloadc_api;

int offloadc_start_session(void);

/* False in a forked child, and once the program began to exit; offloadc_refuse says so of a device. */
bool offloadc_session_usable(void);
int offloadc_refuse(const char *device_label);

/* Waits for all that was put into any queue, until the first failure. Defined in gpu.c. */
api_result offloadc_drain_queues(void);

/* liboffload's text, never empty. */
const char *offloadc_api_details(api_result result);

#pragma GCC visibility pop
#endif
