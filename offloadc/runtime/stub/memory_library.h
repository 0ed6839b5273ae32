/* Loading a shared object whose bytes are in memory. */
#ifndef OFFLOADC_STUB_MEMORY_LIBRARY_H
#define OFFLOADC_STUB_MEMORY_LIBRARY_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* dlopen's handle, or NULL with the reason in offloadc_last_error. `label` shows in /proc/PID/maps. */
void *offloadc_load_library(const char *label, const void *bytes, size_t size);

#pragma GCC visibility pop
#endif
