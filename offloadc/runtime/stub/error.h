/* The calling thread's last error. Every failure of the stub passes through offloadc_fail. */
#ifndef OFFLOADC_STUB_ERROR_H
#define OFFLOADC_STUB_ERROR_H

#include "offloadc/runtime.h"

#pragma GCC visibility push(hidden)

/* Sets the text and returns `status`. An argument may point into the previous text. */
int offloadc_fail(enum offloadc_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line on stderr for what the user should know although the program goes on. */
void offloadc_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#pragma GCC visibility pop
#endif
