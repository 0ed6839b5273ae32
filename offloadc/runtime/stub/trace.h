/* OFFLOADC_TRACE=1: a line on stderr for every call. */
#ifndef OFFLOADC_STUB_TRACE_H
#define OFFLOADC_STUB_TRACE_H

#include <stdbool.h>

#include "device.h"

#pragma GCC visibility push(hidden)

bool offloadc_tracing(void);

/* Each takes the call's status and returns it, so that a call can end in one. */
int offloadc_trace(const struct device *device, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int offloadc_trace_launch(const struct device *device, int status, const struct resolved_kernel *kernel,
                          const struct launch *launch);

#pragma GCC visibility pop
#endif
